//! Which connections are open: there is always room for one more that answers something, in place of the oldest that does not.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// At the same time, and of one address: behind a port-forward all come from the same.
pub const MAX_CONNECTIONS: usize = 256;
pub const MAX_CONNECTIONS_PER_ADDRESS: usize = 128;

/// All that are open, the oldest first.
pub struct Connections {
    max: usize,
    max_per_address: usize,
    open: Mutex<BTreeMap<u64, Open>>,
}

struct Open {
    from: IpAddr,
    activity: Activity,
    /// Dropped to close it.
    _open: oneshot::Sender<()>,
}

/// Whether a connection answers something now.
#[derive(Clone, Debug, Default)]
pub struct Activity(Arc<AtomicBool>);

impl Activity {
    /// It does, or does not any more.
    pub fn set(&self, is_busy: bool) {
        self.0.store(is_busy, Ordering::Relaxed);
    }
}

/// One of them, until it is dropped.
pub struct Place {
    all: Arc<Connections>,
    number: u64,
    /// To be set while it answers.
    pub activity: Activity,
    /// Ends when it has to give way.
    pub displaced: oneshot::Receiver<()>,
}

impl Connections {
    /// So many of all together, and so many of one address.
    pub fn new(max: usize, max_per_address: usize) -> Arc<Self> {
        Arc::new(Connections { max, max_per_address, open: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for one more; none where all others answer something.
    pub fn admit(self: &Arc<Self>, from: IpAddr) -> Option<Place> {
        let mut open = self.lock();
        let idle = |one: &Open| !one.activity.0.load(Ordering::Relaxed);
        let is_crowded = open.values().filter(|one| one.from == from).count() >= self.max_per_address;
        if is_crowded || open.len() >= self.max {
            let oldest = open.iter().find(|(_, one)| idle(one) && (!is_crowded || one.from == from));
            let oldest = oldest.map(|(number, _)| *number)?;
            open.remove(&oldest);
        }
        let number = open.last_key_value().map_or(0, |(last, _)| last + 1);
        let (_open, displaced) = oneshot::channel();
        let activity = Activity::default();
        open.insert(number, Open { from, activity: activity.clone(), _open });
        Some(Place { all: Arc::clone(self), number, activity, displaced })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.all.lock();
        // The number may be another's by now.
        if open.get(&self.number).is_some_and(|one| Arc::ptr_eq(&one.activity.0, &self.activity.0)) {
            open.remove(&self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_answers_nothing_gives_way() {
        let (one, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let all = Connections::new(3, 2);
        let mut places: Vec<Place> = (0..2).map(|_| all.admit(one).unwrap()).collect();
        places[0].activity.set(true);
        let third = all.admit(one).unwrap();
        assert!(places[1].displaced.try_recv().is_err_and(|error| error == oneshot::error::TryRecvError::Closed));
        assert!(places[0].displaced.try_recv().is_err_and(|error| error == oneshot::error::TryRecvError::Empty));
        third.activity.set(true);
        assert!(all.admit(one).is_none(), "both answer");
        let kept = all.admit(other).unwrap();
        kept.activity.set(true);
        assert!(all.admit(other).is_none());
        drop(places);
        assert!(all.admit(other).is_some());
    }
}
