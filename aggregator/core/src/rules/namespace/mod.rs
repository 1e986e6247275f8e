//! Why a namespace does not go.
//!
//! Its conditions are pointers and never proof: since Kubernetes 1.33 they say that all content was
//! removed while pods remain, and before 1.16 there are none. So its pods and claims are always
//! listed, and what the conditions do not explain is swept.

mod conditions;
mod content;
mod controller_rights;
mod emptying;
mod failing_lists;
mod finish;
mod terminating_namespace;
mod unlisted;

use terminating_namespace::TerminatingNamespace;

use super::phrases::{condition_text, overdue, terminating};
use crate::rules::prelude::*;

pub fn explain(case: &mut Case, target: &ObjectRef) {
    let answer = case.lister.namespace(&target.name);
    let hides = format!("whether {target} is being deleted");
    let Some(namespace) = case.explained(target, &hides, answer) else { return };
    if namespace.metadata.deletion_timestamp.is_none() {
        case.diagnosis.words = "is not being deleted".to_owned();
        return;
    }
    case.diagnosis.terminating = true;
    case.diagnosis.overdue = overdue(case.lister, &namespace.metadata);
    case.diagnosis.words = terminating(case.lister, &namespace.metadata);
    let terminating = TerminatingNamespace { target, namespace, name: &target.name };
    for failing in namespace.status.conditions.iter().filter(|condition| condition.status == "True") {
        case.diagnosis.evidence(format!("status of {target}"), condition_text(failing));
    }
    let repaired = conditions::follow(case, &terminating);
    let conditions_lead = case.diagnosis.is_explained() || !repaired.is_empty();
    let mut left = content::read(case, &terminating);
    unlisted::explain(&terminating, &left, &mut case.diagnosis);
    // What they point to is looked at first.
    let points_nowhere = !case.diagnosis.is_explained() && !case.diagnosis.pending;
    let says_nothing = namespace.status.conditions.is_empty() || points_nowhere;
    if says_nothing && terminating.has_own_finalizer() {
        finish::control_plane(case, &terminating);
    }
    // Hundreds of lists: only when nothing cheaper has explained it.
    let is_vague = failing_lists::is_wanted(&case.diagnosis);
    if is_vague || content::needs_sweep(case.lister, &terminating, &case.diagnosis, &left) {
        content::sweep(case, &terminating, &mut left);
    }
    if is_vague {
        failing_lists::name(&terminating, &left, &mut case.diagnosis);
    }
    content::contradict(&terminating, &mut case.diagnosis, &left, conditions_lead);
    finish::judge(case, &terminating, &left, &repaired);
}
