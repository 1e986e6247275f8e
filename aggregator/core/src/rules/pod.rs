//! Why a pod does not go, as far as the API shows it.

use findings::{clean, duration};

use super::object_reports;
use super::phrases::{age, overdue, some, within};
use super::webhook::Request;
use super::{
    agent, control_plane, data_at_risk, finalizer, node, object, owner, pod_not_terminating, replacement, webhook,
};
use crate::messages::kubelet;
use crate::messages::quote;
use crate::rules::prelude::*;

/// After its deadline a kubelet needs some seconds to finish and to report; no agent is queried before.
const SETTLING_SECONDS: i64 = 10;

/// After a cut a kubelet may report at once, and hear of its pods only at its next try to watch them: 30 seconds and their
/// jitter (client-go: tools/cache/reflector.go, `NewReflectorWithOptions`).
const RECONNECT_SECONDS: i64 = 60;

/// The pod garbage collector needs a minute; after two something refuses it.
const MAX_COLLECTION_SECONDS: i64 = 120;

/// A pod that is being deleted, under explanation.
struct TerminatingPod<'a> {
    target: &'a ObjectRef,
    pod: &'a Pod,
}

impl TerminatingPod<'_> {
    fn namespace(&self) -> &str {
        self.target.namespace.as_deref().unwrap_or_default()
    }

    fn found(&self, cause: &'static findings::Cause, words: impl AsRef<str>) -> RootCause {
        RootCause::here(cause, self.target, words)
            .name(Placeholder::Pod, format!("{}/{}", self.namespace(), self.target.name))
            .name(Placeholder::Node, &self.pod.spec.node_name)
    }
}

/// More lines of a kubelet's log are not kept as evidence.
const MAX_LOG_LINES: usize = 5;

pub fn explain(case: &mut Case, target: &ObjectRef) {
    let namespace = target.namespace.as_deref().unwrap_or_default();
    let answer = case.lister.pod(namespace, &target.name);
    let Some(pod) = case.explained(target, "what holds it", answer) else { return };
    case.diagnosis.keeps = keeps(pod);
    case.diagnosis.nodes.push(pod.spec.node_name.as_str().into());
    if pod.metadata.deletion_timestamp.is_none() {
        pod_not_terminating::explain(case, target, pod);
        return;
    }
    case.diagnosis.terminating = true;
    case.diagnosis.overdue = overdue(case.lister, &pod.metadata);
    case.diagnosis.words = words(pod, &case.diagnosis);
    if let (Some(asked), Some(deadline)) = (pod.metadata.deletion_requested_at(), pod.metadata.deletion_timestamp) {
        let phase = &pod.status.phase;
        case.diagnosis.evidence(target.to_string(), format!("deleted at {asked}, deadline {deadline}, phase {phase}"));
    }
    data_at_risk::note_disks_behind(case, [pod]);
    judge(case, &TerminatingPod { target, pod });
    agent::name_agent(case, target, pod);
}

/// A StatefulSet makes no other pod of its name, and a claim may be mounted nowhere else.
fn keeps(pod: &Pod) -> Option<&'static str> {
    let is_of_set = pod.metadata.owner_references.iter().any(|owner| owner.kind == known::STATEFUL_SETS.kind);
    let claim = (!pod.claims().is_empty()).then_some(known::CLAIMS.kind);
    if is_of_set { Some(known::STATEFUL_SETS.kind) } else { claim }
}

fn words(pod: &Pod, diagnosis: &Diagnosis) -> String {
    let place = match pod.spec.node_name.as_str() {
        "" => "bound to no node".to_owned(),
        node => format!("on {node}"),
    };
    let deadline = match diagnosis.overdue {
        Some(seconds) if seconds < 0 => format!("has {} to stop", duration(seconds.unsigned_abs())),
        Some(seconds) => format!("deadline passed {} ago", duration(seconds.unsigned_abs())),
        None => "no deadline".to_owned(),
    };
    let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(0);
    let state = if pod.never_started() { "Pending, never started" } else { pod.status.phase.as_str() };
    format!("{state} {place}; {deadline} (grace {grace}s)")
}

fn judge(case: &mut Case, terminating: &TerminatingPod) {
    let TerminatingPod { target, pod } = *terminating;
    owner::notes(case, target, &pod.metadata);
    if case.diagnosis.is_younger_than(0) {
        if is_on_lost_node(case, pod) {
            case.diagnosis.wait_for(ObjectRef::node(&pod.spec.node_name));
            return;
        }
        let words = case.diagnosis.words.clone();
        case.diagnosis.causes.push(terminating.found(&cause::POD_WITHIN_GRACE, words).progressing());
        return;
    }
    if !pod.spec.node_name.is_empty() && !pod.has_ended() && !pod.is_mirror() {
        replacement::notes(case, target, pod);
    }
    let has_node = !pod.spec.node_name.is_empty();
    let is_done = pod.metadata.deletion_grace_period_seconds == Some(0) || !has_node;
    if !pod.metadata.finalizers.is_empty() && is_done {
        let finalizers = pod.metadata.finalizers.in_words();
        if !has_node || pod.is_mirror() {
            case.diagnosis.words.push_str(&format!("; held by {finalizers}"));
        } else if !pod.has_ended() && is_node_gone(case, pod) {
            // Nothing can be looked up there, and no kubelet will report that it has ended.
            let words = format!(
                "; force-deleted, held by {finalizers}; its Node {} does not exist: whether its processes have ended is \
                 not visible here",
                pod.spec.node_name
            );
            case.diagnosis.words.push_str(&words);
        } else if !pod.has_ended() {
            let words = format!("{}; force-deleted, its processes may be alive", case.diagnosis.words);
            let by = if pod.collected().is_some() { " (written by the pod garbage collector)" } else { "" };
            let says = format!("deletionGracePeriodSeconds 0, phase {}{by}", pod.status.phase);
            case.diagnosis
                .causes
                .push(terminating.found(&cause::POD_FORCE_DELETED, &words).evidence(target.to_string(), says));
            // The answer does not rest on the node; it only leads to what its agent says.
            let answer = case.lister.get::<Node>(known::NODES, None, &pod.spec.node_name);
            if let Some(on) = case.diagnosis.silently(answer) {
                let reported = agent::findings(case, target, pod, on, &words);
                case.diagnosis.causes.extend(reported);
            }
        } else {
            case.diagnosis.words.push_str(&format!("; the kubelet has finished, held by {finalizers}"));
        }
        if !object::is_without_namespace(case, target) {
            finalizer::explain(case, target, &pod.metadata);
        }
        return;
    }
    if collector_refused(case, terminating) {
        return;
    }
    if !has_node {
        let found = terminating.found(&cause::POD_GC_REFUSED, &case.diagnosis.words);
        let found = if case.diagnosis.is_younger_than(MAX_COLLECTION_SECONDS) { found.progressing() } else { found };
        let silent = control_plane::silent(case, target);
        case.diagnosis.causes.push(silent.unwrap_or(found));
        return;
    }
    at_node(case, terminating);
}

/// No kubelet stops the pod there, even after its grace period, which may be a week.
fn is_on_lost_node(case: &mut Case, pod: &Pod) -> bool {
    let name = pod.spec.node_name.as_str();
    let answer = (!name.is_empty()).then(|| case.lister.get::<Node>(known::NODES, None, name));
    let on = answer.and_then(|answer| case.diagnosis.silently(answer));
    on.is_some_and(|on| node::is_lost(case.lister, on))
}

fn is_node_gone(case: &Case, pod: &Pod) -> bool {
    case.lister.get::<Node>(known::NODES, None, &pod.spec.node_name).is_missing()
}

/// The collector marked it, and it is still there.
fn collector_refused(case: &mut Case, terminating: &TerminatingPod) -> bool {
    let since = terminating.pod.collected().and_then(|marked| marked.last_transition_time);
    let Some(since) = since.filter(|since| case.lister.seconds_since(*since) > MAX_COLLECTION_SECONDS) else {
        return false;
    };
    if report_refused(case, terminating) {
        return true;
    }
    let words =
        format!("{}; the pod garbage collector marked it {} ago", case.diagnosis.words, age(case.lister, since));
    case.diagnosis.causes.push(terminating.found(&cause::POD_GC_REFUSED, words));
    true
}

fn at_node(case: &mut Case, terminating: &TerminatingPod) {
    let name = terminating.pod.spec.node_name.as_str();
    let answer = case.lister.get::<Node>(known::NODES, None, name);
    if answer.is_missing() {
        without_node(case, terminating);
        return;
    }
    let Some(on) = case.diagnosis.required(format!("Node {name}"), "whether its node is Ready", answer) else {
        if !case.diagnosis.pending {
            unseen_node(case, terminating);
        }
        return;
    };
    let condition = condition(&on.status.conditions, "Ready");
    let said = condition.map(|ready| ready.status.as_str());
    // Without a network a kubelet starts no pod, and goes on with those that end; what the network is needed for has passed
    // (kubernetes: pkg/kubelet/kubelet.go, `syncLoop` and `SyncPod`).
    let lacks_network = condition.is_some_and(|ready| kubelet::is_network_alone(&ready.message));
    let ready = said == Some("True") || (said == Some("False") && lacks_network && terminating.pod.is_over());
    let is_settling = case.diagnosis.is_younger_than(SETTLING_SECONDS);
    if !ready && !is_settling && (said == Some("False") || node::agent_spoke_since(case, on)) {
        // The machine lives, and its agent may know why the kubelet is not ready or silent.
        let words = case.diagnosis.words.clone();
        let reported = agent::findings(case, terminating.target, terminating.pod, on, &words);
        let is_why = reported.iter().any(|root| cause::NODE_NOT_READY.is_outranked_by(root.draft.cause));
        case.diagnosis.causes.extend(reported);
        if is_why {
            return;
        }
    }
    let ready = ready && !node::is_frozen(case, on);
    let is_out_of_service = on.is_tainted(taint::OUT_OF_SERVICE);
    if !ready {
        // Of such a node it is the collector that asks.
        if !is_out_of_service || !report_refused(case, terminating) {
            case.diagnosis.wait_for(ObjectRef::node(name));
        }
        return;
    }
    if is_out_of_service {
        case.diagnosis.note(format!(
            "Node {name} is declared out of service, and Ready: the taint removes nothing now, but would as soon as the node is \
             not ready. If it is back: kubectl taint node {name} {}-",
            taint::OUT_OF_SERVICE
        ));
    }
    if let Some(seconds) = is_ready_again(case.lister, terminating, on).filter(|_| said == Some("True")) {
        let words = format!("{}; {name} is Ready again for {}", case.diagnosis.words, duration(seconds));
        case.diagnosis.causes.push(terminating.found(&cause::POD_WITHIN_GRACE, words).progressing());
        return;
    }
    if is_settling {
        let words = format!("{}; its kubelet is finishing", case.diagnosis.words);
        case.diagnosis.causes.push(terminating.found(&cause::POD_WITHIN_GRACE, words).progressing());
        return;
    }
    at_healthy_node(case, terminating, on);
}

/// Since when a node that was out of reach is Ready, while its kubelet may not have heard of the deletion yet, or be within
/// the grace period that it counts from then on.
fn is_ready_again(lister: &Lister, terminating: &TerminatingPod, on: &Node) -> Option<u64> {
    let grace = terminating.pod.metadata.deletion_grace_period_seconds.unwrap_or(0).max(0);
    let since = condition(&on.status.conditions, "Ready")?.last_transition_time?;
    let seconds = lister.seconds_since(since);
    let was_away = terminating.pod.metadata.deletion_requested_at().is_some_and(|asked| asked < since);
    (was_away && seconds < grace.saturating_add(RECONNECT_SECONDS + SETTLING_SECONDS)).then(|| seconds.unsigned_abs())
}

/// The collector removes it within two minutes after the Node went; later something refuses that.
fn without_node(case: &mut Case, terminating: &TerminatingPod) {
    let name = terminating.pod.spec.node_name.as_str();
    if let Some(root) = control_plane::silent(case, terminating.target) {
        case.diagnosis.causes.push(root);
        return;
    }
    // The collector reports why it deletes a pod before it does, and that is an update.
    if object::is_without_namespace(case, terminating.target) || report_refused(case, terminating) {
        return;
    }
    let about = Select::Fields(format!("involvedObject.kind=Node,involvedObject.name={name}"));
    let answer = case.lister.select::<Event>(known::EVENTS, within("default"), about);
    let events = case
        .diagnosis
        .required(
            format!("events of Node {name}"),
            "when the Node was \
        deleted",
            answer,
        )
        .unwrap_or_default();
    let removed = events.iter().filter(|event| event.reason == "RemovingNode").filter_map(|event| event.last_timestamp);
    let removed = removed.max();
    let base = |cause| {
        RootCause::below(cause, terminating.target)
            .same_as(name)
            .name(Placeholder::Node, name)
            .evidence(format!("Node {name}"), "not found")
    };
    let root = match removed {
        Some(at) if case.lister.seconds_since(at) > MAX_COLLECTION_SECONDS => {
            let gone = age(case.lister, at);
            let words =
                format!("gone for {gone}; the pod garbage collector should have removed its pods after a minute");
            base(&cause::POD_GC_REFUSED).step(Step::about(&ObjectRef::node(name), words))
        }
        // Its Event lives for an hour, so the Node was deleted longer ago or its time was not recorded.
        None if !case.diagnosis.is_younger_than(MAX_COLLECTION_SECONDS) && !case.diagnosis.is_blind() => {
            let words = "does not exist, and no Event says since when; the pod garbage collector should have removed its \
                         pods after two minutes";
            base(&cause::POD_GC_REFUSED)
                .step(Step::about(&ObjectRef::node(name), words))
                .evidence(format!("events of Node {name}"), "no RemovingNode: Events are kept for an hour")
                .probable("since when the Node is gone: its Event is kept for an hour")
        }
        _ => {
            let words = "does not exist; the pod garbage collector removes its pods within two minutes";
            base(&cause::NODE_OBJECT_GONE).step(Step::about(&ObjectRef::node(name), words)).progressing()
        }
    };
    case.diagnosis.causes.push(root);
}

/// Without the right to see the node the pod still shows how far its kubelet has come.
fn unseen_node(case: &mut Case, terminating: &TerminatingPod) {
    let words = case.diagnosis.words.clone();
    if kubelet_says(case, terminating, &words) || case.diagnosis.pending {
        return;
    }
    let missing = format!("whether Node {} is Ready: it could not be seen", terminating.pod.spec.node_name);
    let root = terminating.found(by_phase(terminating.pod), words).probable(missing);
    case.diagnosis.causes.push(root);
}

/// Why the kubelet cannot stop the pod or unmount its volumes, as an Event about the pod says. Every account with the right
/// to write Events in the namespace could have written it.
fn kubelet_says(case: &mut Case, terminating: &TerminatingPod, words: &str) -> bool {
    let TerminatingPod { target, pod } = *terminating;
    let reasons = [("FailedKillPod", &cause::POD_KILL_FAILS), ("FailedUnMount", &cause::POD_UNMOUNT_FAILS)];
    let said = reasons.map(|(reason, cause)| {
        let events = object_reports::events_of(case, target, &pod.metadata, reason);
        (events.into_iter().next(), cause)
    });
    // It unmounts when it has stopped all: what it said last is where it is.
    let said = said.into_iter().filter_map(|(event, cause)| Some((event?, cause)));
    let Some((event, cause)) = said.rev().max_by_key(|(event, _)| event.seen()) else { return false };
    let ago = event.seen().map_or(String::new(), |seen| format!(", {} ago", age(case.lister, seen)));
    let cni = kubelet::network_teardown(&event.message);
    let mut root = terminating
        .found(cause, words)
        .evidence(format!("Event {} about {target}{ago}", event.reason), quote(&event.message, 400));
    root = match &cni {
        // Its own words are the same for all pods that it fails for.
        Some(cni) => root.same_as(format!("{}:{cni}", pod.spec.node_name)).step(Step::named(
            format!("CNI plugin on {}", pod.spec.node_name),
            format!("DEL fails: {}", quote(cni, 300)),
        )),
        None => root.step(Step::named(format!("kubelet of {}", pod.spec.node_name), quote(&event.message, 300))),
    };
    case.diagnosis
        .causes
        .push(root.probable("whether the kubelet's last try failed the same way: not every try has an Event"));
    true
}

fn by_phase(pod: &Pod) -> &'static findings::Cause {
    match () {
        () if pod.is_mirror() => &cause::STATIC_POD,
        () if pod.has_ended() => &cause::POD_CLEANUP_NOT_FINISHED,
        () if pod.never_started() => &cause::POD_NEVER_STARTED,
        () => &cause::POD_CONTAINERS_NOT_STOPPED,
    }
}

fn at_healthy_node(case: &mut Case, terminating: &TerminatingPod, on: &Node) {
    let TerminatingPod { target, pod } = *terminating;
    let name = pod.spec.node_name.as_str();
    // The kubelet reports the end of a pod by an update, which is refused then.
    if !case.diagnosis.pending && object::is_without_namespace(case, target) {
        return;
    }
    let is_status_refused = status_refused(case, terminating);
    let is_deletion_refused = deletion_refused(case, terminating);
    let words = remains(pod);
    // It looks at the node itself, so what it says holds the pod beside any webhook.
    let mut reported = agent::findings(case, target, pod, on, &words);
    // Why the kubelet's requests are not accepted the node cannot know.
    reported.retain(|root| {
        let is = |cause: &Cause| root.draft.cause.id == cause.id;
        let is_known = (is_status_refused && is(&cause::STATUS_NOT_REPORTED))
            || ((is_status_refused || is_deletion_refused) && is(&cause::OBJECT_NOT_DELETED));
        !is_known
    });
    if !reported.is_empty() {
        case.diagnosis.causes.extend(reported);
        return;
    }
    // The kubelet asks for the deletion last: as long as containers run, that still has to be reported.
    let is_last = pod.has_ended() || pod.is_mirror();
    // The agent says more, and its answer may be out.
    if case.diagnosis.pending || is_status_refused || (is_deletion_refused && is_last) {
        return;
    }
    if kubelet_says(case, terminating, &words) || case.diagnosis.pending {
        return;
    }
    if (pod.has_ended() && missing_driver(case, terminating)) || case.diagnosis.pending {
        return;
    }
    let not_ready = condition(&on.status.conditions, "Ready").filter(|ready| ready.status != "True");
    let (is, says) = match not_ready {
        None => ("is Ready", "Ready=True".to_owned()),
        Some(ready) => ("lacks a network and nothing else", super::phrases::condition_text(ready)),
    };
    let root = terminating
        .found(by_phase(pod), format!("{words}; node {name} {is}"))
        .evidence(target.to_string(), format!("phase {}, {}", pod.status.phase, case.diagnosis.words))
        .evidence(format!("Node {name}"), says);
    let root = match pod.is_mirror() {
        true => root.evidence(target.to_string(), MIRROR).probable(
            "why its kubelet has not deleted the mirror: one that works does that at its next sync, and makes it again",
        ),
        false => root,
    };
    let root = with_log(case, terminating, root);
    case.diagnosis.causes.push(root);
}

/// The kubelet's own words, if they were asked for: the latest is nearest to why the pod stays.
fn with_log(case: &mut Case, terminating: &TerminatingPod, root: RootCause) -> RootCause {
    let name = terminating.pod.spec.node_name.as_str();
    let source = format!("kubelet log of {name}");
    let answer = case.lister.kubelet_log(name, &terminating.pod.metadata.uid);
    let Some(lines) = case.diagnosis.optional(&source, "what the kubelet says of the pod", answer) else { return root };
    let Some(last) = lines.last() else {
        case.diagnosis.note(format!("The {source} has no line about {}.", terminating.target));
        return root;
    };
    let shown = lines.iter().rev().take(MAX_LOG_LINES);
    let root = shown.fold(root, |root, line| root.evidence(&source, quote(line, 400)));
    root.step(Step::named(&source, quote(last, 300)))
}

/// What the kubelet has not finished, as far as the pod shows it.
fn remains(pod: &Pod) -> String {
    let name = pod.spec.node_name.as_str();
    if pod.is_mirror() {
        return format!("mirrors a static pod, which comes from a manifest on {name}");
    }
    if pod.has_ended() {
        let phase = &pod.status.phase;
        return match pod.each_has_ended() && !matches!(phase.as_str(), "Succeeded" | "Failed") {
            true => format!(
                "every container has ended (phase {phase}); sandbox, volumes or cgroup are not cleaned up on {name}"
            ),
            false => format!("containers have ended ({phase}); volumes or cgroup are not cleaned up on {name}"),
        };
    }
    if pod.never_started() {
        return format!("never started a container; its set-up on {name} has not been undone");
    }
    let running: Vec<String> = pod.running().iter().map(|container| clean(container, 63)).collect();
    let which = match running.as_slice() {
        [] => "its containers are not confirmed stopped".to_owned(),
        [one] => format!("container {one} is still running"),
        several => format!("containers {} are still running", some(several, 5)),
    };
    format!("{which} (reported by its kubelet)")
}

/// The last requests about a pod, which a webhook without a backend refuses: its status, and in the end its deletion.
fn report_refused(case: &mut Case, terminating: &TerminatingPod) -> bool {
    let is_status_refused = status_refused(case, terminating);
    deletion_refused(case, terminating) || is_status_refused
}

fn status_refused(case: &mut Case, terminating: &TerminatingPod) -> bool {
    let update = Request::about(terminating.target, &terminating.pod.metadata, "UPDATE");
    webhook::refuses(case, &[update.at("pods/status")])
}

fn deletion_refused(case: &mut Case, terminating: &TerminatingPod) -> bool {
    webhook::refuses(case, &[Request::about(terminating.target, &terminating.pod.metadata, "DELETE")])
}

/// A CSI volume of the pod, whose driver is not registered at the node.
fn missing_driver(case: &mut Case, terminating: &TerminatingPod) -> bool {
    let TerminatingPod { target, pod } = *terminating;
    let name = pod.spec.node_name.as_str();
    let claims = pod.claims();
    if claims.is_empty() {
        return false;
    }
    let answer = case.lister.list::<Claim>(known::CLAIMS, within(terminating.namespace()));
    let all = case.diagnosis.required(
        format!("persistentvolumeclaims of {}", terminating.namespace()),
        "its volumes",
        answer,
    );
    let bound = all.unwrap_or_default().into_iter().filter(|one| claims.contains(&one.metadata.name));
    for one in bound.filter(|one| !one.spec.volume_name.is_empty()) {
        let answer = case.lister.get::<PersistentVolume>(known::VOLUMES, None, &one.spec.volume_name);
        let volume =
            case.diagnosis.required(format!("PersistentVolume {}", one.spec.volume_name), "its driver", answer);
        let Some(csi) = volume.and_then(|volume| volume.spec.csi.as_ref()) else { continue };
        let answer = case.lister.get::<CsiNode>(known::CSI_NODES, None, name);
        let is_gone = answer.is_missing();
        let drivers = case.diagnosis.required(format!("CSINode {name}"), "which drivers the node has", answer);
        let lists = drivers.is_some_and(|node| node.spec.drivers.iter().any(|driver| driver.name == csi.driver));
        if lists || (drivers.is_none() && !is_gone) {
            continue;
        }
        let root = terminating
            .found(&cause::CSI_DRIVER_NOT_ON_NODE, &case.diagnosis.words)
            .name(Placeholder::Driver, &csi.driver)
            .step(Step::about(
                &ObjectRef::claim(terminating.namespace(), &one.metadata.name),
                format!("volume {} of driver {}", one.spec.volume_name, csi.driver),
            ))
            .step(Step::named(
                format!("CSI driver {}", csi.driver),
                format!("is not registered on {name}, so its volumes cannot be unmounted there"),
            ))
            .evidence(format!("CSINode {name}"), format!("spec.drivers does not list {}", csi.driver))
            .evidence(target.to_string(), format!("phase {}", pod.status.phase))
            .probable(format!("whether this volume is still mounted on {name}: only the node shows that"));
        case.diagnosis.causes.push(root);
        return true;
    }
    false
}
