//! What is known of one object, and which root causes were found at it.

mod explained;
mod root_cause;

use std::collections::BTreeSet;
use std::sync::Arc;

use findings::{Evidence, FaultKind, Unknown, clean};

pub use explained::{Explained, Found, Way};
pub use root_cause::{AgentFinding, Claim, FromAgent, Identity, RootCause, Step, ToldBy};

use crate::at_risk::AtRisk;
use crate::messages::Refusal;
use crate::state::{Answer, Fault, ObjectRef};

/// One threshold for all kinds, in seconds: controllers and kubelets try again within a minute.
pub const MIN_AGE_SECONDS: i64 = 60;

/// Something that could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotSeen {
    /// Who should have said it.
    pub source: String,
    /// Why it did not.
    pub fault: Fault,
    pub hides: String,
}

impl NotSeen {
    /// In words.
    pub fn unknown(&self) -> Unknown {
        let NotSeen { source, fault, hides } = self;
        Unknown {
            kind: Some(fault.kind),
            source: clean(source, 200),
            why: clean(&fault.to_string(), 300),
            hides: hides.clone(),
        }
    }
}

/// What is known of one object, and what it waits for.
#[derive(Clone, Debug, Default)]
pub struct Diagnosis {
    /// Its state in a few words: `Pending on node-b; deadline passed 42s ago`.
    pub words: String,
    /// Whether it exists and should be gone.
    pub terminating: bool,
    /// Whether it was only named: it is neither deleted nor drained, and what waits for it is stuck in its place.
    pub is_only_named: bool,
    /// Whether the server says that there is no such object.
    pub missing: bool,
    /// Whether the request to delete it would be refused, so that its deletion would not begin.
    pub is_delete_refused: bool,
    /// Whether it is asked what its deletion would do, and it is being deleted already.
    pub is_deleted_already: bool,
    /// Seconds since it should have been gone; negative before.
    pub overdue: Option<i64>,
    /// The kind of what cannot go on before it is gone: the StatefulSet or the claim of a pod.
    pub keeps: Option<&'static str>,
    /// Where the pod is, or the pods that use it.
    pub nodes: Vec<Arc<str>>,
    /// What must go or work first.
    pub waits_for: Vec<ObjectRef>,
    /// Those of them that it owns, and that block it by that.
    pub dependents: BTreeSet<ObjectRef>,
    /// Causes found at this object.
    pub causes: Vec<RootCause>,
    /// What Events claim in the name of an agent that others can have written.
    pub claims: Vec<Claim>,
    /// What its own fields say: evidence of every chain that leads through it.
    pub evidence: Vec<Evidence>,
    /// What is destroyed when its deletion completes.
    pub at_risk: Vec<AtRisk>,
    /// Objects that wait behind this one and are no problem of their own.
    pub waiting: BTreeSet<String>,
    /// What could not be looked at.
    pub unknown: Vec<NotSeen>,
    /// What a reader may wrongly believe, set right.
    pub notes: BTreeSet<String>,
    /// What may not be seen and only adds to what is known: who would say what.
    pub forbidden: BTreeSet<(String, String)>,
    /// The rights that this takes.
    pub refusals: BTreeSet<Refusal>,
    /// Whether an answer that may change this is still out.
    pub pending: bool,
    /// How many answers could not be had so far, each time that one was wanted: between two counts something was not seen.
    pub failures: usize,
}

impl Diagnosis {
    /// There is no such object.
    pub fn missing() -> Self {
        Diagnosis { words: "does not exist".to_owned(), missing: true, ..Diagnosis::default() }
    }

    /// Takes the answer apart: what could not be had is noted with what that hides.
    pub fn required<T>(&mut self, source: impl Into<String>, hides: &str, answer: Answer<T>) -> Option<T> {
        match self.split(answer) {
            Ok(value) => value,
            Err(fault) => {
                self.hidden(source, fault, hides);
                None
            }
        }
    }

    /// Takes apart an answer that only adds to what is known without it: when it could not be had, a
    /// note says so and the verdict stands.
    pub fn optional<T>(&mut self, source: impl AsRef<str>, adds: &str, answer: Answer<T>) -> Option<T> {
        let why = match self.split(answer) {
            Ok(value) => return value,
            Err(fault) if fault.kind == FaultKind::Denied => {
                self.forbidden.insert((clean(source.as_ref(), 200), adds.to_owned()));
                self.refusals.extend(Refusal::read(&fault.to_string()));
                return None;
            }
            Err(fault) => fault.to_string(),
        };
        self.note(format!(
            "Could not be read, and not needed for the verdict: {} ({why}). It would show {adds}.",
            source.as_ref()
        ));
        None
    }

    /// Takes apart an answer whose lack needs no word.
    pub fn silently<T>(&mut self, answer: Answer<T>) -> Option<T> {
        self.split(answer).unwrap_or_default()
    }

    fn split<T>(&mut self, answer: Answer<T>) -> Result<Option<T>, Fault> {
        match answer {
            Answer::Seen(value) => Ok(Some(value)),
            Answer::Missing => Ok(None),
            Answer::Unasked => {
                self.pending = true;
                Ok(None)
            }
            Answer::Failed(fault) => {
                self.failures += 1;
                Err(fault)
            }
        }
    }

    /// Notes that something could not be looked at.
    pub fn hidden(&mut self, source: impl Into<String>, fault: Fault, hides: &str) {
        let not_seen = NotSeen { source: source.into(), fault, hides: hides.to_owned() };
        if !self.unknown.contains(&not_seen) {
            self.unknown.push(not_seen);
        }
    }

    /// Whether something that may count could not be seen.
    pub fn is_blind(&self) -> bool {
        self.pending || !self.unknown.is_empty()
    }

    /// About how much memory it takes: what a tenant can make many or long.
    pub fn size_bytes(&self) -> usize {
        /// Of a cause with its evidence, values and steps, as measured; and of what names an object or is said of it.
        const CAUSE_BYTES: usize = 4096;
        const NAME_BYTES: usize = 256;
        let names = self.waits_for.len() + self.evidence.len() + self.waiting.len() + self.notes.len();
        let names = names + 2 * self.at_risk.len();
        2 * NAME_BYTES + CAUSE_BYTES * (self.causes.len() + self.claims.len()) + NAME_BYTES * names
    }

    /// Whether there is something that holds it.
    pub fn is_explained(&self) -> bool {
        !self.causes.is_empty() || !self.waits_for.is_empty()
    }

    /// Whether it should have been gone for less than so many seconds.
    pub fn is_younger_than(&self, seconds: i64) -> bool {
        self.overdue.is_some_and(|overdue| overdue < seconds)
    }

    pub fn wait_for(&mut self, object: ObjectRef) {
        if !self.waits_for.contains(&object) {
            self.waits_for.push(object);
        }
    }

    /// Keeps what a source said of this object.
    pub fn evidence(&mut self, source: impl AsRef<str>, says: impl AsRef<str>) {
        self.evidence.push(Evidence::new(source, says));
    }

    /// Says what waits behind this object.
    pub fn also_waits(&mut self, words: impl AsRef<str>) {
        self.waiting.insert(clean(words.as_ref(), 300));
    }

    /// Says something that is no cause.
    pub fn note(&mut self, words: impl AsRef<str>) {
        self.notes.insert(clean(words.as_ref(), 500));
    }
}
