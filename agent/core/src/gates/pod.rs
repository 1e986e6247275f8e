//! One pod through the gates.

use findings::{Confidence, Finding, Gate, GateState, GateView, Patience, PodReport, Unknown, Verdict};

use super::missing_rights::Lacking;
use crate::causes::{
    api_side, cgroup, container, csi, describe, dra, mounts, netns, network, orphan, sandbox, uninterruptible, volume,
};
use crate::force;
use crate::observation::{ContainerState, Fault, FaultKind, Sandbox, Seen, Source};
use crate::view::{DeletionReason, PodView, RETRY_WINDOW_MS, UNMOUNT_RETRY_MS};

/// How one gate stands, before the order of the gates is taken into account.
struct GateCheck<'a> {
    gate: Gate,
    state: GateState,
    detail: String,
    /// Finds what holds it. The gates that are not reached are not asked.
    find: Box<dyn FnOnce() -> Vec<Finding> + 'a>,
}

/// Judges one pod that should be gone.
pub fn judge(view: &PodView<'_>, lacking: &Lacking) -> PodReport {
    let mut checks = vec![
        containers(view),
        sandboxes(view),
        devices(view),
        volumes(view),
        cgroups(view),
        status(view),
        object(view),
    ];
    if matches!(view.why, DeletionReason::NotInApi | DeletionReason::Completed { .. }) {
        // There is no object that could wait for anything, or it rightly stays.
        checks.retain(|check| check.gate < Gate::StatusReported);
    }
    if view.api.is_some_and(|pod| pod.mirror) {
        // The object only mirrors a static pod, whose containers rightly run on, unless they were killed too.
        let is_killed = view.processes().iter().any(|process| process.has_been_told_to_end());
        checks.retain(|check| check.gate == Gate::ObjectRemoved || (is_killed && check.gate < Gate::StatusReported));
    }
    reopen_sandbox(view, &mut checks);
    let first = checks.iter().position(|check| check.state != GateState::Met);
    for check in checks.iter_mut().skip(first.map_or(usize::MAX, |first| first + 1)) {
        if check.state == GateState::Met {
            continue;
        }
        check.state = GateState::NotReached;
        check.find = Box::new(Vec::new);
    }
    let gate = first.map(|index| checks[index].gate);
    let mut findings = Vec::new();
    let mut gates = Vec::new();
    for GateCheck { gate, state, detail, find } in checks {
        findings.extend(find());
        gates.push(GateView { gate, state, detail });
    }
    let is_at_node = gate.is_some_and(|gate| (Gate::VolumesUnmounted..Gate::ObjectRemoved).contains(&gate));
    if is_at_node && view.is_reported_ended() == Some(true) {
        // The kubelet has reported its last: whatever it finds yet, the object waits for these too.
        findings.extend(api_side::finalizers(view, false));
    }
    findings.extend(orphan::still_running(view));
    if gate == Some(Gate::VolumesUnmounted) {
        // The kubelet has forgotten an orphan's volumes: what would help a terminating pod does not
        // help here, unless it is about a mount.
        let held = volume::Left::count(view).mounted > 0 && findings.iter().any(|one| orphan::is_of_mount(view, one));
        if let Some(orphan) = orphan::directory(view).filter(|_| !held) {
            findings = vec![orphan];
        }
    }
    let blocked = first.map(|index| gates[index].state);
    let verdict = verdict(view, blocked, &findings);
    PodReport {
        pod: view.pod.clone(),
        before: false,
        verdict,
        gate,
        gone_because: match next_try(view, verdict, gate) {
            Some(next) => format!("{}; {next}", gone_because(view)),
            None => gone_because(view),
        },
        overdue_seconds: view.overdue_ms().map(|ms| ms / 1000),
        gates,
        unknown: unknowns(view, lacking),
        force: if verdict == Verdict::Stuck { force::cost(view) } else { None },
        findings,
    }
}

/// What the phase in the API says of gates that nothing on the node shows.
fn reopen_sandbox<'a>(view: &'a PodView<'a>, checks: &mut [GateCheck<'a>]) {
    let first = checks.iter().find(|check| check.state != GateState::Met).map(|check| check.gate);
    if !matches!(first, Some(Gate::VolumesUnmounted | Gate::CgroupRemoved)) || !api_side::is_before_volumes(view) {
        return;
    }
    for check in checks.iter_mut().filter(|check| check.gate == Gate::SandboxStopped) {
        let detail = "stopped; the kubelet has not reported more".to_owned();
        *check =
            self::check(check.gate, true, detail, || api_side::termination_not_finished(view).into_iter().collect());
    }
}

fn verdict(view: &PodView, blocked: Option<GateState>, findings: &[Finding]) -> Verdict {
    let proven = findings.iter().any(|finding| finding.confidence == Confidence::Proven);
    match blocked {
        // Its deadline has not passed.
        _ if view.overdue_ms().is_some_and(|overdue| overdue < 0) => Verdict::Progressing,
        None if matches!(view.why, DeletionReason::Completed { .. }) => Verdict::Clear,
        None if view.api.is_none() => Verdict::Clear,
        None => Verdict::CannotTell,
        Some(GateState::Unknown) => Verdict::CannotTell,
        // The kubelet tries again within this time; what is seen may be gone with its next try.
        Some(_) if !view.is_overdue_by(RETRY_WINDOW_MS) => Verdict::Progressing,
        Some(_) if container::is_granted(findings) || csi::is_awaited(findings) || netns::is_awaited(view) => {
            Verdict::Progressing
        }
        Some(_) if proven => Verdict::Stuck,
        // What is only probable gets the time of the slowest retry.
        Some(_) if !view.is_overdue_by(UNMOUNT_RETRY_MS) => Verdict::Progressing,
        // Without the API server it may as well be a pod that is about to start again.
        Some(_) if view.why == DeletionReason::Ended => Verdict::CannotTell,
        // It runs, was deleted by force, and when that was is unknown.
        Some(_) if view.why == DeletionReason::NotInApi && view.runs() && view.overdue_ms().is_none() => {
            Verdict::CannotTell
        }
        Some(_) if findings.iter().any(|finding| finding.cause.patience != Patience::NextTry) => Verdict::Stuck,
        Some(_) => Verdict::CannotTell,
    }
}

fn gone_because(view: &PodView) -> String {
    match view.why {
        DeletionReason::DeletionRequested(deletion) => {
            let overdue = view.overdue_ms().unwrap_or(0) / 1000;
            let grace = findings::duration(deletion.grace_s);
            match u64::try_from(overdue) {
                Ok(overdue) => format!("deadline passed {} ago, grace was {grace}", findings::duration(overdue)),
                Err(_) => format!("deadline in {}, grace is {grace}", findings::duration(overdue.unsigned_abs())),
            }
        }
        DeletionReason::Completed { .. } => {
            let ended = u64::try_from(view.overdue_ms().unwrap_or(0) / 1000).unwrap_or(0);
            format!("it ended {} ago, not deleted", findings::duration(ended))
        }
        DeletionReason::NotInApi if view.runs() => {
            let grace = findings::duration(view.container_grace_s());
            let when = match view.overdue_ms() {
                Some(0..) => format!("its grace period of {grace} has ended"),
                Some(_) => format!("it is within its grace period of {grace}"),
                None => format!("since when is unknown, and its grace period is {grace}"),
            };
            format!("the API server does not know it any more; {when}")
        }
        DeletionReason::NotInApi => "the API server does not know it any more".to_owned(),
        DeletionReason::Assumed => "it was not deleted".to_owned(),
        DeletionReason::BeingKilled => {
            "a process of it has been killed or hangs while exiting; the API server does not show it".to_owned()
        }
        DeletionReason::Ended => "all of it has ended, and something is left; the API server was not asked".to_owned(),
    }
}

/// When the kubelet tries again, where it is only waited for that. The stop of a container or a sandbox has no such
/// time: one call may last for the grace period and two more minutes.
fn next_try(view: &PodView, verdict: Verdict, gate: Option<Gate>) -> Option<String> {
    let pause_ms = match gate? {
        Gate::ContainersStopped | Gate::SandboxStopped | Gate::ObjectRemoved => return None,
        Gate::VolumesUnmounted => UNMOUNT_RETRY_MS,
        Gate::DevicesUnprepared | Gate::CgroupRemoved | Gate::StatusReported => RETRY_WINDOW_MS,
    };
    let waits = verdict == Verdict::Progressing && view.overdue_ms().is_some_and(|overdue| overdue >= 0);
    waits.then(|| format!("the kubelet tries again within {}", findings::duration(pause_ms / 1000)))
}

fn check<'a>(gate: Gate, blocked: bool, detail: String, find: impl FnOnce() -> Vec<Finding> + 'a) -> GateCheck<'a> {
    if blocked {
        GateCheck { gate, state: GateState::Blocked, detail, find: Box::new(find) }
    } else {
        GateCheck { gate, state: GateState::Met, detail: String::new(), find: Box::new(Vec::new) }
    }
}

fn unknown(gate: Gate, detail: &str) -> GateCheck<'static> {
    GateCheck { gate, state: GateState::Unknown, detail: detail.to_owned(), find: Box::new(Vec::new) }
}

fn containers<'a>(view: &'a PodView<'a>) -> GateCheck<'a> {
    let gate = Gate::ContainersStopped;
    if view.seen.runtime.get().is_none() {
        return judge_processes(view);
    }
    let running = container::running(view).len();
    check(gate, running > 0, format!("{running} RUNNING"), || match view.overdue_ms() {
        Some(overdue) if overdue < 0 => container::grace_period(view),
        _ => container::find(view),
    })
}

/// The runtime is silent; /proc and the cgroups still show tasks that cannot die.
fn judge_processes<'a>(view: &'a PodView<'a>) -> GateCheck<'a> {
    let (gate, processes) = (Some(Gate::ContainersStopped), view.processes());
    let findings = match cgroup::find_frozen(view, gate) {
        // It shows D, whatever it did before.
        Some(frozen) => vec![frozen],
        None => uninterruptible::find(view, &processes, &[], gate),
    };
    if findings.is_empty() {
        return unknown(Gate::ContainersStopped, "the runtime did not answer");
    }
    let detail = format!("{} processes left", processes.len());
    check(Gate::ContainersStopped, true, detail, || findings)
}

fn sandboxes<'a>(view: &'a PodView<'a>) -> GateCheck<'a> {
    if view.seen.runtime.get().is_none() {
        return unknown(Gate::SandboxStopped, "the runtime did not answer");
    }
    // A stopped sandbox whose network could not be looked at may still wait for its CNI plugins.
    let unseen = |s: &&Sandbox| !s.ready && (s.network.fault().is_some() || s.network == Seen::NotAsked);
    if !sandbox::is_blocked(view) && view.sandboxes.iter().any(unseen) {
        return unknown(Gate::SandboxStopped, "whether its network is torn down could not be seen");
    }
    check(Gate::SandboxStopped, sandbox::is_blocked(view), sandbox_detail(view), || sandbox::find(view))
}

fn sandbox_detail(view: &PodView) -> String {
    let ready = view.sandboxes.iter().filter(|sandbox| sandbox.ready).count();
    if ready > 0 {
        return format!("{ready} READY");
    }
    let detail = if sandbox::unknown(view).next().is_some() {
        "stopped, a container of it is UNKNOWN"
    } else if view.sandboxes.iter().any(|sandbox| network::is_left(sandbox)) {
        "stopped, its network is still there"
    } else {
        "stopped, its network is not torn down"
    };
    detail.to_owned()
}

fn devices<'a>(view: &'a PodView<'a>) -> GateCheck<'a> {
    if view.seen.node.dra_pods == Seen::NotAsked {
        return unknown(Gate::DevicesUnprepared, "the kubelet's devices were not looked at");
    }
    let detail = if view.holds_devices() { "claims held" } else { "a claim was never generated" };
    check(Gate::DevicesUnprepared, dra::is_blocked(view), detail.to_owned(), || dra::find(view))
}

fn volumes<'a>(view: &'a PodView<'a>) -> GateCheck<'a> {
    if let Some(failed) = mounts::failed_below(view) {
        return check(Gate::VolumesUnmounted, true, "its file system has failed".to_owned(), || vec![failed]);
    }
    if view.seen.pod_dirs.fault().is_some() {
        return unknown(Gate::VolumesUnmounted, "the pod directories could not be read");
    }
    if view.dir.is_some_and(|dir| dir.volumes == Seen::NotAsked) {
        return unknown(Gate::VolumesUnmounted, "its volumes were not looked at");
    }
    // A check that fails is, to the kubelet too, a volume that exists.
    let unread = view.dir.is_some_and(|dir| dir.volumes.fault().is_some() || !dir.faults.is_empty());
    let left = volume::Left::count(view);
    if unread && !left.anything() {
        return unknown(Gate::VolumesUnmounted, "its volumes could not be read");
    }
    let finalizers = view.api.is_some_and(|pod| !pod.finalizers.is_empty());
    if left.mounted == 0 && finalizers && view.has_passed_cgroup() && view.is_reported_ended() == Some(true) {
        // What is left has not stopped the kubelet, and what stops the object is known.
        return check(Gate::VolumesUnmounted, false, String::new(), Vec::new);
    }
    let detail = match left {
        volume::Left { mounted: 0, directories, devices: 0, obstacles: 0 } => {
            describe::count(directories, "directory", "directories")
        }
        volume::Left { mounted: 0, directories: 0, devices, obstacles: 0 } => {
            describe::count(devices, "raw block volume", "raw block volumes")
        }
        volume::Left { mounted, .. } => describe::count(mounted, "mount", "mounts"),
    };
    check(Gate::VolumesUnmounted, left.anything(), detail, || volume::find(view))
}

fn cgroups<'a>(view: &'a PodView<'a>) -> GateCheck<'a> {
    if view.seen.cgroups.fault().is_some() {
        return unknown(Gate::CgroupRemoved, "the cgroups could not be read");
    }
    let Some(cgroup) = view.cgroup else { return check(Gate::CgroupRemoved, false, String::new(), Vec::new) };
    if cgroup.dirs.iter().any(|dir| dir.tree == Seen::NotAsked) {
        return unknown(Gate::CgroupRemoved, "its cgroup was not looked at");
    }
    let processes: usize = view.cgroup_nodes().map(|(_, node)| node.procs.len()).max().unwrap_or(0);
    let only_unknown = cgroup.dirs.iter().all(|dir| !dir.known_to_runtime);
    let detail = match processes {
        0 => "empty, still there".to_owned(),
        processes => describe::count(processes, "process", "processes"),
    };
    // A hierarchy the runtime does not know is left for ever and does not hold the pod.
    check(Gate::CgroupRemoved, !only_unknown, detail, || cgroup::find(view))
}

fn status<'a>(view: &'a PodView<'a>) -> GateCheck<'a> {
    if view.is_stale() {
        return unknown(Gate::StatusReported, "the API server was not heard of late");
    }
    if is_cut_down(view) {
        return unknown(Gate::StatusReported, "its status was not read");
    }
    // Up to 1.26 the object may go with its phase still Running, and so may a mirror pod's.
    let open =
        view.api.is_some_and(|pod| api_side::is_open(&pod.phase) && !pod.mirror && !view.kubelet.tests_together());
    check(Gate::StatusReported, open, String::new(), || api_side::status_not_reported(view).into_iter().collect())
}

fn object<'a>(view: &'a PodView<'a>) -> GateCheck<'a> {
    if view.is_stale() {
        return unknown(Gate::ObjectRemoved, "the API server was not heard of late");
    }
    let findings = api_side::finalizers(view, true).or_else(|| api_side::not_deleted(view));
    check(Gate::ObjectRemoved, view.api.is_some(), String::new(), || findings.into_iter().collect())
}

/// Whether its object was too long for more than its metadata to be read.
fn is_cut_down(view: &PodView) -> bool {
    view.api.is_some_and(|pod| pod.phase.is_empty())
}

/// Sources that failed for this pod.
pub(super) fn unknowns(view: &PodView, lacking: &Lacking) -> Vec<Unknown> {
    let mut unknown = Vec::new();
    let mut add = |fault: &crate::observation::Fault, hides: &str| {
        if !lacking.explains(fault) {
            unknown.push(fault.unknown(hides));
        }
    };
    if is_cut_down(view) {
        let why = (FaultKind::TooLarge, "its object is too long, and only the metadata was read");
        add(&Fault::new(Source::ApiServer, why), "its phase, its volumes and its claims");
    }
    for fault in view.dir.into_iter().flat_map(|dir| &dir.faults) {
        add(fault, "a part of its volumes");
    }
    if let Some(fault) = view.dir.and_then(|dir| dir.volumes.fault()) {
        add(fault, "its volumes");
    }
    for sandbox in &view.sandboxes {
        if let Some(fault) = sandbox.network.fault().or(sandbox.pid.fault()) {
            add(fault, "the state of a sandbox");
        }
    }
    for container in view.containers.iter().filter(|container| container.state != ContainerState::Exited) {
        if let Seen::Failed(fault) = &container.pid {
            add(fault, "the processes of a container");
        }
    }
    for dir in view.cgroup.into_iter().flat_map(|cgroup| &cgroup.dirs) {
        if let Seen::Failed(fault) = &dir.tree {
            add(fault, "the processes in this cgroup");
        }
    }
    unknown
}
