//! What would hold an object, and what would be lost, if it were deleted now. The same rules are asked; of what they
//! find that counts which needs no time to have passed.

use std::collections::BTreeSet;

use findings::{Cause, Placeholder, Verdict, cause};

mod live_volume_holders;
mod release;
mod stateful_set;

use super::phrases::{some, within};
use super::webhook::{self, Request};
use super::{control_plane, data_at_risk, finalizer, minimum_age, requested_objects};
use crate::diagnosis::{Diagnosis, RootCause, Step};
use crate::lister::Lister;
use crate::state::*;

/// More names are counted.
const MAX_NAMES: usize = 5;

/// What is known of an object of which some would be deleted; `look` are the rules for one that is being deleted.
pub fn explain(lister: &Lister, target: &ObjectRef, look: fn(&Lister, &ObjectRef) -> Diagnosis) -> Diagnosis {
    if is_going(lister, target) {
        let mut diagnosis = look(lister, target);
        minimum_age::spare(&mut diagnosis);
        return diagnosis;
    }
    let release = Release::new(lister.subject());
    let mut diagnosis = match target {
        _ if let Some(release) = release.as_ref().filter(|release| release.target() == *target) => {
            release::explain(lister, target, release)
        }
        _ if target.is(known::NAMESPACES) => namespace(lister, target),
        _ if target.is(known::PODS) => pod(lister, target),
        _ => look(lister, target),
    };
    if requested_objects::is_named(lister, target) {
        let answer = lister.object(&target.resource, target.namespace.as_deref(), &target.name);
        if let Some(object) = diagnosis.silently(answer).filter(|_| !target.is(known::NODES)) {
            webhook::refuses(lister, &mut diagnosis, &[Request::about(target, &object.metadata, "DELETE")]);
        }
        let namespace = target.namespace.as_deref().unwrap_or_default();
        if target.is(known::VOLUMES) {
            note_volume_disk(lister, target, &mut diagnosis);
        }
        if target.is(known::STATEFUL_SETS) && !diagnosis.missing {
            stateful_set::explain(lister, target, &mut diagnosis);
            // Its pods and claims have been marked with it.
            note_claim_disks(lister, namespace, |claim| claim.metadata.deletion_timestamp.is_some(), &mut diagnosis);
        }
    }
    if requested_objects::is_named(lister, target) {
        in_use(target, &mut diagnosis);
    }
    diagnosis.causes.retain(|found| found.holds_from_the_start && found.verdict != Verdict::Progressing);
    // Before a deletion its finalizers are what makes it safe.
    for found in &mut diagnosis.causes {
        found.draft.names.retain(|placeholder, _| placeholder != Placeholder::FinalizerPatch);
    }
    if requested_objects::is_named(lister, target) || release.is_some_and(|release| release.target() == *target) {
        live_volume_holders::explain(lister, target, &mut diagnosis);
    }
    diagnosis
}

/// The causes of a finalizer that stays while something uses the object. It is there whether something does or not, and the
/// user may be deleted with the object: that is no cause yet.
static IN_USE: [&Cause; 3] =
    [&cause::PROTECTED_WHILE_IN_USE, &cause::RESOURCE_CLAIM_IN_USE, &cause::IN_TREE_PROTECTION_FINALIZER];

/// Says that it is not known whether something uses the object.
fn in_use(target: &ObjectRef, diagnosis: &mut Diagnosis) {
    let is_in_use = |found: &&RootCause| IN_USE.iter().any(|cause| cause.id == found.draft.cause.id);
    let all = diagnosis.causes.iter().filter(|found| !found.holds_from_the_start).filter(is_in_use);
    let words: Vec<String> = all.filter_map(|found| Some(found.steps.first()?.words.clone())).collect();
    for words in words {
        diagnosis.note(format!("Not known: whether anything uses {target}, which would hold it ({words})."));
    }
}

/// Whether it is a pod that is being deleted already: what holds it now would hold what it is in.
fn is_going(lister: &Lister, target: &ObjectRef) -> bool {
    let since = |pod: &Pod| pod.metadata.deletion_timestamp.is_some_and(|at| at < lister.now());
    target.is(known::PODS)
        && lister.get::<Pod>(known::PODS, target.namespace.as_deref(), &target.name).seen().is_some_and(since)
}

/// A pod goes when its kubelet says so.
fn pod(lister: &Lister, target: &ObjectRef) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    let answer = lister.get::<Pod>(known::PODS, target.namespace.as_deref(), &target.name);
    if answer.is_missing() {
        return Diagnosis::missing();
    }
    let Some(pod) = diagnosis.required(target.to_string(), "what would hold it", answer) else {
        diagnosis.words = crate::report::NOT_KNOWN.to_owned();
        return diagnosis;
    };
    let place = if pod.spec.node_name.is_empty() { "no node" } else { &pod.spec.node_name };
    diagnosis.words = format!("{} on {place}", pod.status.phase);
    diagnosis.terminating = pod.metadata.deletion_timestamp.is_some();
    let requests = [
        Request::about(target, &pod.metadata, "UPDATE").at("pods/status"),
        Request::about(target, &pod.metadata, "DELETE"),
    ];
    webhook::refuses(lister, &mut diagnosis, &requests);
    if !pod.metadata.finalizers.is_empty() {
        finalizer::explain(lister, target, &pod.metadata, &mut diagnosis);
    }
    let namespace = target.namespace.as_deref().unwrap_or_default();
    for name in pod.claims() {
        let claim = diagnosis.silently(lister.get::<Claim>(known::CLAIMS, Some(namespace), &name));
        // Its deletion waits for the pods that use it.
        if let Some(claim) = claim.filter(|claim| lister.is_going(&claim.metadata)) {
            data_at_risk::note_claim_disk(lister, claim, None, &mut diagnosis);
        }
    }
    if pod.spec.node_name.is_empty() {
        return diagnosis;
    }
    let on = ObjectRef::node(&pod.spec.node_name);
    let answer = lister.get::<Node>(known::NODES, None, &on.name);
    if let Some(node) = diagnosis.required(on.to_string(), "whether its kubelet can stop it", answer)
        && !is_true(&node.status.conditions, "Ready")
    {
        diagnosis.wait_for(on);
    }
    diagnosis
}

/// A namespace goes when all in it has gone, and when every group of the API can be listed.
fn namespace(lister: &Lister, target: &ObjectRef) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    let name = target.name.as_str();
    let answer = lister.namespace(name);
    if answer.is_missing() {
        return Diagnosis::missing();
    }
    let Some(found) = diagnosis.required(target.to_string(), "what would hold it", answer) else {
        diagnosis.words = crate::report::NOT_KNOWN.to_owned();
        return diagnosis;
    };
    diagnosis.words = "once deleted".to_owned();
    diagnosis.terminating = found.metadata.deletion_timestamp.is_some();
    if !found.metadata.finalizers.is_empty() {
        finalizer::explain(lister, target, &found.metadata, &mut diagnosis);
    }
    let silent = control_plane::silent(lister, &mut diagnosis, target);
    diagnosis.causes.extend(silent);
    served_from(lister, target, &mut diagnosis);
    let Some(discovery) = diagnosis.required("API discovery", "which kinds there are", lister.discovery()) else {
        return diagnosis;
    };
    for dead in discovery.stale() {
        diagnosis.wait_for(ObjectRef::api_service(&dead.group, &dead.version));
    }
    let answer = lister.list::<Pod>(known::PODS, within(name));
    for pod in diagnosis.required(format!("pods of {name}"), "what would hold them", answer).unwrap_or_default() {
        diagnosis.wait_for(ObjectRef::pod(name, &pod.metadata.name));
    }
    for (resource, served) in discovery.deletable_kinds() {
        if !served.namespaced || is_left_out(&resource) || resource == known::PODS.into() {
            continue;
        }
        inside(lister, name, &resource, &served.kind, &mut diagnosis);
    }
    note_claim_disks(lister, name, |_| true, &mut diagnosis);
    diagnosis
}

/// Events only pass by, and Secrets are not read.
fn is_left_out(resource: &Resource) -> bool {
    resource.plural == "events" || (resource.group.is_empty() && resource.plural == "secrets")
}

/// A kind of which objects would go.
struct Going<'a> {
    kind: &'a str,
    resource: &'a Resource,
}

impl Going<'_> {
    fn named(&self, meta: &Meta) -> ObjectRef {
        ObjectRef {
            kind: self.kind.to_owned().into(),
            resource: self.resource.clone(),
            namespace: meta.namespace.clone(),
            name: meta.name.clone(),
        }
    }
}

/// A webhook that refuses to let one of them go refuses the others as well.
fn refused(lister: &Lister, kind: &Going, objects: &[&Object], diagnosis: &mut Diagnosis) {
    if let Some(first) = objects.first() {
        webhook::refuses(lister, diagnosis, &[Request::about(&kind.named(&first.metadata), &first.metadata, "DELETE")]);
    }
}

/// The objects of one kind: those with finalizers wait for their controllers, and a webhook may refuse the deletion of any
/// of them.
fn inside(lister: &Lister, namespace: &str, resource: &Resource, kind: &str, diagnosis: &mut Diagnosis) {
    let answer = lister.metadata(resource, within(namespace));
    let hides = format!("what would hold {resource}");
    let all = diagnosis.required(format!("{resource} of {namespace}"), &hides, answer).unwrap_or_default();
    let kind = Going { kind, resource };
    refused(lister, &kind, &all, diagnosis);
    for object in all.into_iter().filter(|object| !object.metadata.finalizers.is_empty()) {
        diagnosis.wait_for(kind.named(&object.metadata));
    }
}

/// What the cluster needs and only this namespace serves: its pods go before the rest of it.
fn served_from(lister: &Lister, target: &ObjectRef, diagnosis: &mut Diagnosis) {
    let answer = lister.list::<ApiService>(known::API_SERVICES, Scope::All);
    let all = diagnosis.required(known::API_SERVICES.plural, "which APIs are served from here", answer);
    let is_here = |service: &&ServiceRef| service.namespace == target.name;
    for one in all.unwrap_or_default() {
        let shown = ObjectRef::cluster_wide(known::API_SERVICES, &one.metadata.name);
        if condition(&one.status.conditions, "Available").is_some_and(|available| available.status != "True") {
            diagnosis.wait_for(shown.clone());
        }
        let Some(service) = one.spec.service.as_ref().filter(is_here) else { continue };
        let words = format!(
            "served by Service {service}, whose pods are deleted first; no namespace can be deleted \
            while it is not available"
        );
        diagnosis.causes.push(
            RootCause::below(&cause::NAMESPACE_SERVES_API, target)
                .same_as(&shown)
                .name(Placeholder::ApiService, &shown.name)
                .evidence(shown.to_string(), format!("spec.service: {service}"))
                .step(Step::about(&shown, words)),
        );
    }
    let mut callees = BTreeSet::new();
    for known in [known::VALIDATING, known::MUTATING] {
        let answer = lister.list::<WebhookConfiguration>(known, Scope::All);
        let all = diagnosis.required(known.plural, "which webhooks are answered from here", answer);
        for configuration in all.unwrap_or_default() {
            let mut webhooks = configuration.webhooks.iter().filter(|webhook| webhook.refuses_when_it_fails());
            if webhooks.any(|webhook| webhook.client_config.service.as_ref().filter(is_here).is_some()) {
                callees.insert(ObjectRef::cluster_wide(known, &configuration.metadata.name).to_string());
            }
        }
    }
    if !callees.is_empty() {
        let names = some(&callees.into_iter().collect::<Vec<_>>(), MAX_NAMES);
        diagnosis.note(format!(
            "Webhooks with failurePolicy Fail that are served from {}: {names}. Delete them first, with the operator's \
             own uninstaller: once their pods are gone every request that they match is refused, in every namespace.",
            target.name
        ));
    }
}

/// Disks that are deleted with their claims.
fn note_claim_disks(lister: &Lister, namespace: &str, is_meant: impl Fn(&Claim) -> bool, diagnosis: &mut Diagnosis) {
    let answer = lister.list::<Claim>(known::CLAIMS, within(namespace));
    for claim in diagnosis.silently(answer).into_iter().flatten().filter(|claim| is_meant(claim)) {
        data_at_risk::note_claim_disk(lister, claim, None, diagnosis);
    }
}

/// The disk of a volume that would be deleted itself.
fn note_volume_disk(lister: &Lister, target: &ObjectRef, diagnosis: &mut Diagnosis) {
    let answer = lister.get::<PersistentVolume>(known::VOLUMES, None, &target.name);
    if let Some(volume) = diagnosis.silently(answer) {
        data_at_risk::note_volume_disk(target, volume, None, diagnosis);
    }
}
