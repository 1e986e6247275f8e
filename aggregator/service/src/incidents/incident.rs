//! What is kept of one object that was stuck.

use std::sync::Arc;

use aggregator_core::access::Reads;
use aggregator_core::state::ObjectRef;
use findings::{CauseRef, Confidence, Gate, Link, Verdict};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One object that was stuck, from when it was asked to go until it went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Incident {
    /// Made from the object's uid, so that it stays the same over restarts and in both replicas.
    pub id: String,
    /// Which object.
    pub object: ObjectRef,
    /// Its uid: another object of the same name is another incident.
    pub uid: String,
    /// When its deletion was asked for.
    #[schemars(with = "String")]
    pub asked: Timestamp,
    /// When it was first judged to be stuck.
    #[schemars(with = "String")]
    pub stuck_since: Timestamp,
    /// What held it, the earliest first.
    pub holds: Vec<Hold>,
    /// Whether holds were left out: there were too many, or the caller has no permission to see them.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub has_more_holds: bool,
    /// How it ended; none while it is stuck.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub end: Option<End>,
}

/// Something that held an object, for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hold {
    /// The cause.
    pub cause: CauseRef,
    /// The kubelet's condition it blocked, if it was one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gate: Option<Gate>,
    /// How sure the last judgement was.
    pub confidence: Confidence,
    /// Whether it was held for good or on its way.
    pub verdict: Verdict,
    /// Equal for holds with the same root.
    pub root: String,
    /// From the object down to the root.
    pub chain: Vec<Arc<Link>>,
    /// The node whose agent said it; none for what the API shows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub told_by: Option<String>,
    /// When it was first judged so.
    #[schemars(with = "String")]
    pub since: Timestamp,
    /// When it was first judged not to be so any more; none while it is, and for what held the object
    /// until it went.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Option<String>")]
    pub until: Option<Timestamp>,
    /// What was read to know it; kept in the file and not shown.
    #[serde(skip_serializing_if = "Reads::is_unknown", default)]
    #[schemars(skip)]
    pub reads: Reads,
}

/// How an incident ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct End {
    /// When it was seen to be gone, or not to be stuck any more.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// Whether the object was seen to go. Otherwise it was deleted while the service was away.
    pub seen: bool,
    /// What agents still saw on its node after it had gone. Not empty: it was deleted by force, or its finalizers were
    /// removed, while this held it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub left_behind: Vec<LeftBehind>,
}

/// What an agent saw on a node after the object had gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeftBehind {
    /// The node.
    pub node: String,
    /// The cause that the agent reported.
    pub cause: CauseRef,
    /// The root of its chain: a process, a mount.
    pub root: Link,
    /// When the agent last saw it.
    #[schemars(with = "String")]
    pub seen: Timestamp,
}

impl Incident {
    /// Seconds from when its deletion was asked for until it went, or until `now`.
    pub fn seconds(&self, now: Timestamp) -> u64 {
        let until = self.end.as_ref().map_or(now, |end| end.at);
        u64::try_from(until.as_second().saturating_sub(self.asked.as_second())).unwrap_or(0)
    }

    /// What held it last: its end released the object, unless it was forced.
    pub fn last_held_by(&self) -> impl Iterator<Item = &Hold> {
        self.holds.iter().filter(|hold| hold.until.is_none())
    }

    /// Whether the object went while something on its node was still in the way.
    pub fn was_forced(&self) -> bool {
        self.end.as_ref().is_some_and(|end| !end.left_behind.is_empty())
    }
}
