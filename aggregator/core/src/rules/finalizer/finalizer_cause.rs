//! What holds for every finalizer: who set it, and whether anybody may take it off.

use findings::{Cleanup, Controller, Existence, Users, finalizer_patch};

use crate::diagnosis::MIN_AGE_SECONDS;
use crate::rules::prelude::*;
use crate::rules::webhook::{self, Request};

/// A controller that has not answered for so long is not merely slow.
pub const MAX_REACTION_SECONDS: i64 = MIN_AGE_SECONDS;

/// A cause for which a finalizer stays.
pub fn finalizer_cause(target: &ObjectRef, meta: &Meta, finalizer: &str, cause: &'static Cause) -> RootCause {
    patched(RootCause::below(cause, target), meta, finalizer)
        .name(Placeholder::Finalizer, finalizer)
        .name(Placeholder::ReleasedBy, "the program that set it")
        .name(Placeholder::Lost, "Whatever its controller would have cleaned up")
        .given(Circumstance::Controller(Controller::Unknown))
        .given(Circumstance::Cleanup(Cleanup::Pending))
        .given(Circumstance::Users(Users::Unknown))
        .given(Circumstance::Template(Existence::Gone))
        .evidence(target.to_string(), format!("finalizer {finalizer}; {}", setter(meta, finalizer)))
}

/// Names the patch that takes this finalizer off an object that is being deleted.
pub fn patched(root: RootCause, meta: &Meta, finalizer: &str) -> RootCause {
    let index = meta.finalizers.iter().position(|one| one == finalizer);
    let index = index.filter(|_| meta.deletion_timestamp.is_some() && !meta.uid.is_empty());
    root.name_if(Placeholder::FinalizerPatch, index.map(|index| finalizer_patch(&meta.uid, index, finalizer)))
}

/// Who set it, as the server recorded it.
pub fn setter(meta: &Meta, finalizer: &str) -> String {
    match meta.setter_of(finalizer) {
        Some(managed) => {
            let at = managed.time.map_or(String::new(), |time| format!(" at {time}"));
            format!("set by {}{at}", managed.manager)
        }
        None => "the server did not record who set it".to_owned(),
    }
}

/// Whether a webhook that cannot be called refuses to let anybody take a finalizer off.
pub fn refused(case: &mut Case, target: &ObjectRef, meta: &Meta) -> bool {
    webhook::refuses(case, &[Request::about(target, meta, "UPDATE")])
}
