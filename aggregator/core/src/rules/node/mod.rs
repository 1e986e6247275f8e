//! Why a node does not let its pods go.

pub mod drain;
mod drainer;
mod heartbeat;
mod karpenter_termination;
mod route;
mod tolerations;
mod zone_disruption;

use std::collections::BTreeSet;
use std::mem::take;

use findings::Existence;

use super::phrases::{age, condition_text};
use super::{agent, control_plane, finalizer, webhook};
use crate::rules::prelude::*;
use crate::state::taint::{OUT_OF_SERVICE, SHUT_DOWN, UNREACHABLE};
use heartbeat::{AgentHeartbeat, Heartbeat};
pub use route::{NoRoute, down as network_down, missing as route_missing};
use zone_disruption::Disruption;
pub use zone_disruption::suspended;

/// The pod garbage collector acts every 20 seconds.
const MAX_COLLECTION_SECONDS: i64 = 120;

/// A node that was silent for so long is not only late.
const MIN_SILENCE_SECONDS: i64 = 60;

/// A cloud needs minutes to end a machine.
const INSTANCE_STOP_SECONDS: i64 = 10 * 60;

/// A node that is not well, under explanation.
struct UnhealthyNode<'a> {
    target: &'a ObjectRef,
    node: &'a Node,
    ready: Option<&'a Condition>,
    never_reported: bool,
}

impl UnhealthyNode<'_> {
    fn found(&self, cause: &'static findings::Cause, words: impl AsRef<str>) -> RootCause {
        let taint = if self.node.is_tainted(OUT_OF_SERVICE) { Existence::Present } else { Existence::Gone };
        let found = RootCause::here(cause, self.target, words)
            .name(Placeholder::Node, &self.target.name)
            .given(Circumstance::OutOfService(taint));
        match self.ready {
            Some(ready) => found.evidence(format!("status of {}", self.target), condition_text(ready)),
            None => found.evidence(format!("status of {}", self.target), "has no condition Ready"),
        }
    }

    fn is_ready(&self) -> bool {
        self.ready.is_some_and(|ready| ready.status == "True")
    }

    fn taint(&self, key: &str) -> Option<&Taint> {
        self.node.spec.taints.iter().find(|taint| taint.key == key)
    }
}

/// Explains a node: what keeps it from finishing, and its own deletion, if that was asked for.
pub fn explain(case: &mut Case, target: &ObjectRef) {
    let answer = case.lister.get::<Node>(known::NODES, None, &target.name);
    let Some(node) = case.explained(target, "whether it is Ready", answer) else { return };
    let ready = condition(&node.status.conditions, "Ready");
    let never_reported = heartbeat::has_never_reported(case, node);
    let unhealthy = UnhealthyNode { target, node, ready, never_reported };
    case.diagnosis.words = match unhealthy.ready {
        Some(ready) => format!("Ready={} {}", ready.status, ready.reason),
        None => "has reported no condition".to_owned(),
    };
    if node.metadata.deletion_timestamp.is_some() {
        case.diagnosis.terminating = true;
        case.diagnosis.overdue = super::phrases::overdue(case.lister, &node.metadata);
        case.diagnosis.words =
            format!("{}; {}", super::phrases::held_by(case.lister, &node.metadata), case.diagnosis.words);
    }
    if case.diagnosis.terminating || case.lister.is_named(target) {
        let left = match case.lister.is_of_deleted_machine() {
            true => drain::explain_machine(case, target, node),
            false => drain::explain(case, target, node),
        };
        case.diagnosis.causes.extend(left.into_iter().map(RootCause::in_place_of_own));
    }
    let is_drained = case.diagnosis.causes.is_empty();
    case.diagnosis.is_only_named = !case.diagnosis.terminating && is_drained;
    if case.diagnosis.terminating {
        deletion(case, target, node);
    }
    let is_frozen = is_frozen(case, node);
    // The taint of a node that was out of reach goes some seconds after it is Ready again.
    if unhealthy.is_ready() && !is_frozen && !node.is_tainted(OUT_OF_SERVICE) {
        return;
    }
    if case.diagnosis.terminating && is_drained && is_machine_ending(case.lister, &unhealthy) {
        let since = unhealthy.ready.and_then(|ready| ready.last_transition_time);
        if since.is_some_and(|since| case.lister.seconds_since(since) < INSTANCE_STOP_SECONDS) {
            // Nothing ends the machine where Karpenter does not work, or where there never was one.
            let ends = |root: &RootCause| !finalizer::is_down(root.draft.cause) && !unhealthy.never_reported;
            let slow = |root: RootCause| if ends(&root) { root.progressing() } else { root };
            case.diagnosis.causes = take(&mut case.diagnosis.causes).into_iter().map(slow).collect();
            if let Some(since) = since.filter(|_| !unhealthy.never_reported) {
                let minutes = INSTANCE_STOP_SECONDS / 60;
                case.diagnosis.note(format!(
                    "{target} is empty and silent since {since}: its host is being ended. After {minutes} minutes it is called \
                     stuck."
                ));
            }
        }
        return;
    }
    // It is being deleted, which is all that could be done about it where no pod waits for it.
    let is_only_deleted = case.diagnosis.terminating && case.diagnosis.is_explained();
    if is_only_deleted && (unhealthy.never_reported || is_empty(case.lister, target)) {
        return;
    }
    let controllers_silent = control_plane::silent(case, target);
    let is_judged = controllers_silent.is_none();
    // No controller judges nodes any more: the status of this one may be old.
    let found = judge(case, &unhealthy);
    case.diagnosis.causes.extend(controllers_silent.filter(|silent| silent.draft.root != found.draft.root));
    let found = with_local_volumes(case, target, found);
    case.diagnosis.causes.push(found);
    if is_judged {
        not_evicted(case, &unhealthy);
    }
}

/// Karpenter ends the machine when the node is empty, and takes its finalizer off when that is done (karpenter:
/// pkg/controllers/node/termination/controller.go): a kubelet that is silent meanwhile holds nothing.
fn is_machine_ending(lister: &Lister, unhealthy: &UnhealthyNode) -> bool {
    let is_karpenters = unhealthy.node.metadata.finalizers.distinct().any(drain::waits_for_drain);
    is_karpenters && !unhealthy.is_ready() && is_empty(lister, unhealthy.target)
}

/// Its finalizers; one that waits for the drain is not reported beside what the drain waits for.
fn deletion(case: &mut Case, target: &ObjectRef, node: &Node) {
    if !case.diagnosis.is_explained() && !case.diagnosis.pending {
        return finalizer::explain(case, target, &node.metadata);
    }
    finalizer::count_left_out(target, &node.metadata, &mut case.diagnosis);
    for finalizer in node.metadata.finalizers.distinct() {
        match drain::waits_for_drain(finalizer) {
            true => drainer_down(case, target, node, finalizer),
            false => finalizer::one(case, target, &node.metadata, finalizer),
        }
    }
}

/// What should empty the node may be down: then no eviction is requested because of that.
fn drainer_down(case: &mut Case, target: &ObjectRef, node: &Node, finalizer: &str) {
    let is_idle = |root: &RootCause| root.draft.cause.id == cause::DRAIN_NOT_ISSUED.id;
    if !case.diagnosis.causes.iter().any(is_idle) {
        return;
    }
    let Diagnosis { words, overdue, terminating, .. } = case.diagnosis.clone();
    let diagnosis = Diagnosis { words, overdue, terminating, ..Diagnosis::default() };
    let mut its = Case { lister: case.lister, diagnosis };
    finalizer::one(&mut its, target, &node.metadata, finalizer);
    case.diagnosis.pending |= its.diagnosis.pending;
    let Some(down) = its.diagnosis.causes.into_iter().find(|root| finalizer::is_down(root.draft.cause)) else { return };
    let (idle, mut causes): (Vec<_>, Vec<_>) = take(&mut case.diagnosis.causes).into_iter().partition(is_idle);
    let left = idle.iter().filter_map(|root| root.steps.last()).map(|step| (&step.subject, &step.words));
    causes.push(down.with_evidence(left));
    case.diagnosis.causes = causes;
}

/// The node of this name, or with this label kubernetes.io/hostname: the two may differ (kubernetes:
/// pkg/kubelet/kubelet_node_status.go, `initialNode`).
pub fn called<'a>(lister: &Lister<'a>, name: &str) -> Answer<&'a Node> {
    let answer = lister.get::<Node>(known::NODES, None, name);
    if !answer.is_missing() {
        return answer;
    }
    let labelled = Select::Labels(format!("kubernetes.io/hostname={name}"));
    lister.select::<Node>(known::NODES, Scope::All, labelled).and_then(|nodes| match nodes.first() {
        Some(node) => Answer::Seen(*node),
        None => Answer::Missing,
    })
}

/// Whether its kubelet is silent, and not only late: for a while, or as its machine is said to be off. One that says
/// itself that it is not ready lives.
pub fn is_lost(lister: &Lister, node: &Node) -> bool {
    let is_off = node.is_tainted(OUT_OF_SERVICE) || node.is_tainted(SHUT_DOWN);
    condition(&node.status.conditions, "Ready").is_some_and(|ready| {
        let since = ready.last_transition_time.map(|at| lister.seconds_since(at));
        ready.status == "Unknown" && (is_off || since.is_some_and(|seconds| seconds > MIN_SILENCE_SECONDS))
    })
}

/// Whether a node that is called Ready has been silent since the controller stopped judging nodes.
pub fn is_frozen(case: &mut Case, node: &Node) -> bool {
    if !is_true(&node.status.conditions, "Ready") || !control_plane::is_silent(case) {
        return false;
    }
    let answer = case.lister.get_listed::<Lease>(known::LEASES, "kube-node-lease", &node.metadata.name);
    case.diagnosis.silently(answer).is_some_and(|lease| case.lister.expired_for(lease).is_some())
}

/// Whether an agent on a node whose kubelet is silent has spoken since.
pub fn agent_spoke_since(case: &mut Case, node: &Node) -> bool {
    Heartbeat::read(case, node).agent.is_some()
}

/// Whether its kubelet is silent or says itself that it is not ready; then why.
fn judge(case: &mut Case, unhealthy: &UnhealthyNode) -> RootCause {
    let taint = unhealthy.taint(OUT_OF_SERVICE);
    if taint.is_some() && unhealthy.is_ready() {
        let words = "declared out of service, and Ready: the taint removes pods only while the node is not ready";
        return unhealthy.found(&cause::OUT_OF_SERVICE_NOT_EFFECTIVE, words).not_stuck();
    }
    if unhealthy.never_reported {
        let found = unhealthy.found(&cause::NODE_NEVER_REPORTED, "its kubelet has never reported");
        let found = webhook::name_refusal(case, found, unhealthy.target, &unhealthy.node.metadata);
        return match unhealthy.ready {
            Some(_) => found,
            None => found.evidence(format!("Lease kube-node-lease/{}", unhealthy.target.name), "does not exist"),
        };
    }
    let kubelet_talks = unhealthy.ready.filter(|ready| ready.status == "False");
    let heartbeat = match kubelet_talks {
        Some(_) => Heartbeat { last: None, agent_is_visible: false, agent: None },
        None => Heartbeat::read(case, unhealthy.node),
    };
    let heard = taint.and_then(|taint| Some((taint, heartbeat.word_after(taint.time_added)?)));
    if let Some((taint, word)) = heard {
        case.diagnosis.note(runs_all_the_same(case.lister, unhealthy.target, taint, word));
    }
    let taint = taint.filter(|_| !is_known_empty(case.lister, unhealthy.target));
    if let Some(taint) = taint {
        let words = "declared out of service, and its pods have not been removed";
        let found = unhealthy.found(&cause::OUT_OF_SERVICE_NOT_EFFECTIVE, words);
        match taint.time_added.map(|added| case.lister.seconds_since(added)) {
            Some(since) if since > MAX_COLLECTION_SECONDS => return found,
            Some(_) => {}
            None => {
                return found.probable("since when: kubectl taint writes no time. The collector needs up to a minute");
            }
        }
    }
    // The cloud's taint stays until the node is Ready, also on a machine that was started again, and mostly has no time.
    let is_off = unhealthy.taint(SHUT_DOWN).filter(|taint| match heartbeat.word_after(taint.time_added) {
        Some(AgentHeartbeat { doubt: None, .. }) => false,
        // Anybody's word does not make it run, nor go unheard.
        Some(AgentHeartbeat { at, doubt: Some(why) }) => {
            case.diagnosis.note(format!(
                "The cloud of {} says that the host is stopped, and an Event of its agent was written {} ago: if that \
                 was its agent ({why}), it runs. See whether it is off.",
                unhealthy.target,
                age(case.lister, *at)
            ));
            true
        }
        None => true,
    });
    let found = match (is_off, kubelet_talks) {
        (_, Some(ready)) => {
            unhealthy.found(&cause::NODE_NOT_READY, format!("its kubelet says NotReady: {}", ready.message))
        }
        (Some(taint), None) => {
            let words = format!("its cloud says the host is stopped; {}", heartbeat.words(case.lister));
            let found = unhealthy.found(&cause::NODE_SHUT_DOWN, words);
            let since = taint.time_added.map_or(String::new(), |added| format!(" since {added}"));
            found
                .evidence(format!("taints of {}", unhealthy.target), format!("{SHUT_DOWN}:{}{since}", taint.effect))
                .probable(
                    "whether it still is stopped: the taint stays until the node is Ready, also where the host \
                    was started again and its kubelet was not",
                )
        }
        (None, None) => silent(case, unhealthy, &heartbeat),
    };
    // The collector has only just had the reason to remove its pods.
    if taint.is_some() { found.progressing() } else { found }
}

/// What is to be said of a machine that was declared out of service, and whose agent was heard later than its kubelet.
fn runs_all_the_same(lister: &Lister, target: &ObjectRef, taint: &Taint, word: &AgentHeartbeat) -> String {
    let ago = age(lister, word.at);
    let missing = match (taint.time_added, &word.doubt) {
        (Some(added), None) => {
            return format!(
                "{target} was declared out of service, {} ago, and its agent has written an Event since, {ago} ago: then \
                 the host ran. Unless it was switched off later, its pods may run twice: see, and if it runs remove \
                 the taint: kubectl taint node {} {OUT_OF_SERVICE}-",
                age(lister, added),
                target.name
            );
        }
        (None, None) => "if that was after the taint, which has no time".to_owned(),
        (None, Some(why)) => format!("if that was after the taint, which has no time, and was its agent ({why})"),
        (Some(_), Some(why)) => format!("if that was its agent ({why})"),
    };
    format!(
        "{target} is declared out of service, and an Event of its agent was written {ago} ago, later than its kubelet's \
         last word: {missing}, the host runs, and its pods may run twice now. See whether it is off."
    )
}

/// Whether it was asked about, and no pod on it is being deleted.
fn is_known_empty(lister: &Lister, target: &ObjectRef) -> bool {
    lister.is_named(target) && is_empty(lister, target)
}

/// Whether no pod on it is being deleted.
fn is_empty(lister: &Lister, target: &ObjectRef) -> bool {
    let pods = lister.pods_on(&target.name).seen();
    pods.is_some_and(|pods| pods.iter().all(|pod| pod.metadata.deletion_timestamp.is_none()))
}

/// Kubelet, node or network: distinguished only where an agent has reported since.
fn silent(case: &mut Case, unhealthy: &UnhealthyNode, heartbeat: &Heartbeat) -> RootCause {
    let name = &unhealthy.target.name;
    let words = heartbeat.words(case.lister);
    let mut found = match &heartbeat.agent {
        Some(AgentHeartbeat { at: spoke, doubt }) => {
            let ago = age(case.lister, *spoke);
            let root =
                format!("{words}, while its agent reached the API server {ago} ago: the kubelet is what is down");
            let found = unhealthy.found(&cause::NODE_KUBELET_SILENT, root).evidence(
                format!("Events of the agent on {name}"),
                format!("written at {spoke}, when the kubelet's Lease had run out"),
            );
            let found = match doubt {
                Some(why) => found.probable(format!("whether its agent wrote that Event: {why}")),
                None => found,
            };
            // By now the agent may be silent as well.
            if agent::event_age::is_late(case.lister, *spoke) {
                found.probable(format!("whether the agent still reaches the API server: its last Event is {ago} old"))
            } else if unhealthy.taint(SHUT_DOWN).is_some_and(|taint| taint.time_added.is_none()) {
                found.probable(format!("whether its cloud has stopped the host since: {SHUT_DOWN} has no time"))
            } else {
                found
            }
        }
        None => {
            if let Some(found) = control_plane::nothing_renewed(case, unhealthy.target, None) {
                return with_timeline(case.lister, unhealthy, found);
            }
            let root = format!("{words}; kubelet down, host off and cut network look alike from here");
            let heard = match heartbeat.agent_is_visible {
                true => "none since then; an agent writes only while something is stuck",
                false => "could not be seen",
            };
            unhealthy.found(&cause::NODE_UNREACHABLE, root).evidence(format!("Events of the agent on {name}"), heard)
        }
    };
    if let Some(disruption) = Disruption::read(case, unhealthy.node) {
        // Where the agent was heard, the network is not what is broken.
        let hint = disruption.hint().filter(|_| heartbeat.agent.is_none());
        let likely = hint.map_or(String::new(), |hint| format!(": {hint}"));
        found = found.evidence("other nodes", format!("{}{likely}", disruption.words()));
        if let Some(hint) = hint.filter(|_| !disruption.is_alone()) {
            case.diagnosis.note(format!("{}: {hint}.", disruption.words()));
        }
    }
    with_timeline(case.lister, unhealthy, found)
}

fn with_timeline(lister: &Lister, unhealthy: &UnhealthyNode, found: RootCause) -> RootCause {
    let source = format!("timeline of {}", unhealthy.target);
    timeline(lister, unhealthy.node).into_iter().fold(found, |found, line| found.evidence(&source, line))
}

fn timeline(lister: &Lister, node: &Node) -> Vec<String> {
    let ready = condition(&node.status.conditions, "Ready");
    let mut events = Vec::new();
    let mut add = |at: Option<jiff::Timestamp>, what: &str| {
        if let Some(at) = at {
            events.push((at, what.to_owned()));
        }
    };
    add(ready.and_then(|ready| ready.last_heartbeat_time), "last status");
    add(ready.and_then(|ready| ready.last_transition_time), "Ready became Unknown");
    for effect in ["NoSchedule", "NoExecute"] {
        add(node.taint(UNREACHABLE, effect).and_then(|taint| taint.time_added), &format!("taint unreachable:{effect}"));
    }
    add(node.taint(OUT_OF_SERVICE, "NoExecute").and_then(|taint| taint.time_added), "declared out of service");
    events.sort();
    events.into_iter().map(|(at, what)| format!("{at} ({} ago) {what}", age(lister, at))).collect()
}

/// Pods of a silent node without an eviction request: a cause when the node was asked about and holds no pod that is being
/// deleted, else beside the point.
fn not_evicted(case: &mut Case, unhealthy: &UnhealthyNode) {
    let Some(suspended) = suspended(case, unhealthy.node) else { return };
    if is_known_empty(case.lister, unhealthy.target) {
        let found = RootCause::below(&cause::EVICTION_SUSPENDED, unhealthy.target)
            .same_as(&suspended.root)
            .in_place_of_own()
            .step(Step::about(unhealthy.target, suspended.words()))
            .not_stuck();
        case.diagnosis.causes.push(suspended.prove(found));
    } else {
        case.diagnosis.note(format!("Other pods of silent nodes are not evicted: {}.", suspended.why));
    }
}

/// More claims are not followed one by one.
const MAX_CLAIMS: usize = 20;

/// When something on this node was asked about, the claims of its pods that were met: (namespace, name).
/// `None` when all volumes of the node count, or these are too many to be asked for one by one.
fn claims_on<'a>(lister: &Lister<'a>, node: &ObjectRef) -> Option<BTreeSet<(&'a str, String)>> {
    if matches!(lister.subject(), Subject::Everything { .. } | Subject::Kind { .. }) || lister.is_named(node) {
        return None;
    }
    let mut pods = lister.met::<Pod>(known::PODS).filter(|pod| pod.spec.node_name == node.name).peekable();
    pods.peek()?;
    let claims = |pod: &'a Pod| {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        pod.claims().into_iter().map(move |name| (namespace, name))
    };
    let all: BTreeSet<_> = pods.flat_map(claims).collect();
    (all.len() <= MAX_CLAIMS).then_some(all)
}

/// The volume that a claim is bound to.
fn volume_of<'a>(case: &mut Case<'_, 'a>, namespace: &str, name: &str) -> Option<&'a PersistentVolume> {
    let hides = "which volumes are on its disks";
    let answer = case.lister.get::<Claim>(known::CLAIMS, Some(namespace), name);
    let volume =
        &case.diagnosis.required(format!("PersistentVolumeClaim {namespace}/{name}"), hides, answer)?.spec.volume_name;
    if volume.is_empty() {
        return None;
    }
    let answer = case.lister.get::<PersistentVolume>(known::VOLUMES, None, volume);
    case.diagnosis.required(format!("PersistentVolume {volume}"), hides, answer)
}

/// Says which data is only on this node's disks.
fn with_local_volumes(case: &mut Case, target: &ObjectRef, mut found: RootCause) -> RootCause {
    let volumes = match claims_on(case.lister, target) {
        Some(claims) => claims.iter().filter_map(|(at, name)| volume_of(case, at, name)).collect(),
        None => {
            let answer = case.lister.local_volumes();
            case.diagnosis.required("persistentvolumes", "which volumes are on its disks", answer).unwrap_or_default()
        }
    };
    let local = volumes.iter().filter(|volume| volume.only_node() == Some(target.name.as_str()));
    let local: Vec<String> = local.map(|volume| findings::clean(&volume.metadata.name, 128)).collect();
    let at_node = found.steps.iter_mut().find(|step| step.object.as_ref() == Some(target));
    match (local.first(), at_node) {
        (Some(first), Some(step)) => {
            let names = super::phrases::some(&local, 5);
            step.words.push_str(&format!("; only its disks have the data of PersistentVolume {names}"));
            found.name(Placeholder::Pv, first)
        }
        _ => found,
    }
}
