//! Kinds and finalizers that the conditions name, where the objects themselves could not be listed.

use super::content::Left;
use super::terminating_namespace::TerminatingNamespace;
use crate::messages::namespace::{finalizers_remaining, remaining};
use crate::rules::finalizer;
use crate::rules::phrases::{condition_text, count, some};
use crate::rules::prelude::*;

/// Names each finalizer that holds something unseen. Of several kinds it is unknown which of them has it.
pub fn explain(terminating: &TerminatingNamespace, left: &Left, diagnosis: &mut Diagnosis) {
    let Some(condition) = terminating.failing("NamespaceFinalizersRemaining").filter(|_| !left.unseen.is_empty())
    else {
        return;
    };
    if diagnosis.pending {
        return;
    }
    let remain =
        terminating.failing("NamespaceContentRemaining").map(|one| remaining(&one.message)).unwrap_or_default();
    let kinds: Vec<String> = left.unseen.iter().map(|resource| shown(resource, &remain)).collect();
    let first = left.unseen.first().map(Resource::for_kubectl);
    for held_by in finalizers_remaining(&condition.message) {
        if left.finalizers.contains(held_by.as_str()) {
            continue;
        }
        let known = finalizer::known_as(&held_by);
        let owner = known.map_or(String::new(), |known| format!(" ({} removes it)", known.released_by));
        let which = if kinds.len() == 1 { "held" } else { "some of them held" };
        let words = format!("remain, {which} by finalizer {held_by}{owner}, as the namespace's condition says");
        let found = RootCause::below(&cause::FINALIZER_OF_UNSEEN_OBJECTS, terminating.target)
            .same_as(format!("{held_by}:{}", kinds.join(",")))
            .name(Placeholder::Namespace, terminating.name)
            .name(Placeholder::Finalizer, &held_by)
            .name_if(Placeholder::Type, first.as_ref())
            .step(Step::named(some(&kinds, 4), words))
            .evidence(format!("status of {}", terminating.target), condition_text(condition));
        let found = known.iter().fold(found, |found, known| found.loses(known.lost).goes_on(known.goes_on()));
        let found = match kinds.len() {
            1 => found,
            _ => found.probable("which of these kinds has the finalizer: they could not be listed"),
        };
        diagnosis.causes.push(if terminating.is_young(diagnosis) { found.progressing() } else { found });
    }
}

/// `3 challenges.acme.cert-manager.io`.
fn shown(resource: &Resource, remain: &[(String, String, usize)]) -> String {
    let is_it = |(plural, group, _): &&(String, String, usize)| *plural == resource.plural && *group == resource.group;
    match remain.iter().find(is_it) {
        Some((.., 1)) => count(1, &resource.for_kubectl()),
        Some((.., many)) => format!("{many} {}", resource.for_kubectl()),
        None => resource.for_kubectl(),
    }
}
