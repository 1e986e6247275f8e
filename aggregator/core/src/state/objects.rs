//! A list of objects of whatever kind.

use std::io;

use super::Meta;
use super::facts::{Facts, Kind};

/// What is done with a list without regard to the kind of its objects. Of another kind no object is taken in.
pub(super) trait Objects {
    fn len(&self) -> usize;
    fn meta(&self, at: usize) -> Option<&Meta>;
    fn metas(&self) -> Vec<&Meta>;
    fn size_bytes(&self, at: usize) -> usize;
    fn for_each_meta(&mut self, change: &mut dyn FnMut(&mut Meta));
    fn retain(&mut self, keep: &mut dyn FnMut(&Meta) -> bool);
    fn shrink(&mut self);
    fn append(&mut self, more: Facts);
    fn replace(&mut self, at: usize, one: Facts) -> Facts;
    fn remove(&mut self, at: usize) -> Facts;
}

impl<K: Kind> Objects for Vec<K> {
    fn len(&self) -> usize {
        self.len()
    }

    fn meta(&self, at: usize) -> Option<&Meta> {
        self.get(at).map(Kind::meta)
    }

    fn metas(&self) -> Vec<&Meta> {
        self.iter().map(Kind::meta).collect()
    }

    /// What it takes by itself, and its texts. Those are counted as they would be saved: with the names of the fields, which
    /// are about as long as what the allocator adds.
    fn size_bytes(&self, at: usize) -> usize {
        let mut saved = Counter(0);
        let counted = self.get(at).map(|object| serde_json::to_writer(&mut saved, object));
        // A counter takes whatever it is given.
        debug_assert!(counted.is_none_or(|counted| counted.is_ok()));
        size_of::<K>() + saved.0
    }

    fn for_each_meta(&mut self, change: &mut dyn FnMut(&mut Meta)) {
        self.iter_mut().for_each(|object| change(object.meta_mut()));
    }

    fn retain(&mut self, keep: &mut dyn FnMut(&Meta) -> bool) {
        self.retain(|object| keep(object.meta()));
    }

    fn shrink(&mut self) {
        self.shrink_to_fit();
    }

    fn append(&mut self, more: Facts) {
        append(self, K::from_facts(more).unwrap_or_default());
    }

    fn replace(&mut self, at: usize, one: Facts) -> Facts {
        let places = self.get_mut(at).into_iter();
        let replaced = places.zip(K::from_facts(one).unwrap_or_default());
        K::into_facts(replaced.map(|(place, object)| std::mem::replace(place, object)).collect())
    }

    fn remove(&mut self, at: usize) -> Facts {
        K::into_facts(if at < self.len() { vec![self.swap_remove(at)] } else { Vec::new() })
    }
}

/// Counts what is written, and keeps none of it.
struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Of ten thousand objects twice the room is much: it grows by a little.
fn append<K>(objects: &mut Vec<K>, more: Vec<K>) {
    if objects.capacity() - objects.len() < more.len() {
        objects.reserve_exact(more.len().max(objects.len() / 16));
    }
    objects.extend(more);
}
