//! The answer for a cluster. Its JSON is the stable schema, version [`ClusterReport::SCHEMA`].

mod fault;

use std::collections::BTreeSet;
use std::sync::Arc;

use findings::{Entity, Finding, Link, Unknown, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::diagnosis::ToldBy;
use crate::state::{ObjectRef, Subject};

/// What holds what, grouped by root cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterReport {
    /// Grows when a field changes its meaning or goes away; new fields do not count.
    pub schema: u32,
    /// When the cluster was looked at (RFC 3339, UTC).
    pub at: String,
    /// What was asked about.
    pub subject: Subject,
    /// Why there is no answer: no such object, no such type.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub refused: Option<String>,
    /// The worst verdict in it.
    pub verdict: Verdict,
    /// Root causes: the worst first, then the oldest, then the widest.
    pub roots: Vec<Root>,
    /// What is being deleted and nothing was found to hold it, or is not being deleted at all.
    pub unexplained: Vec<Held>,
    /// The kinds that were looked at for something that is being deleted; empty when one object was named.
    #[serde(default)]
    pub looked_at: Vec<String>,
    /// What could not be looked at, and what that hides.
    pub unknown: Vec<Unknown>,
    /// What a reader may wrongly believe, set right.
    pub notes: BTreeSet<String>,
}

impl ClusterReport {
    /// The version of the JSON schema.
    pub const SCHEMA: u32 = 1;

    /// What would make two answers differ for a reader: roots, what each holds, and the verdict.
    pub fn outline(&self) -> impl Iterator<Item = Line<'_>> {
        let unexplained = self.unexplained.iter().map(|held| Line::Object(&held.thing));
        [Line::Verdict(self.verdict)].into_iter().chain(self.roots.iter().flat_map(Root::outline)).chain(unexplained)
    }
}

/// What a reader would miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'r> {
    /// Of all.
    Verdict(Verdict),
    /// Its key.
    Root(&'r str),
    /// One that is held.
    Object(&'r ObjectRef),
}

/// One root cause and all it holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Root {
    /// Whether it holds for good or goes on by itself.
    pub verdict: Verdict,
    /// The cause, with the chain from the first victim down to it, evidence and remedy.
    pub finding: Finding,
    /// Which agent said it; none for what the API shows by itself.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub told_by: Option<ToldBy>,
    /// The node that knows what it is, where the API only shows that this node has not finished.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub look_on: Option<String>,
    /// What it holds. What only waits for one of these is not repeated.
    pub victims: Vec<Victim>,
    /// Objects between the victims and the root that should be gone as well.
    pub on_the_way: Vec<ObjectRef>,
    /// What waits behind the victims and is no problem of its own.
    pub behind: Vec<String>,
}

impl Root {
    fn outline(&self) -> impl Iterator<Item = Line<'_>> {
        let victims = self.victims.iter().map(|victim| Line::Object(&victim.held.thing));
        [Line::Root(&self.finding.root)].into_iter().chain(victims).chain(self.on_the_way.iter().map(Line::Object))
    }

    /// The links of all its chains.
    pub fn links(&self) -> impl Iterator<Item = &Link> {
        let chains = self.victims.iter().flat_map(|victim| &victim.chain);
        chains.map(Arc::as_ref).chain(&self.finding.chain)
    }

    /// The node that it is on or that it is, where it is one.
    pub fn node(&self) -> Option<&str> {
        let by = self.told_by.as_ref().map(|by| &by.node).or(self.look_on.as_ref());
        let root = self.finding.chain.last().and_then(|link| link.what.as_ref());
        let is = root.and_then(|thing| match thing {
            Entity::Object { kind, namespace: None, name } if kind == "Node" => Some(name),
            _ => None,
        });
        by.or(is).map(String::as_str)
    }

    /// For how long the oldest of what it holds should have been gone.
    pub fn oldest(&self) -> Option<u64> {
        self.victims.iter().filter_map(|victim| victim.held.overdue()).max()
    }
}

/// Something that a root cause holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Victim {
    /// What it is and how it stands.
    #[serde(flatten)]
    pub held: Held,
    /// From it down to the root cause.
    pub chain: Vec<Arc<Link>>,
}

/// Something that should be gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Held {
    /// Which object.
    pub thing: ObjectRef,
    /// Whether it is stuck.
    pub verdict: Verdict,
    /// Seconds since it should have been gone; negative before that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub overdue_seconds: Option<i64>,
    /// How it stands, in words.
    pub words: String,
}

impl Held {
    /// For how long it should have been gone, if it should.
    pub fn overdue(&self) -> Option<u64> {
        self.overdue_seconds.and_then(|seconds| u64::try_from(seconds).ok())
    }
}
