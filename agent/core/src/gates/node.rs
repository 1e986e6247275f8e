//! States of the node that hold many pods, each reported once.

use findings::{CauseRef, Confidence, Finding, Gate, GateState, NodeFinding, PodReport, Verdict};

use crate::causes::{NotLookedFor, block_volume, device_in_use, global_mount, kubelet, network, runtime, static_pod};
use crate::facts::Facts;
use crate::observation::{Observation, Seen};
use crate::view::{KubeletMinor, RETRY_WINDOW_MS, reported_minor, server_ahead_ms};

const RETRY_WINDOW: i64 = RETRY_WINDOW_MS as i64;
/// What is so of the node itself.
pub struct Judged {
    /// States of the node.
    pub findings: Vec<NodeFinding>,
    /// See [`NodeReport::not_looked_for`](findings::NodeReport::not_looked_for).
    pub not_looked_for: Vec<CauseRef>,
    /// See [`NodeReport::notes`](findings::NodeReport::notes).
    pub notes: Vec<String>,
}

/// Findings of the node with the pods they hold, and notes. Pods held by one of them alone get
/// their verdict here.
pub fn judge(seen: &Facts<'_>, pods: &mut [PodReport]) -> Judged {
    let mut findings = Vec::new();
    if let Some(finding) = runtime::find(seen) {
        findings.push(hold(finding, pods, |pod| pod.gates.iter().any(|gate| gate.state == GateState::Unknown)));
    }
    if let Some(finding) = kubelet::stopped(seen).or_else(|| kubelet::hung(seen)).or_else(|| kubelet::pleg(seen)) {
        findings.push(hold(finding, pods, |_| true));
    }
    if let Some(finding) = network::not_ready(seen) {
        let held = hold(finding, pods, |pod| waits_for_network(seen, pod));
        findings.extend(Some(held).filter(|held| !held.pods.is_empty()));
    }
    let mut notes = Vec::new();
    if let Some(finding) = kubelet::not_running(seen) {
        if pods.is_empty() {
            notes.push("no kubelet runs here; what can be checked without it was checked".to_owned());
        } else {
            findings.push(hold(finding, pods, |_| true));
        }
    }
    let mut not_looked_for = Vec::new();
    let mut without_pods = [device_in_use::find(seen), static_pod::find(seen)].concat();
    for looked_for in [global_mount::find(seen), block_volume::find(seen)] {
        match looked_for {
            Ok(findings) => without_pods.extend(findings),
            Err(NotLookedFor(cause)) => not_looked_for.push(cause),
        }
    }
    findings.extend(without_pods.into_iter().map(|finding| NodeFinding { finding, pods: Vec::new() }));
    findings.extend(shared_roots(pods));
    notes.extend(namespace_note(seen));
    notes.extend(kubelet::not_believed(seen));
    notes.extend(clock_note(seen).filter(|_| !pods.is_empty()));
    notes.extend(assumed_version(seen).filter(|_| !pods.is_empty()));
    Judged { findings, not_looked_for, notes }
}

/// Whether a finding of the node says by itself that something is stuck. What is only probable and
/// holds no pod does not.
pub fn is_stuck(found: &NodeFinding) -> bool {
    found.finding.confidence == Confidence::Proven || !found.pods.is_empty() || found.finding.cause.keeps_attached
}

fn hold(finding: Finding, pods: &mut [PodReport], holds: impl Fn(&PodReport) -> bool) -> NodeFinding {
    let mut held = Vec::new();
    for pod in pods.iter_mut().filter(|pod| pod.verdict != Verdict::Clear && holds(pod)) {
        // The kubelet gets the time for its own retries first.
        if pod.overdue_seconds.is_none_or(|overdue| overdue * 1000 >= RETRY_WINDOW) {
            pod.verdict = Verdict::Stuck;
        }
        // A mere consequence of what the kubelet has not done yet is reported once, of the node.
        pod.findings.retain(|found| !found.cause.is_outranked_by(&finding.cause));
        held.push(pod.pod.clone());
    }
    NodeFinding { finding, pods: held }
}

/// The network of a sandbox is what the kubelet waits for first.
fn waits_for_network(seen: &Facts<'_>, pod: &PodReport) -> bool {
    let mut sandboxes = seen.runtime.get().into_iter().flat_map(|runtime| &runtime.sandboxes);
    pod.gate == Some(Gate::SandboxStopped)
        && sandboxes.any(|sandbox| sandbox.pod.uid == pod.pod.uid && network::holds(seen, sandbox))
}

/// A root that holds more than one pod is the node's: one file server, one CSI driver.
fn shared_roots(pods: &[PodReport]) -> Vec<NodeFinding> {
    let mut shared: Vec<NodeFinding> = Vec::new();
    for (index, pod) in pods.iter().enumerate() {
        for finding in &pod.findings {
            let others = pods[index + 1..].iter().filter(|other| other.findings.iter().any(|f| f.root == finding.root));
            let held: Vec<_> = std::iter::once(pod).chain(others).map(|pod| pod.pod.clone()).collect();
            if held.len() > 1 && shared.iter().all(|known| known.finding.root != finding.root) {
                shared.push(NodeFinding { finding: finding.clone(), pods: held });
            }
        }
    }
    shared
}

/// What the judgement of pods depends on.
fn assumed_version(seen: &Observation) -> Option<String> {
    reported_minor(seen).is_none().then(|| {
        format!(
            "the kubelet's version is unknown (no answer from the API server); 1.{} was assumed",
            KubeletMinor::NEWEST.0
        )
    })
}

fn clock_note(seen: &Observation) -> Option<String> {
    let ahead = server_ahead_ms(seen);
    let how = if ahead > 0 { "ahead of" } else { "behind" };
    (ahead != 0).then(|| {
        let by = findings::duration(ahead.unsigned_abs() / 1000);
        format!("the API server's clock is {by} {how} this node's; deadlines were judged by the server's")
    })
}

fn namespace_note(seen: &Observation) -> Option<String> {
    let kubelet = seen.node.kubelet.get()?.mount_ns?;
    let init = seen.node.init_mount_ns?;
    let differ = kubelet != init && matches!(seen.mounts.init, Seen::Seen(_));
    differ.then(|| {
        "the kubelet runs in a mount namespace of its own; its mounts, not pid 1's, were judged, and \
         paths are as it sees them"
            .to_owned()
    })
}
