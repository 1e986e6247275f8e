//! What all share, shared out per namespace, so that a flood in one costs that one: a budget of bytes, turns, and places.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashMap, HashSet};

use crate::state::{ApiResource, ObjectRef, known};

/// What a namespace has used of the budget that all share.
///
/// At first each has an equal part of it. [`Shares::open`] then lets any of them use what the others have left.
#[derive(Debug)]
pub struct Shares<'n> {
    max_bytes: usize,
    used_bytes: usize,
    part_bytes: usize,
    used_by: HashMap<&'n str, usize>,
}

impl<'n> Shares<'n> {
    /// Shares the budget out to the namespaces of these objects.
    pub fn new(max_bytes: usize, objects: impl Iterator<Item = &'n ObjectRef>) -> Self {
        let namespaces: HashSet<&str> = objects.map(namespace).collect();
        let part_bytes = max_bytes / namespaces.len().max(1);
        Shares { max_bytes, used_bytes: 0, part_bytes, used_by: HashMap::default() }
    }

    /// Whether more may be kept for this object.
    pub fn has_room(&self, object: &'n ObjectRef) -> bool {
        let used = self.used_by.get(namespace(object)).copied().unwrap_or(0);
        self.used_bytes < self.max_bytes && used < self.part_bytes
    }

    /// Counts what is kept for this object.
    pub fn charge(&mut self, object: &'n ObjectRef, bytes: usize) {
        self.used_bytes += bytes;
        *self.used_by.entry(namespace(object)).or_default() += bytes;
    }

    /// From now on any namespace may use what is left, first come first served.
    pub fn open(&mut self) {
        self.part_bytes = usize::MAX;
    }
}

/// Whose share an object counts for. A namespace counts for itself; objects of no namespace together for one.
pub fn namespace(object: &ObjectRef) -> &str {
    const NAMESPACES: ApiResource = known::NAMESPACES;
    match &object.namespace {
        Some(namespace) => namespace,
        None if *object.kind == *NAMESPACES.kind => &object.name,
        None => "",
    }
}

/// In the order in which namespaces take turns: the first of each, then the second of each.
pub fn in_turns<'n, T>(all: impl IntoIterator<Item = T>, namespace: impl Fn(&T) -> &'n str) -> Vec<T> {
    let mut counts: HashMap<&str, usize> = HashMap::default();
    let mut ranked: Vec<(usize, T)> = Vec::new();
    for one in all {
        let count = counts.entry(namespace(&one)).or_default();
        ranked.push((*count, one));
        *count += 1;
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, one)| one).collect()
}

/// Who has what of a room that all share. What a question of it costs does not depend on how much is taken.
#[derive(Clone, Debug)]
pub struct Places<K> {
    taken: HashMap<String, Taken<K>>,
    /// How much each namespace has.
    sizes: BTreeSet<(usize, String)>,
    used: usize,
}

/// What one namespace has.
#[derive(Clone, Debug)]
struct Taken<K> {
    sizes: BTreeMap<K, usize>,
    used: usize,
}

impl<K> Default for Places<K> {
    fn default() -> Self {
        Places { taken: HashMap::default(), sizes: BTreeSet::new(), used: 0 }
    }
}

impl<K: Ord + Clone> Places<K> {
    /// Takes so much for something of this namespace, in place of what it has.
    pub fn take(&mut self, namespace: &str, key: K, size: usize) {
        self.change(namespace, |sizes| (sizes.insert(key, size).unwrap_or(0), size));
    }

    /// Gives it back.
    pub fn release(&mut self, namespace: &str, key: &K) {
        self.change(namespace, |sizes| (sizes.remove(key).unwrap_or(0), 0));
    }

    /// What has a place.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.taken.values().flat_map(|taken| taken.sizes.keys())
    }

    pub fn used(&self) -> usize {
        self.used
    }

    /// How much this one takes.
    pub fn size(&self, namespace: &str, key: &K) -> usize {
        self.taken.get(namespace).and_then(|taken| taken.sizes.get(key)).copied().unwrap_or(0)
    }

    /// `change` says what something took before and what it takes now.
    fn change(&mut self, namespace: &str, change: impl FnOnce(&mut BTreeMap<K, usize>) -> (usize, usize)) {
        let none = || Taken { sizes: BTreeMap::new(), used: 0 };
        let taken = self.taken.entry(namespace.to_owned()).or_insert_with(none);
        let before = taken.used;
        let (less, more) = change(&mut taken.sizes);
        taken.used = before - less + more;
        let (after, is_empty) = (taken.used, taken.sizes.is_empty());
        self.used = self.used - less + more;
        if is_empty {
            self.taken.remove(namespace);
        }
        if before != after || is_empty {
            self.sizes.remove(&(before, namespace.to_owned()));
        }
        if !is_empty {
            self.sizes.insert((after, namespace.to_owned()));
        }
    }

    /// What has to go for so much more of this namespace: the last of the namespace that has most, if that has more than this
    /// one would have.
    pub fn displaced_by(&self, namespace: &str, size: usize) -> Option<K> {
        let with_it = self.taken.get(namespace).map_or(0, |taken| taken.used) + size;
        let (_, largest) = self.sizes.last().filter(|(size, _)| *size > with_it)?;
        self.taken.get(largest)?.sizes.last_key_value().map(|(key, _)| key.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_in_one_namespace_takes_no_room_from_another_and_what_is_left_is_for_all() {
        let flood: Vec<ObjectRef> = (0..100).map(|number| ObjectRef::pod("flood", &number.to_string())).collect();
        let small = ObjectRef::pod("small", "p");
        let mut shares = Shares::new(100, flood.iter().chain([&small]));
        let mut taken = 0;
        for object in &flood {
            if shares.has_room(object) {
                shares.charge(object, 10);
                taken += 1;
            }
        }
        assert_eq!(taken, 5);
        assert!(shares.has_room(&small));
        shares.charge(&small, 10);
        shares.open();
        for object in &flood {
            if shares.has_room(object) {
                shares.charge(object, 10);
                taken += 1;
            }
        }
        assert_eq!(taken, 9);
    }

    #[test]
    fn namespaces_take_turns() {
        let all = ["a1", "a2", "a3", "b1", "c1", "b2"];
        assert_eq!(in_turns(all, |one| &one[..1]), ["a1", "b1", "c1", "a2", "b2", "a3"]);
    }

    #[test]
    fn a_place_is_taken_from_whom_has_most() {
        let mut places = Places::default();
        (0..5).for_each(|number| places.take("flood", number, 2));
        assert_eq!((places.displaced_by("flood", 2), places.used()), (None, 10));
        assert_eq!(places.displaced_by("small", 2), Some(4));
        assert_eq!(places.displaced_by("small", 10), None, "it would have as much");
        places.release("flood", &4);
        places.take("small", 7, 2);
        (0..3).for_each(|number| places.release("flood", &number));
        assert_eq!((places.displaced_by("other", 2), places.used()), (None, 4), "each has one");
        places.take("small", 7, 5);
        assert_eq!((places.displaced_by("other", 2), places.used()), (Some(7), 7), "it has grown");
    }
}
