//! Whether another pod does the work of a pod already: what a forced deletion would let run beside it.

use super::phrases::{some, within};
use crate::rules::prelude::*;

/// More of them are counted.
const MAX_NAMES: usize = 5;

/// Other pods of its controller that run and are ready, wherever they are. Only for a pod that was named: it takes all
/// pods of its namespace.
pub fn notes(case: &mut Case, target: &ObjectRef, pod: &Pod) {
    let is_it = |(_, namespace, name): (&str, &str, &str)| {
        name == target.name && Some(namespace) == target.namespace.as_deref()
    };
    let is_named = case.lister.subject().is_of_named() && case.lister.subject().named().into_iter().any(is_it);
    let Some(controller) = controller(pod).filter(|_| is_named) else { return };
    let namespace = target.namespace.as_deref().unwrap_or_default();
    let adds = format!("whether another pod of {} {} already runs", controller.kind, controller.name);
    let answer = case.lister.list::<Pod>(known::PODS, within(namespace));
    let Some(pods) = case.diagnosis.optional(format!("pods of {namespace}"), &adds, answer) else { return };
    let claims = pod.claims();
    let shared = |other: &Pod| other.claims().into_iter().filter(|claim| claims.contains(claim)).collect::<Vec<_>>();
    let is_its = |other: &&&Pod| {
        other.metadata.uid != pod.metadata.uid && self::controller(other).is_some_and(|its| its.uid == controller.uid)
    };
    let running: Vec<&Pod> = pods.iter().filter(is_its).filter(|other| is_ready(other)).copied().collect();
    // Those of a StatefulSet each do a work of their own.
    let same_work = |other: &&&Pod| controller.kind != "StatefulSet" || !shared(other).is_empty();
    let named: Vec<String> = running.iter().filter(same_work).map(|other| words(other, &shared(other))).collect();
    let source = format!("pods of {} {namespace}/{}", controller.kind, controller.name);
    if named.is_empty() {
        case.diagnosis.evidence(source, "none runs and is ready that could do its work");
        return;
    }
    let named = some(&named, MAX_NAMES);
    case.diagnosis.evidence(source, format!("run and are ready: {named}"));
    case.diagnosis.note(format!(
        "Of {} {namespace}/{} already run, and are ready: {named}. After a forced deletion of {target} its processes may \
         go on beside them.",
        controller.kind, controller.name
    ));
}

fn controller(pod: &Pod) -> Option<&Owner> {
    pod.metadata.owner_references.iter().find(|owner| owner.controller && !owner.uid.is_empty())
}

fn is_ready(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_none()
        && pod.status.phase == "Running"
        && is_true(&pod.status.conditions, "Ready")
}

fn words(pod: &Pod, shared: &[String]) -> String {
    let place = format!("{} on {}", pod.metadata.name, pod.spec.node_name);
    match shared {
        [] => place,
        claims => format!("{place} (uses claim {} too)", claims.join(" and ")),
    }
}
