//! Objects of any other kind: only finalizers hold them.

use findings::{Placeholder, cause};

use super::words::{lasting, overdue};
use super::{finalizer, namespace, odd_owner, victims};
use crate::graph::{Found, Standing, View};
use crate::state::*;

/// Explains an object by its metadata.
pub fn explain(view: &View, thing: &Thing) -> Standing {
    let mut standing = Standing::default();
    let answer = view.object(&thing.resource, thing.namespace.as_deref(), &thing.name);
    if answer.is_missing() {
        return odd_owner::of_missing(view, thing);
    }
    let Some(object) = standing.see(thing.to_string(), "what holds it", answer) else {
        standing.words = "not known".to_owned();
        return standing;
    };
    let meta = &object.metadata;
    if meta.deletion_timestamp.is_none() {
        standing.words = "is not being deleted".to_owned();
        odd_owner::of_living(view, thing, meta, &mut standing);
        return standing;
    }
    if victims::is_named(view, thing) {
        odd_owner::of_going(view, thing, meta, &mut standing);
    }
    standing.terminating = true;
    standing.overdue = overdue(view, meta);
    standing.words = words(view, meta);
    if let Some(found) = without_namespace(view, thing, &mut standing) {
        standing.found.push(found);
        return standing;
    }
    finalizer::explain(view, thing, meta, &mut standing);
    standing
}

/// `Terminating for 2h, held by finalizer example.com/hold`.
pub fn words(view: &View, meta: &Meta) -> String {
    let lasting = lasting(view, meta.deletion_timestamp);
    match meta.finalizers.as_slice() {
        [] => format!("Terminating{lasting}, no finalizer left"),
        [one] => format!("Terminating{lasting}, held by finalizer {one}"),
        several => format!("Terminating{lasting}, held by finalizers {}", several.join(", ")),
    }
}

/// Nobody can change an object whose namespace does not exist.
fn without_namespace(view: &View, thing: &Thing, standing: &mut Standing) -> Option<Found> {
    let name = thing.namespace.as_deref()?;
    if !namespace::find(view, name).is_missing() {
        return None;
    }
    let words = format!("{}; its namespace {name} does not exist", standing.words);
    Some(
        Found::here(&cause::CONTENT_WITHOUT_NAMESPACE, thing, words)
            .same_as(name)
            .name(Placeholder::Namespace, name)
            .evidence(format!("Namespace {name}"), "not found"),
    )
}
