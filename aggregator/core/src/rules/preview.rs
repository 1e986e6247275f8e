//! What would hold an object, and what would be lost, if it were deleted now. The same rules are asked; of what they
//! find that counts which needs no time to have passed.

use std::collections::BTreeSet;

use findings::Verdict;

mod live_volume_holders;
mod release;
mod stateful_set;

use super::phrases::{some, within};
use super::webhook::{self, Request};
use super::{admission_policy, control_plane, data_at_risk, finalizer, minimum_age};
use crate::rules::prelude::*;

/// More names are counted.
const MAX_NAMES: usize = 5;

/// What is known of an object of which some would be deleted; `look` are the rules for one that is being deleted.
pub fn explain(case: &mut Case, target: &ObjectRef, look: fn(&mut Case, &ObjectRef)) {
    if is_going(case.lister, target) {
        look(case, target);
        case.diagnosis.is_deleted_already = case.lister.is_named(target);
        return minimum_age::spare(&mut case.diagnosis);
    }
    let release = Release::new(case.lister.subject());
    match target {
        _ if let Some(release) = release.as_ref().filter(|release| release.target() == *target) => {
            release::explain(case, target, release)
        }
        _ if target.is(known::NAMESPACES) => namespace(case, target),
        _ if target.is(known::PODS) => pod(case, target),
        _ => look(case, target),
    }
    if case.lister.is_named(target) {
        let answer = case.lister.object(&target.resource, target.namespace.as_deref(), &target.name);
        if let Some(object) = case.diagnosis.silently(answer).filter(|_| !target.is(known::NODES)) {
            let request = Request::about(target, &object.metadata, "DELETE");
            case.diagnosis.is_delete_refused = webhook::refuses(case, &[request]);
            let at = target.namespace.as_ref().map_or(String::new(), |namespace| format!(" -n {namespace}"));
            let ask = format!("; test it: kubectl delete {}{at} --dry-run=server", target.typed_name());
            note_policies(case, request, &target.to_string(), &ask);
            if case.lister.is_going(&object.metadata) {
                case.diagnosis.is_deleted_already = true;
                case.diagnosis.note(format!(
                    "{target} is being deleted already. What holds it: kubectl why-terminating {}{at}",
                    target.typed_name()
                ));
            }
        }
        let namespace = target.namespace.as_deref().unwrap_or_default();
        if target.is(known::VOLUMES) {
            note_volume_disk(case, target);
        }
        if target.is(known::STATEFUL_SETS) && !case.diagnosis.missing {
            stateful_set::explain(case, target);
            // Its pods and claims have been marked with it.
            note_claim_disks(case, namespace, |claim| claim.metadata.deletion_timestamp.is_some());
        }
    }
    if case.lister.is_named(target) {
        in_use(target, &mut case.diagnosis);
    }
    case.diagnosis.causes.retain(|found| found.holds_from_the_start && found.verdict != Verdict::Progressing);
    // Before a deletion its finalizers are what makes it safe.
    for found in &mut case.diagnosis.causes {
        found.draft.names.retain(|placeholder, _| placeholder != Placeholder::FinalizerPatch);
    }
    if case.lister.is_named(target) || release.is_some_and(|release| release.target() == *target) {
        live_volume_holders::explain(case, target);
    }
}

/// Says that it is not known whether something uses the object: a finalizer that stays as long is there whether something
/// does or not, and the user may be deleted with the object.
fn in_use(target: &ObjectRef, diagnosis: &mut Diagnosis) {
    let all = diagnosis.causes.iter().filter(|found| !found.holds_from_the_start && found.draft.cause.in_use);
    let words: Vec<String> = all.filter_map(|found| Some(found.steps.first()?.words.clone())).collect();
    for words in words {
        diagnosis.note(format!("Not known: whether anything uses {target}, which would hold it ({words})."));
    }
}

/// Says that it is not known whether a policy refuses to delete this.
fn note_policies(case: &mut Case, request: Request, what: &str, ask: &str) {
    if let Some((policy, binding)) = admission_policy::evaluated(case, request).first() {
        case.diagnosis.note(format!(
            "Not known: whether {policy} (bound by {binding}) refuses to delete {what}: its expressions are not evaluated \
             here{ask}."
        ));
    }
}

/// Whether it is a pod that is being deleted already: what holds it now would hold what it is in.
fn is_going(lister: &Lister, target: &ObjectRef) -> bool {
    let since = |pod: &Pod| pod.metadata.deletion_timestamp.is_some_and(|at| at < lister.now());
    target.is(known::PODS)
        && lister.get::<Pod>(known::PODS, target.namespace.as_deref(), &target.name).seen().is_some_and(since)
}

/// A pod goes when its kubelet says so.
fn pod(case: &mut Case, target: &ObjectRef) {
    let answer = case.lister.get::<Pod>(known::PODS, target.namespace.as_deref(), &target.name);
    let Some(pod) = case.explained(target, "what would hold it", answer) else { return };
    let place = if pod.spec.node_name.is_empty() { "no node" } else { &pod.spec.node_name };
    case.diagnosis.words = format!("{} on {place}", pod.status.phase);
    case.diagnosis.terminating = pod.metadata.deletion_timestamp.is_some();
    let requests = [
        Request::about(target, &pod.metadata, "UPDATE").at("pods/status"),
        Request::about(target, &pod.metadata, "DELETE"),
    ];
    webhook::refuses(case, &requests);
    if !pod.metadata.finalizers.is_empty() {
        finalizer::explain(case, target, &pod.metadata);
    }
    data_at_risk::note_disks_behind(case, [pod]);
    if pod.spec.node_name.is_empty() {
        return;
    }
    let on = ObjectRef::node(&pod.spec.node_name);
    let answer = case.lister.get::<Node>(known::NODES, None, &on.name);
    if let Some(node) = case.diagnosis.required(on.to_string(), "whether its kubelet can stop it", answer)
        && !is_true(&node.status.conditions, "Ready")
    {
        case.diagnosis.wait_for(on);
    }
}

/// A namespace goes when all in it has gone, and when every group of the API can be listed.
fn namespace(case: &mut Case, target: &ObjectRef) {
    let name = target.name.as_str();
    let answer = case.lister.namespace(name);
    let Some(found) = case.explained(target, "what would hold it", answer) else { return };
    case.diagnosis.words = "once deleted".to_owned();
    case.diagnosis.terminating = found.metadata.deletion_timestamp.is_some();
    if !found.metadata.finalizers.is_empty() {
        finalizer::explain(case, target, &found.metadata);
    }
    let silent = control_plane::silent(case, target);
    case.diagnosis.causes.extend(silent);
    served_from(case, target);
    let Some(discovery) = case.diagnosis.required("API discovery", "which kinds there are", case.lister.discovery())
    else {
        return;
    };
    for dead in discovery.stale() {
        case.diagnosis.wait_for(ObjectRef::api_service(&dead.group, &dead.version));
    }
    let answer = case.lister.list::<Pod>(known::PODS, within(name));
    for pod in case.diagnosis.required(format!("pods of {name}"), "what would hold them", answer).unwrap_or_default() {
        case.diagnosis.wait_for(ObjectRef::pod(name, &pod.metadata.name));
    }
    for (resource, served) in discovery.deletable_kinds() {
        if !served.namespaced || is_left_out(&resource) || resource == known::PODS.into() {
            continue;
        }
        inside(case, name, &resource, &served.kind);
    }
    note_claim_disks(case, name, |_| true);
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
fn refused(case: &mut Case, kind: &Going, objects: &[&Object]) {
    if let Some(first) = objects.first() {
        let named = kind.named(&first.metadata);
        let request = Request::about(&named, &first.metadata, "DELETE");
        webhook::refuses(case, &[request]);
        note_policies(case, request, &format!("objects in {}", named.namespace.as_deref().unwrap_or_default()), "");
    }
}

/// The objects of one kind: those with finalizers wait for their controllers, and a webhook may refuse the deletion of any
/// of them.
fn inside(case: &mut Case, namespace: &str, resource: &Resource, kind: &str) {
    let answer = case.lister.metadata(resource, within(namespace));
    let hides = format!("what would hold {resource}");
    let all = case.diagnosis.required(format!("{resource} of {namespace}"), &hides, answer).unwrap_or_default();
    let kind = Going { kind, resource };
    refused(case, &kind, &all);
    for object in all.into_iter().filter(|object| !object.metadata.finalizers.is_empty()) {
        case.diagnosis.wait_for(kind.named(&object.metadata));
    }
}

/// What the cluster needs and only this namespace serves: its pods go before the rest of it.
fn served_from(case: &mut Case, target: &ObjectRef) {
    let answer = case.lister.list::<ApiService>(known::API_SERVICES, Scope::All);
    let all = case.diagnosis.required(known::API_SERVICES.plural, "which APIs are served from here", answer);
    let is_here = |service: &&ServiceRef| service.namespace == target.name;
    for one in all.unwrap_or_default() {
        let shown = ObjectRef::cluster_wide(known::API_SERVICES, &one.metadata.name);
        if condition(&one.status.conditions, "Available").is_some_and(|available| available.status != "True") {
            case.diagnosis.wait_for(shown.clone());
        }
        let Some(service) = one.spec.service.as_ref().filter(is_here) else { continue };
        let words = format!(
            "served by Service {service}, whose pods are deleted first; no namespace can be deleted \
            while it is not available"
        );
        case.diagnosis.causes.push(
            RootCause::below(&cause::NAMESPACE_SERVES_API, target)
                .same_as(&shown)
                .name(Placeholder::ApiService, &shown.name)
                .evidence(shown.to_string(), format!("spec.service: {service}"))
                .step(Step::about(&shown, words)),
        );
    }
    let mut callees = BTreeSet::new();
    for known in [known::VALIDATING, known::MUTATING] {
        let answer = case.lister.list::<WebhookConfiguration>(known, Scope::All);
        let all = case.diagnosis.required(known.plural, "which webhooks are answered from here", answer);
        for configuration in all.unwrap_or_default() {
            let mut webhooks = configuration.webhooks.iter().filter(|webhook| webhook.refuses_when_it_fails());
            if webhooks.any(|webhook| webhook.client_config.service.as_ref().filter(is_here).is_some()) {
                callees.insert(ObjectRef::cluster_wide(known, &configuration.metadata.name).to_string());
            }
        }
    }
    if !callees.is_empty() {
        let names = some(&callees.into_iter().collect::<Vec<_>>(), MAX_NAMES);
        case.diagnosis.note(format!(
            "Webhooks with failurePolicy Fail that are served from {}: {names}. Delete them first, with the operator's \
             own uninstaller: once their pods are gone every request that they match is refused, in every namespace.",
            target.name
        ));
    }
}

/// Disks that are deleted with their claims.
fn note_claim_disks(case: &mut Case, namespace: &str, is_meant: impl Fn(&Claim) -> bool) {
    let answer = case.lister.list::<Claim>(known::CLAIMS, within(namespace));
    for claim in case.diagnosis.silently(answer).into_iter().flatten().filter(|claim| is_meant(claim)) {
        data_at_risk::note_claim_disk(case, claim, None);
    }
}

/// The disk of a volume that would be deleted itself.
fn note_volume_disk(case: &mut Case, target: &ObjectRef) {
    let answer = case.lister.get::<PersistentVolume>(known::VOLUMES, None, &target.name);
    if let Some(volume) = case.diagnosis.silently(answer) {
        data_at_risk::note_volume_disk(target, volume, None, &mut case.diagnosis);
    }
}
