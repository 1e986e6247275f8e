//! Who empties a node.

use crate::state::*;

/// The finalizer by which Karpenter keeps a Node until it is empty.
pub const KARPENTERS: &str = "karpenter.sh/termination";
/// The taint of a node that nothing new is to come to.
pub const CORDONED: &str = "node.kubernetes.io/unschedulable";

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Drainer {
    /// Its taint or its finalizer says so.
    Karpenter,
    /// Its taint says so.
    ClusterAutoscaler,
    /// Its Machine is being deleted.
    ClusterApi,
    /// It is cordoned: by `kubectl drain`, or by a mere `kubectl cordon`.
    Cordoned,
}

/// Who empties this node, if anybody does.
pub fn drainer(node: &Node) -> Option<Drainer> {
    let tainted = |prefix: &str| node.spec.taints.iter().any(|taint| taint.key.starts_with(prefix));
    let going = node.metadata.deletion_timestamp.is_some();
    if tainted("karpenter.sh/disrupt") || (going && node.metadata.finalizers.iter().any(|one| one == KARPENTERS)) {
        return Some(Drainer::Karpenter);
    }
    if tainted("ToBeDeletedByClusterAutoscaler") {
        return Some(Drainer::ClusterAutoscaler);
    }
    (node.spec.unschedulable || tainted(CORDONED)).then_some(Drainer::Cordoned)
}
