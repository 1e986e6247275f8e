//! The answer for one node. Its JSON is the stable schema, version [`NodeReport::SCHEMA`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CauseRef, FaultKind, Finding, ForceCost, Gate, PodRef, Verdict};

/// What holds what on one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeReport {
    /// Grows when a field changes its meaning or goes away; new fields do not count.
    pub schema: u32,
    /// The node's name, as far as it is known.
    pub node: String,
    /// When the node was looked at (RFC 3339, UTC).
    pub at: String,
    /// The worst of the pods' and the node's verdicts.
    pub verdict: Verdict,
    /// Pods that should be gone, the stuck ones first.
    pub pods: Vec<PodReport>,
    /// Causes that are a state of the node, each once.
    pub node_findings: Vec<NodeFinding>,
    /// What could not be looked at, and what that hides.
    pub unknown: Vec<Unknown>,
    /// Causes that were not looked for this time, because the moment was not right: that they are
    /// not found says nothing.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub not_looked_for: Vec<CauseRef>,
    /// What is worth knowing and is no finding: no kubelet here, another mount namespace.
    pub notes: Vec<String>,
}

impl NodeReport {
    /// The version of the JSON schema.
    pub const SCHEMA: u32 = 1;
}

/// One pod that should be gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PodReport {
    /// Which pod.
    pub pod: PodRef,
    /// Whether it was not deleted: then this is what would hold it after a deletion.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub before: bool,
    /// Whether it is stuck.
    pub verdict: Verdict,
    /// The first gate that is not met.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gate: Option<Gate>,
    /// Why it should be gone, in words: `deletion requested, deadline passed 2d4h ago`.
    pub gone_because: String,
    /// Seconds since its deadline passed; negative before it. Absent without an answer of the API.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub overdue_seconds: Option<i64>,
    /// Every gate, with what is known of it.
    pub gates: Vec<GateView>,
    /// What blocks it; several when several things block the same gate.
    pub findings: Vec<Finding>,
    /// What could not be looked at for this pod.
    pub unknown: Vec<Unknown>,
    /// What a forced deletion would cost. Absent when nothing of the pod would go on, and of a pod that is not stuck.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub force: Option<ForceCost>,
}

/// What is known of one gate of one pod.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateView {
    /// Which gate.
    pub gate: Gate,
    /// How it stands.
    pub state: GateState,
    /// A few words: `2 mounts`.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub detail: String,
}

/// How a gate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum GateState {
    /// Its condition holds.
    Met,
    /// Its condition does not hold, and the kubelet waits for it.
    Blocked,
    /// The kubelet waits at an earlier gate.
    NotReached,
    /// A necessary source did not answer.
    Unknown,
}

/// A state of the node and the pods it holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeFinding {
    /// What it is.
    pub finding: Finding,
    /// The pods it holds; empty when it holds none yet.
    pub pods: Vec<PodRef>,
}

/// Something that could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unknown {
    /// The source that failed: `CRI /run/containerd/containerd.sock`.
    pub source: String,
    /// What kind of failure it was; absent when nothing failed, and a right or a setting is missing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kind: Option<FaultKind>,
    /// Why, and what to do about it.
    pub why: String,
    /// What it hides.
    pub hides: String,
}
