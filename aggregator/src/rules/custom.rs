//! CustomResourceDefinitions: their own deletion, and the conversion of their objects.

use findings::{Placeholder, cause};

use super::backend::{self, Backend};
use super::words::{lasting, overdue, said};
use crate::graph::{Found, Standing, Step, View};
use crate::state::*;

/// What a CRD waits for while its instances go.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The CRD that defines this kind.
pub fn crd_of(view: &View, standing: &mut Standing, group: &str, kind: &str) -> Option<Thing> {
    let answer = view.list::<Crd>(known::CRDS, Scope::All);
    let all = standing.see(known::CRDS.plural, "who converts custom resources", answer)?;
    let found = all.into_iter().find(|crd| crd.spec.group == group && crd.spec.names.kind == kind)?;
    Some(Thing::cluster_wide("CustomResourceDefinition", known::CRDS, &found.metadata.name))
}

/// Whether the CRD tells why its objects cannot be converted.
pub fn is_explained(view: &View, crd: &Thing) -> bool {
    let its = explain(view, crd);
    its.open || !its.found.is_empty() || !its.waits_for.is_empty()
}

/// Explains a CRD.
pub fn explain(view: &View, thing: &Thing) -> Standing {
    let mut standing = Standing::default();
    let answer = view.get::<Crd>(known::CRDS, None, &thing.name);
    if answer.is_missing() {
        return Standing::missing();
    }
    let Some(crd) = standing.see(thing.to_string(), "why it stays", answer) else {
        standing.words = "not known".to_owned();
        return standing;
    };
    standing.words = "is not being deleted".to_owned();
    conversion(view, thing, crd, &mut standing);
    stored_versions(thing, crd, &mut standing);
    if crd.metadata.deletion_timestamp.is_some() {
        deletion(view, thing, crd, &mut standing);
    }
    standing
}

fn conversion(view: &View, thing: &Thing, crd: &Crd, standing: &mut Standing) {
    let Some(service) = crd.converter() else { return };
    standing.words = format!("converts by webhook, Service {service}");
    let shown = Thing::namespaced("Service", known::SERVICES, &service.namespace, &service.name);
    let base = || {
        Found::below(&cause::CONVERSION_WEBHOOK_UNAVAILABLE, thing)
            .name(Placeholder::Crd, &thing.name)
            .name(Placeholder::Service, service)
            .evidence(thing.to_string(), format!("spec.conversion: Webhook, Service {service}"))
    };
    match backend::look(view, standing, service) {
        Backend::NoService => standing.found.push(base().step(Step::about(&shown, "does not exist"))),
        Backend::NoEndpoint { node: Some(node), .. } => standing.wait_for(node),
        Backend::NoEndpoint { steps, node: None, .. } => {
            standing.found.push(steps.into_iter().fold(base(), Found::step));
        }
        Backend::Ready { .. } | Backend::Unknown => {}
    }
}

fn stored_versions(thing: &Thing, crd: &Crd, standing: &mut Standing) {
    let is_gone = |stored: &&String| crd.spec.versions.iter().all(|version| version.name != **stored);
    let gone: Vec<&str> = crd.status.stored_versions.iter().filter(is_gone).map(String::as_str).collect();
    if !gone.is_empty() {
        let words = format!("objects are stored in {}, which it does not define any more", gone.join(", "));
        standing.found.push(
            Found::here(&cause::STORED_VERSION_NOT_SERVED, thing, words).name(Placeholder::Crd, &thing.name).evidence(
                thing.to_string(),
                format!("status.storedVersions: {}", crd.status.stored_versions.join(", ")),
            ),
        );
    }
}

fn deletion(view: &View, thing: &Thing, crd: &Crd, standing: &mut Standing) {
    standing.terminating = true;
    standing.overdue = overdue(view, &crd.metadata);
    standing.words = format!("Terminating{}", lasting(view, crd.metadata.deletion_timestamp));
    for finalizer in crd.metadata.finalizers.iter().filter(|finalizer| *finalizer != CLEANUP) {
        super::finalizer::one(view, thing, &crd.metadata, finalizer, standing);
    }
    if !crd.metadata.finalizers.iter().any(|finalizer| finalizer == CLEANUP) {
        return;
    }
    let before = standing.unknown.len();
    let served = crd.spec.versions.iter().find(|version| version.served);
    let mut held = 0;
    let mut free = 0;
    if let Some(version) = served {
        let resource = Resource::new(&crd.spec.group, &version.name, &crd.spec.names.plural);
        let answer = view.metadata(&resource, Scope::All);
        for object in standing.see(resource.to_string(), "which instances remain", answer).unwrap_or_default() {
            if object.metadata.deletion_timestamp.is_some() {
                held += 1;
                standing.wait_for(Thing {
                    kind: crd.spec.names.kind.clone(),
                    resource: resource.clone(),
                    namespace: object.metadata.namespace.clone(),
                    name: object.metadata.name.clone(),
                });
            } else {
                free += 1;
            }
        }
    }
    let says = condition(&crd.status.conditions, "Terminating");
    let blind = standing.unknown.len() > before;
    if held == 0 && standing.found.is_empty() && !standing.open && (free > 0 || blind) {
        let words = match free {
            0 => "instances remain that cannot be listed by us".to_owned(),
            free => format!("{free} instances remain that nobody asked to go"),
        };
        let words = says.map_or(words.clone(), |says| format!("{words}; the server says: {}", said(says)));
        standing
            .found
            .push(Found::here(&cause::CRD_INSTANCES_REMAIN, thing, words).name(Placeholder::Crd, &thing.name));
    }
}
