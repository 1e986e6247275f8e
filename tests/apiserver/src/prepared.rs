//! Objects that are served as they were written: as text, and many.

use serde_json::Value;

use crate::object::Key;

/// An object of a cluster that is too large to be kept as files or as parsed values.
#[derive(Clone, Debug)]
pub struct Prepared {
    dir: String,
    key: Key,
    /// `{"metadata":{…},…}`
    text: Box<str>,
    /// Where the metadata ends.
    metadata_end: usize,
}

const HEAD: &str = r#"{"metadata":"#;

impl Prepared {
    /// An object of the resource that is kept in `dir`, as [`crate::Store::put`] names it. `metadata` is a JSON
    /// object with everything that a server adds; `rest` holds the other fields, without braces.
    pub fn new(dir: &str, namespace: Option<&str>, name: &str, metadata: &str, rest: &str) -> Self {
        let comma = if rest.is_empty() { "" } else { "," };
        Self {
            dir: dir.to_owned(),
            key: (namespace.unwrap_or_default().to_owned(), name.to_owned()),
            text: format!("{HEAD}{metadata}{comma}{rest}}}").into(),
            metadata_end: HEAD.len() + metadata.len(),
        }
    }

    /// Bytes of the object as it is served.
    pub fn size(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn dir(&self) -> &str {
        &self.dir
    }

    pub(crate) fn key(&self) -> Key {
        self.key.clone()
    }

    pub(crate) fn whole(&self) -> &str {
        &self.text
    }

    pub(crate) fn metadata(&self) -> &str {
        &self.text[HEAD.len()..self.metadata_end]
    }

    /// What it says; nothing when it is no JSON.
    pub(crate) fn value(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }
}
