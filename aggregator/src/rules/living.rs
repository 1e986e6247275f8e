//! Pods that are not being deleted, although somebody waits for that: on a silent node that is not
//! evicted, or made anew and not ready.

use findings::{cause, clean};

use super::words::{age, node as node_thing, within};
use super::{node, odd_owner};
use crate::graph::{Found, Standing, Step, View};
use crate::state::*;

/// A pod that starts is not one that waits.
const STARTING: i64 = 120;

/// More claims of a pod are not followed.
const MOST_CLAIMS: usize = 8;

/// Explains a pod that is not being deleted.
pub fn explain(view: &View, thing: &Thing, pod: &Pod, standing: &mut Standing) {
    standing.words = "is not being deleted".to_owned();
    odd_owner::of_living(view, thing, &pod.metadata, standing);
    if !standing.found.is_empty() || standing.open {
        return;
    }
    if !on_silent_node(view, thing, pod, standing) {
        replaced(view, thing, pod, standing);
    }
}

fn owner<'a>(pod: &'a Pod, kind: &str) -> Option<&'a Owner> {
    pod.metadata.owner_references.iter().find(|owner| owner.kind == kind)
}

/// Whether its node is silent; then what follows from that has been said.
fn on_silent_node(view: &View, thing: &Thing, pod: &Pod, standing: &mut Standing) -> bool {
    let name = &pod.spec.node_name;
    if name.is_empty() {
        return false;
    }
    let answer = view.get::<Node>(known::NODES, None, name);
    let Some(on) = standing.glance(format!("Node {name}"), "whether its node is well", answer) else { return false };
    if is_true(&on.status.conditions, "Ready") {
        return false;
    }
    standing.words.push_str(&format!("; its node {name} is not ready"));
    if owner(pod, "DaemonSet").is_some() {
        standing.note(format!(
            "{thing} belongs to a DaemonSet: such pods tolerate a node that is not ready, for as long as it is. They \
             are not evicted, and nothing is stuck."
        ));
    } else if let Some(suspended) = node::suspended(view, on, standing) {
        let found = Found::below(&cause::EVICTION_SUSPENDED, thing)
            .same_as(&suspended.root)
            .in_place_of_own()
            .step(Step::about(thing, &standing.words))
            .step(Step::about(&node_thing(name), &suspended.words))
            .not_stuck();
        standing.found.push(suspended.prove(found));
    } else if !standing.open {
        standing.note(format!(
            "Pods on {name} are asked to go when it has had the taint NoExecute (node.kubernetes.io/unreachable or \
             not-ready) for as long as they tolerate it: mostly five minutes."
        ));
    }
    true
}

/// The pod of a StatefulSet that follows one that went, and is not ready.
fn replaced(view: &View, thing: &Thing, pod: &Pod, standing: &mut Standing) {
    let ready = condition(&pod.status.conditions, "Ready");
    let since = ready.and_then(|ready| ready.last_transition_time).or(pod.metadata.creation_timestamp);
    let (Some(set), Some(since)) = (owner(pod, "StatefulSet"), since) else { return };
    if ready.is_some_and(|ready| ready.status == "True") || view.state.seconds_since(since) < STARTING {
        return;
    }
    let Some((says, is_proven)) = earlier(view, thing, pod, set, standing) else { return };
    let words = format!("is not being deleted; made anew, and not ready for {}: {}", age(view, since), waits(pod));
    let mut found = Found::below(&cause::REPLACEMENT_NOT_READY, thing)
        .in_place_of_own()
        .step(Step::about(thing, words))
        .evidence(thing.to_string(), says)
        .not_stuck();
    for step in local_data(view, thing, pod, standing) {
        found = found.evidence(&step.subject, &step.words).step(step);
    }
    standing.found.push(if is_proven { found } else { found.probable() });
}

/// What shows that there was another pod of this name, and whether that proves it.
fn earlier(view: &View, thing: &Thing, pod: &Pod, set: &Owner, standing: &mut Standing) -> Option<(String, bool)> {
    let namespace = thing.namespace.as_deref()?;
    let about = Select::Fields(format!("involvedObject.kind=Pod,involvedObject.name={}", thing.name));
    let answer = view.select::<Event>(known::EVENTS, within(namespace), about);
    let events = standing.glance(format!("events of {thing}"), "whether another pod had this name", answer);
    let uid = &pod.metadata.uid;
    let is_other = |event: &&&Event| !event.involved_object.uid.is_empty() && event.involved_object.uid != *uid;
    if let Some(event) = events.iter().flatten().find(is_other) {
        let says = format!("uid {uid}; Event {} is about uid {}", event.reason, event.involved_object.uid);
        return Some((says, true));
    }
    let answer = view.get::<Workload>(known::STATEFUL_SETS, Some(namespace), &set.name);
    let set = standing.glance(format!("StatefulSet {namespace}/{}", set.name), "since when it has pods", answer)?;
    let (made, begun) = pod.metadata.creation_timestamp.zip(set.metadata.creation_timestamp)?;
    // A set makes its pods one after the other; a later one may also come from a larger scale.
    let is_later = made.as_second().saturating_sub(begun.as_second()) > 10 * 60;
    is_later.then(|| (format!("made at {made}, its StatefulSet at {begun}"), false))
}

/// What the pod waits for, as its scheduler or kubelet says.
fn waits(pod: &Pod) -> String {
    let conditions = &pod.status.conditions;
    if let Some(unscheduled) = condition(conditions, "PodScheduled").filter(|one| one.status == "False") {
        return format!("{} {}", unscheduled.reason, unscheduled.message);
    }
    let all = pod.status.init_container_statuses.iter().chain(&pod.status.container_statuses);
    let waiting = all.filter_map(|one| Some((&one.name, &one.state.waiting.as_ref()?.reason)));
    let waiting: Vec<String> = waiting.map(|(name, reason)| format!("{} ({reason})", clean(name, 63))).collect();
    match (waiting.is_empty(), condition(conditions, "Ready")) {
        (false, _) => format!("container {}", waiting.join(", ")),
        (true, Some(ready)) => format!("{} {}", ready.reason, ready.message),
        (true, None) => "its kubelet has not reported".to_owned(),
    }
}

/// The volume that only one node has, when that is why no node takes the pod.
fn local_data(view: &View, thing: &Thing, pod: &Pod, standing: &mut Standing) -> Vec<Step> {
    let says = condition(&pod.status.conditions, "PodScheduled").map_or("", |one| one.message.as_str());
    let Some(namespace) = thing.namespace.as_deref().filter(|_| says.contains("volume node affinity conflict")) else {
        return Vec::new();
    };
    for name in pod.claims().into_iter().take(MOST_CLAIMS) {
        let answer = view.get::<Claim>(known::CLAIMS, Some(namespace), &name);
        let claim = standing.glance(format!("PersistentVolumeClaim {name}"), "which volume it needs", answer);
        let Some(volume) = claim.map(|claim| &claim.spec.volume_name).filter(|name| !name.is_empty()) else { continue };
        let answer = view.get::<PersistentVolume>(known::VOLUMES, None, volume);
        let shown = Thing::cluster_wide("PersistentVolume", known::VOLUMES, volume);
        let volume = standing.glance(shown.to_string(), "where its data is", answer);
        let Some(on) = volume.and_then(PersistentVolume::only_node) else { continue };
        let answer = view.get::<Node>(known::NODES, None, on);
        let words = match standing.glance(format!("Node {on}"), "whether it is well", answer.clone()) {
            None if answer.is_missing() => "does not exist any more",
            Some(node) if !is_true(&node.status.conditions, "Ready") => "is not ready",
            _ => continue,
        };
        return vec![
            Step::about(&shown, format!("local to {on}: no other node has its data")),
            Step::about(&node_thing(on), words),
        ];
    }
    Vec::new()
}
