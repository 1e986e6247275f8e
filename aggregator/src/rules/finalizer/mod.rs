//! Finalizers: who must take one off, and whether that program lives.

mod beside;
mod controller;
mod foreign;
mod leader;
mod neighbours;
mod registry;
mod reported;

use findings::{Cause, Placeholder, cause};

use super::webhook::Request;
use super::{control_plane, owner, webhook};
use crate::graph::{Found, Standing, View};
use crate::state::*;

/// A controller that has not answered for so long is not merely slow.
const SLOW: i64 = 120;

/// Explains every finalizer of an object.
pub fn explain(view: &View, thing: &Thing, meta: &Meta, standing: &mut Standing) {
    for finalizer in &meta.finalizers {
        one(view, thing, meta, finalizer, standing);
    }
    if meta.finalizers.is_empty() {
        standing.note(format!(
            "{thing} has no finalizer left. The API server removes such an object at once, so it was seen on its way, \
             or its deletion is refused."
        ));
    }
}

/// Explains one finalizer of an object.
pub fn one(view: &View, thing: &Thing, meta: &Meta, finalizer: &str, standing: &mut Standing) {
    match finalizer {
        "foregroundDeletion" => owner::foreground(view, thing, meta, standing),
        "orphan" => by_controller_manager(view, thing, meta, finalizer, &cause::ORPHAN_FINALIZER_PENDING, standing),
        _ => match registry::find(finalizer) {
            Some(known) if known.in_controller_manager => {
                by_controller_manager(view, thing, meta, finalizer, known.cause, standing);
            }
            known => foreign::explain(view, &foreign::Case { thing, meta, finalizer, known }, standing),
        },
    }
}

/// A controller of kube-controller-manager takes it off.
pub fn by_controller_manager(
    view: &View,
    thing: &Thing,
    meta: &Meta,
    finalizer: &str,
    cause: &'static Cause,
    standing: &mut Standing,
) {
    if let Some(found) = control_plane::silent(view, standing, thing) {
        standing.found.push(found);
        return;
    }
    if refused(view, thing, meta, standing) {
        return;
    }
    let mut words = format!("{}, which kube-controller-manager takes off", standing.words);
    let mut beside = Vec::new();
    if cause.id == cause::JOB_TRACKING_FINALIZER.id {
        beside.extend(beside::job(view, thing, meta, standing));
        for (source, says) in &beside {
            words.push_str(&format!("; {source}: {says}"));
        }
        let changers = webhook::changers(view, standing, Request::about(thing, meta, "UPDATE"));
        let says = "is asked about updates of this pod; containers that it adds make them invalid";
        beside
            .extend(changers.into_iter().map(|name| (format!("MutatingWebhookConfiguration {name}"), says.to_owned())));
    }
    let found = held(thing, meta, finalizer, cause).at_itself(thing, words);
    let found = beside.into_iter().fold(found, |found, (source, says)| found.evidence(source, says));
    let is_young = standing.overdue.is_some_and(|seconds| seconds < SLOW);
    standing.found.push(if is_young { found.progressing() } else { found });
}

fn held(thing: &Thing, meta: &Meta, finalizer: &str, cause: &'static Cause) -> Found {
    Found::below(cause, thing)
        .name(Placeholder::Finalizer, finalizer)
        .evidence(thing.to_string(), format!("finalizer {finalizer}; {}", setter(meta, finalizer)))
}

/// Who set it, as the server recorded it.
fn setter(meta: &Meta, finalizer: &str) -> String {
    match meta.setter_of(finalizer) {
        Some(managed) => {
            let at = managed.time.map_or(String::new(), |time| format!(" at {time}"));
            format!("set by {}{at}", managed.manager)
        }
        None => "the server did not record who set it".to_owned(),
    }
}

/// Whether a webhook that cannot be called refuses to let anybody take a finalizer off.
pub fn refused(view: &View, thing: &Thing, meta: &Meta, standing: &mut Standing) -> bool {
    webhook::refuses(view, standing, &[Request::about(thing, meta, "UPDATE")])
}
