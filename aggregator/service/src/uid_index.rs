//! Where each object of a watched list stands. Lists of ten thousand change many times a second, and to compare so many
//! uids each time costs more than all else that a change costs.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use aggregator_core::state::Facts;
use foldhash::HashMap;

/// By the hash of the uid: where two are the same by chance, an object is looked for that is not there.
#[derive(Debug, Default)]
pub struct UidIndex(HashMap<u64, usize>);

impl UidIndex {
    /// Of a list as it came.
    pub fn new(facts: &Facts) -> Self {
        UidIndex(facts.metas().into_iter().enumerate().map(|(at, meta)| (hash(&meta.uid), at)).collect())
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Where the object with this uid stands.
    pub fn find(&self, facts: &Facts, uid: &str) -> Option<usize> {
        self.0.get(&hash(uid)).copied().filter(|at| facts.uid_at(*at) == Some(uid))
    }

    /// Adds one object that is not there.
    pub fn append(&mut self, facts: &mut Facts, one: Facts) {
        let at = facts.count();
        facts.append(one);
        if let Some(uid) = facts.uid_at(at) {
            self.0.insert(hash(uid), at);
        }
    }

    /// Takes out an object of the namespace that has most of them, if that has more than the namespace of `one` would have
    /// with it: what a flood in one namespace leaves out is its own.
    pub fn make_room(&mut self, facts: &mut Facts, one: &Facts) -> Option<Facts> {
        let namespace_at = |facts: &Facts, at| facts.meta_at(at).map(|meta| meta.namespace.clone().unwrap_or_default());
        let mut counts: HashMap<String, usize> = HashMap::default();
        for meta in facts.metas() {
            *counts.entry(meta.namespace.clone().unwrap_or_default()).or_default() += 1;
        }
        let own = namespace_at(one, 0)?;
        let with_one = counts.get(&own).map_or(1, |count| count + 1);
        let (largest, _) = counts.into_iter().max_by_key(|(_, count)| *count).filter(|(_, count)| *count > with_one)?;
        let at = (0..facts.count()).rev().find(|at| namespace_at(facts, *at).as_ref() == Some(&largest))?;
        let uid = facts.uid_at(at)?.to_owned();
        self.take(facts, &uid)
    }

    /// Takes out the object with this uid, if it is there.
    pub fn take(&mut self, facts: &mut Facts, uid: &str) -> Option<Facts> {
        let at = self.find(facts, uid)?;
        self.0.remove(&hash(uid));
        let taken = facts.swap_remove(at);
        if let Some(moved) = facts.uid_at(at) {
            self.0.insert(hash(moved), at);
        }
        Some(taken)
    }
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
