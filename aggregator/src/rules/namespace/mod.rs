//! Why a namespace does not go.
//!
//! Its conditions are pointers and never proof: since Kubernetes 1.33 they say that all content was
//! removed while pods remain, and before 1.16 there are none. So its pods and claims are always
//! listed, and what the conditions do not explain is swept.

mod content;
mod finish;
mod pointers;

use super::words::{lasting, overdue, said};
use crate::graph::{Standing, View};
use crate::state::*;

/// The controller looks at a namespace five seconds after its deletion, then every few seconds.
pub(super) const YOUNG: i64 = 60;

/// A namespace that is being deleted, under explanation.
struct Case<'a> {
    thing: &'a Thing,
    namespace: &'a Namespace,
    name: &'a str,
}

impl Case<'_> {
    /// The condition of this type, if it is `True`.
    fn failing(&self, kind: &str) -> Option<&Condition> {
        condition(&self.namespace.status.conditions, kind).filter(|condition| condition.status == "True")
    }

    /// Whether the namespace controller has not finished: its own entry is still there.
    fn has_own_finalizer(&self) -> bool {
        self.namespace.spec.finalizers.iter().any(|finalizer| finalizer == "kubernetes")
    }

    fn says_all_removed(&self) -> bool {
        condition(&self.namespace.status.conditions, "NamespaceContentRemaining")
            .is_some_and(|condition| condition.status == "False")
    }
}

/// Explains a namespace.
pub fn explain(view: &View, thing: &Thing) -> Standing {
    let mut standing = Standing::default();
    let answer = find(view, &thing.name);
    if answer.is_missing() {
        return Standing::missing();
    }
    let Some(namespace) = standing.see(thing.to_string(), "whether it is being deleted", answer) else {
        standing.words = "not known".to_owned();
        return standing;
    };
    if namespace.metadata.deletion_timestamp.is_none() {
        standing.words = "is not being deleted".to_owned();
        if matches!(view.state.subject, Subject::Object { .. }) {
            standing.note(format!("To see what is stuck inside of it: kubectl why-terminating -n {}", thing.name));
        }
        return standing;
    }
    standing.terminating = true;
    standing.overdue = overdue(view, &namespace.metadata);
    standing.words = format!("Terminating{}", lasting(view, namespace.metadata.deletion_timestamp));
    let case = Case { thing, namespace, name: &thing.name };
    for failing in namespace.status.conditions.iter().filter(|condition| condition.status == "True") {
        standing.evidence(format!("status of {thing}"), said(failing));
    }
    pointers::follow(view, &case, &mut standing);
    let mut left = content::look(view, &case, &mut standing);
    // What they point to is looked at first.
    let points_nowhere = !is_explained(&standing) && !standing.open;
    let says_nothing = namespace.status.conditions.is_empty() || points_nowhere;
    if says_nothing && case.has_own_finalizer() {
        finish::control_plane(view, &case, &mut standing);
    }
    // Hundreds of lists: only when nothing cheaper has explained it.
    if content::needs_sweep(&case, &standing, &left) {
        content::sweep(view, &case, &mut standing, &mut left);
    }
    content::contradict(&case, &mut standing, &left);
    finish::judge(view, &case, &left, &mut standing);
    standing
}

fn is_explained(standing: &Standing) -> bool {
    !standing.found.is_empty() || !standing.waits_for.is_empty()
}

/// From the list of those that are being deleted, if that was asked for, else by name.
pub(super) fn find<'a>(view: &View<'a>, name: &str) -> Answer<&'a Namespace> {
    view.in_phase(known::NAMESPACES, "Terminating", name)
}

/// Whether this namespace is being deleted; `false` when that cannot be told.
pub(super) fn is_going(view: &View, name: &str) -> bool {
    find(view, name).seen().is_some_and(|namespace| namespace.metadata.deletion_timestamp.is_some())
}
