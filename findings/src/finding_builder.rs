//! Putting a finding together, on the node and in the cluster. Every text from elsewhere is cleaned here.

use crate::{
    Cause, CauseRef, Circumstance, Circumstances, Confidence, Evidence, Finding, Gate, Link, Placeholder, Remedy,
    Subject, Values, clean,
};

/// A finding in the making.
#[derive(Clone, Debug)]
pub struct FindingBuilder {
    pub cause: &'static Cause,
    /// The gate it blocks; none for a state of the node or of the cluster.
    pub gate: Option<Gate>,
    /// How far the evidence carries.
    pub confidence: Confidence,
    /// What of the proof was not seen, where that is known of a probable one.
    pub missing: Option<String>,
    /// From what the user knows towards the root.
    pub chain: Vec<Link>,
    pub evidence: Vec<Evidence>,
    /// Values for the remedy's placeholders.
    pub names: Values,
    /// The same for others that have this explanation; what is to be done first stands first.
    pub others: Vec<Values>,
    /// The facts that its steps depend on.
    pub facts: Circumstances,
    /// Equal for the same root.
    pub root: String,
}

impl FindingBuilder {
    /// Begins one that is proven. Its root is the cause itself until [`FindingBuilder::root`] says more.
    pub fn new(cause: &'static Cause) -> Self {
        FindingBuilder {
            cause,
            gate: None,
            confidence: Confidence::Proven,
            missing: None,
            chain: Vec::new(),
            evidence: Vec::new(),
            names: Values::new(),
            others: Vec::new(),
            facts: Circumstances::default(),
            root: cause.id.to_owned(),
        }
    }

    /// The gate it blocks.
    pub fn gate(mut self, gate: Option<Gate>) -> Self {
        self.gate = gate;
        self
    }

    /// The chain begins with these steps.
    pub fn chain(mut self, head: &[Link]) -> Self {
        self.chain = head.to_vec();
        self
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

    /// Gives a name for the remedy's placeholder.
    pub fn name(mut self, placeholder: Placeholder, value: impl ToString) -> Self {
        self.names.set(placeholder, value);
        self
    }

    /// Gives a name if there is one; without it the steps that need it are left out.
    pub fn name_if(self, placeholder: Placeholder, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.name(placeholder, value),
            None => self,
        }
    }

    /// Notes a fact of the case that steps depend on.
    pub fn given(mut self, fact: Circumstance) -> Self {
        self.facts.set(fact);
        self
    }

    /// This part of the proof is missing; of several the first is reported.
    pub fn probable(mut self, missing: impl AsRef<str>) -> Self {
        self.confidence = Confidence::Probable;
        self.missing.get_or_insert_with(|| clean(missing.as_ref(), 300));
        self
    }

    /// This part of the proof is missing unless it is known.
    pub fn probable_unless(self, is_known: bool, missing: impl AsRef<str>) -> Self {
        if is_known { self } else { self.probable(missing) }
    }

    /// What makes this root the same as another finding's.
    pub fn root(mut self, thing: impl std::fmt::Display) -> Self {
        self.root = self.cause.root(thing);
        self
    }

    pub fn finish(mut self) -> Finding {
        self.others.push(self.names.clone());
        Finding {
            remedy: Remedy::for_all(self.cause, &self.others, &self.facts),
            cause: CauseRef(self.cause),
            gate: self.gate,
            confidence: self.confidence,
            missing: self.missing,
            chain: self.chain,
            evidence: self.evidence,
            values: self.names,
            root: self.root,
            must_end_too: None,
        }
    }
}
