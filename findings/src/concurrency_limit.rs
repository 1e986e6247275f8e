//! How many at the same time: connections of an address, streams of a user.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

/// Counts who has how many.
pub struct ConcurrencyLimit<K> {
    max: usize,
    max_per_key: usize,
    taken: Mutex<HashMap<K, usize>>,
}

/// One of them or more; they are free again when this is dropped.
pub struct Permit<K: Hash + Eq> {
    all: Arc<ConcurrencyLimit<K>>,
    who: K,
    count: usize,
}

impl<K: Hash + Eq + Clone> ConcurrencyLimit<K> {
    /// So many of all together, and so many of one.
    pub fn new(max: usize, max_per_key: usize) -> Arc<Self> {
        Arc::new(ConcurrencyLimit { max, max_per_key, taken: Mutex::default() })
    }

    /// None: there is none left.
    pub fn take(self: &Arc<Self>, who: K) -> Option<Permit<K>> {
        self.take_many(who, 1)
    }

    /// So many at once; none where there are not so many left.
    pub fn take_many(self: &Arc<Self>, who: K, count: usize) -> Option<Permit<K>> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let own = taken.get(&who).copied().unwrap_or(0);
        if taken.values().sum::<usize>() + count > self.max || own + count > self.max_per_key {
            return None;
        }
        *taken.entry(who.clone()).or_default() += count;
        Some(Permit { all: Arc::clone(self), who, count })
    }
}

impl<K: Hash + Eq> Drop for Permit<K> {
    fn drop(&mut self) {
        let mut taken = self.all.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.who) {
            *count -= self.count;
            if *count == 0 {
                taken.remove(&self.who);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_does_not_take_all_places() {
        let places = ConcurrencyLimit::new(3, 2);
        let mut taken: Vec<_> = (0..2).map(|_| places.take("a").unwrap()).collect();
        assert!(places.take("a").is_none());
        let other = places.take("b").unwrap();
        assert!(places.take("c").is_none(), "all are taken");
        taken.pop();
        assert!(places.take("a").is_some());
        drop((taken, other));
        assert!(places.taken.lock().unwrap().is_empty());
    }
}
