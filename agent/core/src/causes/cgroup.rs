//! Gate `CgroupRemoved`: why `rmdir` of the pod's cgroup fails.

use std::collections::BTreeSet;

use super::prelude::*;
use super::{blocked_task::BlockedTask, kill, uninterruptible};

const GATE: Option<Gate> = Some(Gate::CgroupRemoved);

/// What holds the pod's cgroup.
pub fn find(view: &PodView) -> Vec<Finding> {
    if let Some(frozen) = find_frozen(view, GATE) {
        return vec![frozen];
    }
    let mut findings: Vec<Finding> = Vec::new();
    // The same processes are in the cgroups of every v1 hierarchy.
    let mut judged = BTreeSet::new();
    for (dir, node) in view.cgroup_nodes() {
        let new = node.procs.iter().filter(|pid| judged.insert(**pid));
        for process in new.filter_map(|pid| view.process(*pid)) {
            let Some(finding) = process_finding(view, process, &path(dir, node)) else { continue };
            if findings.iter().all(|known| known.root != finding.root) {
                findings.push(finding);
            }
        }
    }
    let is_empty = |node: &CgroupNode| node.procs.is_empty();
    let all_seen = view.cgroup.is_some_and(|cgroup| {
        cgroup.dirs.iter().all(|dir| dir.tree.get().is_some_and(|tree| tree.iter().all(is_empty)))
    });
    if findings.is_empty() && all_seen {
        // A kubelet that has not come to the cgroup yet has not tried to remove what is in it either.
        let is_tried = view.has_lowered_cpu() != Some(true);
        findings.extend(empty(view, is_tried));
    }
    findings
}

/// A frozen cgroup of the pod with a process in it. On v1 no SIGKILL reaches that.
pub fn find_frozen(view: &PodView, gate: Option<Gate>) -> Option<Finding> {
    let is_frozen = |dir: &CgroupDir, node: &CgroupNode| dir.hierarchy != "v2" && node.freezer != Freezer::Thawed;
    let holds = |(dir, node): &(&CgroupDir, &CgroupNode)| is_frozen(dir, node) && !node.procs.is_empty();
    let (dir, node) = view.cgroup_nodes().find(holds)?;
    let (dir, node) = frozen_by(view, dir, node);
    Some(frozen(view, dir, node, gate, &[]))
}

/// The cgroup of the pod that was itself frozen, for one that is frozen with it.
pub(super) fn frozen_by<'a>(
    view: &PodView<'a>,
    dir: &'a CgroupDir,
    node: &'a CgroupNode,
) -> (&'a CgroupDir, &'a CgroupNode) {
    if node.freezer != Freezer::FrozenAbove {
        return (dir, node);
    }
    let is_above = |(other, above): &(&CgroupDir, &CgroupNode)| {
        other.path == dir.path
            && matches!(above.freezer, Freezer::Frozen | Freezer::Freezing)
            && node.below.is_within(&above.below)
    };
    view.cgroup_nodes().find(is_above).unwrap_or((dir, node))
}

/// A frozen cgroup, by its freezer's file.
pub(super) fn frozen(view: &PodView, dir: &CgroupDir, node: &CgroupNode, gate: Option<Gate>, head: &[Link]) -> Finding {
    let path = path(dir, node);
    let is_v2 = dir.hierarchy == "v2";
    let is_own = node.freezer != Freezer::FrozenAbove;
    let file = path.join(if is_v2 { "cgroup.freeze" } else { "freezer.state" });
    let word = match (is_v2, node.freezer) {
        (_, Freezer::FrozenAbove) => "frozen, because a cgroup above it is",
        (true, Freezer::Freezing) => "cgroup.freeze is 1, not all of it is frozen yet",
        (true, _) => "cgroup.freeze is 1, frozen",
        (false, Freezer::Freezing) => "FREEZING",
        (false, _) => "FROZEN",
    };
    let draft = pod_finding(view, &cause::CGROUP_FROZEN, gate, head)
        .blame(describe::cgroup(&path), format!("{word}, {}", frozen_processes(view, dir, node)))
        .evidence(file.show(), word)
        // Each version is thawed by another word, so each has a step of its own.
        .name_if(
            if is_v2 { Placeholder::CgroupFreeze } else { Placeholder::FreezerState },
            file.as_str().filter(|_| is_own),
        )
        .name_if(Placeholder::Cgroup, path.as_str())
        .root(path.show());
    draft.finish()
}

/// What a freezer holds: the processes below it, by name as far as there are few.
fn frozen_processes(view: &PodView, dir: &CgroupDir, node: &CgroupNode) -> String {
    let tree = dir.tree.get().into_iter().flatten().filter(|below| below.below.is_within(&node.below));
    let pids: BTreeSet<u32> = tree.flat_map(|below| below.procs.iter().copied()).collect();
    let named = pids.iter().take(3).map(|pid| match view.seen.process(*pid) {
        Some(process) => format!("pid {pid} {}", findings::clean(&process.comm, 32)),
        None => format!("pid {pid}"),
    });
    let named: Vec<String> = named.collect();
    match pids.len() {
        0 => "no process in it".to_owned(),
        count if count > named.len() => format!("{count} processes in it or below: {} …", named.join(", ")),
        count => format!("{} in it or below: {}", describe::count(count, "process", "processes"), named.join(", ")),
    }
}

fn path(dir: &CgroupDir, node: &CgroupNode) -> HostPath {
    if node.below.as_bytes().is_empty() { dir.path.clone() } else { dir.path.join(node.below.as_path()) }
}

/// None of one that ends by itself: it is on its way, and another signal changes nothing.
fn process_finding(view: &PodView, process: &Process, path: &HostPath) -> Option<Finding> {
    let head = [Link::new(describe::cgroup(path), "cannot be removed: not empty")];
    // In S, what exits is not woken any more.
    let waits = |thread: &&Thread| thread.state == 'D' || (process.exits(thread) && thread.waits());
    if let Some(thread) = process.threads.iter().filter(waits).find(|thread| view.is_steady(process, thread)) {
        return Some(uninterruptible::explain(view, &BlockedTask { process, thread, head: &head, gate: GATE }));
    }
    let is_over = process.threads.iter().all(|thread| matches!(thread.state, 'Z' | 'X'));
    if process.has_been_told_to_end() || is_over {
        return None;
    }
    let state = describe::state_name(process.state);
    let draft = pod_finding(view, &cause::CGROUP_PROCESS_ALIVE, GATE, &head)
        .blame(describe::process(process), state)
        .evidence(format!("{}/cgroup.procs", path.show()), format!("pid {}", process.pid))
        .evidence(format!("/proc/{}/task/*/stat", process.pid), state)
        .name_if(Placeholder::Pid, kill::may_be_killed(view, process.id(), &process.comm))
        .name(Placeholder::Comm, &process.comm)
        .name_if(Placeholder::Owner, describe::stoppable_owner(&process.owner))
        .root(format!("{}:{}", process.pid, process.start_ticks));
    Some(draft.finish())
}

/// Left only in hierarchies that runc does not know: no runtime will ever remove it, and the pod does not wait for it.
pub fn unknown_hierarchy(view: &PodView) -> Option<Finding> {
    let dirs = &view.cgroup?.dirs;
    let dir = dirs.first().filter(|_| dirs.iter().all(|dir| !dir.known_to_runtime))?;
    let draft = pod_finding(view, &cause::CGROUP_HIERARCHY_UNKNOWN, GATE, &[])
        .probable("whether anything still uses it: nothing removes it, and the pod does not wait for it")
        .blame(describe::cgroup(&dir.path), format!("the runtime does not know hierarchy {}", dir.hierarchy))
        .evidence(dir.path.show(), "left, and in no other hierarchy")
        .name_if(Placeholder::Cgroup, dir.path.as_str())
        .name_if(Placeholder::Path, dir.path.as_str())
        .root(&dir.hierarchy);
    Some(draft.finish())
}

/// `crio-<sandbox id>`, which CRI-O makes for a sandbox without a pause process (`CreateSandboxCgroup`).
fn is_of_crio(below: &HostPath) -> bool {
    let id = below.as_str().and_then(|name| name.strip_prefix("crio-"));
    id.is_some_and(|id| id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Without a process, and still there: systemd has not removed it, a program makes child cgroups again, which runc removes
/// with it (libcontainer's `RemovePath`), or the kubelet is not that far because it still tracks a volume that no file shows.
/// CRI-O's own of a sandbox stays until that is removed, and holds nothing.
fn empty(view: &PodView, is_tried: bool) -> Option<Finding> {
    let is_child = |node: &CgroupNode| is_tried && !node.below.as_bytes().is_empty() && !is_of_crio(&node.below);
    let child =
        view.cgroup_nodes().filter(|(_, node)| is_child(node)).max_by_key(|(_, node)| node.below.as_bytes().len());
    let dir = child.map(|(dir, _)| dir).or_else(|| view.cgroup?.dirs.iter().find(|dir| dir.known_to_runtime))?;
    let child = child.map(|(dir, node)| path(dir, node));
    let unit = dir.path.as_path().file_name().and_then(|name| name.to_str()).filter(|name| name.ends_with(".slice"));
    let (cause, says) = match (&child, unit) {
        (Some(_), _) => {
            (&cause::CGROUP_NOT_REMOVED, "it has child cgroups, which go with it unless a program makes them again")
        }
        _ if !is_tried => (
            &cause::KUBELET_REMEMBERS_VOLUME,
            "its CPU is at the minimum: the kubelet waits for volumes that are not on disk",
        ),
        (None, Some(_)) => (&cause::CGROUP_NOT_REMOVED, "systemd has not removed it"),
        (None, None) => return None,
    };
    let draft = pod_finding(view, cause, GATE, &[])
        .probable("the kubelet's memory and systemd's job, which nothing shows from outside")
        .blame(describe::cgroup(&dir.path), format!("empty; {says}"))
        .evidence(dir.path.show(), says)
        .name_if(Placeholder::Unit, unit)
        .name_if(Placeholder::Cgroup, dir.path.as_str().filter(|_| child.is_some()))
        .name_if(Placeholder::Path, child.as_ref().and_then(HostPath::as_str))
        .root(dir.path.show());
    let draft = child.iter().fold(draft, |draft, child| draft.evidence(child.show(), "exists, no process in it"));
    Some(draft.finish())
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    #[test]
    fn frozen_on_v1_only() {
        let mut seen = sample::running();
        let node = CgroupNode { below: HostPath::from("c"), procs: vec![INIT], freezer: Freezer::Frozen };
        seen.cgroups = sample::cgroup(&[]);
        seen.cgroups.get_mut().unwrap()[0].dirs[0].tree = Seen::Seen(vec![node]);
        seen.cgroups.get_mut().unwrap()[0].dirs[0].hierarchy = "freezer".into();
        assert_eq!(causes(&seen), ["CgroupFrozen"]);
        seen.cgroups.get_mut().unwrap()[0].dirs[0].hierarchy = "v2".into();
        assert_eq!(causes(&seen), ["KillNotAttempted"]);
    }

    #[test]
    fn a_frozen_cgroup_names_the_processes_below_it() {
        let mut seen = sample::running();
        let node = |below: &str, procs: &[u32], freezer| CgroupNode {
            below: HostPath::from(below),
            procs: procs.to_vec(),
            freezer,
        };
        seen.cgroups = sample::cgroup(&[]);
        let cgroups = seen.cgroups.get_mut().unwrap();
        cgroups[0].dirs[0].hierarchy = "freezer".into();
        cgroups[0].dirs[0].tree =
            Seen::Seen(vec![node("", &[], Freezer::Frozen), node("c", &[INIT], Freezer::FrozenAbove)]);
        let finding = |seen: &Observation| judge(seen).pods.remove(0).findings.remove(0);
        let root = finding(&seen).chain.pop().unwrap();
        assert!(root.state.ends_with(&format!("1 process in it or below: pid {INIT} sh")), "{root:?}");
        let steps = |seen: &Observation| serde_json::to_string(&finding(seen).remedy.steps).unwrap();
        assert!(steps(&seen).contains("echo THAWED > /sys/fs/cgroup/kubepods/pod/freezer.state"), "{}", steps(&seen));
        // A thaw of a cgroup that is not frozen itself changes nothing.
        seen.cgroups.get_mut().unwrap()[0].dirs[0].tree = Seen::Seen(vec![node("c", &[INIT], Freezer::FrozenAbove)]);
        assert!(finding(&seen).chain.pop().unwrap().state.starts_with("frozen, because a cgroup above it is"));
        assert!(!steps(&seen).contains("echo "), "{}", steps(&seen));
    }

    #[test]
    fn a_cgroup_in_a_hierarchy_the_runtime_does_not_know_holds_nothing() {
        let mut seen = sample::deleted();
        let dir = CgroupDir {
            path: HostPath::from(format!("/sys/fs/cgroup/files/kubepods/pod{UID}").as_str()),
            hierarchy: "files".into(),
            known_to_runtime: false,
            cpu_at_minimum: None,
            dirty_bytes: None,
            tree: Seen::Missing,
        };
        seen.cgroups = Seen::Seen(vec![PodCgroup { uid: sample::pod().uid, dirs: vec![dir] }]);
        let pod = &judge(&seen).pods[0];
        assert_ne!(pod.gate, Some(findings::Gate::CgroupRemoved));
        assert_eq!(node_causes(&seen), ["CgroupHierarchyUnknown"]);
        seen.node.kubelet.get_mut().unwrap().state = 'T';
        assert_eq!(node_causes(&seen), ["KubeletStopped", "CgroupHierarchyUnknown"]);
    }

    #[test]
    fn an_empty_cgroup_is_told_by_its_driver() {
        let mut seen = sample::deleted();
        let cgroup = |path: String| {
            let dir = CgroupDir {
                path: HostPath::from(path.as_str()),
                hierarchy: "v2".into(),
                known_to_runtime: true,
                cpu_at_minimum: Some(true),
                dirty_bytes: None,
                tree: Seen::Seen(vec![CgroupNode {
                    below: HostPath::default(),
                    procs: Vec::new(),
                    freezer: Freezer::Thawed,
                }]),
            };
            Seen::Seen(vec![PodCgroup { uid: sample::pod().uid, dirs: vec![dir] }])
        };
        seen.cgroups = cgroup(format!("/sys/fs/cgroup/kubepods.slice/kubepods-pod{}.slice", UID.replace('-', "_")));
        let mut with_crio = seen.clone();
        let below = HostPath::from(format!("crio-{}", "1c".repeat(32)).as_str());
        with_crio.cgroups.get_mut().unwrap()[0].dirs[0].tree.get_mut().unwrap().push(CgroupNode {
            below,
            procs: Vec::new(),
            freezer: Freezer::Thawed,
        });
        assert_eq!(
            (causes(&seen), causes(&with_crio)),
            (vec!["KubeletRemembersVolume"], vec!["KubeletRemembersVolume"])
        );
        for seen in [&mut seen, &mut with_crio] {
            seen.api.get_mut().unwrap().pods[0].asks_for_cpu = false;
            assert_eq!(causes(seen), ["CgroupNotRemoved"], "it never has more");
        }
        with_crio.cgroups.get_mut().unwrap()[0].dirs[0].tree.get_mut().unwrap()[1].below = HostPath::from("nested");
        assert_eq!(causes(&with_crio), ["CgroupNotRemoved"]);
        seen.api.get_mut().unwrap().pods[0].asks_for_cpu = true;
        seen.cgroups.get_mut().unwrap()[0].dirs[0].cpu_at_minimum = Some(false);
        assert_eq!(causes(&seen), ["CgroupNotRemoved"]);
        seen.cgroups = cgroup(format!("/sys/fs/cgroup/kubepods/pod{UID}"));
        assert_eq!(causes(&seen), ["KubeletRemembersVolume"]);
    }

    #[test]
    fn a_cgroup_task_in_d_for_an_unknown_reason() {
        let mut seen = sample::deleted();
        let mut task = process(900, "sync", 'S', 1);
        task.threads[0].state = 'D';
        task.threads[0].wchan = Seen::Seen("io_schedule".into());
        seen.processes.push(task);
        seen.cgroups = sample::cgroup(&[900]);
        assert_eq!(causes(&seen), ["UninterruptibleTask"]);
        (seen.processes[0].state, seen.processes[0].threads[0].tid) = ('Z', 905);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!((finding.cause.id, finding.gate), ("UninterruptibleTask", super::GATE));
        assert_eq!(finding.confidence, findings::Confidence::Proven);
        let chain = finding.chain.iter().map(|link| format!("{}: {}", link.subject, link.state)).collect::<Vec<_>>();
        assert!(chain[0].ends_with("cannot be removed: not empty"), "{chain:?}");
        assert!(chain[1].ends_with("pid 900 sync: Z (zombie), but 1 of its threads lives"), "{chain:?}");
    }

    #[test]
    fn a_live_process_in_the_cgroup() {
        let mut seen = sample::deleted();
        seen.processes.push(process(900, "sync", 'S', 1));
        seen.cgroups = sample::cgroup(&[900]);
        assert_eq!(causes(&seen), ["CgroupProcessAlive"]);
    }

    /// Whatever put them there, and whatever they are called.
    #[test]
    fn the_kubelet_and_pid_1_are_not_to_be_killed_in_a_cgroup_either() {
        for (pid, is_killed) in [(900, true), (77, false), (1, false)] {
            let mut seen = sample::deleted();
            seen.processes.push(process(pid, "anything", 'S', 1));
            seen.cgroups = sample::cgroup(&[pid]);
            let findings = crate::gates::judge(&seen).pods.remove(0).findings;
            assert_eq!(findings[0].cause.id, "CgroupProcessAlive");
            let text = serde_json::to_string(&findings[0].remedy.steps).unwrap();
            assert_eq!(text.contains("kill -"), is_killed, "{pid}: {text}");
        }
    }

    /// `exit_mmap` of a big one takes its time, and a task in writeback is in D for a moment again and again.
    #[test]
    fn one_that_ends_is_told_neither_as_alive_nor_to_be_killed() {
        let seen = |change: fn(&mut Process)| {
            let mut seen = sample::deleted();
            let mut task = process(900, "sync", 'R', 1);
            change(&mut task);
            seen.processes.push(task);
            seen.cgroups = sample::cgroup(&[900]);
            seen
        };
        let none = Vec::<&str>::new();
        assert_eq!(causes(&seen(|_| ())), ["CgroupProcessAlive"]);
        assert_eq!(causes(&seen(|task| task.kill_pending = true)), none);
        assert_eq!(causes(&seen(|task| (task.exiting, task.threads[0].exiting) = (true, true))), none);
        let moving = |task: &mut Process| {
            (task.kill_pending, task.threads[0].state, task.threads[0].steady) = (true, 'D', false);
        };
        assert_eq!(causes(&seen(moving)), none);
        assert_eq!(
            causes(&seen(|task| (task.state, task.threads[0].state) = ('Z', 'Z'))),
            none,
            "nothing of it is left"
        );
    }

    /// On its way out it waits interruptibly, and nothing interrupts it any more.
    #[test]
    fn one_that_exits_and_waits_for_its_file_server_names_that() {
        let mut seen = sample::deleted();
        seen.processes.push(process(900, "sync", 'S', 1));
        sample::exit_blocked(&mut seen, 900, 'S', "request_wait_answer");
        seen.cgroups = sample::cgroup(&[900]);
        sample::table(&mut seen).push(sample::mount(9, "0:40", "/mnt/media", "fuse.s3fs"));
        seen.fuse = vec![fuse_connection(40, 1, Vec::new())];
        assert_eq!(causes(&seen), ["FuseServerNotResponding"]);
    }

    #[test]
    fn a_process_that_cannot_be_read_is_no_empty_child() {
        let mut seen = sample::deleted();
        seen.cgroups = sample::cgroup(&[]);
        let child = CgroupNode { below: HostPath::from("c"), procs: Vec::new(), freezer: Freezer::Thawed };
        seen.cgroups.get_mut().unwrap()[0].dirs[0].tree.get_mut().unwrap().push(child);
        assert_eq!(causes(&seen), ["CgroupNotRemoved"]);
        seen.cgroups.get_mut().unwrap()[0].dirs[0].tree.get_mut().unwrap()[1].procs.push(999);
        assert_eq!(causes(&seen), Vec::<&str>::new());
    }

    /// Only the one that was frozen itself can be thawed.
    #[test]
    fn the_cgroup_that_was_frozen_is_named_and_not_one_below_it() {
        let mut seen = sample::running();
        let node = |below: &str, procs: &[u32], freezer| CgroupNode {
            below: HostPath::from(below),
            procs: procs.to_vec(),
            freezer,
        };
        seen.cgroups = sample::cgroup(&[]);
        let cgroups = seen.cgroups.get_mut().unwrap();
        let dir = &mut cgroups[0].dirs[0];
        (dir.path, dir.hierarchy) = (HostPath::from("/sys/fs/cgroup/freezer/kubepods/pod"), "freezer".into());
        dir.tree = Seen::Seen(vec![
            node("", &[], Freezer::Thawed),
            node("a", &[], Freezer::Frozen),
            node("a/c", &[INIT], Freezer::FrozenAbove),
        ]);
        assert_eq!(causes(&seen), ["CgroupFrozen"]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!(finding.root, "CgroupFrozen:/sys/fs/cgroup/freezer/kubepods/pod/a");
        let steps = serde_json::to_string(&finding.remedy.steps).unwrap();
        assert!(steps.contains("/sys/fs/cgroup/freezer/kubepods/pod/a/freezer.state"), "{steps}");
    }
}
