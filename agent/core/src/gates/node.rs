//! States of the node that hold many pods, each told once.

use findings::{
    CauseRef, Confidence, Finding, Gate, GateState, NodeFinding, Placeholder, PodReport, PodUid, Verdict, cause,
};

use crate::{
    causes::{block, kubelet, network, pinned, runtime, words},
    evidence::Facts,
    observation::{Container, ContainerState, Observation, Seen, VolData},
    view::{KubeletMinor, RETRY_WINDOW_MS, told_minor},
};

const RETRY_WINDOW: i64 = RETRY_WINDOW_MS as i64;
/// A volume is staged before it is mounted into a pod, and unstaged after: while pods come and go,
/// a staging mount without a pod is nothing to speak of.
const STAGING_QUIET_MS: u64 = 120_000;

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
    let mut found = Vec::new();
    if let Some(finding) = runtime::find(seen) {
        found.push(hold(finding, pods, |pod| pod.gates.iter().any(|gate| gate.state == GateState::Unknown)));
    }
    if let Some(finding) = kubelet::hung(seen).or_else(|| kubelet::pleg(seen)) {
        found.push(hold(finding, pods, |_| true));
    }
    if let Some(finding) = network::not_ready(seen) {
        let held = hold(finding, pods, |pod| waits_for_network(seen, pod));
        found.extend(Some(held).filter(|held| !held.pods.is_empty()));
    }
    let mut notes = Vec::new();
    if let Some(finding) = kubelet::not_running(seen) {
        if pods.is_empty() {
            notes.push("no kubelet runs here; what can be checked without it was checked".to_owned());
        } else {
            found.push(hold(finding, pods, |_| true));
        }
    }
    let left = [(&cause::GLOBAL_MOUNT_LEFT, staging_left(seen)), (&cause::LOOP_DEVICE_LEFT, loops_left(seen))];
    let mut not_looked_for = Vec::new();
    for (cause, findings) in left {
        match findings {
            Some(findings) => {
                found.extend(findings.into_iter().map(|finding| NodeFinding { finding, pods: Vec::new() }))
            }
            None => not_looked_for.push(CauseRef(cause)),
        }
    }
    found.extend(pinned::find(seen).into_iter().map(|finding| NodeFinding { finding, pods: Vec::new() }));
    found.extend(static_names(seen).into_iter().map(|finding| NodeFinding { finding, pods: Vec::new() }));
    found.extend(shared_roots(pods));
    notes.extend(namespace_note(seen));
    notes.extend(kubelet::not_believed(seen));
    notes.extend(assumed_version(seen).filter(|_| !pods.is_empty()));
    Judged { findings: found, not_looked_for, notes }
}

/// Whether a finding of the node says by itself that something is stuck. What is only probable and
/// holds no pod does not.
pub fn is_stuck(found: &NodeFinding) -> bool {
    // They hold a volume back from other nodes.
    let detach = [&cause::GLOBAL_MOUNT_LEFT, &cause::DEVICE_PINNED_BY_PRIVATE_COPY];
    found.finding.confidence == Confidence::Proven
        || !found.pods.is_empty()
        || detach.iter().any(|cause| cause.id == found.finding.cause.id)
}

fn hold(finding: Finding, pods: &mut [PodReport], holds: impl Fn(&PodReport) -> bool) -> NodeFinding {
    let mut held = Vec::new();
    for pod in pods.iter_mut().filter(|pod| pod.verdict != Verdict::Clear && holds(pod)) {
        // The kubelet gets the time for its own retries first.
        if pod.overdue_seconds.is_none_or(|overdue| overdue * 1000 >= RETRY_WINDOW) {
            pod.verdict = Verdict::Stuck;
        }
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

/// A staging mount that no pod on this node uses: the volume cannot be detached.
/// None when it cannot be told just now.
fn staging_left(seen: &Observation) -> Option<Vec<Finding>> {
    let volumes = seen.pod_dirs.get().into_iter().flatten().flat_map(|dir| dir.volumes.get().into_iter().flatten());
    let used: Vec<(&str, &str)> = volumes
        .filter_map(|volume| match &volume.vol_data {
            VolData::Read(data) => Some((data.driver.as_str(), data.handle.as_str())),
            _ => None,
        })
        .collect();
    // Pods that were not looked into may use it; their mounts tell.
    let is_left = |staging: &&crate::observation::StagingMount| {
        let by_data = match &staging.vol_data {
            VolData::Read(data) => used.contains(&(data.driver.as_str(), data.handle.as_str())),
            _ => false,
        };
        staging.used_by.is_empty() && !by_data
    };
    let busy = seen
        .pod_dirs
        .get()
        .into_iter()
        .flatten()
        .any(|dir| seen.at_ms.saturating_sub(dir.changed_ms) < STAGING_QUIET_MS);
    if busy || seen.pod_dirs.get().is_none() {
        return None;
    }
    let cause = &cause::GLOBAL_MOUNT_LEFT;
    let finding = |staging: &crate::observation::StagingMount| {
        runtime::finding(seen, cause, None, |found| {
            found
                .probable()
                .blame(words::place(&staging.path), "staged for no pod of this node")
                .evidence(
                    "mountinfo of the kubelet",
                    format!("{} on {}, shown nowhere below pods/", staging.path.show(), staging.dev),
                )
                .name_if(Placeholder::Path, staging.path.as_str())
                .name(Placeholder::Driver, &staging.driver)
                .root(staging.path.show())
        })
    };
    Some(seen.staging.iter().filter(is_left).map(finding).collect())
}

/// A loop device on a block volume of a pod that is gone; none when it cannot be told just now.
fn loops_left(seen: &Observation) -> Option<Vec<Finding>> {
    // The kubelet names the bind mount after the pod: …/volumeDevices/<volume>/dev/<pod uid>. Only
    // of a pod that nobody knows any more is it certain that the device is left.
    let (Some(api), Some(runtime)) = (seen.api.get().filter(|api| api.stale.is_none()), seen.runtime.get()) else {
        return None;
    };
    let is_known = |uid: &PodUid| {
        api.pods.iter().any(|pod| pod.uid == *uid)
            || runtime.sandboxes.iter().any(|sandbox| sandbox.pod.uid == *uid && sandbox.ready)
    };
    let is_left = |device: &&crate::observation::LoopDevice| {
        let uid = device.file.as_path().file_name().and_then(|name| name.to_str()).and_then(PodUid::parse);
        let is_volume = device.file.show().contains("/volumeDevices/");
        is_volume && uid.is_some_and(|uid| !uid.is_static() && !is_known(&uid))
    };
    Some(seen.loops.iter().filter(is_left).map(|device| block::loop_left(seen, device, None)).collect())
}

/// A static pod was changed, and the containers of its old manifest still run: the new one may not
/// start before the old uid has let the name go (`allowStaticPodStart`).
fn static_names(seen: &Observation) -> Vec<Finding> {
    let Some(runtime) = seen.runtime.get() else { return Vec::new() };
    let running = |c: &&Container| c.state == ContainerState::Running && c.pod.uid.is_static();
    let running: Vec<&Container> = runtime.containers.iter().filter(running).collect();
    let is_older = |one: &Container, other: &Container| {
        one.pod.uid != other.pod.uid
            && (&one.pod.namespace, &one.pod.name) == (&other.pod.namespace, &other.pod.name)
            && one.created_ms < other.created_ms
    };
    let held = running.iter().filter(|one| running.iter().any(|other| is_older(one, other)));
    let cause = &cause::STATIC_POD_NAME_HELD;
    let finding = |container: &&Container| {
        runtime::finding(seen, cause, None, |found| {
            found
                .probable()
                .link(format!("static pod {}", container.pod), "two uids of this name have running containers")
                .blame(format!("container {}", container.name), format!("of the older uid {}", container.pod.uid))
                .evidence(format!("CRI ListContainers {}", container.id), "RUNNING")
                .name(Placeholder::Container, &container.id)
                .root(&container.pod.uid)
        })
    };
    held.map(finding).collect()
}

/// What the judgement of pods depends on.
fn assumed_version(seen: &Observation) -> Option<String> {
    told_minor(seen).is_none().then(|| {
        format!(
            "the kubelet's version is not known, as the API server did not tell it; 1.{} was assumed",
            KubeletMinor::NEWEST.0
        )
    })
}

fn namespace_note(seen: &Observation) -> Option<String> {
    let kubelet = seen.node.kubelet.get()?.mount_ns?;
    let init = seen.node.init_mount_ns?;
    let differ = kubelet != init && matches!(seen.mounts.init, Seen::Seen(_));
    differ.then(|| "the kubelet runs in a mount namespace of its own; its mounts, not pid 1's, were judged".to_owned())
}
