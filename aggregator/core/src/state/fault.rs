//! Why there is no answer.

use std::fmt;

use findings::FaultKind;
use serde::{Deserialize, Serialize};

use crate::messages::Message;

/// Why a question has no answer. Its address is the question, which stands beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// The HTTP status, if the server answered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status: Option<u16>,
    /// What the server or the library below says of it.
    pub message: Message,
}

impl Fault {
    /// A fault that the server did not answer with.
    pub fn new(kind: FaultKind, message: impl Into<Message>) -> Self {
        Fault { kind, status: None, message: message.into() }
    }

    /// An error that the server answered with.
    pub fn answered(status: u16, message: impl Into<Message>) -> Self {
        Fault { kind: FaultKind::of_status(status), status: Some(status), message: message.into() }
    }

    /// In a few words where they tell enough: which right is missing is no matter of a note.
    pub fn brief(&self) -> String {
        match self.kind {
            FaultKind::Denied => words(self.kind).to_owned(),
            _ => self.to_string(),
        }
    }
}

/// Nothing where the message alone tells it.
fn words(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Denied => "not visible to us",
        FaultKind::Gone => "the server does not serve it",
        FaultKind::Malformed => "the answer cannot be read",
        FaultKind::NotAsked => "not asked",
        FaultKind::TimedOut => "no answer in time",
        FaultKind::TooLarge => "there is more than is kept",
        FaultKind::Failed | FaultKind::Hung | FaultKind::Refused | FaultKind::Stale => "",
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status.map(|status| status.to_string()).unwrap_or_default();
        let message = self.message.to_string();
        let said: Vec<&str> = [status.as_str(), &message].into_iter().filter(|part| !part.is_empty()).collect();
        let said = said.join(" ");
        let all: Vec<&str> = [words(self.kind), &said].into_iter().filter(|part| !part.is_empty()).collect();
        f.write_str(&all.join(": "))
    }
}
