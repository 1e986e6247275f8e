//! Why there is no answer.

use std::fmt;

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
    /// What the server or the client says of it.
    pub message: Message,
}

/// What can happen to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FaultKind {
    /// Nobody listens at the server's address.
    Refused,
    /// There is no way to the server.
    Unreachable,
    /// No answer came in time.
    TimedOut,
    /// The caller may not see it (401, 403).
    Denied,
    /// A list is too old to go on with (410).
    Stale,
    /// The server answered with another error.
    Rejected,
    /// The server does not serve it.
    NotServed,
    /// The answer cannot be read.
    Malformed,
    /// There is more than is taken.
    TooLarge,
    /// It was not asked.
    NotAsked,
}

impl Fault {
    /// A fault that the server did not answer with.
    pub fn new(kind: FaultKind, message: impl Into<Message>) -> Self {
        Fault { kind, status: None, message: message.into() }
    }

    /// An error that the server answered with.
    pub fn rejected(status: u16, message: impl Into<Message>) -> Self {
        let kind = match status {
            401 | 403 => FaultKind::Denied,
            410 => FaultKind::Stale,
            _ => FaultKind::Rejected,
        };
        Fault { kind, status: Some(status), message: message.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind == FaultKind::Denied {
            f.write_str("not visible to us: ")?;
        }
        if let Some(status) = self.status {
            write!(f, "{status} ")?;
        }
        self.message.fmt(f)
    }
}
