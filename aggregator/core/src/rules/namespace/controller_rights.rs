//! What the namespace controller's account lacks. Refused here, it writes no condition, or one that does not say why.

use super::terminating_namespace::TerminatingNamespace;
use crate::rules::prelude::*;
use crate::rules::rights::{self, Permission};

fn account() -> Account {
    ("kube-system".to_owned(), "namespace-controller".to_owned())
}

/// Without the right to write a condition it writes none of what it is refused besides.
pub fn cannot_report(case: &mut Case, terminating: &TerminatingNamespace) -> Option<RootCause> {
    let mut status = terminating.target.clone();
    status.resource.plural.to_mut().push_str("/status");
    let permission = rights::may(case, &account(), CHANGES, &status);
    let lacks = lacks(terminating, &format!("may not update {}", status.resource.plural), permission)?;
    Some(lacks.evidence(terminating.target.to_string(), "status.conditions is empty"))
}

/// The condition quotes the refusal as "unknown".
pub fn cannot_discover(case: &mut Case, terminating: &TerminatingNamespace) -> Option<RootCause> {
    let permission = rights::may_discover(case, &account());
    lacks(terminating, "may not read API discovery", permission)
}

fn lacks(terminating: &TerminatingNamespace, what: &str, permission: Permission) -> Option<RootCause> {
    let Permission::Not(why) = permission else { return None };
    let words = format!("{what}: {why}");
    let root = RootCause::below(&cause::BUILT_IN_CONTROLLER_FORBIDDEN, terminating.target)
        .same_as("namespace-controller")
        .step(Step::named("ServiceAccount kube-system/namespace-controller", &words))
        .evidence("RBAC", words);
    Some(root.probable("whether the namespace controller has this account: the controllers may share one"))
}
