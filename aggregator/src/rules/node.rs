//! Why a node does not let its pods go.

use findings::cause;

use super::words::{age, said};
use super::{control_plane, finalizer};
use crate::graph::{Found, Standing, View};
use crate::state::*;

const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";
const SHUT_DOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";

/// The pod garbage collector acts every 20 seconds.
const COLLECTOR: i64 = 120;

/// Explains a node: what keeps it from finishing, and its own deletion, if that was asked for.
pub fn explain(view: &View, thing: &Thing) -> Standing {
    let mut standing = Standing::default();
    let answer = view.get::<Node>(known::NODES, None, &thing.name);
    if answer.is_missing() {
        return Standing::missing();
    }
    let Some(node) = standing.see(thing.to_string(), "whether it is well", answer) else {
        standing.words = "not known".to_owned();
        return standing;
    };
    let ready = condition(&node.status.conditions, "Ready");
    standing.words = match ready {
        Some(ready) => format!("Ready={} {}", ready.status, ready.reason),
        None => "has reported no condition".to_owned(),
    };
    if node.metadata.deletion_timestamp.is_some() {
        standing.terminating = true;
        standing.overdue = super::words::overdue(view, &node.metadata);
        finalizer::explain(view, thing, &node.metadata, &mut standing);
    }
    let is_ready = ready.is_some_and(|ready| ready.status == "True");
    if is_ready && !node.is_tainted(UNREACHABLE) && !node.is_tainted(OUT_OF_SERVICE) {
        return standing;
    }
    if let Some(found) = control_plane::silent(view, &mut standing, thing) {
        // Nobody judges nodes any more: what it says of this one may be old.
        standing.found.push(found);
    }
    let found = judge(view, thing, node, ready, is_ready, &mut standing);
    standing.found.extend(found);
    local_volumes(view, thing, &mut standing);
    standing
}

fn judge(
    view: &View,
    thing: &Thing,
    node: &Node,
    ready: Option<&Condition>,
    is_ready: bool,
    standing: &mut Standing,
) -> Option<Found> {
    let base = |cause, words: &str| {
        let found = Found::here(cause, thing, words).name("node", &thing.name);
        ready.map_or(found.clone(), |ready| found.evidence(format!("status of {thing}"), said(ready)))
    };
    if let Some(taint) = node.spec.taints.iter().find(|taint| taint.key == OUT_OF_SERVICE) {
        let since = taint.time_added.map_or(COLLECTOR + 1, |added| view.state.seconds_since(added));
        if is_ready {
            let words = "declared out of service, and Ready: the taint removes pods only while the node is not ready";
            return Some(base(&cause::OUT_OF_SERVICE_NOT_EFFECTIVE, words));
        }
        if since > COLLECTOR {
            let words = "declared out of service, and its pods have not been removed";
            return Some(base(&cause::OUT_OF_SERVICE_NOT_EFFECTIVE, words));
        }
    }
    if node.is_tainted(SHUT_DOWN) && !is_ready {
        return Some(base(
            &cause::NODE_SHUT_DOWN,
            &format!("its cloud says the machine is stopped; {}", silence(view, thing, node, standing)),
        ));
    }
    if ready.is_some_and(|ready| ready.reason == "NodeStatusNeverUpdated") {
        return Some(base(&cause::NODE_NEVER_REPORTED, "its kubelet has never reported"));
    }
    if let Some(ready) = ready.filter(|ready| ready.status == "False") {
        let words = format!("its kubelet says NotReady: {}", ready.message);
        return Some(base(&cause::NODE_NOT_READY, &words));
    }
    let words = format!(
        "{}; kubelet down, machine off and cut network look alike from here",
        silence(view, thing, node, standing)
    );
    let mut found = base(&cause::NODE_UNREACHABLE, &words);
    for line in timeline(view, node) {
        found = found.evidence(format!("timeline of {thing}"), line);
    }
    if eviction_suspended(node) {
        standing.note(format!(
            "Pods on {} are not evicted: it has only the NoSchedule taint. When most nodes of a zone are not ready the \
             node controller stops evicting.",
            thing.name
        ));
    }
    Some(found)
}

/// Since when nothing was heard of it: the later of heartbeat and Lease.
fn silence(view: &View, thing: &Thing, node: &Node, standing: &mut Standing) -> String {
    let heartbeat = condition(&node.status.conditions, "Ready").and_then(|ready| ready.last_heartbeat_time);
    let answer = view.get::<Lease>(known::LEASES, Some("kube-node-lease"), &thing.name);
    let lease = standing.see(format!("Lease kube-node-lease/{}", thing.name), "when it was last heard of", answer);
    let last = heartbeat.max(lease.and_then(|lease| lease.spec.renew_time));
    match last {
        Some(last) => format!("silent for {} (last heard of at {last})", age(view, last)),
        None => "silent".to_owned(),
    }
}

fn timeline(view: &View, node: &Node) -> Vec<String> {
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
    events.into_iter().map(|(at, what)| format!("{at} ({} ago) {what}", age(view, at))).collect()
}

fn eviction_suspended(node: &Node) -> bool {
    node.taint(UNREACHABLE, "NoSchedule").is_some() && node.taint(UNREACHABLE, "NoExecute").is_none()
}

/// Data that is only on this node's disk.
fn local_volumes(view: &View, thing: &Thing, standing: &mut Standing) {
    let answer = view.list::<PersistentVolume>(known::VOLUMES, Scope::All);
    let all = standing.see("persistentvolumes", "which volumes are on its disks", answer).unwrap_or_default();
    let local: Vec<String> = all
        .iter()
        .filter(|volume| volume.only_node() == Some(thing.name.as_str()))
        .map(|volume| volume.metadata.name.clone())
        .collect();
    if !local.is_empty() {
        standing.note(format!(
            "Local to {}: PersistentVolume {}. This data exists on that machine only; it survives if the machine comes \
             back, and is lost if the claim is given up.",
            thing.name,
            super::words::some(&local, 5)
        ));
    }
}
