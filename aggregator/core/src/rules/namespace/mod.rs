//! Why a namespace does not go.
//!
//! Its conditions are pointers and never proof: since Kubernetes 1.33 they say that all content was
//! removed while pods remain, and before 1.16 there are none. So its pods and claims are always
//! listed, and what the conditions do not explain is swept.

mod conditions;
mod content;
mod emptying;
mod failing_lists;
mod finish;
mod terminating_namespace;
mod unlisted;

use terminating_namespace::TerminatingNamespace;

use super::phrases::{condition_text, overdue, terminating};
use crate::diagnosis::Diagnosis;
use crate::lister::Lister;
use crate::state::*;

/// Explains a namespace.
pub fn explain(lister: &Lister, target: &ObjectRef) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    let answer = lister.namespace(&target.name);
    if answer.is_missing() {
        return Diagnosis::missing();
    }
    let Some(namespace) = diagnosis.required(target.to_string(), &format!("whether {target} is being deleted"), answer)
    else {
        diagnosis.words = crate::report::NOT_KNOWN.to_owned();
        return diagnosis;
    };
    if namespace.metadata.deletion_timestamp.is_none() {
        diagnosis.words = "is not being deleted".to_owned();
        return diagnosis;
    }
    diagnosis.terminating = true;
    diagnosis.overdue = overdue(lister, &namespace.metadata);
    diagnosis.words = terminating(lister, &namespace.metadata);
    let case = TerminatingNamespace { target, namespace, name: &target.name };
    for failing in namespace.status.conditions.iter().filter(|condition| condition.status == "True") {
        diagnosis.evidence(format!("status of {target}"), condition_text(failing));
    }
    let repaired = conditions::follow(lister, &case, &mut diagnosis);
    let mut left = content::read(lister, &case, &mut diagnosis);
    unlisted::explain(&case, &left, &mut diagnosis);
    // What they point to is looked at first.
    let points_nowhere = !diagnosis.is_explained() && !diagnosis.pending;
    let says_nothing = namespace.status.conditions.is_empty() || points_nowhere;
    if says_nothing && case.has_own_finalizer() {
        finish::control_plane(lister, &case, &mut diagnosis);
    }
    // Hundreds of lists: only when nothing cheaper has explained it.
    let is_vague = failing_lists::is_wanted(&diagnosis);
    if is_vague || content::needs_sweep(lister, &case, &diagnosis, &left) {
        content::sweep(lister, &case, &mut diagnosis, &mut left);
    }
    if is_vague {
        failing_lists::name(&case, &left, &mut diagnosis);
    }
    content::contradict(&case, &mut diagnosis, &left);
    finish::judge(lister, &case, &left, &repaired, &mut diagnosis);
    diagnosis
}
