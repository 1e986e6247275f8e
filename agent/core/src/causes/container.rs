//! Gate `ContainersStopped`: why a container that should have ended is RUNNING.

use super::prelude::*;
use super::{api_side, cgroup, holder, leftover_shim, pid_namespace, shim, slow_exit, uninterruptible};

const GATE: Option<Gate> = Some(Gate::ContainersStopped);

/// The containers the kubelet waits for.
pub fn running<'a>(view: &PodView<'a>) -> Vec<&'a Container> {
    view.containers.iter().copied().filter(|container| container.state == ContainerState::Running).collect()
}

/// What holds the pod's running containers.
pub fn find(view: &PodView) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        running(view).into_iter().flat_map(|container| container_findings(view, container)).collect();
    // A sidecar is stopped only when the other containers have ended, so while one of them is held it is not killed.
    let is_unkilled = |finding: &Finding| finding.cause.id == cause::KILL_NOT_ATTEMPTED.id;
    if findings.iter().any(|finding| !is_unkilled(finding) && !slow_exit::is_slow(finding)) {
        findings.retain(|finding| !is_unkilled(finding));
    }
    findings
}

fn container_findings(view: &PodView, container: &Container) -> Vec<Finding> {
    let head = describe::container(view, container);
    let processes = view.processes_of(container);
    let init = view.init(container);
    if view.has_lost_init(container) {
        view.seen.is_settled(Question::ContainerState(container.id.clone()));
    }
    let mut findings = Vec::new();
    findings.extend(frozen(view, container, &head));
    findings.extend(shim::find(view, init, &container.sandbox, &head, GATE));
    findings.extend(pid_namespace::find(view, init, &processes, &head, GATE));
    if findings.is_empty() {
        findings.extend(uninterruptible::find(view, &processes, &head, GATE));
    }
    if findings.is_empty() && view.is_overdue_by(RETRY_WINDOW_MS) {
        findings.extend(uninterruptible::unkilled(view, init, &head, GATE));
    }
    if findings.is_empty() {
        findings.extend(runc_init(view, &processes, &head));
    }
    if findings.is_empty() && init.is_none() {
        findings.extend(holder::rootfs(view, container, &head));
    }
    if findings.is_empty() {
        findings.extend(leftover_shim::find(view, container, &processes, &head));
    }
    if findings.is_empty() {
        findings.extend(lost_exit(view, container, init, &processes, &head));
    }
    // The end of the grace period may be unknown of a pod that was deleted by force.
    let is_due = view.why != DeletionReason::NotInApi || view.overdue_ms().is_some();
    if findings.is_empty() && is_due && view.is_overdue_by(RETRY_WINDOW_MS) {
        let known = kill_not_attempted(view, container, &processes, &head);
        findings.extend(known.or_else(|| slow_exit::exit_not_finished(view, init, &processes, &head, GATE)));
    }
    findings
}

/// Where it holds a container back: on v1 a frozen task does not even see SIGKILL. On v2 SIGKILL
/// thaws, so there it only keeps the container from ending in time.
fn frozen(view: &PodView, container: &Container, head: &[Link]) -> Option<Finding> {
    let processes = view.processes_of(container);
    let in_time = view.overdue_ms().is_some_and(|overdue| overdue < 0);
    let is_its = |node: &CgroupNode| {
        node.procs.iter().any(|pid| processes.iter().any(|process| process.pid == *pid))
            || node.below.show().contains(&container.id)
    };
    let (dir, node) = view
        .cgroup_nodes()
        .find(|(dir, node)| (dir.hierarchy != "v2" || in_time) && node.freezer != Freezer::Thawed && is_its(node))?;
    let (dir, node) = cgroup::frozen_by(view, dir, node);
    Some(cgroup::frozen(view, dir, node, GATE, head))
}

/// CRI says RUNNING, and the process it names is gone.
fn lost_exit(
    view: &PodView,
    container: &Container,
    init: Option<&Process>,
    processes: &[&Process],
    head: &[Link],
) -> Option<Finding> {
    let Seen::Seen(pid) = container.pid else { return None };
    if init.is_some() || !processes.is_empty() || view.is_unreadable(pid) {
        return None;
    }
    // In CRI-O it is conmon that records the exit.
    let conmon = view.conmon_of(container);
    let draft = pod_finding(view, &cause::RUNTIME_LOST_EXIT, GATE, head);
    let draft = match conmon {
        Some(conmon) => draft.link(
            describe::process(conmon),
            format!("{}, it has not recorded the exit", describe::state_name(conmon.state)),
        ),
        None => {
            let scope = is_crio(view).then(|| format!("crio-conmon-{}.scope", container.id));
            draft.name_if(Placeholder::Unit, scope)
        }
    };
    let draft = draft
        .blame(format!("pid {pid}, init of the container"), "it does not exist any more")
        .evidence(format!("CRI ContainerStatus {}", container.id), format!("RUNNING, pid {pid}"))
        .evidence(format!("/proc/{pid}"), describe::reused_pid(view, pid))
        .name(Placeholder::Container, &container.id)
        .name(Placeholder::Sandbox, &container.sandbox)
        .root(&container.id);
    if let Some(unseen) = unseen_of(view, container) {
        return Some(draft.probable(unseen).finish());
    }
    let draft = match conmon {
        // CRI-O's own setting has it in a scope of `system.slice`.
        None if is_crio(view) => {
            draft.probable("whether its conmon has ended: it was searched in the pod's cgroup only")
        }
        // containerd may take ten seconds to see an exit.
        _ if conmon.is_some() || !view.is_overdue_by(UNMOUNT_RETRY_MS) => {
            draft.probable("whether the runtime still sees the exit")
        }
        _ => draft,
    };
    Some(draft.finish())
}

/// What could still be there of a container whose init is gone, because permission to read it is missing.
fn unseen_of(view: &PodView, container: &Container) -> Option<&'static str> {
    let is_read = |dir: &CgroupDir| dir.tree.get().is_some();
    if view.seen.cgroups.fault().is_some() || !view.cgroup.is_none_or(|cgroup| cgroup.dirs.iter().all(is_read)) {
        return Some("whether a process of it is left: its cgroup could not be read");
    }
    let mount = view.kubelet_mounts().iter().find(|mount| mount.is_rootfs_of(&container.id))?;
    let search = view.holders(&mount.mount_point);
    let is_whole = view.sees_every_holder() && search.is_some_and(|search| search.behind_unread_tables == 0);
    (!is_whole).then_some("whether a process holds its root file system: not every process could be checked")
}

fn is_crio(view: &PodView) -> bool {
    view.seen.runtime.get().is_some_and(|runtime| runtime.name == "cri-o")
}

/// runc has cloned the container and hangs before it becomes the container's program.
fn runc_init(view: &PodView, processes: &[&Process], head: &[Link]) -> Option<Finding> {
    // Whatever is executed in a container begins so, a probe every few seconds.
    let is_stuck = |process: &&&Process| process.comm.starts_with("runc:[") && process.age_ms >= RETRY_WINDOW_MS;
    let process = processes.iter().find(is_stuck)?;
    let draft = pod_finding(view, &cause::RUNC_INIT_STUCK, GATE, head)
        .probable("that it is runc: a process chooses its name itself")
        .blame(
            describe::process(process),
            format!("{}, it never became the container", describe::state_name(process.state)),
        )
        .evidence(format!("/proc/{}/comm", process.pid), &process.comm)
        .evidence(
            format!("/proc/{}/stat", process.pid),
            format!("started {} ago", findings::duration(process.age_ms / 1000)),
        )
        .name(Placeholder::Pid, process.id())
        .root(process.pid);
    Some(draft.finish())
}

/// It runs, nothing hinders it, and the runtime has not sent it a SIGKILL.
fn kill_not_attempted(view: &PodView, container: &Container, processes: &[&Process], head: &[Link]) -> Option<Finding> {
    let init = view.init(container);
    let killed = processes.iter().any(|process| process.has_been_told_to_end());
    if killed || processes.is_empty() {
        return None;
    }
    if let Some(granted) = granted_again(view, container, head) {
        return Some(granted);
    }
    if let Some(guest) = leftover_shim::guest(view, container, head) {
        return Some(guest);
    }
    // CRI-O's stop loop sends SIGKILL after the grace period, and the kubelet's call ends two minutes later. While it
    // pulls an image for another container it has asked for no stop.
    let is_late = cause::CRIO_STOP_LOOP_STUCK.patience.ms().is_some_and(|ms| view.is_overdue_by(ms));
    let stop_loop = is_crio(view) && is_late && !api_side::may_be_starting(view);
    let cause = if stop_loop { &cause::CRIO_STOP_LOOP_STUCK } else { &cause::KILL_NOT_ATTEMPTED };
    let mut draft = pod_finding(view, cause, GATE, head)
        .probable("whether a SIGKILL was sent: no process of the container shows one");
    let hooks: Vec<u32> = hooks(view, container).iter().map(|process| process.pid).collect();
    for process in processes.iter().take(3) {
        let is_silent =
            init.is_some_and(|init| init.pid == process.pid && uninterruptible::silent(view, init).is_some());
        let state = match hooks.contains(&process.pid) {
            _ if is_silent => format!("{}; {}", describe::state_name(process.state), uninterruptible::RUNC_WAITS),
            true => hook_state(container, process),
            false => describe::state_name(process.state).to_owned(),
        };
        draft = draft.link(describe::process(process), format!("{state}, no SIGKILL pending"));
    }
    let draft = draft
        .blame("the kubelet and the runtime", "SIGKILL was not sent to this container")
        .evidence(
            "/proc/<pid>/{status,stat} of the container's processes",
            "no SIGKILL in SigPnd or ShdPnd, and none is exiting",
        )
        .name(Placeholder::Container, &container.id)
        .root(&container.id);
    Some(draft.finish())
}

/// Whether nothing is found but a grace period that the kubelet grants anew.
pub fn is_granted(findings: &[Finding]) -> bool {
    !findings.is_empty() && findings.iter().all(|finding| finding.cause.id == cause::GRACE_PERIOD_RUNNING.id)
}

/// A kubelet that learns of a deletion later, because it was started again or was cut off, grants the whole grace
/// period from then on.
fn granted_again(view: &PodView, container: &Container, head: &[Link]) -> Option<Finding> {
    let DeletionReason::DeletionRequested(deletion) = view.why else { return None };
    let at_ms = view.seen.at_ms;
    let started = view.seen.node.kubelet.get().map(|kubelet| at_ms.saturating_sub(kubelet.age_ms));
    let ready = view.seen.api.get().and_then(|api| api.heard.ready_since_ms);
    let grace_s = deletion.grace_s.max(container.grace_s.unwrap_or(0));
    let learnt_ms = started.max(ready).filter(|learnt_ms| *learnt_ms <= at_ms)?;
    let until_ms = learnt_ms + grace_s * 1000 + RETRY_WINDOW_MS;
    if at_ms >= until_ms || learnt_ms <= deletion.deadline_ms.saturating_sub(deletion.grace_s * 1000) {
        return None;
    }
    let (since, source) = if ready > started {
        ("the Node is Ready again", "Node, condition Ready, lastTransitionTime")
    } else {
        ("the kubelet runs", "/proc/<kubelet>/stat")
    };
    let ago = findings::duration((at_ms - learnt_ms) / 1000);
    let draft = pod_finding(view, &cause::GRACE_PERIOD_RUNNING, GATE, head)
        .probable("when the kubelet learnt of the deletion")
        .blame(
            "grace period",
            format!(
                "granted anew, up to {} more: {since} for {ago} only, and learnt of the deletion then",
                findings::duration((until_ms - at_ms) / 1000)
            ),
        )
        .evidence(source, format!("{ago} ago"))
        .evidence("metadata.deletionGracePeriodSeconds", grace_s.to_string())
        .name(Placeholder::Container, &container.id)
        .root(view.uid());
    Some(draft.finish())
}

/// Inside its grace period: the kubelet still gives it time, and a frozen container cannot use it.
pub fn grace_period(view: &PodView) -> Vec<Finding> {
    let frozen = running(view)
        .into_iter()
        .filter_map(|container| frozen(view, container, &describe::container(view, container)));
    let frozen: Vec<Finding> = frozen.collect();
    if frozen.is_empty() { grace(view).into_iter().collect() } else { frozen }
}

fn grace(view: &PodView) -> Option<Finding> {
    let left = -view.overdue_ms()?;
    let DeletionReason::DeletionRequested(deletion) = view.why else { return None };
    let container = running(view).into_iter().next()?;
    let left = u64::try_from(left).unwrap_or(0) / 1000;
    let running = hooks(view, container);
    let hook = if container.pre_stop && running.is_empty() { ", it has a preStop hook" } else { "" };
    let draft = pod_finding(view, &cause::GRACE_PERIOD_RUNNING, GATE, &describe::container(view, container));
    let draft = running.into_iter().take(MAX_HOOKS).fold(draft, |draft, process| {
        draft.link(describe::process(process), hook_state(container, process)).evidence(
            format!("/proc/{}/stat", process.pid),
            "younger than the deletion, its parent is outside of the container",
        )
    });
    let draft = draft
        .blame(
            "grace period",
            format!("{} of {} left{hook}", findings::duration(left), findings::duration(deletion.grace_s)),
        )
        .evidence(
            "metadata.deletionTimestamp",
            format!("{left} s from now, deletionGracePeriodSeconds {}", deletion.grace_s),
        )
        .name(Placeholder::Container, &container.id)
        .root(view.uid());
    Some(draft.finish())
}

/// More are not named.
const MAX_HOOKS: usize = 3;

/// What was put into the container from outside since the pod's deletion: its preStop hook, or a `kubectl exec`. The runtime
/// starts it beside the container's init.
fn hooks<'a>(view: &PodView<'a>, container: &Container) -> Vec<&'a Process> {
    let crate::view::DeletionReason::DeletionRequested(deletion) = view.why else { return Vec::new() };
    let asked_ms = deletion.deadline_ms.saturating_sub(deletion.grace_s * 1000);
    let since_ms = view.seen.at_ms.saturating_sub(asked_ms);
    let processes = view.processes_of(container);
    let is_inside = |pid: u32| processes.iter().any(|process| process.pid == pid);
    let init = container.pid.get().copied();
    let is_entered = |process: &&Process| {
        init.is_some() && Some(process.pid) != init && !is_inside(process.parent) && process.age_ms < since_ms
    };
    processes.iter().copied().filter(is_entered).collect()
}

/// `the preStop hook, for 20s; S (sleeping)`.
fn hook_state(container: &Container, process: &Process) -> String {
    let what =
        if container.pre_stop { "the preStop hook, it runs" } else { "executed in it since the deletion, it runs" };
    format!("{what} {}; {}", describe::age(process.age_ms), describe::state_name(process.state))
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    /// The pod was deleted a minute ago, and has nine more; `pid` was executed in its container.
    fn entered(pid: u32, age_ms: u64) -> Observation {
        let mut seen = sample::running();
        sample::set_deadline(&mut seen, sample::NOW + 540_000, 600);
        let init = seen.processes[0].clone();
        let hook = Process { age_ms, ns_pids: vec![pid, 7], ..process(pid, "sleep", 'S', SHIM) };
        seen.processes.push(Process { pid_ns: init.pid_ns, mount_ns: init.mount_ns, owner: init.owner, ..hook });
        seen.cgroups = sample::cgroup(&[INIT, pid]);
        seen
    }

    #[test]
    fn a_pre_stop_hook_that_runs_is_named() {
        let mut seen = entered(400, 20_000);
        runtime(&mut seen).containers[0].pre_stop = true;
        assert_eq!(causes(&seen), ["GracePeriodRunning"]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        let link = &finding.chain[1];
        assert_eq!(
            (link.subject.as_str(), link.state.as_str()),
            ("pid 400 sleep", "the preStop hook, it runs for 20s; S (sleeping)")
        );
        sample::set_deadline(&mut seen, sample::NOW - 60_000, 30);
        assert_eq!(causes(&seen), ["KillNotAttempted"]);
        assert!(serde_json::to_string(&judge(&seen)).unwrap().contains("the preStop hook, it runs for 20s"));
    }

    #[test]
    fn what_was_executed_before_the_deletion_is_no_hook() {
        let finding = judge(&entered(400, 90_000)).pods[0].findings[0].clone();
        assert_eq!(finding.chain.last().unwrap().state, "9m of 10m left");
        assert!(finding.chain.iter().all(|link| link.subject != "pid 400 sleep"), "{finding:?}");
    }

    #[test]
    fn a_d_state_without_a_kill_is_no_cause() {
        let mut seen = sample::running();
        seen.processes[0].threads[0].state = 'D';
        assert_eq!(causes(&seen), ["KillNotAttempted"]);
    }

    /// Its deadline has passed long ago, and it has ten minutes from when the kubelet learns of it.
    #[test]
    fn a_kubelet_that_learns_late_grants_the_whole_grace_period() {
        let mut seen = sample::running();
        let api = seen.api.get_mut().unwrap();
        api.pods[0].deletion = Some(Deletion { deadline_ms: sample::NOW - 3_600_000, grace_s: 600 });
        api.heard.ready_since_ms = Some(sample::NOW - 60_000);
        assert_eq!(causes(&seen), ["GracePeriodRunning"]);
        assert_eq!(sample::verdict(&seen), findings::Verdict::Progressing);
        let set = |seen: &mut Observation, ready_ms, age_ms| {
            seen.api.get_mut().unwrap().heard.ready_since_ms = ready_ms;
            seen.node.kubelet.get_mut().unwrap().age_ms = age_ms;
        };
        set(&mut seen, Some(sample::NOW - 700_000), 900_000_000);
        assert_eq!(causes(&seen), ["KillNotAttempted"]);
        set(&mut seen, None, 300_000);
        assert_eq!(causes(&seen), ["GracePeriodRunning"], "it was started again");
        // It was started after the deletion was asked for, and long before the deadline.
        let mut late = sample::running();
        sample::set_deadline(&mut late, sample::NOW - 60_000, 600);
        set(&mut late, None, 300_000);
        assert_eq!(causes(&late), ["GracePeriodRunning"]);
        // It was there before anybody asked for the deletion.
        set(&mut seen, Some(sample::NOW - 7_200_000), 7_200_000);
        assert_eq!(causes(&seen), ["KillNotAttempted"]);
    }

    #[test]
    fn a_deadline_is_by_the_servers_clock() {
        let mut seen = sample::running();
        let api = seen.api.get_mut().unwrap();
        api.pods[0].deletion = Some(Deletion { deadline_ms: sample::NOW - 60_000, grace_s: 30 });
        api.heard.server_ahead_ms = Some(-90_000);
        assert_eq!(sample::verdict(&seen), findings::Verdict::Progressing);
        let notes = crate::gates::judge(&seen).notes;
        assert!(notes[0].contains("1m30s behind this node's"), "{notes:?}");
        seen.api.get_mut().unwrap().heard.server_ahead_ms = Some(-1500);
        assert_eq!(causes(&seen), ["KillNotAttempted"]);
    }

    /// Where the time of a deletion by force is unknown, the kubelet may still be waiting for its end.
    #[test]
    fn a_pod_that_was_deleted_by_force_is_to_be_killed_once_its_time_is_known_to_be_over() {
        let mut seen = sample::running();
        seen.api.get_mut().unwrap().pods.clear();
        assert_eq!(causes(&seen), ["ForceDeletedStillRunning"]);
        seen.api.get_mut().unwrap().heard.since_ms = Some(sample::NOW - 700_000);
        assert_eq!(causes(&seen), ["KillNotAttempted", "ForceDeletedStillRunning"]);
    }

    #[test]
    fn a_sidecar_waits_for_the_others() {
        let mut seen = sample::running();
        let mut proxy = runtime(&mut seen).containers[0].clone();
        (proxy.id, proxy.name, proxy.pid) = ("9".repeat(64), "proxy".into(), Seen::Seen(400));
        let mut envoy = sample::process(400, "envoy", 'S', sample::SHIM);
        (envoy.ns_pids, envoy.pid_ns) = (vec![400, 1], Some(501));
        envoy.owner = Owner::Pod { uid: sample::pod().uid, container: Some(proxy.id.clone()) };
        runtime(&mut seen).containers.push(proxy);
        seen.processes.push(envoy);
        assert_eq!(causes(&seen), ["KillNotAttempted", "KillNotAttempted"]);
        sample::block(&mut seen, INIT, "io_schedule");
        assert_eq!(causes(&seen), ["UninterruptibleTask"]);
    }

    #[test]
    fn a_zombie_in_it_is_no_sign_of_a_kill() {
        let mut seen = sample::running();
        let mut zombie = sample::process(338, "probe", 'Z', INIT);
        (zombie.exiting, zombie.pid_ns, zombie.ns_pids) = (true, Some(500), vec![338, 7]);
        seen.processes.push(zombie);
        seen.cgroups = sample::cgroup(&[INIT, 338]);
        assert_eq!(causes(&seen), ["KillNotAttempted"]);
        seen.processes[0].exiting = true;
        assert_eq!(causes(&seen), Vec::<&str>::new(), "its init exits by itself");
    }

    #[test]
    fn a_process_that_is_gone_while_the_cri_says_running() {
        let mut seen = sample::running();
        seen.processes.clear();
        assert_eq!(causes(&seen), ["RuntimeLostExit"]);
        assert_eq!(judge(&seen).pods[0].findings[0].confidence, findings::Confidence::Proven);
        // What it has started lives on.
        let mut child = sample::running().processes.remove(0);
        (child.pid, child.threads[0].tid, child.ns_pids) = (999, 999, vec![999, 7]);
        seen.processes.push(child);
        seen.cgroups = sample::cgroup(&[999]);
        assert_eq!(causes(&seen), ["KillNotAttempted"]);
        seen.processes.clear();
        seen.cgroups = Seen::Seen(Vec::new());
        // It could not be read: then nothing is claimed of it.
        seen.faults.push(Fault::new(Source::Process(INIT), (FaultKind::Denied, "Permission denied")));
        assert_eq!(causes(&seen), Vec::<&str>::new());
    }

    /// The runtime reports the old pid until it has handled the exit.
    #[test]
    fn another_process_that_has_the_pid_by_now_is_not_the_containers() {
        let mut seen = sample::running();
        seen.processes[0] =
            Process { owner: Owner::Unit("sshd.service".into()), age_ms: 60_000, ..process(INIT, "sshd", 'S', 1) };
        assert_eq!(causes(&seen), ["RuntimeLostExit"]);
        let text = serde_json::to_string(&judge(&seen)).unwrap();
        assert!(text.contains("another process, sshd, which runs for 1m"), "{text}");
        let api = seen.api.get_mut().unwrap();
        (api.pods, api.heard.since_ms) = (Vec::new(), Some(sample::NOW - 700_000));
        assert_eq!(causes(&seen), ["RuntimeLostExit", "ForceDeletedStillRunning"]);
        let text = serde_json::to_string(&judge(&seen)).unwrap();
        assert!(!text.contains("kill -9"), "{text}");
        // A clock that has been set since does not make it younger, nor does an unknown time.
        let mut seen = sample::running();
        seen.processes[0].age_ms = 60_000;
        assert_eq!(causes(&seen), ["KillNotAttempted"]);
        let mut untold = sample::running();
        untold.processes[0].owner = Owner::Host;
        assert_eq!(causes(&untold), ["KillNotAttempted"]);
        (untold.processes[0].age_ms, runtime(&mut untold).containers[0].started_ms) = (60_000, None);
        assert_eq!(causes(&untold), ["KillNotAttempted"]);
    }

    #[test]
    fn the_pause_process_of_another_pod_is_not_the_sandboxs() {
        let mut seen = sample::running();
        let other = findings::PodUid::parse("10be21d9-de4c-4473-8f5c-7e484a9962e3").unwrap();
        let owner = Owner::Pod { uid: other, container: None };
        let pause = Process { owner, age_ms: 60_000, ..process(310, "java", 'S', SHIM) };
        seen.processes = vec![pause, process(SHIM, "containerd-shim", 'S', 1)];
        runtime(&mut seen).containers[0].state = ContainerState::Exited;
        assert_eq!(causes(&seen), ["SandboxNotStopped"]);
        let text = serde_json::to_string(&judge(&seen)).unwrap();
        assert!(!text.contains("kill -9") && !text.contains("java"), "{text}");
    }

    #[test]
    fn cri_o_has_its_own_words_for_it() {
        let mut seen = sample::running();
        sample::with_crio(&mut seen);
        assert_eq!(causes(&seen), ["CrioStopLoopStuck"]);
        sample::set_phase(&mut seen, "Pending");
        assert_eq!(causes(&seen), ["KillNotAttempted"], "an image of another container may be pulled");
        sample::set_phase(&mut seen, "Running");
        seen.processes.clear();
        assert_eq!(causes(&seen), ["RuntimeLostExit"]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!(finding.confidence, findings::Confidence::Probable);
        let text = serde_json::to_string(&finding).unwrap();
        assert!(
            text.contains("it was searched in the pod's cgroup only") && text.contains("is-active crio-conmon-"),
            "{text}"
        );
        // OpenShift has conmon in the pod's cgroup.
        let owner = sample::running().processes[0].owner.clone();
        seen.processes = vec![Process { owner, ..process(400, "conmon", 'S', 1) }];
        seen.cgroups = sample::cgroup(&[400]);
        assert_eq!(causes(&seen), ["RuntimeLostExit"]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!(finding.confidence, findings::Confidence::Probable);
        assert!(finding.chain.iter().any(|link| link.subject == "pid 400 conmon"), "{finding:?}");
    }

    #[test]
    fn runc_that_never_became_the_container() {
        let mut seen = sample::running();
        seen.processes[0].comm = "runc:[2:INIT]".into();
        assert_eq!(causes(&seen), ["RuncInitStuck"]);
        assert_eq!(
            judge(&seen).pods[0].findings[0].confidence,
            findings::Confidence::Probable,
            "anybody may be called so"
        );
    }

    /// Readiness probes go on while the pod is stopped, and each of them begins as `runc init`.
    #[test]
    fn what_is_just_being_executed_is_not_stuck() {
        let mut seen = entered(400, 40);
        seen.processes.last_mut().unwrap().comm = "runc:[2:INIT]".into();
        sample::set_deadline(&mut seen, sample::NOW - 60_000, 30);
        assert_eq!(causes(&seen), ["KillNotAttempted"]);
        seen.processes.last_mut().unwrap().age_ms = 60_000;
        assert_eq!(causes(&seen), ["RuncInitStuck"]);
    }

    /// What was not read is not absent.
    #[test]
    fn an_exit_is_lost_for_sure_only_where_all_was_looked_at() {
        let confidence = |seen: &Observation| {
            assert_eq!(causes(seen), ["RuntimeLostExit"]);
            judge(seen).pods[0].findings[0].confidence
        };
        let mut seen = sample::running();
        seen.processes.clear();
        seen.cgroups = sample::cgroup(&[]);
        assert_eq!(confidence(&seen), findings::Confidence::Proven);
        let denied = || Fault::new("/sys/fs/cgroup/kubepods", (FaultKind::Denied, "Permission denied"));
        let mut unread = seen.clone();
        unread.cgroups.get_mut().unwrap()[0].dirs[0].tree = Seen::Failed(denied());
        assert_eq!(confidence(&unread), findings::Confidence::Probable, "something may be in it");
        unread.cgroups = Seen::Failed(denied());
        assert_eq!(confidence(&unread), findings::Confidence::Probable);
        // Its root file system is still mounted, and who holds it may be among those who could not be looked at.
        let rootfs = format!(
            "/run/containerd/io.containerd.runtime.v2.task/k8s.io/{}/rootfs",
            runtime(&mut seen).containers[0].id
        );
        sample::table(&mut seen).push(sample::mount(70, "0:70", &rootfs, "overlay"));
        let search =
            HolderSearch { mount_point: HostPath::from(rootfs.as_str()), ..sample::mounted("ext4").holders.remove(0) };
        seen.holders = vec![search];
        assert_eq!(confidence(&seen), findings::Confidence::Proven);
        seen.holders[0].behind_unread_tables = 2;
        assert_eq!(confidence(&seen), findings::Confidence::Probable);
    }
}
