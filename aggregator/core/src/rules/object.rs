//! Objects of any other kind: only finalizers hold them.

use findings::{Placeholder, cause};

use super::words::{lasting, overdue};
use super::{finalizer, invalid_owner, victims};
use crate::diagnosis::{Diagnosis, RootCause};
use crate::lister::Lister;
use crate::state::*;

/// Explains an object by its metadata.
pub fn explain(lister: &Lister, target: &ObjectRef) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    let answer = lister.object(&target.resource, target.namespace.as_deref(), &target.name);
    if answer.is_missing() {
        return invalid_owner::of_missing(lister, target);
    }
    let Some(object) = diagnosis.required(target.to_string(), "what holds it", answer) else {
        diagnosis.words = "not known".to_owned();
        return diagnosis;
    };
    let meta = &object.metadata;
    if meta.deletion_timestamp.is_none() {
        diagnosis.words = "is not being deleted".to_owned();
        invalid_owner::of_live(lister, target, meta, &mut diagnosis);
        return diagnosis;
    }
    if victims::is_named(lister, target) {
        invalid_owner::of_terminating(lister, target, meta, &mut diagnosis);
    }
    diagnosis.terminating = true;
    diagnosis.overdue = overdue(lister, meta);
    diagnosis.words = words(lister, meta);
    if let Some(found) = without_namespace(lister, target, &mut diagnosis) {
        diagnosis.causes.push(found);
        return diagnosis;
    }
    finalizer::explain(lister, target, meta, &mut diagnosis);
    diagnosis
}

/// `Terminating for 2h, held by finalizer example.com/hold`.
pub fn words(lister: &Lister, meta: &Meta) -> String {
    let lasting = lasting(lister, meta.deletion_timestamp);
    match meta.finalizers.as_slice() {
        [] => format!("Terminating{lasting}, no finalizer left"),
        [one] => format!("Terminating{lasting}, held by finalizer {one}"),
        several => format!("Terminating{lasting}, held by finalizers {}", several.join(", ")),
    }
}

/// Nobody can change an object whose namespace does not exist.
fn without_namespace(lister: &Lister, target: &ObjectRef, diagnosis: &mut Diagnosis) -> Option<RootCause> {
    let name = target.namespace.as_deref()?;
    if !lister.namespace(name).is_missing() {
        return None;
    }
    let words = format!("{}; its namespace {name} does not exist", diagnosis.words);
    Some(
        RootCause::here(&cause::CONTENT_WITHOUT_NAMESPACE, target, words)
            .same_as(name)
            .name(Placeholder::Namespace, name)
            .evidence(format!("Namespace {name}"), "not found"),
    )
}
