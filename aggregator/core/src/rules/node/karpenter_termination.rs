//! When Karpenter deletes the pods of a node without asking.

use jiff::{SignedDuration, Timestamp};

use super::drainer::Drainer;
use crate::rules::prelude::*;

/// Karpenter tries every few seconds; a pod that is left so long after its time is not left because of a budget.
const MAX_DELAY_SECONDS: i64 = 120;

/// How long Karpenter lets a pod refuse: what its NodeClaim's `terminationGracePeriod` comes to.
pub enum Termination {
    /// For as long as it likes.
    Unlimited,
    /// Until then each pod must have ended, by this NodeClaim.
    At(Timestamp, ObjectRef),
    /// This NodeClaim says so, and could not be seen.
    NotSeen(ObjectRef),
}

impl Termination {
    /// What the NodeClaim that owns the node says.
    pub fn read(case: &mut Case, node: &Node, by: Drainer) -> Self {
        let is_claim = |owner: &&Owner| owner.kind == "NodeClaim" && owner.group_version().0 == "karpenter.sh";
        let owner = node.metadata.owner_references.iter().find(is_claim).filter(|_| by == Drainer::Karpenter);
        let Some(owner) = owner else { return Termination::Unlimited };
        let (group, version) = owner.group_version();
        let claim = ObjectRef {
            kind: owner.kind.clone().into(),
            resource: Resource::new(group.to_owned(), version.to_owned(), "nodeclaims"),
            namespace: None,
            name: owner.name.clone(),
        };
        let answer = case.lister.object(&claim.resource, None, &claim.name);
        let is_gone = answer.is_missing();
        match case.diagnosis.optional(claim.to_string(), "when Karpenter deletes the pods without asking", answer) {
            Some(object) => match object.metadata.annotations.get(TERMINATES_AT).and_then(|at| at.parse().ok()) {
                Some(at) => Termination::At(at, claim),
                None => Termination::Unlimited,
            },
            None if is_gone => Termination::Unlimited,
            None => Termination::NotSeen(claim),
        }
    }

    /// Whether this pod should have been deleted some time ago, whatever it or its budgets say (karpenter:
    /// pkg/controllers/node/termination/terminator/eviction.go, `needsForceDelete`).
    pub fn is_over_for(&self, pod: &Pod, lister: &Lister) -> bool {
        let (Termination::At(at, _), Some(grace)) = (self, pod.spec.termination_grace_period_seconds) else {
            return false;
        };
        let deleted_at = at.saturating_sub(SignedDuration::from_secs(grace)).unwrap_or(*at);
        lister.seconds_since(deleted_at) > MAX_DELAY_SECONDS
    }
}
