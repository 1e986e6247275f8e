//! Sentences of Kubernetes: what a condition, an Event or an error of the API says.
//!
//! Where no field is enough, a sentence must be. It is parsed here and nowhere else: a [`Message`] does not hand its text
//! out but to be shown. Each pattern has a test with the recording it was found in or, for what was not recorded, the place
//! of the source that prints it.

pub(crate) mod api_service;
pub(crate) mod errors;
pub(crate) mod kubelet;
pub(crate) mod leads;
mod names;
pub(crate) mod namespace;
mod normalise;
mod quote;
pub(crate) mod reports;

use std::fmt;

pub use errors::Refusal;
pub(crate) use normalise::normalised;
pub(crate) use quote::quote;

use regex::Regex;
use serde::{Deserialize, Serialize};

#[expect(clippy::expect_used, reason = "a constant of this folder; a test reads each of them")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of this folder")
}

/// A sentence that was written for people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Message(String);

impl Message {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it says what the other one does, and more.
    pub fn says_more_than(&self, other: &Message) -> bool {
        !other.is_empty() && self.0.len() > other.0.len() && self.0.contains(&other.0)
    }

    fn has(&self, part: &str) -> bool {
        self.0.contains(part)
    }
}

impl<T: Into<String>> From<T> for Message {
    fn from(text: T) -> Self {
        Message(text.into())
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod recording {
    use std::path::Path;

    use serde_json::Value;

    use super::Message;

    /// What the recorded conditions of this type say, in their order.
    pub fn messages(file: &str, condition: &str) -> Vec<Message> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/recordings").join(file);
        let recorded: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let objects = recorded["items"].as_array().cloned().unwrap_or_else(|| vec![recorded]);
        let conditions = objects.iter().flat_map(|object| object["status"]["conditions"].as_array()).flatten();
        let of_type = conditions.filter(|it| it["type"] == condition);
        of_type.map(|it| it["message"].as_str().unwrap_or_default().into()).collect()
    }
}
