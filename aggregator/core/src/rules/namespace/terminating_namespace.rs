//! A namespace that is being deleted.

use crate::diagnosis::MIN_AGE_SECONDS;
use crate::state::*;

/// A namespace that is being deleted, under explanation.
pub struct TerminatingNamespace<'a> {
    pub target: &'a ObjectRef,
    pub namespace: &'a Namespace,
    pub name: &'a str,
}

impl TerminatingNamespace<'_> {
    /// The condition of this type, if it is `True`.
    pub fn failing(&self, kind: &str) -> Option<&Condition> {
        condition(&self.namespace.status.conditions, kind).filter(|condition| condition.status == "True")
    }

    /// Whether the namespace controller has not finished: its own entry is still there.
    pub fn has_own_finalizer(&self) -> bool {
        self.namespace.spec.finalizers.iter().any(|finalizer| finalizer == "kubernetes")
    }

    /// Whether it was deleted so recently that what holds it may merely take its time.
    pub fn is_young(&self, diagnosis: &crate::diagnosis::Diagnosis) -> bool {
        diagnosis.is_younger_than(MIN_AGE_SECONDS)
    }

    /// Whether its conditions say that nothing is left.
    pub fn says_all_removed(&self) -> bool {
        condition(&self.namespace.status.conditions, "NamespaceContentRemaining")
            .is_some_and(|condition| condition.status == "False")
    }
}
