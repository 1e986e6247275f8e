//! Finalizers: who must take one off, and whether that program lives.

mod controller;
mod registry;
mod reported;

use findings::{Cause, cause};

use super::webhook::Request;
use super::{control_plane, namespace, owner, webhook};
use crate::graph::{Found, Standing, Step, View};
use crate::state::*;
use controller::Controller;
use reported::Reported;

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
            Some(known) => by_others(view, thing, meta, finalizer, Some(known), standing),
            None => by_others(view, thing, meta, finalizer, None, standing),
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
    let words = format!("{}, which kube-controller-manager takes off", standing.words);
    let mut found = held(thing, meta, finalizer, cause).at_itself(thing, words);
    if thing.is(known::PODS) {
        let changers = webhook::changers(view, standing, Request::about(thing, meta, "UPDATE"));
        for name in changers {
            let says = "is asked about updates of this pod; containers that it adds make them invalid";
            found = found.evidence(format!("MutatingWebhookConfiguration {name}"), says);
        }
    }
    let is_young = standing.overdue.is_some_and(|seconds| seconds < SLOW);
    standing.found.push(if is_young { found.progressing() } else { found });
}

/// A program that somebody installed takes it off.
fn by_others(
    view: &View,
    thing: &Thing,
    meta: &Meta,
    finalizer: &str,
    known: Option<&'static registry::KnownFinalizer>,
    standing: &mut Standing,
) {
    if refused(view, thing, meta, standing) {
        return;
    }
    let group = &thing.resource.group;
    let subject = thing.resource.for_kubectl();
    let default = if thing.is(crate::state::known::NAMESPACES) {
        &cause::NAMESPACE_METADATA_FINALIZER
    } else {
        &cause::FINALIZER_OWNER_UNKNOWN
    };
    let specific = known.map(|known| known.cause);
    let released_by = known.map_or(String::new(), |known| format!(" ({} takes it off)", known.released_by));
    let finalizer_words = format!("held by finalizer {finalizer}{released_by}");
    let start = |cause| held(thing, meta, finalizer, cause).same_as(&subject);
    // Of a built-in kind hundreds of programs may change every object: rights tell nothing there.
    let is_custom = group.contains('.') && !group.ends_with(".k8s.io");
    if !is_custom {
        let words = format!("{}{released_by}; {}", standing.words, setter(meta, finalizer));
        let found = match reported::invalid(view, thing, standing) {
            Some((source, says)) => start(&cause::UPDATE_FAILS_VALIDATION)
                .same_as(thing)
                .at_itself(thing, format!("{words}; its update is refused: {says}"))
                .evidence(source, says)
                .probable(),
            None => start(specific.unwrap_or(default)).same_as(finalizer).at_itself(thing, words),
        };
        standing.found.push(found);
        return;
    }
    let own = thing.namespace.as_deref().filter(|name| namespace::is_going(view, name));
    let found = match controller::of(view, standing, &thing.resource) {
        Controller::Open => return,
        Controller::NotVisible => {
            let words = format!("{finalizer_words}; who serves {subject} could not be looked up");
            start(specific.unwrap_or(default)).at_itself(thing, words).probable()
        }
        Controller::Account { account, namespace } if own == Some(namespace.as_str()) => start(
            &cause::FINALIZER_OWNER_IN_SAME_NAMESPACE,
        )
        .step(Step::about(thing, finalizer_words))
        .step(Step::named(
            format!("ServiceAccount {namespace}/{account}"),
            "the only one that may release it lives in the namespace that is being deleted; its workload is gone, \
                 and nothing new can start there",
        )),
        Controller::Account { account, namespace } => start(specific.unwrap_or(&cause::FINALIZER_CONTROLLER_GONE))
            .step(Step::about(thing, finalizer_words))
            .step(Step::named(
                format!("ServiceAccount {namespace}/{account}"),
                "may release it, and no workload runs as it",
            )),
        Controller::Nobody => {
            let words = format!(
                "{}{released_by}; nothing in the cluster serves {subject}: no role names it; {}",
                standing.words,
                setter(meta, finalizer)
            );
            start(specific.unwrap_or(&cause::FINALIZER_CONTROLLER_GONE)).at_itself(thing, words)
        }
        Controller::Workload { thing: workload, object } => {
            let at = workload.namespace.as_deref();
            let state = format!("{} of {} pods ready", object.ready(), object.wanted());
            let chain = |cause| {
                start(cause)
                    .step(Step::about(thing, &finalizer_words))
                    .name("workload", format!("{}/{}", workload.kind.to_lowercase(), workload.name))
                    .name_if("workload_namespace", at)
                    .evidence(workload.to_string(), &state)
            };
            if own.is_some() && own == at {
                chain(&cause::FINALIZER_OWNER_IN_SAME_NAMESPACE).step(Step::about(
                    &workload,
                    format!("lives in the namespace that is being deleted ({state}); nothing new can start there"),
                ))
            } else if object.wanted() == 0 {
                chain(&cause::FINALIZER_CONTROLLER_GONE).step(Step::about(&workload, "scaled to 0"))
            } else if object.ready() == 0 {
                chain(&cause::FINALIZER_CONTROLLER_NOT_READY).step(Step::about(&workload, state.clone()))
            } else {
                let Reported { cause, words, evidence } = reported::of(view, thing, standing);
                // What was reported is nearer than what the finalizer is known for.
                let general = cause.id == cause::FINALIZER_CONTROLLER_FAILING.id;
                let found = chain(specific.filter(|_| general).unwrap_or(cause));
                let found = if cause.id == cause::UPDATE_FAILS_VALIDATION.id { found.same_as(thing) } else { found };
                let found =
                    found.step(Step::about(&workload, format!("runs ({state}) and has not released it{words}")));
                let found = evidence.into_iter().fold(found, |found, (source, says)| found.evidence(source, says));
                let is_young = standing.overdue.is_some_and(|seconds| seconds < SLOW);
                if is_young { found.progressing() } else { found.probable() }
            }
        }
    };
    standing.found.push(found.in_place_of_own());
}

fn held(thing: &Thing, meta: &Meta, finalizer: &str, cause: &'static Cause) -> Found {
    Found::below(cause, thing)
        .name("finalizer", finalizer)
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
