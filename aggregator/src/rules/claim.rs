//! Why a PersistentVolumeClaim does not go.

use findings::{Placeholder, cause};

use super::object::words;
use super::words::{node, overdue, pod as pod_thing, within};
use super::{control_plane, finalizer, odd_owner};
use crate::graph::{Found, Standing, Step, View};
use crate::state::*;

const PROTECTION: &str = "kubernetes.io/pvc-protection";

/// Explains a claim.
pub fn explain(view: &View, thing: &Thing) -> Standing {
    let mut standing = Standing::default();
    let namespace = thing.namespace.as_deref().unwrap_or_default();
    let answer = view.going::<Claim>(known::CLAIMS, Some(namespace), &thing.name);
    if answer.is_missing() {
        return Standing::missing();
    }
    let Some(claim) = standing.see(thing.to_string(), "what holds it", answer) else {
        standing.words = "not known".to_owned();
        return standing;
    };
    if claim.metadata.deletion_timestamp.is_none() {
        standing.words = "is not being deleted".to_owned();
        odd_owner::of_living(view, thing, &claim.metadata, &mut standing);
        return standing;
    }
    standing.terminating = true;
    standing.overdue = overdue(view, &claim.metadata);
    standing.words = words(view, &claim.metadata);
    for finalizer in &claim.metadata.finalizers {
        match finalizer.as_str() {
            PROTECTION => protection(view, thing, claim, &mut standing),
            other => finalizer::one(view, thing, &claim.metadata, other, &mut standing),
        }
    }
    if !claim.spec.volume_name.is_empty() {
        standing.behind(format!("PersistentVolume {} (goes or is released after it)", claim.spec.volume_name));
    }
    standing
}

/// Held while a pod that has a node uses it, whatever the pod's phase.
fn protection(view: &View, thing: &Thing, claim: &Claim, standing: &mut Standing) {
    let namespace = thing.namespace.as_deref().unwrap_or_default();
    let answer = view.list::<Pod>(known::PODS, within(namespace));
    let Some(pods) = standing.see(format!("pods of {namespace}"), "which pods use it", answer) else { return };
    let users: Vec<&Pod> = pods.into_iter().filter(|pod| pod.holds(&claim.metadata)).collect();
    for user in &users {
        let who = pod_thing(namespace, &user.metadata.name);
        let base = |cause| {
            Found::below(cause, thing)
                .name(Placeholder::Pod, &user.metadata.name)
                .name(Placeholder::Namespace, namespace)
        };
        if user.metadata.deletion_timestamp.is_some() {
            if let Some(found) = local_on_lost_node(view, thing, claim, user, standing) {
                standing.found.push(found);
            }
            standing.wait_for(who);
        } else if user.has_ended() {
            let words = format!("{}: it has ended, and holds its volumes until it is deleted", user.status.phase);
            standing.found.push(base(&cause::PVC_USED_BY_COMPLETED_POD).step(Step::about(&who, words)));
        } else {
            let words = format!("{} on {}, uses it and is not being deleted", user.status.phase, user.spec.node_name);
            standing.found.push(base(&cause::PVC_USED_BY_POD).step(Step::about(&who, words)));
        }
    }
    if users.is_empty() && !standing.open {
        let found = match control_plane::silent(view, standing, thing) {
            Some(found) => found,
            None if finalizer::refused(view, thing, &claim.metadata, standing) => return,
            None => {
                Found::here(&cause::PVC_PROTECTION_NOT_RELEASED, thing, format!("{}; no pod uses it", standing.words))
            }
        };
        let is_young = standing.overdue.is_some_and(|seconds| seconds < 60);
        standing.found.push(if is_young { found.progressing() } else { found });
    }
}

/// Its volume is on the disk of a node that is silent or gone: nobody else has the data.
fn local_on_lost_node(view: &View, thing: &Thing, claim: &Claim, user: &Pod, standing: &mut Standing) -> Option<Found> {
    if claim.spec.volume_name.is_empty() {
        return None;
    }
    let answer = view.get::<PersistentVolume>(known::VOLUMES, None, &claim.spec.volume_name);
    let volume = standing.see(format!("PersistentVolume {}", claim.spec.volume_name), "where its data is", answer)?;
    let name = volume.only_node()?;
    let answer = view.get::<Node>(known::NODES, None, name);
    let is_gone = answer.is_missing();
    let on = standing.see(format!("Node {name}"), "whether its node is well", answer);
    let is_lost = on.is_some_and(|on| !is_true(&on.status.conditions, "Ready"));
    (is_gone || is_lost).then(|| {
        Found::below(&cause::LOCAL_VOLUME_ON_LOST_NODE, thing)
            .same_as(&volume.metadata.name)
            .name(Placeholder::Node, name)
            .name(Placeholder::Pod, &user.metadata.name)
            .name(Placeholder::Pv, &volume.metadata.name)
            .step(Step::named(
                format!("PersistentVolume {}", volume.metadata.name),
                format!("local to {name}: no other node has its data"),
            ))
            .step(Step::about(&node(name), if is_gone { "does not exist any more" } else { "is not ready" }))
            .evidence(format!("PersistentVolume {}", volume.metadata.name), format!("nodeAffinity: {name}"))
    })
}
