//! How one thing stands.

use std::collections::BTreeSet;

use findings::{Evidence, Unknown, clean};

use super::Found;
use crate::state::{Answer, Thing};

/// What is known of one thing, and what it waits for.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// Its state in a few words: `Pending on node-b; deadline passed 42s ago`.
    pub words: String,
    /// Whether it exists and should be gone.
    pub terminating: bool,
    /// Whether the server says that there is no such object.
    pub missing: bool,
    /// Seconds since it should have been gone; negative before.
    pub overdue: Option<i64>,
    /// What must go or work first.
    pub waits_for: Vec<Thing>,
    /// Causes found at this thing.
    pub found: Vec<Found>,
    /// What its own fields say: evidence of every chain that leads through it.
    pub evidence: Vec<Evidence>,
    /// Objects that wait behind this thing and are no problem of their own.
    pub behind: BTreeSet<String>,
    /// What could not be looked at.
    pub unknown: Vec<Unknown>,
    /// What a reader may wrongly believe, set right.
    pub notes: BTreeSet<String>,
    /// Whether an answer that may change this is still out.
    pub open: bool,
}

impl Standing {
    /// There is no such object.
    pub fn missing() -> Self {
        Standing { words: "does not exist".to_owned(), missing: true, ..Standing::default() }
    }

    /// Takes the answer apart: what could not be had is noted with what that hides.
    pub fn see<T>(&mut self, source: impl AsRef<str>, hides: &str, answer: Answer<T>) -> Option<T> {
        let why = match answer {
            Answer::Seen(value) => return Some(value),
            Answer::Missing => return None,
            Answer::Unasked => {
                self.open = true;
                return None;
            }
            Answer::Forbidden(why) => format!("not visible to us: {why}"),
            Answer::Failed(why) => why,
        };
        self.hidden(source, why, hides);
        None
    }

    /// Takes apart an answer that only adds to what is known without it: when it could not be had, a
    /// note says so and the verdict stands.
    pub fn glance<T>(&mut self, source: impl AsRef<str>, adds: &str, answer: Answer<T>) -> Option<T> {
        let why = match answer {
            Answer::Seen(value) => return Some(value),
            Answer::Missing => return None,
            Answer::Unasked => {
                self.open = true;
                return None;
            }
            Answer::Forbidden(_) => "not visible to us".to_owned(),
            Answer::Failed(why) => why,
        };
        self.note(format!("Not seen, and not needed for the verdict: {} ({why}). It says {adds}.", source.as_ref()));
        None
    }

    /// Notes that something could not be looked at.
    pub fn hidden(&mut self, source: impl AsRef<str>, why: impl AsRef<str>, hides: &str) {
        let unknown = Unknown {
            kind: None,
            source: clean(source.as_ref(), 200),
            why: clean(why.as_ref(), 300),
            hides: hides.to_owned(),
        };
        if !self.unknown.contains(&unknown) {
            self.unknown.push(unknown);
        }
    }

    /// Whether something that may count could not be seen.
    pub fn is_blind(&self) -> bool {
        self.open || !self.unknown.is_empty()
    }

    /// Waits for `thing`.
    pub fn wait_for(&mut self, thing: Thing) {
        if !self.waits_for.contains(&thing) {
            self.waits_for.push(thing);
        }
    }

    /// Keeps what a source said of this thing.
    pub fn evidence(&mut self, source: impl AsRef<str>, says: impl AsRef<str>) {
        self.evidence.push(Evidence { source: clean(source.as_ref(), 200), says: clean(says.as_ref(), 500) });
    }

    /// Says what waits behind this thing.
    pub fn behind(&mut self, words: impl AsRef<str>) {
        self.behind.insert(clean(words.as_ref(), 300));
    }

    /// Says something that is no cause.
    pub fn note(&mut self, words: impl AsRef<str>) {
        self.notes.insert(clean(words.as_ref(), 500));
    }
}
