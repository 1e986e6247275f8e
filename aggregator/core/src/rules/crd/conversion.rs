//! Which instances of a CRD remain, and whether they can be converted: all of a CRD but its other finalizers.

use std::collections::BTreeMap;

use findings::{FaultKind, Unread};
use jiff::Timestamp;

use crate::messages::errors;
use crate::rules::backend::{self, Backend};
use crate::rules::ca_bundle;
use crate::rules::phrases::{condition_text, count, overdue, some, terminating};
use crate::rules::prelude::*;

/// What a CRD waits for while its instances go.
pub(super) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// More namespaces are counted.
const MAX_NAMESPACES: usize = 5;

/// The CRD that defines this kind.
pub fn crd_of(lister: &Lister, group: &str, kind: &str) -> Answer<ObjectRef> {
    let is_it = |crd: &&Crd| crd.spec.group == group && crd.spec.names.kind == kind;
    lister.list::<Crd>(known::CRDS, Scope::All).and_then(|all| match all.into_iter().find(is_it) {
        Some(crd) => Answer::Seen(ObjectRef::cluster_wide(known::CRDS, &crd.metadata.name)),
        None => Answer::Missing,
    })
}

/// The causes of objects that cannot be converted.
static NOT_CONVERTED: [&Cause; 2] = [&cause::CONVERSION_WEBHOOK_UNAVAILABLE, &cause::STORED_VERSION_NOT_SERVED];

/// Whether this cause is about objects that cannot be converted.
pub fn is_of_conversion(root: &RootCause) -> bool {
    NOT_CONVERTED.iter().any(|cause| cause.id == root.draft.cause.id)
}

/// Whether the CRD shows why its objects cannot be converted.
pub fn is_explained(case: &Case, crd: &ObjectRef) -> bool {
    let its = case.apart(explain, crd);
    its.pending || its.causes.iter().any(is_of_conversion) || its.waits_for.iter().any(|one| one.is(known::NODES))
}

/// Whether the Service that converts its objects has a ready endpoint, and since when.
pub fn converter_serves(case: &mut Case, crd: &ObjectRef) -> Option<Option<Timestamp>> {
    let found = case.diagnosis.silently(case.lister.get::<Crd>(known::CRDS, None, &crd.name))?;
    match backend::inspect_called(case, found.converter()?) {
        Backend::Ready { since, .. } => Some(since),
        _ => None,
    }
}

/// Explains a CRD by its instances.
pub fn explain(case: &mut Case, target: &ObjectRef) {
    if let Some(crd) = begin(case, target) {
        instances(case, target, crd);
    }
}

/// Explains a CRD that is not being deleted; of another, how it stands.
pub(super) fn begin<'a>(case: &mut Case<'_, 'a>, target: &ObjectRef) -> Option<&'a Crd> {
    let answer = case.lister.get::<Crd>(known::CRDS, None, &target.name);
    let crd = case.explained(target, "why it stays", answer)?;
    case.diagnosis.words = "is not being deleted".to_owned();
    let is_going = crd.metadata.deletion_timestamp.is_some();
    if crd.needs_converter() && !is_going {
        conversion(case, target, crd);
    }
    stored_versions(target, crd, &mut case.diagnosis);
    if is_going {
        case.diagnosis.terminating = true;
        case.diagnosis.overdue = overdue(case.lister, &crd.metadata);
        case.diagnosis.words = terminating(case.lister, &crd.metadata);
    }
    is_going.then_some(crd)
}

fn conversion(case: &mut Case, target: &ObjectRef, crd: &Crd) {
    certificate(case, target, crd);
    let Some(service) = crd.converter() else { return };
    if !case.diagnosis.terminating {
        case.diagnosis.words = format!("converts by webhook, Service {service}");
    }
    let shown = ObjectRef::namespaced(known::SERVICES, &service.namespace, &service.name);
    let base = || {
        RootCause::below(&cause::CONVERSION_WEBHOOK_UNAVAILABLE, target)
            .name(Placeholder::Crd, &target.name)
            .name(Placeholder::Service, service)
            .evidence(target.to_string(), format!("spec.conversion: Webhook, Service {service}"))
    };
    match backend::inspect_called(case, service) {
        Backend::NoService => case.diagnosis.causes.push(base().step(Step::about(&shown, "does not exist"))),
        Backend::NoEndpoint { node: Some(node), .. } => case.diagnosis.wait_for(node),
        Backend::NoEndpoint { steps, node: None, .. } => {
            case.diagnosis.causes.push(steps.into_iter().fold(base(), RootCause::step));
        }
        Backend::Ready { .. } | Backend::External | Backend::Unknown => {}
    }
}

/// With an expired caBundle the API server trusts no conversion webhook.
fn certificate(case: &mut Case, target: &ObjectRef, crd: &Crd) {
    let Some(client) = crd.conversion_client() else { return };
    let Some((end, words)) = ca_bundle::expired(case.lister, &client.ca_bundle) else { return };
    let root = RootCause::below(&cause::CONVERSION_WEBHOOK_UNAVAILABLE, target)
        .same_as(format!("{target}:{end}"))
        .name(Placeholder::Crd, &target.name)
        .evidence(target.to_string(), format!("spec.conversion: Webhook; caBundle: {words}"))
        .step(Step::named("caBundle of the conversion webhook", words));
    case.diagnosis.causes.push(root);
}

fn stored_versions(target: &ObjectRef, crd: &Crd, diagnosis: &mut Diagnosis) {
    let is_gone = |stored: &&String| crd.spec.versions.iter().all(|version| version.name != **stored);
    let gone: Vec<&str> = crd.status.stored_versions.iter().filter(is_gone).map(String::as_str).collect();
    if !gone.is_empty() {
        let words = format!("objects are stored in {}, which it does not define any more", gone.join(", "));
        diagnosis.causes.push(
            RootCause::here(&cause::STORED_VERSION_NOT_SERVED, target, words)
                .name(Placeholder::Crd, &target.name)
                .evidence(
                    target.to_string(),
                    format!("status.storedVersions: {}", crd.status.stored_versions.join(", ")),
                ),
        );
    }
}

/// What is left of a CRD that is being deleted.
pub(super) fn instances(case: &mut Case, target: &ObjectRef, crd: &Crd) {
    // The API server adds it when the deletion is asked for
    // (kubernetes: apiextensions-apiserver/pkg/registry/customresourcedefinition/etcd.go).
    if !case.lister.is_before() && !crd.metadata.finalizers.iter().any(|finalizer| finalizer == CLEANUP) {
        return;
    }
    let before = case.diagnosis.unknown.len();
    let mut listed = Listed::NotTold;
    // In the version that is stored now, most of them are not converted.
    let served = crd.spec.versions.iter().filter(|version| version.served).min_by_key(|version| !version.storage);
    let mut held = 0;
    let mut free = 0;
    if let Some(version) = served {
        let resource = Resource::new(crd.spec.group.clone(), version.name.clone(), crd.spec.names.plural.clone());
        let answer = case.lister.metadata(&resource, Scope::All);
        let is_whole = case.lister.is_whole(&resource, Scope::All, Detail::Metadata);
        listed = Listed::new(&answer, version.storage, is_whole);
        let all = case.diagnosis.required(resource.to_string(), "which instances remain", answer).unwrap_or_default();
        if case.lister.is_before() {
            would_go(target, crd, &all, is_whole, &mut case.diagnosis);
        }
        for object in all {
            let meta = &object.metadata;
            match meta.deletion_timestamp {
                None => free += 1,
                // It would be gone at once.
                Some(_) if case.lister.is_before() && meta.finalizers.is_empty() => held += 1,
                Some(_) => {
                    held += 1;
                    case.diagnosis.wait_for(ObjectRef {
                        kind: crd.spec.names.kind.clone().into(),
                        resource: resource.clone(),
                        namespace: meta.namespace.clone(),
                        name: meta.name.clone(),
                    });
                }
            }
        }
    }
    if crd.needs_converter() {
        conversion_of_listed(case, target, crd, listed);
    }
    let says = condition(&crd.status.conditions, "Terminating");
    let blind = case.diagnosis.unknown.len() > before;
    if held == 0 && case.diagnosis.causes.is_empty() && !case.diagnosis.pending && (free > 0 || blind) {
        let is_starting = free == 0 && says.is_some_and(|says| errors::is_cache_starting(&says.message));
        let words = match free {
            0 if is_starting => {
                "no client can list its instances for the moment: the API server's cache is not ready".to_owned()
            }
            0 => "instances remain that cannot be listed by us".to_owned(),
            free => format!("{free} instances remain that are not being deleted"),
        };
        let words = says.map_or(words.clone(), |says| format!("{words}; the server says: {}", condition_text(says)));
        case.diagnosis.causes.push(
            RootCause::here(&cause::CRD_INSTANCES_REMAIN, target, words)
                .name(Placeholder::Crd, &target.name)
                .given(Circumstance::Unread(if is_starting { Unread::Starting } else { Unread::Unknown })),
        );
    }
}

/// What a list of the instances shows of their conversion.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Listed {
    /// It may be that none of them has to be converted.
    NotTold,
    /// There is none, or all are listed in the version that is stored now: one that is stored in another would have been
    /// converted, or the list would have failed
    /// (kubernetes: apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go, `Convert`).
    Whole,
    Failed,
}

impl Listed {
    fn new(answer: &Answer<Vec<&Object>>, is_stored: bool, is_whole: bool) -> Self {
        match answer {
            Answer::Seen(all) if is_whole && (is_stored || all.is_empty()) => Listed::Whole,
            Answer::Failed(fault) if fault.kind != FaultKind::Denied => Listed::Failed,
            _ => Listed::NotTold,
        }
    }
}

/// Why the instances of a CRD that is being deleted cannot be converted. `status.storedVersions` names every version that
/// was ever stored: that one of them has to be converted is known once it has failed.
fn conversion_of_listed(case: &mut Case, target: &ObjectRef, crd: &Crd, listed: Listed) {
    if listed == Listed::Whole || case.diagnosis.pending {
        return;
    }
    let first = case.diagnosis.causes.len();
    conversion(case, target, crd);
    if listed == Listed::NotTold {
        for root in case.diagnosis.causes.iter_mut().skip(first) {
            *root = root.clone().probable("whether an object is still stored in another version than the present one");
        }
    }
}

/// Says what would be deleted with it: every instance, in every namespace, without asking a webhook
/// (kubernetes: apiextensions-apiserver/pkg/controller/finalizer/crd_finalizer.go, `deleteInstances`).
fn would_go(target: &ObjectRef, crd: &Crd, all: &[&Object], is_whole: bool, diagnosis: &mut Diagnosis) {
    if all.is_empty() {
        return;
    }
    let mut namespaces = BTreeMap::<&str, usize>::new();
    for namespace in all.iter().filter_map(|object| object.metadata.namespace.as_deref()) {
        *namespaces.entry(namespace).or_default() += 1;
    }
    let each: Vec<String> = namespaces.iter().map(|(namespace, number)| format!("{namespace} {number}")).collect();
    let places = match each.len() {
        0 => String::new(),
        number => format!(" in {} ({})", count(number, "namespace"), some(&each, MAX_NAMESPACES)),
    };
    let CrdNames { kind, plural } = &crd.spec.names;
    let objects = match all.len() {
        number if number > 1 && *plural != format!("{}s", kind.to_lowercase()) => format!("{number} {plural}"),
        number => count(number, kind),
    };
    let more = if is_whole { "" } else { "at least " };
    diagnosis.note(format!("Deleted with {target}: {more}{objects}{places}."));
}
