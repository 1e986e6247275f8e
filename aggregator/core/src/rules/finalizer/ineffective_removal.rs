//! Finalizers that stay although their controller works: on a kind that it does not look at, listed twice, or added
//! again by a webhook.

use super::registry::{self, KnownFinalizer};
use crate::rules::phrases::some;
use crate::rules::prelude::*;
use crate::rules::webhook::{self, Request};

/// The causes of a finalizer that stays for no visible reason; beside them, what it is known for.
static NO_REASON: [&Cause; 2] = [&cause::FINALIZER_CONTROLLER_FAILING, &cause::FINALIZER_OWNER_UNKNOWN];

/// Says of what was found from `first` on why the finalizer stays, where that is nearer than what was found.
pub fn explain(case: &mut Case, target: &ObjectRef, meta: &Meta, finalizer: &str, first: usize) {
    let known = registry::find_on(finalizer, &target.kind, meta);
    let known_for = known.map(|known| known.cause);
    let is_open =
        |root: &RootCause| NO_REASON.iter().copied().chain(known_for).any(|cause| cause.id == root.draft.cause.id);
    if !case.diagnosis.causes.iter().skip(first).any(is_open) {
        return;
    }
    let source = target.to_string();
    let told = match times(meta, finalizer) {
        _ if known.is_some_and(|known| !known.is_for(&target.kind)) => known.map(|known| {
            let KnownFinalizer { released_by, only, source, .. } = known;
            let says = format!(
                "{released_by} removes {finalizer} from {}, not from {} \
                    ({source})",
                only.join(", "),
                target.kind
            );
            (Some(&cause::FINALIZER_NOT_FOR_THIS_KIND), says)
        }),
        0 | 1 => added_again(case, target, meta, finalizer),
        times => {
            let says = format!("metadata.finalizers has {finalizer} {times} times");
            Some((Some(&cause::FINALIZER_LISTED_TWICE), says))
        }
    };
    let Some((cause, says)) = told else { return };
    for root in case.diagnosis.causes.iter_mut().skip(first).filter(|root| is_open(root)) {
        if let Some(cause) = cause {
            *root = root.clone().instead(cause).probable("whether its controller runs into this: its log has that");
        }
        *root = root.clone().evidence(&source, &says);
    }
}

fn times(meta: &Meta, finalizer: &str) -> usize {
    meta.finalizers.iter().filter(|one| *one == finalizer).count()
}

/// The API server refuses finalizers that are new to an object that is being deleted. A mutating webhook that puts one back
/// into the very update that takes it off is not refused: nothing has changed. The writer of that update then owns the
/// finalizer, at a time after the deletion, or no client does: the server records what the client asked for (seen on 1.36,
/// `tests/e2e`, `finalizer-returns`). Of an entry that holds more the time shows nothing: a later status may have renewed it.
fn added_again(
    case: &mut Case,
    target: &ObjectRef,
    meta: &Meta,
    finalizer: &str,
) -> Option<(Option<&'static Cause>, String)> {
    let changers = webhook::changers(case, Request::about(target, meta, "UPDATE"));
    if changers.is_empty() {
        return None;
    }
    let names = some(&changers, 3);
    let says = format!("called for each update, and may put the finalizer back: MutatingWebhookConfiguration {names}");
    if meta.setter_of(finalizer).is_none() {
        // One that is called for creations may have set it then.
        let setters = webhook::changers(case, Request::about(target, meta, "CREATE"));
        let cause = setters.is_empty().then_some(&cause::FINALIZER_ADDED_AGAIN);
        return Some((cause, format!("no client owns it in managedFields, as what a webhook writes; {says}")));
    }
    let setter = meta.setter_of(finalizer).filter(|setter| !setter.fields.has_more);
    let written = setter.and_then(|setter| Some((&setter.manager, setter.time?, meta.deletion_requested_at()?)));
    Some(match written.filter(|(_, written, asked)| written > asked) {
        Some((manager, written, asked)) => {
            let says =
                format!("written by {manager} at {written}, after the deletion was requested at {asked}; {says}");
            (Some(&cause::FINALIZER_ADDED_AGAIN), says)
        }
        None => (None, says),
    })
}
