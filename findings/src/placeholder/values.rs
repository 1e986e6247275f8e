//! The values that a finding has.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use super::Placeholder;
use super::shape::{MAX_TEXT, Shape};
use crate::clean;

/// What takes the place of placeholders: each has one value wherever it stands, and it has its shape.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Values(BTreeMap<Placeholder, String>);

/// A text that cannot stand where it should.
#[derive(Debug, thiserror::Error)]
#[error("{value:?} is no value for {{{placeholder}}}")]
pub struct BadValue {
    placeholder: String,
    value: String,
}

impl Values {
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts `value` in the place of `placeholder`. One that does not fit leaves it empty, and the steps that
    /// need it are left out. Of a text only what can be shown is kept.
    pub fn set(&mut self, placeholder: Placeholder, value: impl ToString) {
        let value = match (placeholder.shape(), value.to_string()) {
            (Shape::Text, value) => clean(&value, MAX_TEXT),
            (_, value) => value,
        };
        if placeholder.takes(&value) {
            self.0.insert(placeholder, value);
        } else {
            self.0.remove(&placeholder);
        }
    }

    /// The same, with one value more.
    pub fn with(mut self, placeholder: Placeholder, value: impl ToString) -> Self {
        self.set(placeholder, value);
        self
    }

    /// The value of a placeholder.
    pub fn get(&self, placeholder: Placeholder) -> Option<&str> {
        self.0.get(&placeholder).map(String::as_str)
    }

    /// Whether no placeholder has a value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Drops what does not pass.
    pub fn retain(&mut self, mut passes: impl FnMut(Placeholder, &str) -> bool) {
        self.0.retain(|placeholder, value| passes(*placeholder, value));
    }
}

impl TryFrom<BTreeMap<String, String>> for Values {
    type Error = BadValue;

    fn try_from(values: BTreeMap<String, String>) -> Result<Self, BadValue> {
        let one = |(name, value): (String, String)| match Placeholder::named(&name) {
            Some(placeholder) if placeholder.takes(&value) => Ok((placeholder, value)),
            _ => Err(BadValue { placeholder: clean(&name, 40), value: clean(&value, 80) }),
        };
        values.into_iter().map(one).collect::<Result<_, _>>().map(Values)
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Values::try_from(BTreeMap::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_does_not_fit_leaves_its_place_empty() {
        let values = Values::new().with(Placeholder::Pid, 42).with(Placeholder::Pid, -1);
        assert_eq!(values, Values::new());
        assert_eq!(Values::new().with(Placeholder::Comm, "a\u{1b}b").get(Placeholder::Comm), Some("a\\u{1b}b"));
    }

    #[test]
    fn they_are_read_as_a_whole_or_not_at_all() {
        let values = Values::new().with(Placeholder::Pid, 42).with(Placeholder::Comm, "du");
        let json = serde_json::to_string(&values).unwrap();
        assert_eq!(json, r#"{"comm":"du","pid":"42"}"#);
        assert_eq!(serde_json::from_str::<Values>(&json).unwrap(), values);
        for bad in [r#"{"pid":"-1"}"#, r#"{"pid":"42","invented":"x"}"#, r#"{"pid":42}"#] {
            assert!(serde_json::from_str::<Values>(bad).is_err(), "{bad}");
        }
    }
}
