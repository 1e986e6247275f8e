//! Why a PersistentVolumeClaim does not go.

use std::sync::Arc;

use findings::{Existence, PodState};

use super::admission_policy::{self, Seen};
use super::phrases::held_by;
use super::phrases::{overdue, some, within};
use super::webhook::{self, Request};
use super::{control_plane, data_at_risk, finalizer, invalid_owner, node, object};
use crate::rules::prelude::*;

const PROTECTION: &str = "kubernetes.io/pvc-protection";

/// More pods that use a claim are counted.
const MAX_USERS: usize = 12;

pub fn explain(case: &mut Case, target: &ObjectRef) {
    let namespace = target.namespace.as_deref().unwrap_or_default();
    let answer = case.lister.terminating::<Claim>(known::CLAIMS, Some(namespace), &target.name);
    let Some(claim) = case.explained(target, "what holds it", answer) else { return };
    if claim.metadata.deletion_timestamp.is_none() {
        case.diagnosis.words = "is not being deleted".to_owned();
        invalid_owner::explain_live(case, target, &claim.metadata);
        return;
    }
    case.diagnosis.terminating = true;
    case.diagnosis.overdue = overdue(case.lister, &claim.metadata);
    case.diagnosis.words = held_by(case.lister, &claim.metadata);
    if object::is_without_namespace(case, target) {
        return;
    }
    super::finalizer::count_left_out(target, &claim.metadata, &mut case.diagnosis);
    let mut released_by = None;
    for finalizer in claim.metadata.finalizers.distinct() {
        match finalizer {
            PROTECTION => released_by = protection(case, target, claim),
            other => finalizer::one(case, target, &claim.metadata, other),
        }
    }
    data_at_risk::note_claim_disk(case, claim, released_by);
    if !claim.spec.volume_name.is_empty() {
        case.diagnosis
            .also_waits(format!("PersistentVolume {} (deleted or released after it)", claim.spec.volume_name));
    }
}

/// Held while a pod that has a node uses it, whatever the pod's phase. Returns the only user, where that is not being
/// deleted: to delete it lets the claim go.
fn protection(case: &mut Case, target: &ObjectRef, claim: &Claim) -> Option<ObjectRef> {
    let namespace = target.namespace.as_deref().unwrap_or_default();
    let answer = case.lister.list::<Pod>(known::PODS, within(namespace));
    let pods = case.diagnosis.required(format!("pods of {namespace}"), "which pods use it", answer)?;
    let users: Vec<&Pod> = pods.into_iter().filter(|pod| pod.holds(&claim.metadata)).collect();
    let (going, staying): (Vec<&Pod>, Vec<&Pod>) =
        users.iter().partition(|pod| pod.metadata.deletion_timestamp.is_some());
    let only_user = match (&*going, &*staying) {
        ([], [user]) => Some(ObjectRef::pod(namespace, &user.metadata.name)),
        _ => None,
    };
    for user in going {
        if let Some(root) = local_on_lost_node(case, target, claim, user) {
            case.diagnosis.causes.push(root);
        }
        case.diagnosis.wait_for(ObjectRef::pod(namespace, &user.metadata.name));
    }
    used_by(case, target, staying);
    if users.is_empty() && !case.diagnosis.pending {
        let root = match control_plane::silent(case, target) {
            Some(root) => root,
            None if finalizer::refused(case, target, &claim.metadata) => return None,
            None => not_released(case, target, claim),
        };
        case.diagnosis.causes.push(root);
    }
    only_user
}

/// No pod uses it, and the controller that runs has not removed the finalizer.
fn not_released(case: &mut Case, target: &ObjectRef, claim: &Claim) -> RootCause {
    let update = Request::about(target, &claim.metadata, "UPDATE");
    let policy = admission_policy::suspect(case, target, update);
    let words = format!("{}; no pod uses it", case.diagnosis.words);
    let root = RootCause::here(&cause::PVC_PROTECTION_NOT_RELEASED, target, words);
    admission_policy::beside(&mut case.diagnosis, policy, root, Seen::NotActed)
}

/// Pods that are not being deleted and hold the claim, all of them; the steps begin with one that has ended.
fn used_by(case: &mut Case, target: &ObjectRef, mut pods: Vec<&Pod>) {
    // One whose containers crash, or have not all been started, is no pod that has ended.
    pods.sort_by_key(|pod| !pod.is_over());
    let Some(first) = pods.first() else { return };
    let (state, words) = match first.is_over() {
        true => (PodState::Ended, "has ended, and holds its volumes until it is deleted"),
        false => (PodState::Running, "uses it and is not being deleted"),
    };
    let namespace = target.namespace.as_deref().unwrap_or_default();
    let who = ObjectRef::pod(namespace, &first.metadata.name);
    let place = |pod: &Pod| format!("{} on {}", pod.status.phase, pod.spec.node_name);
    // A DaemonSet cannot be scaled.
    let workload = workload_of_pod(&first.metadata).filter(|(known, _)| *known != known::DAEMON_SETS);
    let workload = workload.map(|(known, name)| ObjectRef::namespaced(known, namespace, name).typed_name());
    let root = RootCause::below(&cause::PVC_USED_BY_POD, target)
        .given(Circumstance::User(state))
        .name(Placeholder::Pod, &first.metadata.name)
        .name(Placeholder::Namespace, namespace)
        .name_if(Placeholder::Workload, workload);
    let root = webhook::name_refusal(case, root, &who, &first.metadata);
    case.diagnosis.nodes.extend(pods.iter().map(|pod| Arc::from(pod.spec.node_name.as_str())));
    case.diagnosis.causes.push(if pods.len() == 1 {
        root.step(Step::about(&who, format!("{}; {words}", place(first))))
    } else {
        let names: Vec<String> = pods.iter().map(|pod| format!("{namespace}/{}", pod.metadata.name)).collect();
        let each = |pod: &&Pod| (format!("Pod {namespace}/{}", pod.metadata.name), place(pod));
        root.step(Step::named(
            format!("{} pods", pods.len()),
            format!("{}: each holds its volumes until it is deleted", some(&names, MAX_USERS)),
        ))
        .with_evidence(pods.iter().take(MAX_USERS).map(each))
    });
}

/// Its volume is on the disk of a node that is silent or gone: no other node has the data.
fn local_on_lost_node(case: &mut Case, target: &ObjectRef, claim: &Claim, user: &Pod) -> Option<RootCause> {
    if claim.spec.volume_name.is_empty() {
        return None;
    }
    let answer = case.lister.get::<PersistentVolume>(known::VOLUMES, None, &claim.spec.volume_name);
    let volume =
        case.diagnosis.required(format!("PersistentVolume {}", claim.spec.volume_name), "where its data is", answer)?;
    volume.only_node()?;
    // The volume says the node's label kubernetes.io/hostname, which may be another than its name (kubernetes:
    // pkg/kubelet/kubelet_node_status.go, `initialNode`); the pod that uses it is there.
    let name = user.spec.node_name.as_str();
    let answer = case.lister.get::<Node>(known::NODES, None, name);
    let is_gone = answer.is_missing();
    let on = case.diagnosis.required(format!("Node {name}"), "whether its kubelet is silent", answer);
    let is_lost = on.is_some_and(|on| node::is_lost(case.lister, on) && !node::agent_spoke_since(case, on));
    (is_gone || is_lost).then(|| {
        RootCause::below(&cause::LOCAL_VOLUME_ON_LOST_NODE, target)
            .same_as(&volume.metadata.name)
            .name(Placeholder::Node, name)
            .name(Placeholder::Pod, &user.metadata.name)
            .name(Placeholder::Pv, &volume.metadata.name)
            .step(Step::named(
                format!("PersistentVolume {}", volume.metadata.name),
                format!("local to {name}: no other node has its data"),
            ))
            .step(Step::about(
                &ObjectRef::node(name),
                if is_gone { "does not exist any more" } else { "its kubelet is silent" },
            ))
            .evidence(format!("PersistentVolume {}", volume.metadata.name), format!("nodeAffinity: {name}"))
            .given(Circumstance::Node(if is_gone { Existence::Gone } else { Existence::Present }))
    })
}
