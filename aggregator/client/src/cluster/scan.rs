//! Finds what is being deleted in a page of metadata, without reading the rest of it.
//!
//! Of a hundred thousand pods perhaps a hundred go. Nine tenths of an object's metadata say who wrote which
//! field, and reading that costs far more than to search it for two words.

use memchr::memmem;
use serde::Deserialize;

use aggregator_core::state::{ListMeta, or_default};

/// One object that is being deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Name {
    /// Its namespace, if it lives in one.
    pub namespace: Option<String>,
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scanned {
    pub terminating: Vec<Name>,
    /// What leads to the next page; empty at the last.
    pub next: String,
    /// How many objects come after it, where the server says that.
    pub remaining: Option<usize>,
}

const DELETION_TIMESTAMP: &[u8] = br#""deletionTimestamp""#;
const FINALIZERS: &[u8] = br#""finalizers":["#;
const METADATA: &[u8] = br#""metadata":"#;
const ITEMS: &[u8] = br#""items":["#;

/// Reads a page of metadata.
pub fn scan(body: &[u8]) -> Result<Scanned, serde_json::Error> {
    match quick(body) {
        Some(scanned) => Ok(scanned),
        None => thorough(body),
    }
}

/// Whether an object of a page has a finalizer: without one none gets stuck. Who set it stands under `f:finalizers`.
pub fn has_finalizers(body: &[u8]) -> bool {
    memmem::find(body, FINALIZERS).is_some()
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Meta {
    namespace: Option<String>,
    name: String,
    deletion_timestamp: Option<String>,
}

impl Meta {
    /// Its name, if it goes.
    fn terminating(self) -> Option<Name> {
        self.deletion_timestamp?;
        Some(Name { namespace: self.namespace, name: self.name })
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Item {
    #[serde(deserialize_with = "or_default")]
    metadata: Meta,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct List {
    metadata: ListMeta,
    #[serde(deserialize_with = "or_default")]
    items: Vec<Item>,
}

/// Reads all of it.
fn thorough(body: &[u8]) -> Result<Scanned, serde_json::Error> {
    let List { metadata, items } = serde_json::from_slice(body)?;
    let terminating = items.into_iter().filter_map(|item| item.metadata.terminating());
    Ok(Scanned { terminating: terminating.collect(), next: metadata.next, remaining: metadata.remaining })
}

#[derive(Deserialize)]
struct Head {
    metadata: ListMeta,
}

/// Reads what stands before the items, and the metadata around each deletion timestamp. `None` when the page is
/// written in another way than API servers write it.
fn quick(body: &[u8]) -> Option<Scanned> {
    let items = memmem::find(body, ITEMS)?;
    let mut head = body.get(..items)?.trim_ascii_end().strip_suffix(b",")?.to_vec();
    head.push(b'}');
    let Head { metadata } = serde_json::from_slice(&head).ok()?;
    if !body.trim_ascii_end().ends_with(b"]}") {
        return None;
    }
    let mut terminating = Vec::new();
    let mut at = items;
    while let Some(found) = memmem::find(body.get(at..)?, DELETION_TIMESTAMP) {
        let found = at + found;
        let begin = at + memmem::rfind(body.get(at..found)?, METADATA)? + METADATA.len();
        let mut around = serde_json::Deserializer::from_slice(body.get(begin..)?).into_iter::<Meta>();
        let meta = around.next()?.ok()?;
        at = begin + around.byte_offset();
        // Else the words stood somewhere else.
        if at < found {
            return None;
        }
        terminating.push(meta.terminating()?);
    }
    Some(Scanned { terminating, next: metadata.next, remaining: metadata.remaining })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(items: &str) -> String {
        format!(
            r#"{{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{{"resourceVersion":"7","continue":"c"}},"items":[{items}]}}"#
        )
    }

    const STAYS: &str = r#"{"kind":"PartialObjectMetadata","metadata":{"name":"a","namespace":"n","managedFields":[{"fieldsV1":{"f:metadata":{"f:labels":{}}}}]}}"#;
    const GOES: &str = r#"{"kind":"PartialObjectMetadata","metadata":{"name":"b","namespace":"n","deletionTimestamp":"2026-11-20T20:21:50Z","labels":{"x":"}"}}}"#;

    fn names(scanned: &Scanned) -> Vec<&str> {
        scanned.terminating.iter().map(|one| one.name.as_str()).collect()
    }

    #[test]
    fn finds_what_goes_without_reading_the_rest() {
        let body = page(&[STAYS, GOES, STAYS, GOES, STAYS].join(","));
        let scanned = quick(body.as_bytes()).unwrap();
        assert_eq!((names(&scanned), scanned.next.as_str()), (vec!["b", "b"], "c"));
        assert_eq!(scanned, thorough(body.as_bytes()).unwrap());
        assert_eq!(quick(page(STAYS).as_bytes()).unwrap().terminating, []);
    }

    #[test]
    fn what_is_written_in_another_way_is_read_whole() {
        let sorted = format!(r#"{{"items": [{STAYS},{GOES}], "metadata": {{"continue": "c"}}}}"#);
        // An annotation or a label may be called so.
        let label = r#"{"metadata":{"name":"c","annotations":{"deletionTimestamp":"2026"}}}"#;
        let labelled = page(&[label, GOES].join(","));
        for body in [sorted, labelled] {
            assert_eq!(quick(body.as_bytes()), None);
            assert_eq!(names(&scan(body.as_bytes()).unwrap()), ["b"]);
        }
        // In a text its quotes are escaped.
        let text = r#"{"metadata":{"name":"d","annotations":{"last":"{\"metadata\":{\"deletionTimestamp\":null}}"}}}"#;
        assert_eq!(quick(page(&[text, GOES].join(",")).as_bytes()).map(|scanned| scanned.terminating.len()), Some(1));
    }

    #[test]
    fn a_finalizer_is_no_record_of_one() {
        let own = r#"{"metadata":{"name":"c","finalizers":["example.com/hold"]}}"#;
        let record =
            r#"{"metadata":{"name":"d","managedFields":[{"fieldsV1":{"f:metadata":{"f:finalizers":{".":{}}}}}]}}"#;
        let text = r#"{"metadata":{"name":"e","annotations":{"last":"{\"finalizers\":[\"x\"]}"}}}"#;
        assert_eq!([own, record, text].map(|one| has_finalizers(page(one).as_bytes())), [true, false, false]);
    }

    #[test]
    fn what_was_cut_off_is_no_page() {
        let body = page(GOES);
        assert!(scan(&body.as_bytes()[..body.len() - 20]).is_err());
        assert!(scan(b"").is_err());
    }
}
