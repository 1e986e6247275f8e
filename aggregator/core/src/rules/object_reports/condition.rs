//! What a condition says. No field shows whether `True` is good: the name that its controller gave it does.

use super::Weight;
use crate::messages::reports;
use crate::state::Condition;

/// Parts of types that are bad when they are `True`.
const BAD: &[&str] = &[
    "blocked", "conflict", "degraded", "denied", "error", "failed", "failing", "failure", "invalid", "lost", "missing",
    "notready", "pressure", "recoverable", "refused", "stalled", "terminal", "unavailable", "unhealthy", "unreachable",
    "warning",
];

/// Parts of types that are about the deletion.
const DELETION: &[&str] =
    &["delet", "deprovision", "drain", "detach", "terminat", "finaliz", "cleanup", "cleaned", "teardown", "uninstall"];

/// Parts of types that are about how the object was made.
const MAKING: &[&str] = &["install", "provision"];

/// Types that are good or bad by what they come with, and mean nothing for a deletion.
const NEITHER: &[&str] = &[
    "abletoscale", "consolidatable", "disruptionallowed", "drifted", "paused", "progressing", "reconciling",
    "scalingactive", "scalinglimited", "suspended", "upgradeable",
];

/// Reasons of a condition that is `Unknown` because its controller has not looked yet (awslabs/operatorpkg: status/condition_set.go;
/// openshift/hive: pkg/controller/utils/conditions.go). No field distinguishes them from a doubt.
const DEFAULTS: &[&str] = &["AwaitingReconciliation", "Initialized", "ReconcilingDependents"];

/// Reasons that only say that the deletion was asked for.
const RESTATES: &[&str] = &["BeingDeleted", "Deleting", "DeletionInProgress", "DeletionTriggered", "Terminating"];

/// How near a condition of an object of this group is to why the object stays; nothing when it says that all is well, or
/// nothing at all. One of before the deletion is near only where it speaks of that.
pub fn weigh(group: &str, condition: &Condition, is_of_before: bool) -> Option<Weight> {
    let name = condition.kind.to_ascii_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let (is_bad, is_about) = (has(BAD), has(DELETION));
    let is_going = is_about && !is_bad && name.ends_with("ing");
    // Cluster API does nothing with what is paused, not even delete it (cluster-api: util/paused/paused.go). Others do.
    let is_cluster_api = group == "cluster.x-k8s.io" || group.ends_with(".cluster.x-k8s.io");
    if name == "paused" && condition.status == "True" && is_cluster_api {
        return Some(Weight::Blocks);
    }
    let goes_on = condition.status == "True" && !is_about && !is_bad && name.ends_with("ing");
    let is_neither = goes_on || NEITHER.contains(&name.as_str());
    let weight = match condition.status.as_str() {
        // No more than a status says nothing of the deletion when it is older, nor of what is wrong.
        _ if condition.is_bare() && is_of_before => return None,
        "False" if condition.is_bare() && !is_about => return None,
        // What goes on, or does not, may still say what is wrong.
        _ if is_neither && reports::is_complaint(&condition.message) => Weight::Fails,
        _ if is_neither => return None,
        "True" if is_bad && is_about => Weight::Blocks,
        "True" if is_bad => Weight::Fails,
        "True" if is_going && !condition.message.is_empty() => Weight::Goes,
        "False" if is_bad || is_going => return None,
        "False" if is_about => Weight::Blocks,
        "False" => Weight::Fails,
        "Unknown" if DEFAULTS.contains(&condition.reason.as_str()) => return None,
        "Unknown" if is_about => Weight::Blocks,
        "Unknown" => Weight::Doubts,
        "" if is_about => Weight::Blocks,
        "" if is_bad => Weight::Fails,
        _ => return None,
    };
    let speaks = is_about || reports::is_about_deletion(&condition.reason, &condition.message);
    Some(match weight {
        Weight::Goes if reports::only_restates(&condition.message) => Weight::Restates,
        Weight::Fails | Weight::Doubts if RESTATES.contains(&condition.reason.as_str()) => Weight::Restates,
        Weight::Fails | Weight::Doubts if !speaks && has(MAKING) => Weight::Made,
        Weight::Fails | Weight::Doubts if !speaks && is_of_before => Weight::Before,
        weight => weight,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(kind: &str, status: &str, reason: &str, message: &str) -> Option<Weight> {
        let (kind, status, reason) = (kind.to_owned(), status.to_owned(), reason.to_owned());
        let condition = Condition { kind, status, reason, message: message.into(), ..Condition::default() };
        weigh("example.com", &condition, false)
    }

    #[test]
    fn the_name_tells_which_status_is_bad() {
        // AWS Controllers for Kubernetes, Rook, Crossplane, Karpenter, Cluster API, Argo CD, KubeVirt, the node controller, OpenShift.
        for (kind, status, reason, message, expected) in [
            ("ACK.Recoverable", "True", "", "…", Some(Weight::Fails)),
            ("ACK.Terminal", "False", "", "", None),
            ("DeletionIsBlocked", "True", "ObjectHasDependents", "…", Some(Weight::Blocks)),
            ("DeletionIsBlocked", "False", "ObjectHasNoDependents", "", None),
            ("Synced", "False", "ReconcileError", "…", Some(Weight::Fails)),
            ("Ready", "False", "Deleting", "", Some(Weight::Restates)),
            ("Drained", "Unknown", "Draining", "", Some(Weight::Blocks)),
            ("Consolidatable", "Unknown", "", "", None),
            ("VolumeDetachSucceeded", "False", "WaitingForVolumeDetach", "…", Some(Weight::Blocks)),
            ("DrainingSucceeded", "True", "", "", None),
            ("Deleting", "True", "WaitingForVolumeDetach", "…", Some(Weight::Goes)),
            ("Deleting", "False", "NotDeleting", "", None),
            ("DeletionError", "", "", "…", Some(Weight::Blocks)),
            ("ComparisonError", "", "", "…", Some(Weight::Fails)),
            ("Available", "False", "DeletionInProgress", "Deletion was triggered", Some(Weight::Restates)),
            ("Degraded", "True", "DeletionInProgress", "Deletion was triggered", Some(Weight::Restates)),
            ("Degraded", "False", "AsExpected", "All is well", None),
            ("Progressing", "False", "AsExpected", "", None),
            ("NetworkUnavailable", "True", "NoRouteCreated", "…", Some(Weight::Fails)),
            ("MemoryPressure", "False", "KubeletHasSufficientMemory", "", None),
            ("Ready", "Unknown", "NodeStatusUnknown", "…", Some(Weight::Doubts)),
            ("Ready", "True", "Available", "", None),
            ("LoadBalancerPortsError", "True", "LoadBalancerMixedProtocolNotSupported", "…", Some(Weight::Fails)),
            ("ReplicaFailure", "True", "FailedCreate", "…", Some(Weight::Fails)),
            ("ScalingLimited", "False", "DesiredWithinRange", "…", None),
            ("Complete", "True", "", "", None),
            ("PodRunning", "False", "", "", None),
            ("sharding", "False", "", "", None),
            ("Drained", "False", "", "", Some(Weight::Blocks)),
            ("InstanceTerminating", "Unknown", "AwaitingReconciliation", "object is awaiting reconciliation", None),
            ("Launched", "Unknown", "LaunchFailed", "Quota exceeded", Some(Weight::Doubts)),
            ("ProvisionFailed", "True", "MonitoringFailed", "install failed", Some(Weight::Made)),
            ("DeprovisionLaunchError", "True", "", "…", Some(Weight::Blocks)),
            ("Initializing", "True", "", "BackupTracker t does not exist", Some(Weight::Fails)),
            ("Progressing", "False", "", "BackupTracker t does not exist", Some(Weight::Fails)),
            ("Deleting", "True", "", "Backup is being deleted", Some(Weight::Restates)),
        ] {
            assert_eq!(weight(kind, status, reason, message), expected, "{kind}={status}");
        }
    }
}
