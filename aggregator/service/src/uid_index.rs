//! Where each object of a watched list stands. Lists of ten thousand change many times a second, and to compare so many
//! uids each time costs more than all else that a change costs.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use aggregator_core::shares::Places;
use aggregator_core::state::{Facts, Meta};
use foldhash::HashMap;

/// By the hash of the uid: where two are the same by chance, an object is looked for that is not there.
#[derive(Debug, Default)]
pub struct UidIndex {
    at: HashMap<u64, usize>,
    places: Places<u64>,
}

impl UidIndex {
    /// Of a list as it came.
    pub fn new(facts: &Facts) -> Self {
        let mut index = UidIndex::default();
        facts.metas().into_iter().enumerate().for_each(|(at, meta)| index.insert(meta, at));
        index
    }

    fn insert(&mut self, meta: &Meta, at: usize) {
        self.at.insert(hash(&meta.uid), at);
        self.places.take(namespace(meta), hash(&meta.uid));
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Where the object with this uid stands.
    pub fn find(&self, facts: &Facts, uid: &str) -> Option<usize> {
        self.at.get(&hash(uid)).copied().filter(|at| facts.uid_at(*at) == Some(uid))
    }

    /// Adds one object that is not there.
    pub fn append(&mut self, facts: &mut Facts, one: Facts) {
        let at = facts.count();
        facts.append(one);
        if let Some(meta) = facts.meta_at(at) {
            self.insert(meta, at);
        }
    }

    /// Takes out an object of the namespace that has most of them, if that has more than the namespace of `one` would have
    /// with it: what a flood in one namespace leaves out is its own.
    pub fn make_room(&mut self, facts: &mut Facts, one: &Facts) -> Option<Facts> {
        let displaced = self.places.displaced_by(namespace(one.meta_at(0)?))?;
        let uid = facts.uid_at(*self.at.get(&displaced)?)?.to_owned();
        self.take(facts, &uid)
    }

    /// Takes out the object with this uid, if it is there.
    pub fn take(&mut self, facts: &mut Facts, uid: &str) -> Option<Facts> {
        let at = self.find(facts, uid)?;
        self.at.remove(&hash(uid));
        if let Some(meta) = facts.meta_at(at) {
            self.places.release(namespace(meta), &hash(uid));
        }
        let taken = facts.swap_remove(at);
        if let Some(moved) = facts.uid_at(at) {
            self.at.insert(hash(moved), at);
        }
        Some(taken)
    }
}

fn namespace(meta: &Meta) -> &str {
    meta.namespace.as_deref().unwrap_or_default()
}

fn hash(uid: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    uid.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use aggregator_core::state::Page;

    use super::*;
    use crate::judge::watched;

    fn facts(uids: &[&str]) -> Facts {
        let items: Vec<String> = uids.iter().map(|uid| format!(r#"{{"metadata":{{"uid":"{uid}"}}}}"#)).collect();
        let list = format!(r#"{{"items":[{}]}}"#, items.join(","));
        Page::read(&watched()[1], list.as_bytes()).unwrap().facts
    }

    #[test]
    fn whatever_goes_the_others_are_found() {
        let all = ["a", "b", "c", "d"];
        for first in all {
            for second in all.into_iter().filter(|uid| *uid != first) {
                let mut list = facts(&all[..3]);
                let mut places = UidIndex::new(&list);
                places.append(&mut list, facts(&all[3..]));
                for uid in [first, second] {
                    let taken = places.take(&mut list, uid).unwrap();
                    assert_eq!(taken.uid_at(0), Some(uid));
                    assert!(places.take(&mut list, uid).is_none(), "{uid} was taken");
                }
                for uid in all {
                    let found = places.find(&list, uid).and_then(|at| list.uid_at(at));
                    assert_eq!(found, (uid != first && uid != second).then_some(uid));
                }
                assert_eq!(places.len(), list.count());
            }
        }
    }
}
