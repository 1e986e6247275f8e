//! Lists and objects as the API serves them.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::facts::{Facts, Kind, reader};
use super::kinds::Object;
use super::{Detail, Question, or_default};

/// A page of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// Its objects.
    pub facts: Facts,
    /// What leads to the next page; empty at the last.
    pub next: String,
    /// How many objects come after it, as far as the server says.
    pub remaining: Option<usize>,
}

impl Page {
    /// Reads a list, or a page of it, as the API serves it. An object that cannot be read is a fault of the
    /// answer: left out, it would seem gone.
    pub fn read(question: &Question, body: &[u8]) -> Result<Page, serde_json::Error> {
        shaped(question, body, Shape::List)
    }
}

impl Facts {
    /// No object of the kind that is asked for.
    pub fn none(question: &Question) -> Result<Facts, serde_json::Error> {
        Page::read(question, b"{}").map(|page| page.facts)
    }

    /// Reads one object as the API serves it.
    pub fn object(question: &Question, body: &[u8]) -> Result<Facts, serde_json::Error> {
        shaped(question, body, Shape::Object).map(|page| page.facts)
    }
}

/// What is read.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    List,
    Object,
}

fn shaped(question: &Question, body: &[u8], shape: Shape) -> Result<Page, serde_json::Error> {
    match question {
        Question::Objects { resource, detail: Detail::Full, .. } => reader(resource)(body, shape),
        _ => read::<Object>(body, shape),
    }
}

#[derive(Deserialize)]
#[serde(default, bound = "T: DeserializeOwned")]
struct List<T> {
    metadata: ListMeta,
    #[serde(deserialize_with = "or_default")]
    items: Vec<T>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        List { metadata: ListMeta::default(), items: Vec::new() }
    }
}

/// What a list says of itself.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct ListMeta {
    /// What leads to the next page.
    #[serde(rename = "continue", deserialize_with = "or_default")]
    pub next: String,
    /// How many objects come after this page; of what is selected no server says that.
    #[serde(rename = "remainingItemCount")]
    pub remaining: Option<usize>,
}

/// Reads objects of this kind.
pub(super) fn read<K: Kind>(body: &[u8], shape: Shape) -> Result<Page, serde_json::Error> {
    match shape {
        Shape::List => {
            let List { metadata, items } = serde_json::from_slice(body)?;
            Ok(Page { facts: K::into_facts(items), next: metadata.next, remaining: metadata.remaining })
        }
        Shape::Object => {
            let facts = K::into_facts(vec![serde_json::from_slice(body)?]);
            Ok(Page { facts, next: String::new(), remaining: None })
        }
    }
}

/// Reads objects of one kind.
pub(super) type Reader = fn(&[u8], Shape) -> Result<Page, serde_json::Error>;
