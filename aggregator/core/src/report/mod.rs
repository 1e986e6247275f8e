//! The answer for a cluster. Its JSON is the stable schema, version [`ClusterReport::SCHEMA`].

mod fault;
mod normal;
mod not_scanned;

use std::collections::BTreeSet;
use std::sync::Arc;

use findings::{CauseRef, Entity, Finding, Gate, Link, RootId, Unknown, Verdict};
use foldhash::HashSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use normal::NormalKind;
pub use not_scanned::{NotScanned, by_reason};

use crate::access::Reads;
pub use crate::at_risk::{AtRisk, AtRiskKind};
use crate::diagnosis::ToldBy;
use crate::state::{ApiResource, ObjectRef, Subject, known};

/// The state of an object that could not be read.
pub const NOT_KNOWN: &str = "not known";

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
    /// Whether that is because nothing of what was named exists.
    #[serde(skip)]
    pub is_missing: bool,
    /// Before a deletion: whether the request for it would be refused.
    #[serde(skip)]
    pub is_delete_refused: bool,
    /// Before a deletion: whether that has begun already.
    #[serde(skip)]
    pub is_deleted_already: bool,
    /// The worst verdict in it.
    pub verdict: Verdict,
    /// How many objects there are of each; every output shows these numbers.
    pub counts: Counts,
    /// Before a deletion: what it would destroy. Of what is being deleted each root says it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub at_risk: Vec<AtRisk>,
    /// How much more the deletion would destroy.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub more_at_risk: usize,
    /// Root causes: the worst first, then the oldest, then the widest.
    pub roots: Vec<Root>,
    /// What is being deleted and goes on by itself: it has no root cause.
    #[serde(default)]
    #[schemars(!default)]
    pub terminating_normally: Vec<TerminatingNormally>,
    /// What is being deleted and nothing was found to hold it, or is not being deleted at all.
    pub unexplained: Vec<Held>,
    /// The kinds that were scanned for something that is being deleted; empty when one object was named.
    #[serde(default)]
    pub looked_at: Vec<String>,
    /// What was not scanned, or not to its end.
    #[serde(default)]
    pub not_scanned: Vec<NotScanned>,
    /// Whether everything was scanned and whatever the answer needs could be read.
    #[serde(default)]
    #[schemars(!default)]
    pub complete: bool,
    /// What could not be looked at, and what that hides.
    pub unknown: Vec<Unknown>,
    /// What a reader may wrongly believe, set right.
    pub notes: BTreeSet<String>,
}

impl ClusterReport {
    /// The version of the JSON schema.
    pub const SCHEMA: u32 = 2;

    /// Each object once, with its first root if it has one.
    pub fn objects(&self) -> Vec<Counted<'_>> {
        let roots = self.roots.iter().flat_map(|root| {
            let verdict = |verdict: Verdict| if verdict == Verdict::Clear { verdict } else { root.verdict };
            let victims =
                root.victims.iter().map(move |victim| (&victim.held.thing, verdict(victim.held.verdict), victim.cause));
            let all = victims.chain(root.on_the_way.iter().map(|object| (object, root.verdict, root.finding.cause)));
            all.map(|(object, verdict, cause)| Counted { object, verdict, cause: Some(cause), root: Some(root) })
        });
        let unexplained = self.unexplained.iter().map(|held| (held, None));
        let normal = self.terminating_normally.iter().map(|one| (&one.held, Some(one.cause)));
        let others = unexplained.chain(normal);
        let others =
            others.map(|(held, cause)| Counted { object: &held.thing, verdict: held.verdict, cause, root: None });
        let mut known = HashSet::default();
        roots.chain(others).filter(|counted| known.insert(counted.object)).collect()
    }

    pub fn count(&mut self) {
        let holding = self.roots.iter().filter(|root| root.verdict == Verdict::Stuck);
        let (in_use, broken): (Vec<&Root>, Vec<&Root>) = holding.partition(|root| root.finding.cause.in_use);
        let objects = self.objects();
        let number = |verdict: Verdict| objects.iter().filter(|counted| counted.verdict == verdict).count();
        self.counts = Counts {
            stuck: number(Verdict::Stuck),
            unknown: number(Verdict::CannotTell),
            terminating_normally: number(Verdict::Progressing),
            root_causes: broken.len(),
            in_use: in_use.len(),
        };
    }

    /// What would make two answers differ for a reader: roots, what each holds, and the verdict.
    pub fn outline(&self) -> impl Iterator<Item = Line<'_>> {
        let is_named = self.subject.is_of_named();
        let normal = self.terminating_normally.iter().filter(move |_| is_named).map(|one| &one.held);
        let unexplained = self.unexplained.iter().chain(normal).map(|held| Line::Object(&held.thing));
        [Line::Verdict(self.verdict)].into_iter().chain(self.roots.iter().flat_map(Root::outline)).chain(unexplained)
    }
}

/// Numbers of objects, each counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Stuck: victims and what stands between them and a root.
    pub stuck: usize,
    /// Of which it is not known whether they are stuck.
    pub unknown: usize,
    /// What goes on by itself.
    pub terminating_normally: usize,
    /// Root causes of what is stuck: broken, absent or refusing.
    pub root_causes: usize,
    /// What else holds: it works, and is in use.
    #[serde(default)]
    pub in_use: usize,
}

/// An object of a report, counted once.
#[derive(Clone, Copy, Debug)]
pub struct Counted<'r> {
    pub object: &'r ObjectRef,
    pub verdict: Verdict,
    /// Why, if that is known.
    pub cause: Option<CauseRef>,
    /// Its first root, if it has one.
    pub root: Option<&'r Root>,
}

/// Something that is being deleted and goes on by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TerminatingNormally {
    /// What it is and how it stands.
    #[serde(flatten)]
    pub held: Held,
    /// What it waits for, by its entry in the registry.
    pub cause: CauseRef,
    /// What it waits for, where that is something else.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub waits_for: Option<Link>,
    /// Whether only its age keeps it from being called stuck: it has been deleted for less than a minute.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub is_young: bool,
}

/// What a reader would miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'r> {
    Verdict(Verdict),
    Root(RootId),
    /// One that is held.
    Object(&'r ObjectRef),
}

/// One root cause and all it holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Root {
    /// What alerts, the page and `--explain` call it; the same for all that is known of one node, object or process.
    pub id: RootId,
    /// What it is, as long as it has this id: `Node`, `Deployment`, `Process`.
    #[serde(default)]
    #[schemars(!default)]
    pub kind: String,
    /// Its namespace, if it is an object that lives in one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub namespace: Option<String>,
    /// The finalizer, where that is the root and not an object.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub finalizer: Option<String>,
    /// Whether it holds for good or goes on by itself.
    pub verdict: Verdict,
    /// What is destroyed when the deletions that it holds complete.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub at_risk: Vec<AtRisk>,
    /// How much more is destroyed then.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub more_at_risk: usize,
    /// The cause, with the chain from the first victim down to it, evidence and remedy.
    pub finding: Finding,
    /// Other explanations of the same root.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub also: Vec<Finding>,
    /// How many more explanations there are.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub more_explanations: usize,
    /// What Events claim of the same in the name of an agent, where others can have written them: none of it is proven.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub claims: Vec<Claim>,
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
    /// What was read for all of it.
    #[serde(skip)]
    pub reads: Reads,
}

/// What an Event in the name of an agent says that others can have written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// In whose name, and why others can have written it.
    pub by: ToldBy,
    /// What it says.
    pub finding: Finding,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// `3 root causes, waiting for 1 object in use, 2 nodes to check`; what only a node knows is not counted as known, and
/// what is in use is not broken.
pub fn roots_in_words<'r>(roots: impl Iterator<Item = &'r Root>) -> String {
    let (nodes, known): (Vec<&Root>, Vec<&Root>) = roots.partition(|root| root.look_on.is_some());
    let (in_use, broken): (Vec<&Root>, Vec<&Root>) = known.into_iter().partition(|root| root.finding.cause.in_use);
    let parts = [
        ("", broken, "root cause", ""),
        ("waiting for ", in_use, "object", " in use"),
        ("", nodes, "node", " to check"),
    ];
    let parts = parts.into_iter().filter(|(_, roots, ..)| !roots.is_empty());
    let parts = parts.map(|(before, roots, what, after)| {
        let plural = if roots.len() == 1 { "" } else { "s" };
        format!("{before}{} {what}{plural}{after}", roots.len())
    });
    parts.collect::<Vec<_>>().join(", ")
}

impl Root {
    /// The worst first, then the oldest, then the widest.
    pub fn sort(roots: &mut [Root]) {
        roots.sort_by_key(|root| std::cmp::Reverse((root.verdict, root.oldest(), root.victims.len())));
    }

    /// The kind that weighs most of what it holds. Of a pod, what cannot go on before the pod is gone weighs more.
    pub fn holds(&self) -> &str {
        const HEAVIEST: [ApiResource; 5] =
            [known::NAMESPACES, known::NODES, known::VOLUMES, known::CLAIMS, known::STATEFUL_SETS];
        let held = self.victims.iter().map(|victim| &victim.held);
        let kinds = held.clone().filter_map(|held| held.keeps).chain(held.map(|held| held.thing.kind.as_ref()));
        let kinds: Vec<&str> = kinds.chain(self.on_the_way.iter().map(|object| object.kind.as_ref())).collect();
        let heaviest = HEAVIEST.into_iter().map(|one| one.kind).find(|kind| kinds.contains(kind));
        let other = || kinds.iter().copied().find(|kind| *kind != known::PODS.kind);
        heaviest.or_else(other).or(kinds.first().copied()).unwrap_or_default()
    }

    /// How many objects it holds.
    pub fn objects(&self) -> usize {
        self.victims.len() + self.on_the_way.len()
    }

    fn outline(&self) -> impl Iterator<Item = Line<'_>> {
        let victims = self.victims.iter().map(|victim| Line::Object(&victim.held.thing));
        [Line::Root(self.id)].into_iter().chain(victims).chain(self.on_the_way.iter().map(Line::Object))
    }

    /// The links of all its chains.
    pub fn links(&self) -> impl Iterator<Item = &Link> {
        let chains = self.victims.iter().flat_map(|victim| &victim.chain);
        chains.map(Arc::as_ref).chain(&self.finding.chain).chain(self.also.iter().flat_map(|other| &other.chain))
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
    /// Its own cause: of one root there may be several explanations.
    pub cause: CauseRef,
    /// The gate that this cause blocks, if it blocks one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gate: Option<Gate>,
    /// From it down to the root cause.
    pub chain: Vec<Arc<Link>>,
    /// The nodes of the pods in between, to be found by.
    #[serde(skip)]
    pub nodes: Vec<Arc<str>>,
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
    /// The kind of what cannot go on before it is gone: the StatefulSet or the claim of a pod.
    #[serde(skip)]
    pub keeps: Option<&'static str>,
    /// What was read to know that, and what holds it.
    #[serde(skip)]
    pub reads: Reads,
}

impl Held {
    /// For how long it should have been gone, if it should.
    pub fn overdue(&self) -> Option<u64> {
        self.overdue_seconds.and_then(|seconds| u64::try_from(seconds).ok())
    }
}
