//! A budget of bytes that is shared out per namespace, so that a flood in one costs that one.

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

    /// From now on what is left is for whoever comes first.
    pub fn open(&mut self) {
        self.part_bytes = usize::MAX;
    }
}

/// Whose share an object counts for. A namespace counts for itself; objects of no namespace together for one.
fn namespace(object: &ObjectRef) -> &str {
    const NAMESPACES: ApiResource = known::NAMESPACES;
    match &object.namespace {
        Some(namespace) => namespace,
        None if *object.kind == *NAMESPACES.kind => &object.name,
        None => "",
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
}
