//! What pods tolerate of a node's taints, and what follows from that for a drain.

use jiff::{SignedDuration, Timestamp};

use super::drainer::Drainer;
use crate::rules::prelude::*;

const NO_SCHEDULE: &str = "NoSchedule";
const NO_EXECUTE: &str = "NoExecute";

/// Karpenter's taint since its v1; those before begin the same way.
const DISRUPTED: &str = "karpenter.sh/disrupted";
const DISRUPT: &str = "karpenter.sh/disrupt";

/// Whether a drain of the node evicts this pod: not that of the node itself, and none that has ended. All but Karpenter pass
/// over those of DaemonSets, and Karpenter over those that tolerate its taint (karpenter: pkg/utils/pod/scheduling.go,
/// `IsDrainable`; kubectl: pkg/drain/filters.go).
pub fn is_drained(pod: &Pod, by: Drainer, node: &Node) -> bool {
    let is_of = |kind: &str| pod.metadata.owner_references.iter().any(|owner| owner.kind == kind);
    let has_ended = matches!(pod.status.phase.as_str(), "Succeeded" | "Failed");
    let is_passed_over = match by {
        Drainer::Karpenter => tolerates_karpenter(pod, node),
        Drainer::ClusterApi => is_of("DaemonSet") || is_left_by_cluster_api(pod),
        Drainer::ClusterAutoscaler | Drainer::Cordoned => is_of("DaemonSet"),
    };
    !is_of("Node") && !is_passed_over && (!has_ended || pod.metadata.deletion_timestamp.is_some())
}

/// Whether it is not to be drained, or to end by itself (cluster-api: `PodDrainLabel`, api/core/v1beta1/machine_types.go).
fn is_left_by_cluster_api(pod: &Pod) -> bool {
    let label = pod.metadata.labels.get("cluster.x-k8s.io/drain");
    label.is_some_and(|label| ["skip", "wait-completed"].iter().any(|left| label.eq_ignore_ascii_case(left)))
}

/// Seconds past its deadline after which Karpenter no longer waits for a pod (karpenter: pkg/utils/pod/scheduling.go,
/// `IsStuckTerminating`).
const MAX_WAIT_SECONDS: i64 = 60;

/// Whether Karpenter takes the node away although this pod is still terminating on it.
pub fn is_given_up(pod: &Pod, by: Drainer, lister: &Lister) -> bool {
    let deadline = pod.metadata.deletion_timestamp;
    by == Drainer::Karpenter && deadline.is_some_and(|deadline| lister.seconds_since(deadline) > MAX_WAIT_SECONDS)
}

fn tolerates_karpenter(pod: &Pod, node: &Node) -> bool {
    let assumed = Taint { key: DISRUPTED.to_owned(), effect: NO_SCHEDULE.to_owned(), ..Taint::default() };
    let own: Vec<&Taint> = node.spec.taints.iter().filter(|taint| taint.key.starts_with(DISRUPT)).collect();
    let all = if own.is_empty() { vec![&assumed] } else { own };
    all.into_iter().all(|taint| pod.tolerates(taint))
}

/// The taint that should keep new pods away, and that this one, which was made later, tolerates.
pub fn came_back<'n>(pod: &Pod, node: &'n Node) -> Option<&'n Taint> {
    let made = pod.metadata.creation_timestamp?;
    node.spec.taints.iter().find(|taint| {
        taint.effect == NO_SCHEDULE && taint.time_added.is_some_and(|added| added < made) && pod.tolerates(taint)
    })
}

/// When a pod is evicted for the node's taints, if that is still to come: each is tolerated for as long as the first
/// toleration that matches it says (kubernetes: pkg/controller/tainteviction/taint_eviction.go).
pub fn evicted_at(pod: &Pod, node: &Node, now: Timestamp) -> Option<Timestamp> {
    let until = |taint: &Taint| {
        let seconds = pod.toleration(taint).map_or(Some(0), |toleration| toleration.toleration_seconds)?;
        taint.time_added?.checked_add(SignedDuration::from_secs(seconds.max(0))).ok()
    };
    let taints = node.spec.taints.iter().filter(|taint| taint.effect == NO_EXECUTE);
    taints.filter_map(until).min().filter(|at| *at > now)
}
