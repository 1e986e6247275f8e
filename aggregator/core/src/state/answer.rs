//! What a question was answered with.

use findings::FaultKind;
use serde::{Deserialize, Serialize};

use super::Fault;

/// An answer of the API server, or why there is none. "Not allowed" and "failed" are never an
/// empty list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer<T> {
    /// It said this.
    Seen(T),
    /// There is no such object, or this server does not serve the kind.
    Missing,
    /// There is none.
    Failed(Fault),
    /// It was not asked yet; the question is among those to ask next.
    #[serde(skip)]
    Unasked,
}

impl<T> Answer<T> {
    /// There is no answer, for this reason.
    pub fn failed(kind: FaultKind, message: impl ToString) -> Self {
        Answer::Failed(Fault::new(kind, message.to_string()))
    }

    /// The answer, if there is one.
    pub fn seen(self) -> Option<T> {
        match self {
            Answer::Seen(value) => Some(value),
            _ => None,
        }
    }

    /// Whether the server said that it is not there.
    pub fn is_missing(&self) -> bool {
        matches!(self, Answer::Missing)
    }

    /// Changes the answer, keeps the lack of one.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Answer<U> {
        self.and_then(|value| Answer::Seen(change(value)))
    }

    /// Looks further inside the answer, keeps the lack of one.
    pub fn and_then<U>(self, further: impl FnOnce(T) -> Answer<U>) -> Answer<U> {
        match self {
            Answer::Seen(value) => further(value),
            Answer::Missing => Answer::Missing,
            Answer::Failed(fault) => Answer::Failed(fault),
            Answer::Unasked => Answer::Unasked,
        }
    }

    /// Borrows the answer.
    pub fn as_ref(&self) -> Answer<&T> {
        match self {
            Answer::Seen(value) => Answer::Seen(value),
            Answer::Missing => Answer::Missing,
            Answer::Failed(fault) => Answer::Failed(fault.clone()),
            Answer::Unasked => Answer::Unasked,
        }
    }
}
