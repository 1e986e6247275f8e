//! Putting a finding together. Every text from elsewhere is cleaned here.

use findings::{Cause, CauseRef, Confidence, Evidence, Finding, Gate, Link, Placeholder, Remedy, Subject, Values};

use super::runtime;
use crate::{
    observation::{Fault, Observation},
    view::PodView,
};

/// The gate of everything below a pod's `volumes`.
pub(super) const VOLUMES: Option<Gate> = Some(Gate::VolumesUnmounted);

/// A finding in the making.
pub struct FindingBuilder {
    cause: &'static Cause,
    gate: Option<Gate>,
    confidence: Confidence,
    missing: Option<String>,
    chain: Vec<Link>,
    evidence: Vec<Evidence>,
    names: Values,
    root: String,
}

impl FindingBuilder {
    /// Begins a finding about the view's pod, below these steps. Its root is the cause itself until
    /// [`FindingBuilder::root`] says more.
    pub fn of_pod(view: &PodView, cause: &'static Cause, gate: Option<Gate>, head: &[Link]) -> Self {
        let found = FindingBuilder { chain: head.to_vec(), ..FindingBuilder::of_node(view.seen, cause, gate) };
        found.name(Placeholder::Pod, view.pod).name(Placeholder::Uid, view.uid())
    }

    /// Begins one about the node.
    pub fn of_node(seen: &Observation, cause: &'static Cause, gate: Option<Gate>) -> Self {
        let (kubelet, runtime) = runtime::units(seen);
        let found = FindingBuilder {
            cause,
            gate,
            confidence: Confidence::Proven,
            missing: None,
            chain: Vec::new(),
            evidence: Vec::new(),
            names: Values::new(),
            root: cause.id.to_owned(),
        };
        found
            .name(Placeholder::Node, &seen.node.name)
            .name_if(Placeholder::KubeletUnit, kubelet)
            .name_if(Placeholder::RuntimeUnit, runtime)
    }

    /// Adds a step of the chain, from what the user knows towards the root.
    pub fn link(mut self, subject: impl Into<Subject>, state: impl AsRef<str>) -> Self {
        self.chain.push(Link::new(subject, state));
        self
    }

    /// Adds the step that is the root cause.
    pub fn blame(self, subject: impl Into<Subject>, state: impl AsRef<str>) -> Self {
        self.link(subject, state).blame_last()
    }

    /// The last step is the root cause.
    pub fn blame_last(mut self) -> Self {
        if let Some(last) = self.chain.last_mut() {
            last.root = true;
        }
        self
    }

    /// Adds what a source said.
    pub fn evidence(mut self, source: impl AsRef<str>, says: impl AsRef<str>) -> Self {
        self.evidence.push(Evidence::new(source, says));
        self
    }

    /// A failure as evidence.
    pub fn told_by(self, fault: &Fault) -> Self {
        self.evidence(fault.source.to_string(), &fault.says)
    }

    /// Gives a name for the remedy's placeholder; the first that fits stays.
    pub fn name(mut self, placeholder: Placeholder, value: impl ToString) -> Self {
        if self.names.get(placeholder).is_none() {
            self.names.set(placeholder, value);
        }
        self
    }

    /// Gives a name if there is one; without it the steps that need it are left out.
    pub fn name_if(self, placeholder: Placeholder, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.name(placeholder, value),
            None => self,
        }
    }

    /// This part of the proof is missing; of several the first is told.
    pub fn probable(mut self, missing: &str) -> Self {
        self.confidence = Confidence::Probable;
        self.missing.get_or_insert_with(|| missing.to_owned());
        self
    }

    /// What makes this root the same as another finding's.
    pub fn root(mut self, thing: impl std::fmt::Display) -> Self {
        self.root = self.cause.root(thing);
        self
    }

    /// The finding.
    pub fn finish(self) -> Finding {
        let finding = Finding {
            remedy: Remedy::fill(self.cause, &self.names),
            cause: CauseRef(self.cause),
            gate: self.gate,
            confidence: self.confidence,
            missing: self.missing,
            chain: self.chain,
            evidence: self.evidence,
            root: self.root,
            must_end_too: None,
        };
        #[cfg(test)]
        assert_eq!(finding.lacks(), [""; 0], "{}: a step is not filled, and its entry promises it", finding.cause.id);
        finding
    }
}
