//! What a question was answered with.

use serde::{Deserialize, Serialize};

/// An answer of the API server, or why there is none. "Not allowed" and "failed" are never an
/// empty list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer<T> {
    /// It said this.
    Seen(T),
    /// There is no such object, or this server does not serve the kind.
    Missing,
    /// The caller may not see it (401, 403).
    Forbidden(String),
    /// It failed, or did not answer in time.
    Failed(String),
    /// Nobody has asked yet; the question is among those to ask next.
    #[serde(skip)]
    Unasked,
}

impl<T> Answer<T> {
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
            Answer::Forbidden(why) => Answer::Forbidden(why),
            Answer::Failed(why) => Answer::Failed(why),
            Answer::Unasked => Answer::Unasked,
        }
    }

    /// Borrows the answer.
    pub fn as_ref(&self) -> Answer<&T> {
        match self {
            Answer::Seen(value) => Answer::Seen(value),
            Answer::Missing => Answer::Missing,
            Answer::Forbidden(why) => Answer::Forbidden(why.clone()),
            Answer::Failed(why) => Answer::Failed(why.clone()),
            Answer::Unasked => Answer::Unasked,
        }
    }
}
