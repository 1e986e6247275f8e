//! Which finalizers are held by the same root: the same finalizer, the same controller, and the same words of it.

use findings::cause;

use super::blocking_finalizer::BlockingFinalizer;
use super::setter;
use crate::diagnosis::RootCause;
use crate::messages::normalised;
use crate::state::*;

/// Keys the cause found for a finalizer. What is not proven to be the same stays apart.
pub fn keyed(case: &BlockingFinalizer, found: RootCause) -> RootCause {
    let BlockingFinalizer { target, finalizer, .. } = case;
    if found.draft.cause.id == cause::UPDATE_FAILS_VALIDATION.id {
        // The object itself is what is wrong.
        return found.same_as(target);
    }
    let by = match found.steps.last() {
        Some(step) if step.object.as_ref() != Some(target) => {
            format!("{}: {}", step.subject, normalised(&step.words, target))
        }
        // Each is drained for itself.
        _ if target.is(known::NODES) => target.to_string(),
        // One program that set several finalizers, also of several kinds, is one root.
        _ => match setter::program(case.meta, finalizer, &target.resource.group) {
            Some(program) => return found.same_as(format!("set by {program}")),
            None => target.resource.for_kubectl(),
        },
    };
    found.same_as(format!("{finalizer}:{by}"))
}
