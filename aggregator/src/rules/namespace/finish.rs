//! What is left to say when objects and conditions have been looked at.

use findings::{Placeholder, cause};

use super::content::Left;
use super::{Case, YOUNG, is_explained};
use crate::graph::{Found, Standing, Step, View};
use crate::rules::webhook::Request;
use crate::rules::words::{api_service, count, some};
use crate::rules::{control_plane, finalizer, webhook};
use crate::state::*;

pub fn judge(view: &View, case: &Case, left: &Left, standing: &mut Standing) {
    recreated(case, left, standing);
    foreign_finalizers(view, case, standing);
    if is_explained(standing) || standing.open {
        return;
    }
    if left.not_asked.is_empty() {
        own_update_refused(view, case, standing);
    } else {
        refused(view, left, standing);
    }
    let is_young = standing.overdue.is_some_and(|seconds| seconds < YOUNG);
    if !is_explained(standing) && is_young && !standing.open {
        let words = format!("{}; being emptied", standing.words);
        let found =
            Found::here(&cause::NAMESPACE_STILL_EMPTYING, case.thing, words).name(Placeholder::Namespace, case.name);
        standing.found.push(found.progressing());
    }
}

/// Whether nobody acts, or an API that cannot be listed holds every namespace.
pub fn control_plane(view: &View, case: &Case, standing: &mut Standing) {
    let storage = control_plane::storage_fails(standing, case.thing);
    standing.found.extend(storage);
    match control_plane::silent(view, standing, case.thing) {
        Some(found) => standing.found.push(found),
        None => dead_apis(view, case, standing),
    }
}

fn recreated(case: &Case, left: &Left, standing: &mut Standing) {
    if let Some(first) = left.recreated.first() {
        let names: Vec<String> = left.recreated.iter().map(ToString::to_string).collect();
        standing.found.push(
            Found::below(&cause::OBJECTS_RECREATED, case.thing)
                .name(Placeholder::Namespace, case.name)
                .name(Placeholder::Type, first.type_for_kubectl())
                .name(Placeholder::Name, &first.name)
                .step(Step::named(
                    count(names.len(), "object"),
                    format!("made after the namespace's deletion: {}", some(&names, 3)),
                ))
                .evidence(first.to_string(), "its creationTimestamp is later than the namespace's deletionTimestamp"),
        );
    }
}

/// The controller has done its part; others have not.
fn foreign_finalizers(view: &View, case: &Case, standing: &mut Standing) {
    let spec = &case.namespace.spec.finalizers;
    if case.has_own_finalizer() {
        return;
    }
    for finalizer in spec {
        let words = format!("spec.finalizers holds {finalizer}; the namespace controller has taken its own entry off");
        standing.found.push(
            Found::here(&cause::NAMESPACE_SPEC_FINALIZER, case.thing, words)
                .same_as(finalizer)
                .name(Placeholder::Finalizer, finalizer)
                .name(Placeholder::Namespace, case.name)
                .evidence(case.thing.to_string(), format!("spec.finalizers: {}", spec.join(", "))),
        );
    }
    if spec.is_empty() {
        finalizer::explain(view, case.thing, &case.namespace.metadata, standing);
    }
}

/// APIs that cannot be listed hold every namespace, whether the conditions say so or not.
fn dead_apis(view: &View, case: &Case, standing: &mut Standing) {
    let answer = view.list::<ApiService>(known::API_SERVICES, Scope::All);
    let services = standing.see("apiservices", "whether an API is dead", answer).unwrap_or_default();
    let mut any = false;
    for service in services {
        let available = condition(&service.status.conditions, "Available");
        if available.is_some_and(|available| available.status != "True") {
            standing.wait_for(api_service(&service.spec.group, &service.spec.version));
            any = true;
        }
    }
    if !any && let Some(discovery) = standing.see("API discovery", "whether an API is dead", view.discovery()) {
        for stale in discovery.stale().filter(|stale| !stale.group.is_empty()) {
            standing.wait_for(api_service(&stale.group, &stale.version));
            any = true;
        }
    }
    if any && case.namespace.status.conditions.is_empty() {
        standing.note(
            "The server gives no conditions (Kubernetes before 1.16, or nobody acts), so what holds the namespace is \
             derived from the APIs that cannot be listed.",
        );
    }
}

/// Objects that nobody asked to go, although the controller runs.
fn refused(view: &View, left: &Left, standing: &mut Standing) {
    for (thing, meta) in left.not_asked.iter().take(3) {
        webhook::refuses(view, standing, &[Request::about(thing, meta, "DELETE")]);
    }
}

/// The namespace is empty, and its own last update is refused.
fn own_update_refused(view: &View, case: &Case, standing: &mut Standing) {
    let update = Request::about(case.thing, &case.namespace.metadata, "UPDATE");
    webhook::refuses(view, standing, &[update, update.at("namespaces/status"), update.at("namespaces/finalize")]);
}
