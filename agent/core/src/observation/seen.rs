//! An answer of a source, or why there is none.

use serde::{Deserialize, Serialize};

use super::{Fault, Reason, Source};

/// What one source said. "Could not look" is never an empty answer.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Seen<T> {
    /// It said this.
    Seen(T),
    /// It is not there. In observations of older agents also: it was not asked.
    #[default]
    Missing,
    /// It failed, refused or did not answer in time.
    Failed(Fault),
    /// It was not asked for: it is neither there nor not there.
    NotAsked,
}

impl<T> Seen<T> {
    /// The answer, if there is one.
    pub fn get(&self) -> Option<&T> {
        match self {
            Seen::Seen(value) => Some(value),
            _ => None,
        }
    }

    /// The same of a reference to the answer.
    pub fn as_ref(&self) -> Seen<&T> {
        match self {
            Seen::Seen(value) => Seen::Seen(value),
            Seen::Missing => Seen::Missing,
            Seen::Failed(fault) => Seen::Failed(fault.clone()),
            Seen::NotAsked => Seen::NotAsked,
        }
    }

    /// The answer, to change it.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        match self {
            Seen::Seen(value) => Some(value),
            _ => None,
        }
    }

    /// Why there is no answer; `None` when there is one, even if it is that there is nothing.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Seen::Failed(fault) => Some(fault),
            _ => None,
        }
    }

    /// A failure of what was asked.
    pub fn failed(source: impl Into<Source>, reason: impl Into<Reason>) -> Self {
        Seen::Failed(Fault::new(source, reason))
    }

    /// The answer, if there is one; a failure is noted.
    pub fn or_note(self, faults: &mut Vec<Fault>) -> Option<T> {
        match self {
            Seen::Seen(value) => return Some(value),
            Seen::Failed(fault) => faults.push(fault),
            Seen::Missing | Seen::NotAsked => {}
        }
        None
    }

    /// What another source says of the answer; where there is none, why.
    pub fn and_then<U>(self, next: impl FnOnce(T) -> Seen<U>) -> Seen<U> {
        match self {
            Seen::Seen(value) => next(value),
            Seen::Missing => Seen::Missing,
            Seen::Failed(fault) => Seen::Failed(fault),
            Seen::NotAsked => Seen::NotAsked,
        }
    }

    /// Changes the answer, keeps the failure.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Seen<U> {
        self.and_then(|value| Seen::Seen(change(value)))
    }
}
