//! A pod that has ended and is not deleted, and whose volume its node still has mounted: the next pod that needs the volume on
//! another node waits, and nothing is Terminating.

use std::collections::BTreeSet;

use super::phrases::{age, count, within};
use super::{agent, object_reports};
use crate::messages::quote;
use crate::rules::prelude::*;

/// A kubelet unmounts within seconds, and after a failure tries again within about two minutes.
const STILL_MOUNTED_AFTER_SECONDS: i64 = 180;
/// A pod that starts is not one that waits.
const PENDING_AFTER_SECONDS: i64 = 120;
/// More pods that wait are counted.
const MAX_WAITING_PODS: usize = 100;
/// More pods that agents name are not looked at here: each agent's own alert names them.
const MAX_REPORTED_PODS: usize = 50;
/// More claims of a pod are not followed.
const MAX_CLAIMS: usize = 8;

/// What is not being deleted and may be held all the same: pods that wait for a volume, and those whose volume cannot be
/// unmounted, as agents say.
pub fn candidates(case: &mut Case, only: Option<&str>, known: &[ObjectRef]) -> Vec<ObjectRef> {
    let answer = case.lister.select::<Pod>(known::PODS, only.map_or(Scope::All, within), Select::pending());
    let pods = case.diagnosis.optional(
        "pods that are Pending",
        "which of them wait for the volume of a completed pod",
        answer,
    );
    let waiting: Vec<&Pod> = pods.into_iter().flatten().filter(|pod| is_waiting(case.lister, pod)).collect();
    if waiting.len() > MAX_WAITING_PODS {
        let left_out = count(waiting.len() - MAX_WAITING_PODS, "more pod");
        case.diagnosis.note(format!("{left_out} that waits to start was not checked for a volume of a completed pod."));
    }
    let name = |pod: &&Pod| ObjectRef::pod(pod.metadata.namespace.as_deref().unwrap_or_default(), &pod.metadata.name);
    let waiting = waiting.iter().take(MAX_WAITING_PODS).map(name);
    let known: BTreeSet<&ObjectRef> = known.iter().collect();
    let reported = agent::pods_held_by_mounts(case.lister, case.lister.all_agent_events()).into_iter();
    let reported = reported.filter(|(namespace, _)| only.is_none_or(|only| only == namespace));
    let reported = reported.map(|(namespace, name)| ObjectRef::pod(&namespace, &name));
    waiting.chain(reported.filter(|pod| !known.contains(pod)).take(MAX_REPORTED_PODS)).collect()
}

/// Whether it has a node and a claim, and nothing of it was started for some time.
fn is_waiting(lister: &Lister, pod: &Pod) -> bool {
    let bound = condition(&pod.status.conditions, "PodScheduled").and_then(|bound| bound.last_transition_time);
    let since = bound.or(pod.metadata.creation_timestamp);
    pod.metadata.deletion_timestamp.is_none()
        && !pod.spec.node_name.is_empty()
        && pod.never_started()
        && !pod.claims().is_empty()
        && since.is_some_and(|since| lister.seconds_since(since) >= PENDING_AFTER_SECONDS)
}

struct PodVolume<'a> {
    claim: &'a Claim,
    volume: &'a PersistentVolume,
}

impl PodVolume<'_> {
    /// As a kubelet lists it (kubernetes: pkg/volume/csi/csi_plugin.go, `GetVolumeName`).
    fn unique_name(&self) -> Option<String> {
        let csi = self.volume.spec.csi.as_ref()?;
        Some(format!("kubernetes.io/csi/{}^{}", csi.driver, csi.volume_handle))
    }
}

/// The volumes of a pod that a driver attaches.
fn volumes<'a>(case: &mut Case<'_, 'a>, pod: &Pod) -> Vec<PodVolume<'a>> {
    let namespace = pod.metadata.namespace.as_deref();
    let mut found = Vec::new();
    for name in pod.claims().into_iter().take(MAX_CLAIMS) {
        let answer = case.lister.get::<Claim>(known::CLAIMS, namespace, &name);
        let claim =
            case.diagnosis.optional(format!("PersistentVolumeClaim {name}"), "which volume a pod needs", answer);
        let Some(claim) = claim.filter(|claim| !claim.spec.volume_name.is_empty()) else { continue };
        let answer = case.lister.get::<PersistentVolume>(known::VOLUMES, None, &claim.spec.volume_name);
        let source = format!("PersistentVolume {}", claim.spec.volume_name);
        let volume = case.diagnosis.optional(source, "which driver attaches it", answer);
        found.extend(volume.filter(|volume| volume.spec.csi.is_some()).map(|volume| PodVolume { claim, volume }));
    }
    found
}

/// A pod that waits for a volume waits for the completed pods on the node where it is still attached.
pub fn wait_for_holders(case: &mut Case, target: &ObjectRef, pod: &Pod) {
    if !is_waiting(case.lister, pod) {
        return;
    }
    let needed = volumes(case, pod);
    if needed.is_empty() {
        return;
    }
    let namespace = target.namespace.as_deref().unwrap_or_default();
    let adds = "whether a volume that a pod needs is attached elsewhere";
    let answer = case.lister.list::<Attachment>(known::ATTACHMENTS, Scope::All);
    let Some(attachments) = case.diagnosis.optional("volumeattachments", adds, answer) else { return };
    for PodVolume { claim, volume } in needed {
        let its = attachments.iter().filter(|one| one.spec.source.persistent_volume_name == volume.metadata.name);
        let (here, elsewhere): (Vec<&Attachment>, Vec<&Attachment>) =
            its.partition(|one| one.spec.node_name == pod.spec.node_name);
        if here.iter().any(|one| one.status.attached) || elsewhere.is_empty() {
            continue;
        }
        let answer = case.lister.list::<Pod>(known::PODS, within(namespace));
        let all = case.diagnosis.optional(format!("pods of {namespace}"), "which of them use the volume", answer);
        let holds = |other: &&Pod| {
            let is_there = elsewhere.iter().any(|one| one.spec.node_name == other.spec.node_name);
            let has_ended = other.is_over() && other.metadata.deletion_timestamp.is_none();
            is_there && has_ended && other.holds(&claim.metadata)
        };
        let holders: Vec<&Pod> = all.into_iter().flatten().filter(holds).collect();
        if holders.is_empty() {
            continue;
        }
        let PersistentVolume { metadata, .. } = volume;
        let since =
            pod.metadata.creation_timestamp.map_or(String::new(), |made| format!("{} ", age(case.lister, made)));
        case.diagnosis.words = format!("Pending {since}on {}: waits for volume {}", pod.spec.node_name, metadata.name);
        let events = object_reports::events_of(case, target, &pod.metadata, "FailedAttachVolume");
        if let Some(event) = events.first() {
            case.diagnosis.evidence(format!("Event {} about {target}", event.reason), quote(&event.message, 300));
        }
        for one in &elsewhere {
            let says = format!("volume {} is attached to {}", metadata.name, one.spec.node_name);
            case.diagnosis.evidence(format!("VolumeAttachment {}", one.metadata.name), says);
        }
        holders.iter().for_each(|holder| case.diagnosis.wait_for(ObjectRef::pod(namespace, &holder.metadata.name)));
    }
}

/// Explains a pod that has ended and is not being deleted: whether its node still has a volume of it, and why.
pub fn explain(case: &mut Case, target: &ObjectRef, pod: &Pod) {
    let ended = pod.ended_at().filter(|ended| case.lister.seconds_since(*ended) >= STILL_MOUNTED_AFTER_SECONDS);
    let (Some(ended), node) = (ended, pod.spec.node_name.as_str()) else { return };
    let answer = case.lister.get::<Node>(known::NODES, None, node);
    let Some(on) = case.diagnosis.optional(format!("Node {node}"), "which volumes it still has", answer) else {
        return;
    };
    let mounted = mounted(case, pod, on);
    let ago = age(case.lister, ended);
    let words = format!("{} on {node} {ago} ago, and not deleted; a volume is still mounted", pod.status.phase);
    let reported = match mounted.is_empty() {
        true => agent::findings_if_any(case, target, pod, on, &words),
        false => agent::findings(case, target, pod, on, &words),
    };
    if reported.is_empty() && mounted.is_empty() {
        return;
    }
    case.diagnosis.words.clone_from(&words);
    if !reported.is_empty() {
        case.diagnosis.causes.extend(reported);
        return;
    }
    // A kubelet that does not work unmounts nothing.
    if !is_true(&on.status.conditions, "Ready") {
        case.diagnosis.wait_for(ObjectRef::node(node));
        return;
    }
    if let Some((claim, listed)) = mounted.first().filter(|_| !case.diagnosis.pending) {
        let shown = ObjectRef::node(node);
        let root = RootCause::below(&cause::COMPLETED_POD_HOLDS_VOLUME, target)
            .name(Placeholder::Node, node)
            .evidence(target.to_string(), format!("phase {}, ended at {ended}, no deletionTimestamp", pod.status.phase))
            .evidence(format!("status.volumesInUse of {shown}"), listed)
            .step(Step::about(&shown, format!("still lists the volume of claim {claim} in volumesInUse")));
        case.diagnosis.causes.push(root);
        agent::name_agent(case, target, pod);
    }
}

/// Claims of a pod whose volumes its node still has, although no pod that runs there uses them: the claim, and what the node
/// lists.
fn mounted<'a>(case: &mut Case<'_, 'a>, pod: &Pod, on: &Node) -> Vec<(&'a str, String)> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let mut found = Vec::new();
    for one in volumes(case, pod) {
        let Some(listed) = one.unique_name().filter(|name| on.status.volumes_in_use.contains(name)) else { continue };
        let answer = case.lister.list::<Pod>(known::PODS, within(namespace));
        let Some(all) = case.diagnosis.optional(format!("pods of {namespace}"), "who else uses the volume", answer)
        else {
            continue;
        };
        let uses = |other: &Pod| {
            other.spec.node_name == pod.spec.node_name && !other.is_over() && other.holds(&one.claim.metadata)
        };
        if !all.into_iter().any(uses) {
            found.push((one.claim.metadata.name.as_str(), listed));
        }
    }
    found
}
