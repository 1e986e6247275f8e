//! Who is connected.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// At the same time, from everywhere.
pub const MAX_CONNECTIONS: usize = 64;
/// At the same time from one address: a client that takes all it can get leaves places for the kubelet's probes, which come
/// from another.
pub const MAX_CONNECTIONS_PER_ADDRESS: usize = 8;

/// The places that are taken.
#[derive(Clone, Default)]
pub struct Places(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// A place, until it is dropped.
pub struct Place {
    places: Places,
    from: IpAddr,
}

impl Places {
    /// A place for a connection from there, if there is one.
    pub fn take(&self, from: IpAddr) -> Option<Place> {
        let mut taken = self.lock();
        let of_one = taken.get(&from).copied().unwrap_or(0);
        if of_one >= MAX_CONNECTIONS_PER_ADDRESS || taken.values().sum::<usize>() >= MAX_CONNECTIONS {
            return None;
        }
        taken.insert(from, of_one + 1);
        Some(Place { places: self.clone(), from })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        match taken.get(&self.from) {
            Some(&of_one) if of_one > 1 => taken.insert(self.from, of_one - 1),
            _ => taken.remove(&self.from),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: usize) -> IpAddr {
        IpAddr::from([10, 0, 0, u8::try_from(last).unwrap()])
    }

    #[test]
    fn one_address_has_few_places_and_gets_them_back() {
        let places = Places::default();
        let mut held: Vec<Place> = (0..MAX_CONNECTIONS_PER_ADDRESS).map(|_| places.take(address(1)).unwrap()).collect();
        assert!(places.take(address(1)).is_none());
        assert!(places.take(address(2)).is_some());
        held.pop();
        assert!(places.take(address(1)).is_some());
        held.clear();
        assert!(places.lock().is_empty(), "who has gone is not remembered");
    }

    #[test]
    fn all_together_have_no_more_than_there_are() {
        let places = Places::default();
        let take = |n: usize| places.take(address(n / MAX_CONNECTIONS_PER_ADDRESS)).unwrap();
        let held: Vec<Place> = (0..MAX_CONNECTIONS).map(take).collect();
        assert!(places.take(address(200)).is_none());
        drop(held);
        assert!(places.take(address(200)).is_some());
    }
}
