//! Gate `SandboxStopped`: a sandbox that runs, or a network that cannot be torn down.

use findings::{Entity, Subject};

use super::kill::{is_conmon, is_shim};
use super::prelude::*;
use super::{api_side, netns, network, pid_namespace, shim, uninterruptible};

const GATE: Option<Gate> = Some(Gate::SandboxStopped);
/// So many processes are named.
const MAX_NAMED: usize = 3;

/// What keeps the pod's sandboxes from being stopped.
pub fn find(view: &PodView) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        view.sandboxes.iter().flat_map(|sandbox| sandbox_findings(view, sandbox)).collect();
    if findings.iter().all(|finding| finding.cause.id != cause::SANDBOX_NOT_STOPPED.id) {
        findings.extend(unknown(view).map(|container| {
            let draft = pod_finding(view, &cause::SANDBOX_NOT_STOPPED, GATE, &describe::container(view, container))
                .blame("container runtime", "it could not load this container's state");
            unloaded(draft, container).name(Placeholder::Sandbox, &container.sandbox).root(&container.id).finish()
        }));
    }
    findings
}

/// Whether the gate is not met: a sandbox is READY, its network is still there, or a container's state is unknown.
pub fn is_blocked(view: &PodView) -> bool {
    unknown(view).next().is_some()
        || view
            .sandboxes
            .iter()
            .any(|sandbox| sandbox.ready || network::is_left(sandbox) || netns::is_open(view, sandbox))
}

fn head(sandbox: &Sandbox) -> Vec<Link> {
    let id = sandbox.id.get(..12).unwrap_or(&sandbox.id);
    let state = if sandbox.ready { "READY in the CRI" } else { "NOTREADY in the CRI" };
    vec![Link::new(Subject::new(format!("sandbox {id}"), Entity::sandbox(&sandbox.id)), state)]
}

fn sandbox_findings(view: &PodView, sandbox: &Sandbox) -> Vec<Finding> {
    let head = head(sandbox);
    if !sandbox.ready {
        return netns::find(view, sandbox, &head).or_else(|| tear_down(view, sandbox, &head)).into_iter().collect();
    }
    let pause = view.pause(sandbox);
    let mut findings: Vec<Finding> = shim::find(view, pause, &sandbox.id, &head, GATE).into_iter().collect();
    if findings.is_empty() {
        let processes = view.processes();
        // Where the containers share one pid namespace, the pause process is its init.
        findings = pid_namespace::find(view, pause, &processes, &head, GATE);
        if findings.is_empty() {
            findings = uninterruptible::find(view, &processes, &head, GATE);
        }
    }
    if findings.is_empty() {
        let starting = || api_side::may_be_starting(view).then(|| start_not_finished(view, sandbox, &head));
        let known = netns::find(view, sandbox, &head).or_else(starting).or_else(|| tear_down(view, sandbox, &head));
        findings.push(known.unwrap_or_else(|| not_stopped(view, sandbox, &head)));
    }
    findings
}

/// `SyncPod` goes on when its pod is deleted (`WithoutCancel` in the kubelet's `SyncPod`), and `PullImage` has no deadline.
fn start_not_finished(view: &PodView, sandbox: &Sandbox, head: &[Link]) -> Finding {
    pod_finding(view, &cause::POD_START_NOT_FINISHED, GATE, head)
        .probable("whether the kubelet still starts the pod or fails to stop it: see its Events")
        .blame("the kubelet", "may still pull an image for it, and stops nothing before that has ended")
        .evidence(format!("CRI ListPodSandbox {}", sandbox.id), "READY, and no container of the pod is RUNNING")
        .evidence("status.phase", "Pending: not all of its containers have started")
        .root(view.uid())
        .finish()
}

fn not_stopped(view: &PodView, sandbox: &Sandbox, head: &[Link]) -> Finding {
    let pause = view.pause(sandbox);
    let parent = pause.and_then(|pause| view.parent(pause));
    let subject = pause.map_or_else(|| "its pause process".into(), describe::process);
    let state = pause.map_or("could not be looked at", |pause| describe::state_name(pause.state));
    // A shim is that of all containers of the pod, also of one that the runtime does not know any more.
    let others = other_processes(view, pause);
    let left = match others.as_deref() {
        Some([]) => "all containers have ended",
        Some(_) => "no container is called RUNNING, and other processes of the pod are there",
        None => "no container is called RUNNING",
    };
    let shim = parent.filter(|parent| is_shim(parent) && !is_conmon(parent));
    let mut draft = pod_finding(view, &cause::SANDBOX_NOT_STOPPED, GATE, head)
        .probable("why StopPodSandbox does not succeed: that is in the runtime's log only")
        .blame(subject, format!("{state}; {left}"))
        .evidence(format!("CRI ListPodSandbox {}", sandbox.id), "READY")
        .name(Placeholder::Sandbox, &sandbox.id)
        .root(&sandbox.id);
    match others {
        Some(others) if others.is_empty() => draft = draft.name_if(Placeholder::ShimPid, shim.map(Process::id)),
        Some(others) => {
            let named = others.iter().take(MAX_NAMED).map(|process| describe::process(process).text);
            draft = draft.evidence("the pod's cgroup and pid namespaces", named.collect::<Vec<_>>().join(", "));
        }
        None => {}
    }
    unknown(view).filter(|container| container.sandbox == sandbox.id).fold(draft, unloaded).finish()
}

/// The pod's processes beside its pause process; `None` where a cgroup of it could not be read, or the runtime does not
/// know the state of a container.
fn other_processes<'a>(view: &PodView<'a>, pause: Option<&Process>) -> Option<Vec<&'a Process>> {
    let is_pause = |process: &Process| pause.is_some_and(|pause| pause.pid == process.pid);
    let others: Vec<&Process> =
        view.processes().into_iter().filter(|process| !is_pause(process) && !is_conmon(process)).collect();
    let is_read = view.cgroup.is_none_or(|cgroup| cgroup.dirs.iter().all(|dir| dir.tree.get().is_some()));
    (!others.is_empty() || (is_read && unknown(view).next().is_none())).then_some(others)
}

/// The runtime removes a network namespace only after CNI DEL has succeeded. What the node's network holds is reported once,
/// of the node.
fn tear_down(view: &PodView, sandbox: &Sandbox, head: &[Link]) -> Option<Finding> {
    let may_be_first = network::may_be_first(view.seen, sandbox);
    let is_left = may_be_first || (network::is_left(sandbox) && !network::holds(view.seen, sandbox));
    let network = sandbox.network.get().filter(|_| is_left)?;
    let state = if may_be_first {
        "still there, so CNI DEL may have failed"
    } else {
        "still there, so CNI DEL has not succeeded"
    };
    let draft = pod_finding(view, &cause::CNI_TEARDOWN_FAILING, GATE, head)
        .blame(format!("network namespace {}", network.path.show()), state)
        .evidence(network.path.show(), "still pinned; the runtime removes it after CNI DEL")
        .name(Placeholder::Sandbox, &sandbox.id)
        .root(&sandbox.id);
    let message = network::unready(view.seen).into_iter();
    let draft = message
        .fold(draft, |draft, message| draft.evidence("CRI Status, condition NetworkReady", message))
        .probable_unless(
            !may_be_first,
            "at what StopPodSandbox fails: the network comes first, and it may as well be released",
        )
        // One StopPodSandbox lasts for two minutes at most (`runtimeRequestTimeout`), and begins two seconds after the
        // deadline at the latest: before that has passed the plugin may only be slow.
        .probable_unless(
            view.is_overdue_by(UNMOUNT_RETRY_MS),
            "whether the plugin fails or is only slow: the kubelet's first call may still last",
        )
        // containerd stops the containers of a sandbox first, and comes no further when that fails (`stopPodSandbox`).
        .probable_unless(
            unknown(view).all(|container| container.sandbox != sandbox.id),
            "that the runtime comes to the network: a container of unknown state is stopped first",
        )
        // The runtime may still know from its cache how to release the network, and fail at that.
        .probable_unless(
            !network::is_unconfigured(view.seen),
            "whether the runtime releases it from its cache, or fails at that",
        );
    Some(draft.finish())
}

/// Containers the runtime could not load, unless the kubelet has reported the pod's end in spite of them.
pub fn unknown<'a>(view: &PodView<'a>) -> impl Iterator<Item = &'a Container> {
    let has_ended = view.is_reported_ended() == Some(true);
    let containers: Vec<&Container> = if has_ended { Vec::new() } else { view.containers.clone() };
    containers.into_iter().filter(|container| container.state == ContainerState::Unknown)
}

/// Only stopping the sandbox clears it.
fn unloaded(draft: FindingBuilder, container: &Container) -> FindingBuilder {
    draft
        .evidence(format!("CRI ListContainers {}", container.id), "UNKNOWN: the runtime could not load it")
        .name(Placeholder::Container, &container.id)
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    #[test]
    fn a_network_that_is_left() {
        let mut seen = sample::running();
        seen.processes.clear();
        let network = NetworkNamespace { path: HostPath::from("/var/run/netns/cni-1"), pinned: true, missing: false };
        let facts = runtime(&mut seen);
        facts.containers[0].state = ContainerState::Exited;
        facts.sandboxes[0].ready = false;
        facts.sandboxes[0].network = Seen::Seen(network);
        assert_eq!(causes(&seen), ["CniTeardownFailing"]);
        let answer = |seen: &Observation| {
            let pod = crate::gates::judge(seen).pods.remove(0);
            (pod.verdict, pod.findings[0].confidence, pod.gone_because.contains("tries again"))
        };
        use findings::{Confidence::*, Verdict::*};
        assert_eq!(answer(&seen), (Stuck, Proven, false));
        // A node is drained, and its plugins are slow.
        let mut slow = seen.clone();
        sample::set_deadline(&mut slow, sample::NOW - 20_000, 30);
        assert_eq!(answer(&slow), (Progressing, Probable, false), "one call may last for two minutes");
        let mut stopped = seen.clone();
        stopped.node.kubelet.get_mut().unwrap().state = 'T';
        assert_eq!(causes(&stopped), Vec::<&str>::new(), "the kubelet may not have asked for it");
        // A plugin that is loaded and not ready is called all the same.
        runtime(&mut seen).unready.push(("NetworkReady".into(), "plugin status check failed".into()));
        assert_eq!(causes(&seen), ["CniTeardownFailing"]);
        sample::with_crio(&mut seen);
        runtime(&mut seen).unready[0].1 = "No CNI configuration file in /etc/cni/net.d/.".into();
        assert_eq!(causes(&seen), ["CniTeardownFailing"]);
    }

    #[test]
    fn a_network_behind_a_container_of_unknown_state_is_not_blamed_for_sure() {
        let mut seen = sample::running();
        seen.processes.clear();
        let facts = runtime(&mut seen);
        facts.containers[0].state = ContainerState::Unknown;
        facts.sandboxes[0].ready = false;
        let network = NetworkNamespace { path: HostPath::from("/var/run/netns/cni-1"), pinned: true, missing: false };
        facts.sandboxes[0].network = Seen::Seen(network);
        assert_eq!(causes(&seen), ["CniTeardownFailing", "SandboxNotStopped"]);
        let confidence = |seen: &Observation| crate::gates::judge(seen).pods[0].findings[0].confidence;
        assert_eq!(confidence(&seen), findings::Confidence::Probable);
        runtime(&mut seen).containers[0].state = ContainerState::Exited;
        assert_eq!(confidence(&seen), findings::Confidence::Proven);
    }

    #[test]
    fn a_pod_that_was_deleted_while_an_image_was_pulled() {
        let mut seen = sample::running();
        sample::set_phase(&mut seen, "Pending");
        seen.processes = vec![process(310, "pause", 'S', SHIM), process(SHIM, "containerd-shim", 'S', 1)];
        runtime(&mut seen).containers[0].state = ContainerState::Exited;
        for containers in [1, 0] {
            runtime(&mut seen).containers.truncate(containers);
            assert_eq!(causes(&seen), ["PodStartNotFinished"], "{containers} init containers have ended");
            assert_eq!(sample::verdict(&seen), findings::Verdict::CannotTell);
            let steps = &crate::gates::judge(&seen).pods[0].findings[0].remedy.steps;
            let commands: Vec<&String> = steps.iter().filter_map(|step| step.command.as_ref()).collect();
            let is_harmful = |command: &&&String| command.contains("restart") || command.contains("kill");
            assert!(!commands.iter().any(|command| is_harmful(&command)), "{commands:?}");
        }
    }

    #[test]
    fn a_sandbox_that_stays_ready_and_a_container_of_unknown_state() {
        let mut seen = sample::running();
        seen.processes = vec![process(310, "pause", 'S', SHIM), process(SHIM, "containerd-shim", 'S', 1)];
        runtime(&mut seen).containers[0].state = ContainerState::Exited;
        runtime(&mut seen).containers[0].pid = Seen::Seen(INIT);
        assert_eq!(causes(&seen), ["SandboxNotStopped"]);
        runtime(&mut seen).containers[0].state = ContainerState::Unknown;
        assert_eq!(causes(&seen), ["SandboxNotStopped"]);
        assert!(serde_json::to_string(&judge(&seen)).unwrap().contains("UNKNOWN: the runtime could not load it"));
    }

    /// The shim is that of a container that the runtime could not load again, too.
    #[test]
    fn a_shim_with_a_process_below_it_is_not_to_be_killed() {
        let kills = |seen: &Observation| {
            let findings = crate::gates::judge(seen).pods.remove(0).findings;
            let sandbox_findings =
                findings.into_iter().find(|finding| finding.cause.id == "SandboxNotStopped").unwrap();
            let commands = sandbox_findings.remedy.steps.iter().filter_map(|step| step.command.as_deref());
            (
                commands.clone().any(|command| command.contains("kill")),
                serde_json::to_string(&sandbox_findings).unwrap(),
            )
        };
        let mut seen = sample::running();
        seen.processes.extend([process(310, "pause", 'S', SHIM), process(SHIM, "containerd-shim", 'S', 1)]);
        runtime(&mut seen).containers[0].state = ContainerState::Exited;
        runtime(&mut seen).containers[0].pid = Seen::Seen(INIT);
        let (does, says) = kills(&seen);
        assert!(!does && says.contains(&format!("pid {INIT}")), "{says}");
        seen.processes.retain(|process| process.pid != INIT);
        assert!(kills(&seen).0);
        runtime(&mut seen).containers[0].state = ContainerState::Unknown;
        assert!(!kills(&seen).0);
    }

    /// It waits for nothing of conmon, which has the exit to record.
    #[test]
    fn conmon_is_not_to_be_killed() {
        let mut seen = sample::running();
        let parent = |comm| vec![process(310, "pause", 'S', SHIM), process(SHIM, comm, 'S', 1)];
        let kills = |seen: &Observation| {
            assert_eq!(causes(seen), ["SandboxNotStopped"]);
            let steps = crate::gates::judge(seen).pods.remove(0).findings.remove(0).remedy.steps;
            steps.into_iter().filter_map(|step| step.command).any(|command| command.contains("kill"))
        };
        runtime(&mut seen).containers[0].state = ContainerState::Exited;
        seen.processes = parent("containerd-shim");
        assert!(kills(&seen));
        sample::with_crio(&mut seen);
        seen.processes = parent("conmon");
        assert!(!kills(&seen));
    }
}
