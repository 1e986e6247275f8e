//! What was asked, and when.

use jiff::Timestamp;

use super::Lister;
use crate::state::{Meta, ObjectRef, Pod, Subject, known};

impl<'a> Lister<'a> {
    /// When the cluster was looked at.
    pub fn now(&self) -> Timestamp {
        self.state.at
    }

    /// Seconds from `then` until the cluster was looked at.
    pub fn seconds_since(&self, then: Timestamp) -> i64 {
        self.state.seconds_since(then)
    }

    /// What the user asked about.
    pub fn subject(&self) -> &'a Subject {
        &self.state.subject
    }

    /// Whether the user named this very object.
    pub fn is_named(&self, target: &ObjectRef) -> bool {
        let is_kind = |word: &str| match known::named(word) {
            Some(known) => target.is(known),
            None => {
                let all = self.discovery().seen().map(|all| all.all_named(word)).unwrap_or_default();
                all.iter().any(|(it, _)| *it == target.resource)
            }
        };
        self.subject().named().into_iter().any(|(word, namespace, name)| {
            *name == target.name && target.namespace.as_ref().is_none_or(|at| at == namespace) && is_kind(word)
        })
    }

    /// Whether agents may be asked now.
    pub fn asks_live(&self) -> bool {
        self.state.live
    }

    /// Where the check of this pod ran, if it was run once on its node for this answer.
    pub fn node_check(&self, pod: &Pod) -> Option<&'a (String, String)> {
        self.state
            .node_check
            .as_ref()
            .filter(|check| check.pod == pod.metadata.namespace_and_name())
            .map(|check| &check.ran_in)
    }

    /// Whether Secrets may be scanned.
    pub fn scans_all_kinds(&self) -> bool {
        self.state.all_kinds
    }

    /// Whether every kind is scanned.
    pub fn scans(&self) -> bool {
        matches!(self.state.subject, Subject::Everything { .. })
    }

    /// Whether every kind is scanned in all namespaces.
    pub fn scans_cluster(&self) -> bool {
        matches!(self.state.subject, Subject::Everything { namespace: None, .. })
    }

    /// Whether the deletion is only assumed, without a request.
    pub fn is_of_deleted_machine(&self) -> bool {
        self.state.is_of_deleted_machine
    }

    pub fn is_before(&self) -> bool {
        matches!(self.state.subject, Subject::Before { .. })
    }

    /// Whether the deletion of this was requested, and is not only assumed.
    pub fn is_going(&self, meta: &Meta) -> bool {
        meta.deletion_timestamp.is_some_and(|at| !self.is_before() || at < self.state.at)
    }

    /// `is being deleted`; of what is only assumed to be, `would be deleted`.
    pub fn deletion(&self, meta: &Meta) -> &'static str {
        if self.is_going(meta) { "is being deleted" } else { "would be deleted" }
    }

    /// The same of a namespace.
    pub fn namespace_deletion(&self, name: &str) -> &'static str {
        self.namespace(name).seen().map_or("is being deleted", |namespace| self.deletion(&namespace.metadata))
    }
}
