//! Why there is no answer.

use findings::FaultKind;
use serde::{Deserialize, Serialize};

use crate::messages::Message;

/// Why a question has no answer. Its address is the question, which stands beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
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
        Fault { kind: FaultKind::from_status(status), status: Some(status), message: message.into() }
    }
}
