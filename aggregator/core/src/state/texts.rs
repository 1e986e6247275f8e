//! Labels and annotations, which tens of thousands of objects have a few of: without room for more.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Texts by name, in the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts(Box<[(String, String)]>);

impl Texts {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, name: &str) -> Option<&String> {
        let at = self.0.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
        self.0.get(at).map(|(_, text)| text)
    }

    /// Whether there is one of this name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }

    pub fn keys(&self) -> impl Iterator<Item = &String> {
        self.0.iter().map(|(name, _)| name)
    }
}

impl From<BTreeMap<String, String>> for Texts {
    fn from(texts: BTreeMap<String, String>) -> Self {
        Texts(texts.into_iter().collect())
    }
}

impl FromIterator<(String, String)> for Texts {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(texts: I) -> Self {
        BTreeMap::from_iter(texts).into()
    }
}

impl Serialize for Texts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, text)| (name, text)))
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BTreeMap::deserialize(deserializer).map(Texts::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_its_name() {
        let texts: Texts = serde_json::from_str(r#"{"b":"2","a":"1","c":"3","a":"4"}"#).unwrap();
        assert_eq!(
            ["a", "b", "c", "d"].map(|name| texts.get(name).map(String::as_str)),
            [Some("4"), Some("2"), Some("3"), None]
        );
        assert_eq!(serde_json::to_string(&texts).unwrap(), r#"{"a":"4","b":"2","c":"3"}"#);
    }
}
