//! The finalizers of an object. A tenant may set as many as an object has room for, so only the first are kept, and the
//! others counted.

use std::fmt;
use std::ops::Deref;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// What is kept of one object. Controllers set one each; more than five on an object were never seen.
const MAX_FINALIZERS: usize = 20;

/// So many bytes of names stand in a sentence. Those of controllers take fewer: a name has at most 317 characters.
const MAX_SENTENCE_BYTES: usize = 400;

/// The first finalizers of an object, in its order, and how many more it has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finalizers {
    names: Vec<String>,
    left_out: usize,
}

impl Finalizers {
    /// Each of them once: the API server takes a list that has one twice.
    pub fn distinct(&self) -> impl Iterator<Item = &str> {
        let all = self.names.iter().enumerate();
        all.filter(|(index, one)| !self.names[..*index].contains(one)).map(|(_, one)| one.as_str())
    }

    /// Whether the object has none.
    pub fn is_unset(&self) -> bool {
        self.names.is_empty()
    }

    /// `finalizer a`, or `finalizers a, b and 18 more`: the first of them, as many as one can read.
    pub fn in_words(&self) -> String {
        let mut room = MAX_SENTENCE_BYTES;
        let fits = |name: &&String| {
            let fits = name.len() <= room;
            room = room.saturating_sub(name.len());
            fits
        };
        let named = self.names.iter().take_while(fits).count().max(1).min(self.names.len());
        let (all, names) = (self.names.len() + self.left_out, self.names[..named].join(", "));
        match (all, all - named) {
            (1, _) => format!("finalizer {names}"),
            (_, 0) => format!("finalizers {names}"),
            (_, more) => format!("finalizers {names} and {more} more"),
        }
    }

    /// How many more the object has.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    fn push(&mut self, name: String) {
        match self.names.len() < MAX_FINALIZERS {
            true => self.names.push(name),
            false => self.left_out += 1,
        }
    }
}

impl Deref for Finalizers {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.names
    }
}

impl<'a> IntoIterator for &'a Finalizers {
    type Item = &'a String;
    type IntoIter = std::slice::Iter<'a, String>;

    fn into_iter(self) -> Self::IntoIter {
        self.names.iter()
    }
}

impl FromIterator<String> for Finalizers {
    fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Self {
        let mut kept = Finalizers::default();
        names.into_iter().for_each(|name| kept.push(name));
        kept.names.shrink_to_fit();
        kept
    }
}

/// As a list like the API's where none is left out, else with their number.
#[derive(Serialize)]
struct Counted<'a> {
    names: &'a [String],
    left_out: usize,
}

impl Serialize for Finalizers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Finalizers { names, left_out } = self;
        match *left_out {
            0 => names.serialize(serializer),
            left_out => Counted { names, left_out }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Finalizers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListOrCounted)
    }
}

struct ListOrCounted;

impl<'de> Visitor<'de> for ListOrCounted {
    type Value = Finalizers;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("finalizers")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Finalizers, E> {
        Ok(Finalizers::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Finalizers, A::Error> {
        let mut kept = Finalizers::default();
        while kept.names.len() < MAX_FINALIZERS {
            let Some(name) = list.next_element()? else { break };
            kept.push(name);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {
            kept.left_out += 1;
        }
        kept.names.shrink_to_fit();
        Ok(kept)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Finalizers, A::Error> {
        let mut kept = Finalizers::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "names" => kept.names = map.next_value()?,
                "left_out" => kept.left_out = map.next_value()?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn many(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("example.com/{number}")).collect()
    }

    #[test]
    fn the_first_are_kept_and_the_others_counted_through_a_saved_state() {
        let all = serde_json::to_string(&many(15_000)).unwrap();
        let kept: Finalizers = serde_json::from_str(&all).unwrap();
        assert_eq!((kept.len(), kept.left_out()), (MAX_FINALIZERS, 15_000 - MAX_FINALIZERS));
        let saved = serde_json::to_string(&kept).unwrap();
        assert_eq!(serde_json::from_str::<Finalizers>(&saved).unwrap(), kept);
    }

    /// Two thousand pods with the names of all their finalizers in several sentences took 12 MiB.
    #[test]
    fn a_sentence_names_as_many_as_one_can_read() {
        let words = |names: Vec<String>| names.into_iter().collect::<Finalizers>().in_words();
        assert_eq!(words(vec!["example.com/hold".to_owned()]), "finalizer example.com/hold");
        assert_eq!(words(many(3)), "finalizers example.com/0, example.com/1, example.com/2");
        let long = |count: usize| (0..count).map(|number| format!("{number}.{}", "x".repeat(130))).collect::<Vec<_>>();
        let (all, three) = (words(long(100)), long(3).join(", "));
        assert_eq!(all, format!("finalizers {three} and 97 more"));
        assert!(words(vec!["x".repeat(1000); 2]).ends_with("x and 1 more"));
    }

    #[test]
    fn few_are_saved_as_the_api_writes_them() {
        let kept: Finalizers = many(MAX_FINALIZERS).into_iter().collect();
        assert_eq!(serde_json::to_value(&kept).unwrap(), serde_json::to_value(many(MAX_FINALIZERS)).unwrap());
        assert_eq!(serde_json::from_str::<Finalizers>("null").unwrap(), Finalizers::default());
    }
}
