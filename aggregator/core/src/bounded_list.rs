//! A list of which each namespace keeps its share of the room, and where each of its objects stands.
//!
//! Lists of ten thousand change many times a second, and to compare so many uids each time costs more than all else that a
//! change costs.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use foldhash::HashMap;

use crate::shares::Places;
use crate::state::{Facts, Meta};

/// How much one list may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// So many objects.
    pub max_objects: usize,
    /// So many bytes of memory.
    pub max_bytes: usize,
}

impl Room {
    /// What an object takes of it: as much as there is for each, or more.
    fn size(self, facts: &Facts, at: usize) -> usize {
        facts.size_bytes_at(at).max(self.max_bytes.div_ceil(self.max_objects.max(1)))
    }
}

/// What became of an object that was put into a list.
#[derive(Debug, Default)]
pub struct Put {
    pub before: Option<Facts>,
    /// What was taken out for it.
    pub left_out: Vec<Facts>,
    /// Whether it, or another, found no room.
    pub is_cut: bool,
}

/// Where the objects of a list stand, which is kept elsewhere, and what each namespace has of its room.
///
/// It knows them by the hash of the uid: where two are the same by chance, an object is looked for that is not there.
#[derive(Debug)]
pub struct BoundedList {
    room: Room,
    at: HashMap<u64, usize>,
    places: Places<u64>,
}

impl BoundedList {
    /// Nothing is in it yet.
    pub fn new(room: Room) -> Self {
        BoundedList { room, at: HashMap::default(), places: Places::default() }
    }

    /// Of a list as it came, which has found room before.
    pub fn index(room: Room, facts: &Facts) -> Self {
        let mut list = BoundedList::new(room);
        (0..facts.metas().len()).for_each(|at| list.insert(facts, at));
        list
    }

    fn insert(&mut self, facts: &Facts, at: usize) {
        let Some(meta) = facts.meta_at(at) else { return };
        self.at.insert(hash(meta), at);
        self.places.take(namespace(meta), hash(meta), self.room.size(facts, at));
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// How much of the room is taken, in percent.
    pub fn used_percent(&self) -> usize {
        self.places.used() * 100 / self.room.max_bytes.max(1)
    }

    /// Puts one object in, in place of what it was before. Of the namespace that has most of the room, if that has more than
    /// the namespace of this object would have with it, some are taken out until there is room: what a flood in one namespace
    /// leaves out is its own.
    pub fn put(&mut self, facts: &mut Facts, one: Facts) -> Put {
        let mut put = Put::default();
        let size = self.room.size(&one, 0);
        let Some((key, namespace)) = one.meta_at(0).map(|meta| (hash(meta), namespace(meta).to_owned())) else {
            return put;
        };
        if let Some(at) = self.find(facts, &one) {
            let grown = size.saturating_sub(self.places.size(&namespace, &key));
            if grown == 0 || self.places.used() + grown <= self.room.max_bytes {
                self.places.take(&namespace, key, size);
                put.before = Some(facts.replace(at, one));
                return put;
            }
            put.before = self.take_at(facts, at);
        }
        while self.places.used() + size > self.room.max_bytes {
            put.is_cut = true;
            let displaced = self.places.displaced_by(&namespace, size);
            let Some(at) = displaced.and_then(|key| self.at.get(&key).copied()) else { return put };
            put.left_out.extend(self.take_at(facts, at));
        }
        let at = facts.count();
        facts.append(one);
        self.insert(facts, at);
        put
    }

    /// Puts each of these in. Whether something found no room.
    pub fn put_all(&mut self, facts: &mut Facts, more: Facts) -> bool {
        let mut is_cut = false;
        for one in more.into_each() {
            is_cut |= self.put(facts, one).is_cut;
        }
        is_cut
    }

    fn find(&self, facts: &Facts, one: &Facts) -> Option<usize> {
        let meta = one.meta_at(0)?;
        self.at.get(&hash(meta)).copied().filter(|at| facts.meta_at(*at).is_some_and(|known| is_same(known, meta)))
    }

    /// Takes out the object with this uid, if it is there.
    pub fn take(&mut self, facts: &mut Facts, uid: &str) -> Option<Facts> {
        let at = self.at.get(&hash_uid(uid)).copied().filter(|at| facts.uid_at(*at) == Some(uid))?;
        self.take_at(facts, at)
    }

    fn take_at(&mut self, facts: &mut Facts, at: usize) -> Option<Facts> {
        let meta = facts.meta_at(at)?;
        self.at.remove(&hash(meta));
        self.places.release(namespace(meta), &hash(meta));
        let taken = facts.swap_remove(at);
        if let Some(moved) = facts.meta_at(at) {
            self.at.insert(hash(moved), at);
        }
        Some(taken)
    }
}

/// A list while it is read.
#[derive(Debug)]
pub struct Gathered {
    facts: Facts,
    list: BoundedList,
    is_cut: bool,
}

impl Gathered {
    /// Begins with no object, of the kind of these.
    pub fn new(none: Facts, room: Room) -> Self {
        Gathered { facts: none, list: BoundedList::new(room), is_cut: false }
    }

    /// Takes these in, each in place of what it was before.
    pub fn add(&mut self, more: Facts) {
        self.is_cut |= self.list.put_all(&mut self.facts, more);
    }

    /// Takes out the object with this uid, if it is there.
    pub fn remove(&mut self, uid: &str) {
        self.list.take(&mut self.facts, uid);
    }

    /// Whether something was left out.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether its objects are of namespaces, which share the room.
    pub fn is_shared(&self) -> bool {
        self.facts.meta_at(0).is_some_and(|meta| meta.namespace.is_some())
    }

    /// What was kept.
    pub fn into_facts(self) -> Facts {
        self.facts
    }
}

fn namespace(meta: &Meta) -> &str {
    meta.namespace.as_deref().unwrap_or_default()
}

/// Every object of a server has a uid; in a file written by hand names are enough.
fn is_same(one: &Meta, other: &Meta) -> bool {
    one.uid == other.uid && (!one.uid.is_empty() || (&one.namespace, &one.name) == (&other.namespace, &other.name))
}

fn hash(meta: &Meta) -> u64 {
    match meta.uid.as_str() {
        "" => hash_uid(&format!("{}/{}", namespace(meta), meta.name)),
        uid => hash_uid(uid),
    }
}

fn hash_uid(uid: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    uid.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::state::{Page, Question, Resource, Scope};

    const ROOM: Room = Room { max_objects: 100, max_bytes: 100_000 };

    fn list(items: &[Value]) -> Facts {
        let question = Question::terminating_metadata(Resource::new("", "v1", "pods"), Scope::All);
        Page::read(&question, json!({"items": items}).to_string().as_bytes()).unwrap().facts
    }

    fn facts(uids: &[&str]) -> Facts {
        list(&uids.iter().map(|uid| json!({"metadata": {"uid": uid}})).collect::<Vec<_>>())
    }

    fn pod(namespace: &str, number: usize, label_bytes: usize) -> Facts {
        let labels = json!({"label": "x".repeat(label_bytes)});
        let uid = format!("{namespace}-{number}");
        list(&[json!({"metadata": {"name": uid, "namespace": namespace, "uid": uid, "labels": labels}})])
    }

    #[test]
    fn whatever_goes_the_others_are_found() {
        let all = ["a", "b", "c", "d"];
        for first in all {
            for second in all.into_iter().filter(|uid| *uid != first) {
                let mut list = facts(&all[..3]);
                let mut places = BoundedList::index(ROOM, &list);
                places.put_all(&mut list, facts(&all[3..]));
                for uid in [first, second] {
                    let taken = places.take(&mut list, uid).unwrap();
                    assert_eq!(taken.uid_at(0), Some(uid));
                    assert!(places.take(&mut list, uid).is_none(), "{uid} was taken");
                }
                for uid in all {
                    let found = places.find(&list, &facts(&[uid])).and_then(|at| list.uid_at(at));
                    assert_eq!(found, (uid != first && uid != second).then_some(uid));
                }
                assert_eq!(places.len(), list.count());
            }
        }
    }

    #[test]
    fn fat_objects_of_one_namespace_leave_room_for_those_of_another() {
        let (mut list, mut places) = (facts(&[]), BoundedList::new(ROOM));
        let is_cut = (0..50).map(|number| places.put(&mut list, pod("fat", number, 20_000)).is_cut).collect::<Vec<_>>();
        assert!(!is_cut[0] && is_cut[49]);
        assert!(list.size_bytes() <= ROOM.max_bytes, "{}", list.size_bytes());
        (0..40).for_each(|number| drop(places.put(&mut list, pod("small", number, 10))));
        let small = list.metas().iter().filter(|meta| meta.namespace.as_deref() == Some("small")).count();
        assert_eq!(small, 40);
        assert!(list.size_bytes() <= ROOM.max_bytes && list.count() > small, "{}", list.count());
    }

    /// One that grows is counted as it is now.
    #[test]
    fn an_object_that_grows_takes_no_more_than_there_is() {
        let (mut list, mut places) = (facts(&[]), BoundedList::new(ROOM));
        (0..20).for_each(|number| drop(places.put(&mut list, pod("a", number, 10))));
        (0..20).for_each(|number| drop(places.put(&mut list, pod("a", number, 20_000))));
        assert!(list.size_bytes() <= ROOM.max_bytes, "{}", list.size_bytes());
        assert_eq!(places.len(), list.count());
        assert!(places.put(&mut list, pod("a", 99, 200_000)).is_cut, "it is larger than all there is");
    }

    /// More namespaces than there is room for objects.
    #[test]
    fn of_more_namespaces_than_have_room_some_are_kept() {
        let (mut list, mut places) = (facts(&[]), BoundedList::new(ROOM));
        (0..101).for_each(|number| drop(places.put(&mut list, pod(&format!("n{number}"), 0, 10))));
        assert_eq!((list.count(), places.used_percent()), (100, 100));
    }
}
