//! Which finalizers are held by the same root: the same finalizer, the same controller, and the same words of it; and those
//! of one object that have the same explanation and no program that distinguishes them.

use findings::RootId;

use super::blocking_finalizer::{BlockingFinalizer, is_down};
use super::setter;
use crate::messages::normalised;
use crate::rules::prelude::*;

/// Keys the cause found for a finalizer. What is not proven to be the same stays apart.
pub fn keyed(blocking: &BlockingFinalizer, found: RootCause) -> RootCause {
    let BlockingFinalizer { target, finalizer, .. } = blocking;
    if found.draft.cause.id == cause::UPDATE_FAILS_VALIDATION.id {
        // The object itself is what is wrong.
        return found.same_as(target);
    }
    let by = match found.steps.last() {
        Some(step) if step.object.as_ref() != Some(target) => {
            format!("{}: {}", step.subject, normalised(&step.words, target))
        }
        // Each is drained for itself.
        _ if target.is(known::NODES) => match setter::program(blocking.meta, finalizer, &target.resource.group) {
            Some(program) => return found.same_as(format!("{target} set by {program}")),
            None => target.to_string(),
        },
        _ => {
            let namespace = target.namespace.as_deref().filter(|_| !is_served_everywhere(blocking));
            let within = namespace.map_or(String::new(), |namespace| format!(" in {namespace}"));
            // The program that is gone is one root, whatever the finalizers are that it had.
            let is_gone = is_down(found.draft.cause);
            if let Some(program) = blocking.program().filter(|_| is_gone) {
                return found.same_as(format!("set by {program}{within}"));
            }
            if is_gone && blocking.is_custom() && blocking.is_of_kind() {
                return found.same_as(format!("controller of {}{within}", target.resource.group));
            }
            // One program that set several finalizers, also of several kinds, is one root.
            match setter::program(blocking.meta, finalizer, &target.resource.group) {
                Some(program) => return found.same_as(format!("set by {program}{within}")),
                // Its owner is known, and that of a built-in kind serves them all.
                None if blocking.known.is_some() && !blocking.is_custom() => format!("built-in kinds{within}"),
                None => format!("{}{within}", target.resource.for_kubectl()),
            }
        }
    };
    found.same_as(format!("{finalizer}:{by}"))
}

/// Whether one controller is thought to serve all namespaces: one that is known to, that was recorded, or that of the kind.
/// Otherwise each may have its own.
fn is_served_everywhere(blocking: &BlockingFinalizer) -> bool {
    match blocking.known {
        Some(known) => !known.in_each_namespace,
        None => blocking.program().is_some() || blocking.is_of_kind(),
    }
}

/// Makes one cause of finalizers that have the same explanation, where the object itself is the root and one program set
/// them, or none that is known. The object's own words list them.
pub fn merge(target: &ObjectRef, causes: &mut Vec<RootCause>) {
    let mut merged: Vec<(RootCause, Vec<String>)> = Vec::new();
    for cause in std::mem::take(causes) {
        let finalizer = finalizer_at(target, &cause).map(str::to_owned);
        let is_same = |(first, finalizers): &(RootCause, Vec<String>)| {
            let pair = finalizers.first().zip(finalizer.as_ref());
            pair.is_some_and(|(one, other)| held_by(first, one) == held_by(&cause, other) && first.is_told_as(&cause))
        };
        match merged.iter().position(is_same) {
            Some(at) => {
                let (first, mut finalizers) = merged.remove(at);
                finalizers.extend(finalizer);
                merged.insert(at, (first.joined_with(&cause), finalizers));
            }
            None => merged.push((cause, finalizer.into_iter().collect())),
        }
    }
    causes.extend(merged.into_iter().map(|(cause, mut finalizers)| {
        finalizers.sort_unstable();
        let by = finalizers.iter().map(|one| held_by(&cause, one)).find(|by| *by != cause.key()).map(str::to_owned);
        match by.filter(|_| finalizers.len() > 1) {
            // Their names may be long.
            Some(by) => {
                cause.same_as(format!("{} finalizers {}:{by}", finalizers.len(), RootId::new(&finalizers.join(","))))
            }
            None => cause,
        }
    }));
}

/// What holds it, whatever the finalizer is called.
fn held_by<'c>(cause: &'c RootCause, finalizer: &str) -> &'c str {
    let by = cause.key().strip_prefix(finalizer).and_then(|rest| rest.strip_prefix(':'));
    by.unwrap_or(cause.key())
}

/// The finalizer that a cause is about, if the object itself is the root.
fn finalizer_at<'c>(target: &ObjectRef, cause: &'c RootCause) -> Option<&'c str> {
    let [only] = cause.steps.as_slice() else { return None };
    (only.object.as_ref() == Some(target)).then(|| cause.value(Placeholder::Finalizer)).flatten()
}

#[cfg(test)]
mod tests {
    use findings::Confidence;

    use super::*;
    use crate::diagnosis::Step;

    /// More finalizers than have steps of their own are joined.
    #[test]
    fn a_doubt_about_one_finalizer_is_a_doubt_about_all() {
        let target = ObjectRef::pod("shop", "web-0");
        let held = |number: usize| {
            let finalizer = format!("f{number}.example.com/hold");
            let cause = RootCause::below(&cause::FINALIZER_CONTROLLER_GONE, &target);
            let cause = cause.step(Step::about(&target, "held")).name(Placeholder::Finalizer, &finalizer);
            cause.same_as(format!("{finalizer}:pods"))
        };
        let mut causes: Vec<RootCause> = (0..7).map(held).chain([held(7).probable("who removes it")]).collect();
        merge(&target, &mut causes);
        let [only] = causes.as_slice() else { panic!("{}", causes.len()) };
        assert_eq!(only.draft.confidence, Confidence::Probable);
    }
}
