//! Objects of any other kind: only finalizers hold them.

use findings::{Placeholder, cause};

use super::phrases::{held_by, overdue};
use super::{finalizer, invalid_owner, node, requested_objects};
use crate::diagnosis::{Diagnosis, RootCause};
use crate::lister::Lister;
use crate::state::*;

/// Explains an object by its metadata.
pub fn explain(lister: &Lister, target: &ObjectRef) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    let answer = lister.object(&target.resource, target.namespace.as_deref(), &target.name);
    if answer.is_missing() {
        return invalid_owner::explain_missing(lister, target);
    }
    let Some(object) = diagnosis.required(target.to_string(), "what holds it", answer) else {
        diagnosis.words = crate::report::NOT_KNOWN.to_owned();
        return diagnosis;
    };
    let meta = &object.metadata;
    if meta.deletion_timestamp.is_none() {
        diagnosis.words = "is not being deleted".to_owned();
        invalid_owner::explain_live(lister, target, meta, &mut diagnosis);
        let namespace = target.namespace.as_deref().filter(|name| lister.is_namespace_terminating(name));
        if let Some(namespace) = namespace.filter(|_| requested_objects::is_named(lister, target)) {
            diagnosis.words =
                format!("is not being deleted, and its namespace {}", lister.namespace_deletion(namespace));
            diagnosis.wait_for(ObjectRef::cluster_wide(known::NAMESPACES, namespace));
        }
        return diagnosis;
    }
    if requested_objects::is_named(lister, target) {
        invalid_owner::explain_terminating(lister, target, meta, &mut diagnosis);
    }
    diagnosis.terminating = true;
    diagnosis.overdue = overdue(lister, meta);
    diagnosis.words = held_by(lister, meta);
    if let Some(found) = without_namespace(lister, target, &diagnosis) {
        diagnosis.causes.push(found);
        return diagnosis;
    }
    if !drains(lister, target, &mut diagnosis) {
        finalizer::explain(lister, target, meta, &mut diagnosis);
    }
    diagnosis
}

/// Whether a Machine or a NodeClaim waits for its node to be drained; then what that waits for has been said.
fn drains(lister: &Lister, target: &ObjectRef, diagnosis: &mut Diagnosis) -> bool {
    let of_node = [("karpenter.sh", "nodeclaims"), ("cluster.x-k8s.io", "machines")];
    if !of_node.iter().any(|(group, plural)| target.resource.group == *group && target.resource.plural == *plural) {
        return false;
    }
    let answer = lister.with_status(&target.resource, target.namespace.as_deref(), &target.name);
    let Some(claim) = diagnosis.silently(answer).filter(|claim| !claim.status.node_name.is_empty()) else {
        return false;
    };
    let on = ObjectRef::node(&claim.status.node_name);
    let Some(found) = diagnosis.silently(lister.get::<Node>(known::NODES, None, &on.name)) else { return false };
    let of_cluster_api = target.resource.group == "cluster.x-k8s.io";
    if of_cluster_api && !is_node_of(claim, found) {
        return false;
    }
    let causes = match of_cluster_api {
        true => node::drain::explain_machine(lister, &on, found, diagnosis),
        false => node::drain::explain(lister, &on, found, diagnosis),
    };
    // Where nothing keeps the pods from being evicted, why its controller does not evict them is nearer.
    let is_unasked = |root: &RootCause| root.draft.cause.id == cause::DRAIN_NOT_ISSUED.id;
    let is_open =
        of_cluster_api && diagnosis.waits_for.is_empty() && !causes.is_empty() && causes.iter().all(is_unasked);
    diagnosis.causes.extend(causes);
    (diagnosis.is_explained() && !is_open) || diagnosis.pending
}

/// The nodes of Cluster API are mostly in another cluster, where each may have the name of one here. A nodeRef has a uid up
/// to v1beta1 (cluster-api: api/core/v1beta1/machine_types.go, api/core/v1beta2/machine_types.go).
fn is_node_of(machine: &Object, node: &Node) -> bool {
    let is_same = |its: &str, own: &str| !its.is_empty() && its == own;
    is_same(&machine.status.node_uid, &node.metadata.uid) || is_same(&machine.spec.provider_id, &node.spec.provider_id)
}

/// An object whose namespace does not exist cannot be changed.
pub fn without_namespace(lister: &Lister, target: &ObjectRef, diagnosis: &Diagnosis) -> Option<RootCause> {
    let name = target.namespace.as_deref().filter(|name| !name.is_empty())?;
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
