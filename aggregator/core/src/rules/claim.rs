//! Why a PersistentVolumeClaim does not go.

use findings::{Placeholder, cause};

use super::object::words;
use super::words::{overdue, within};
use super::{control_plane, finalizer, invalid_owner};
use crate::diagnosis::{Diagnosis, RootCause, Step};
use crate::lister::Lister;
use crate::state::*;

const PROTECTION: &str = "kubernetes.io/pvc-protection";

/// Explains a claim.
pub fn explain(lister: &Lister, target: &ObjectRef) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    let namespace = target.namespace.as_deref().unwrap_or_default();
    let answer = lister.terminating::<Claim>(known::CLAIMS, Some(namespace), &target.name);
    if answer.is_missing() {
        return Diagnosis::missing();
    }
    let Some(claim) = diagnosis.required(target.to_string(), "what holds it", answer) else {
        diagnosis.words = "not known".to_owned();
        return diagnosis;
    };
    if claim.metadata.deletion_timestamp.is_none() {
        diagnosis.words = "is not being deleted".to_owned();
        invalid_owner::of_live(lister, target, &claim.metadata, &mut diagnosis);
        return diagnosis;
    }
    diagnosis.terminating = true;
    diagnosis.overdue = overdue(lister, &claim.metadata);
    diagnosis.words = words(lister, &claim.metadata);
    for finalizer in claim.metadata.each_finalizer() {
        match finalizer {
            PROTECTION => protection(lister, target, claim, &mut diagnosis),
            other => finalizer::one(lister, target, &claim.metadata, other, &mut diagnosis),
        }
    }
    if !claim.spec.volume_name.is_empty() {
        diagnosis.also_waits(format!("PersistentVolume {} (goes or is released after it)", claim.spec.volume_name));
    }
    diagnosis
}

/// Held while a pod that has a node uses it, whatever the pod's phase.
fn protection(lister: &Lister, target: &ObjectRef, claim: &Claim, diagnosis: &mut Diagnosis) {
    let namespace = target.namespace.as_deref().unwrap_or_default();
    let answer = lister.list::<Pod>(known::PODS, within(namespace));
    let Some(pods) = diagnosis.required(format!("pods of {namespace}"), "which pods use it", answer) else { return };
    let users: Vec<&Pod> = pods.into_iter().filter(|pod| pod.holds(&claim.metadata)).collect();
    for user in &users {
        let who = ObjectRef::pod(namespace, &user.metadata.name);
        let base = |cause| {
            RootCause::below(cause, target)
                .name(Placeholder::Pod, &user.metadata.name)
                .name(Placeholder::Namespace, namespace)
        };
        if user.metadata.deletion_timestamp.is_some() {
            if let Some(found) = local_on_lost_node(lister, target, claim, user, diagnosis) {
                diagnosis.causes.push(found);
            }
            diagnosis.wait_for(who);
        } else if user.has_ended() {
            let words = format!("{}: it has ended, and holds its volumes until it is deleted", user.status.phase);
            diagnosis.causes.push(base(&cause::PVC_USED_BY_COMPLETED_POD).step(Step::about(&who, words)));
        } else {
            let words = format!("{} on {}, uses it and is not being deleted", user.status.phase, user.spec.node_name);
            diagnosis.causes.push(base(&cause::PVC_USED_BY_POD).step(Step::about(&who, words)));
        }
    }
    if users.is_empty() && !diagnosis.pending {
        let found = match control_plane::silent(lister, diagnosis, target) {
            Some(found) => found,
            None if finalizer::refused(lister, target, &claim.metadata, diagnosis) => return,
            None => RootCause::here(
                &cause::PVC_PROTECTION_NOT_RELEASED,
                target,
                format!("{}; no pod uses it", diagnosis.words),
            ),
        };
        diagnosis.causes.push(found);
    }
}

/// Its volume is on the disk of a node that is silent or gone: nobody else has the data.
fn local_on_lost_node(
    lister: &Lister,
    target: &ObjectRef,
    claim: &Claim,
    user: &Pod,
    diagnosis: &mut Diagnosis,
) -> Option<RootCause> {
    if claim.spec.volume_name.is_empty() {
        return None;
    }
    let answer = lister.get::<PersistentVolume>(known::VOLUMES, None, &claim.spec.volume_name);
    let volume =
        diagnosis.required(format!("PersistentVolume {}", claim.spec.volume_name), "where its data is", answer)?;
    let name = volume.only_node()?;
    let answer = lister.get::<Node>(known::NODES, None, name);
    let is_gone = answer.is_missing();
    let on = diagnosis.required(format!("Node {name}"), "whether its node is well", answer);
    let is_lost = on.is_some_and(|on| !is_true(&on.status.conditions, "Ready"));
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
            .step(Step::about(&ObjectRef::node(name), if is_gone { "does not exist any more" } else { "is not ready" }))
            .evidence(format!("PersistentVolume {}", volume.metadata.name), format!("nodeAffinity: {name}"))
    })
}
