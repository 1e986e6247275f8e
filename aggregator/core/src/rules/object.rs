//! Objects of any other kind: only finalizers hold them.

use super::phrases::{held_by, overdue};
use super::{data_at_risk, finalizer, invalid_owner, node};
use crate::rules::prelude::*;

/// Explains an object by its metadata.
pub fn explain(case: &mut Case, target: &ObjectRef) {
    let answer = case.lister.object(&target.resource, target.namespace.as_deref(), &target.name);
    if answer.is_missing() {
        return invalid_owner::explain_missing(case, target);
    }
    let Some(object) = case.explained(target, "what holds it", answer) else { return };
    let meta = &object.metadata;
    if meta.deletion_timestamp.is_none() {
        case.diagnosis.words = "is not being deleted".to_owned();
        invalid_owner::explain_live(case, target, meta);
        return lead_to_namespace(case, target);
    }
    if case.lister.is_named(target) {
        invalid_owner::explain_terminating(case, target, meta);
    }
    case.diagnosis.terminating = true;
    case.diagnosis.overdue = overdue(case.lister, meta);
    case.diagnosis.words = held_by(case.lister, meta);
    if is_without_namespace(case, target) {
        // The list that has it may be older than the end of its namespace.
        let namespace = target.namespace.as_deref().unwrap_or_default();
        if case.diagnosis.silently(case.lister.lacks(&target.resource, namespace, &target.name)) == Some(true) {
            case.diagnosis = Diagnosis::missing();
        }
        return;
    }
    data_at_risk::note_managed(case, target, meta);
    if !drains(case, target) {
        finalizer::explain(case, target, meta);
    }
}

/// Who names an object that is not being deleted mostly asks about its namespace, which is.
pub fn lead_to_namespace(case: &mut Case, target: &ObjectRef) {
    let namespace = target.namespace.as_deref().filter(|name| case.lister.is_namespace_terminating(name));
    if let Some(namespace) = namespace.filter(|_| case.lister.is_named(target)) {
        case.diagnosis.words =
            format!("is not being deleted, and its namespace {}", case.lister.namespace_deletion(namespace));
        case.diagnosis.wait_for(ObjectRef::cluster_wide(known::NAMESPACES, namespace));
    }
}

/// Whether a Machine or a NodeClaim waits for its node to be drained; then what that waits for has been said.
fn drains(case: &mut Case, target: &ObjectRef) -> bool {
    if !is_of_node(&target.resource) {
        return false;
    }
    let answer = case.lister.with_status(&target.resource, target.namespace.as_deref(), &target.name);
    let Some(claim) = case.diagnosis.silently(answer).filter(|claim| !claim.status.node_name.is_empty()) else {
        return false;
    };
    let on = ObjectRef::node(&claim.status.node_name);
    let Some(found) = case.diagnosis.silently(case.lister.get::<Node>(known::NODES, None, &on.name)) else {
        return false;
    };
    let of_cluster_api = target.resource.group == "cluster.x-k8s.io";
    if of_cluster_api && !is_node_of(claim, found) {
        return false;
    }
    let causes = match of_cluster_api {
        true => node::drain::explain_machine(case, &on, found),
        false => node::drain::explain(case, &on, found),
    };
    // Where nothing keeps the pods from being evicted, why its controller does not evict them is nearer.
    let is_unasked = |root: &RootCause| root.draft.cause.id == cause::DRAIN_NOT_ISSUED.id;
    let is_open =
        of_cluster_api && case.diagnosis.waits_for.is_empty() && !causes.is_empty() && causes.iter().all(is_unasked);
    case.diagnosis.causes.extend(causes.into_iter().map(|root| node::drain::skippable(root, target)));
    (case.diagnosis.is_explained() && !is_open) || case.diagnosis.pending
}

/// Whether these become nodes.
pub fn is_of_node(resource: &Resource) -> bool {
    matches!((&*resource.group, &*resource.plural), ("karpenter.sh", "nodeclaims") | ("cluster.x-k8s.io", "machines"))
}

/// The nodes of Cluster API are mostly in another cluster, where each may have the name of one here. A nodeRef has a uid up
/// to v1beta1 (cluster-api: api/core/v1beta1/machine_types.go, api/core/v1beta2/machine_types.go).
pub fn is_node_of(machine: &Object, node: &Node) -> bool {
    let is_same = |its: &str, own: &str| !its.is_empty() && its == own;
    is_same(&machine.status.node_uid, &node.metadata.uid) || is_same(&machine.spec.provider_id, &node.spec.provider_id)
}

/// Whether its namespace does not exist, so that it cannot be changed; then that has been said.
pub fn is_without_namespace(case: &mut Case, target: &ObjectRef) -> bool {
    let Some(name) = target.namespace.as_deref().filter(|name| !name.is_empty()) else { return false };
    if !case.lister.namespace(name).is_missing() {
        return false;
    }
    let words = format!("{}; its namespace {name} does not exist", case.diagnosis.words);
    let found = RootCause::here(&cause::CONTENT_WITHOUT_NAMESPACE, target, words)
        .same_as(name)
        .name(Placeholder::Namespace, name)
        .evidence(format!("Namespace {name}"), "not found");
    case.diagnosis.causes.push(found);
    true
}
