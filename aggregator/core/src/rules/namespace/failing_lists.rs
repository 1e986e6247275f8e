//! Which kind it is whose objects cannot be read, where the error of the namespace controller does not say that.

use findings::{FaultKind, cause};

use super::content::Left;
use super::terminating_namespace::TerminatingNamespace;
use crate::diagnosis::{Diagnosis, RootCause, Step};
use crate::rules::phrases::some;

/// Whether a cause that was found rests on words that name no kind: then every kind is listed.
pub fn is_wanted(diagnosis: &Diagnosis) -> bool {
    diagnosis.causes.iter().any(is_vague)
}

fn is_vague(root: &RootCause) -> bool {
    [&cause::NAMESPACE_CONTENT_FAILURE, &cause::OBJECT_NOT_DECODABLE]
        .iter()
        .any(|vague| vague.id == root.draft.cause.id)
}

/// Says of each such cause which lists fail; where none does, that it is none of those.
pub fn name(case: &TerminatingNamespace, left: &Left, diagnosis: &mut Diagnosis) {
    if diagnosis.pending {
        return;
    }
    let failing: Vec<_> = left.failed.iter().filter(|(_, fault)| fault.kind != FaultKind::Denied).collect();
    let denied = left.failed.len() - failing.len();
    let step = match failing.as_slice() {
        [] if denied > 0 || !left.is_complete => return,
        [] => Step::named(
            "every other kind",
            format!(
                "can be listed. Secrets are not listed here, because their content would be read: kubectl get secrets -n \
                 {} -o name shows whether their list fails",
                case.name
            ),
        ),
        [(resource, fault)] => Step::named(format!("list of {resource} in {}", case.name), format!("fails: {fault}")),
        several => {
            let names: Vec<String> = several.iter().map(|(resource, _)| resource.for_kubectl()).collect();
            Step::named(format!("lists in {}", case.name), format!("fail of {}", some(&names, 5)))
        }
    };
    for root in diagnosis.causes.iter_mut().filter(|root| is_vague(root)) {
        let found = root.clone().evidence(&step.subject, &step.words);
        // What fails is the root; that every other kind does not is only said beside it.
        *root = if failing.is_empty() { found } else { found.step(step.clone()) };
    }
    if failing.is_empty() {
        diagnosis.note(format!("In {}, {} {}.", case.name, step.subject, step.words));
    }
}
