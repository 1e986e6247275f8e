//! Which kind it is whose objects cannot be read, where the error of the namespace controller does not say that.

use findings::{FaultKind, Unread};

use super::content::Left;
use super::terminating_namespace::TerminatingNamespace;
use crate::rules::phrases::some;
use crate::rules::prelude::*;

/// Whether a cause that was found rests on words that name no kind: then every kind is listed.
pub fn is_wanted(diagnosis: &Diagnosis) -> bool {
    diagnosis.causes.iter().any(is_vague)
}

fn is_vague(root: &RootCause) -> bool {
    let is = |cause: &Cause| cause.id == root.draft.cause.id;
    let names_its_key = root.draft.facts.has(Circumstance::Unread(Unread::Encrypted));
    is(&cause::NAMESPACE_CONTENT_FAILURE) || is(&cause::OBJECT_NOT_DECODABLE) && !names_its_key
}

/// Says of each such cause which lists fail; where none does, that it is none of those.
pub fn name(terminating: &TerminatingNamespace, left: &Left, diagnosis: &mut Diagnosis) {
    if diagnosis.pending {
        return;
    }
    let failing: Vec<_> = left.failed.iter().filter(|(_, fault)| fault.kind != FaultKind::Denied).collect();
    let denied = left.failed.len() - failing.len();
    let (step, kind) = match failing.as_slice() {
        [] if denied > 0 || !left.is_complete => return,
        [] => {
            let words = "are the only kind that was not listed: every other kind can be listed";
            (Step::named(format!("Secrets of {}", terminating.name), words), Unread::Secrets)
        }
        [(resource, fault)] => (
            Step::named(format!("list of {resource} in {}", terminating.name), format!("fails: {fault}")),
            Unread::Listed,
        ),
        several => {
            let names: Vec<String> = several.iter().map(|(resource, _)| resource.for_kubectl()).collect();
            (
                Step::named(format!("lists in {}", terminating.name), format!("fail of {}", some(&names, 5))),
                Unread::Listed,
            )
        }
    };
    let first = failing.first().map(|(resource, _)| resource.for_kubectl());
    for root in diagnosis.causes.iter_mut().filter(|root| is_vague(root)) {
        let found = root.clone().evidence(&step.subject, &step.words).given(Circumstance::Unread(kind));
        let found = first.iter().fold(found, |found, kind| found.name(Placeholder::Type, kind));
        // Of words that no rule knows the kind may be any: that all others can be listed is no more than evidence.
        let is_of_content = root.draft.cause.id == cause::OBJECT_NOT_DECODABLE.id;
        *root = match kind {
            Unread::Secrets if is_of_content => found.step(step.clone()).probable(
                "whether the list of Secrets fails: it is not read here, because that would read their content",
            ),
            Unread::Secrets => found,
            Unread::Listed | Unread::Encrypted | Unread::Starting | Unread::Unknown => found.step(step.clone()),
        };
    }
}
