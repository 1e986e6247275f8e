//! Pods that are not being deleted, although another object waits for that: on a silent node that is not evicted, or made
//! anew and not ready.

use findings::clean;

use super::phrases::{age, within};
use super::{completed_pod, invalid_owner, node, object};
use crate::messages::errors;
use crate::rules::prelude::*;

/// A pod that starts is not one that waits.
const STARTUP_SECONDS: i64 = 120;

/// More claims of a pod are not followed.
const MAX_CLAIMS: usize = 8;

/// Explains a pod that is not being deleted.
pub fn explain(case: &mut Case, target: &ObjectRef, pod: &Pod) {
    case.diagnosis.words = "is not being deleted".to_owned();
    invalid_owner::explain_live(case, target, &pod.metadata);
    if !case.diagnosis.causes.is_empty() || case.diagnosis.pending {
        return;
    }
    if pod.is_over() {
        completed_pod::explain(case, target, pod);
    } else {
        completed_pod::wait_for_holders(case, target, pod);
    }
    if case.diagnosis.is_explained() || case.diagnosis.pending {
        return;
    }
    if !on_silent_node(case, target, pod) {
        replaced(case, target, pod);
    }
    if !case.diagnosis.is_explained() && !case.diagnosis.pending {
        object::lead_to_namespace(case, target);
    }
}

fn owner<'a>(pod: &'a Pod, kind: &str) -> Option<&'a Owner> {
    pod.metadata.owner_references.iter().find(|owner| owner.kind == kind)
}

/// Whether its node is silent; then what follows from that has been said.
fn on_silent_node(case: &mut Case, target: &ObjectRef, pod: &Pod) -> bool {
    let name = &pod.spec.node_name;
    if name.is_empty() {
        return false;
    }
    let answer = case.lister.get::<Node>(known::NODES, None, name);
    let Some(on) = case.diagnosis.optional(
        format!("Node {name}"),
        "whether its node is \
        Ready",
        answer,
    ) else {
        return false;
    };
    if is_true(&on.status.conditions, "Ready") {
        return false;
    }
    case.diagnosis.words.push_str(&format!("; its node {name} is not ready"));
    if owner(pod, "DaemonSet").is_some() {
        case.diagnosis.note(format!(
            "{target} belongs to a DaemonSet: such pods tolerate a node that is not ready, for as long as it is. They \
             are not evicted, and nothing is stuck."
        ));
    } else if let Some(suspended) = node::suspended(case, on) {
        let root = RootCause::below(&cause::EVICTION_SUSPENDED, target)
            .same_as(&suspended.root)
            .in_place_of_own()
            .step(Step::about(target, &case.diagnosis.words))
            .step(Step::about(&ObjectRef::node(name), suspended.words()))
            .not_stuck();
        case.diagnosis.causes.push(suspended.prove(root));
    } else if !case.diagnosis.pending {
        case.diagnosis.note(format!(
            "Pods on {name} are evicted when it has had the taint NoExecute (node.kubernetes.io/unreachable or \
             not-ready) for as long as they tolerate it: mostly five minutes."
        ));
    }
    true
}

/// The pod of a StatefulSet that follows one that went, and is not ready.
fn replaced(case: &mut Case, target: &ObjectRef, pod: &Pod) {
    let ready = condition(&pod.status.conditions, "Ready");
    let since = ready.and_then(|ready| ready.last_transition_time).or(pod.metadata.creation_timestamp);
    let (Some(set), Some(since)) = (owner(pod, "StatefulSet"), since) else { return };
    if ready.is_some_and(|ready| ready.status == "True") || case.lister.seconds_since(since) < STARTUP_SECONDS {
        return;
    }
    let Some((says, is_proven)) = earlier(case, target, pod, set) else { return };
    let words =
        format!("is not being deleted; recreated, and not ready for {}: {}", age(case.lister, since), waits(pod));
    let mut root = RootCause::below(&cause::REPLACEMENT_NOT_READY, target)
        .in_place_of_own()
        .step(Step::about(target, words))
        .evidence(target.to_string(), says)
        .not_stuck();
    for step in local_data(case, target, pod) {
        root = root.evidence(&step.subject, &step.words).step(step);
    }
    let missing = "that another pod had this name: its Events are gone, and a set may be scaled up late";
    case.diagnosis.causes.push(if is_proven { root } else { root.probable(missing) });
}

/// What shows that there was another pod of this name, and whether that proves it.
fn earlier(case: &mut Case, target: &ObjectRef, pod: &Pod, set: &Owner) -> Option<(String, bool)> {
    let namespace = target.namespace.as_deref()?;
    let about = Select::Fields(format!("involvedObject.kind=Pod,involvedObject.name={}", target.name));
    let answer = case.lister.select::<Event>(known::EVENTS, within(namespace), about);
    let events = case.diagnosis.optional(format!("events of {target}"), "whether another pod had this name", answer);
    let uid = &pod.metadata.uid;
    let is_other = |event: &&&Event| !event.involved_object.uid.is_empty() && event.involved_object.uid != *uid;
    if let Some(event) = events.iter().flatten().find(is_other) {
        let says = format!("uid {uid}; Event {} is about uid {}", event.reason, event.involved_object.uid);
        return Some((says, true));
    }
    let answer = case.lister.get::<Workload>(known::STATEFUL_SETS, Some(namespace), &set.name);
    let set =
        case.diagnosis.optional(format!("StatefulSet {namespace}/{}", set.name), "since when it has pods", answer)?;
    let (made, begun) = pod.metadata.creation_timestamp.zip(set.metadata.creation_timestamp)?;
    // A set makes its pods one after the other; a later one may also come from a larger scale.
    let is_later = made.as_second().saturating_sub(begun.as_second()) > 10 * 60;
    is_later.then(|| (format!("created at {made}, its StatefulSet at {begun}"), false))
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
fn local_data(case: &mut Case, target: &ObjectRef, pod: &Pod) -> Vec<Step> {
    let is_why = condition(&pod.status.conditions, "PodScheduled")
        .is_some_and(|scheduled| errors::is_volume_node_affinity_conflict(&scheduled.message));
    let Some(namespace) = target.namespace.as_deref().filter(|_| is_why) else { return Vec::new() };
    for name in pod.claims().into_iter().take(MAX_CLAIMS) {
        let answer = case.lister.get::<Claim>(known::CLAIMS, Some(namespace), &name);
        let claim = case.diagnosis.optional(format!("PersistentVolumeClaim {name}"), "which volume it needs", answer);
        let Some(volume) = claim.map(|claim| &claim.spec.volume_name).filter(|name| !name.is_empty()) else { continue };
        let answer = case.lister.get::<PersistentVolume>(known::VOLUMES, None, volume);
        let shown = ObjectRef::cluster_wide(known::VOLUMES, volume);
        let volume = case.diagnosis.optional(shown.to_string(), "where its data is", answer);
        let Some(on) = volume.and_then(PersistentVolume::only_node) else { continue };
        let answer = node::called(case.lister, on);
        let (on, words) = match case.diagnosis.optional(format!("Node {on}"), "whether it is Ready", answer.clone()) {
            None if answer.is_missing() => (on, "does not exist any more"),
            Some(node) if !is_true(&node.status.conditions, "Ready") => (node.metadata.name.as_str(), "is not ready"),
            _ => continue,
        };
        return vec![
            Step::about(&shown, format!("local to {on}: no other node has its data")),
            Step::about(&ObjectRef::node(on), words),
        ];
    }
    Vec::new()
}
