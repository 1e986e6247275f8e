//! Whether the end of one root would be enough: the pod is judged again without what that root does.
//!
//! What follows from an end by itself is followed too: a task that was killed dies when nothing holds it any more, a
//! container without tasks ends, a volume without a holder is unmounted. What was not examined yet, such as the volumes of a
//! pod whose containers still run, is not claimed: the answer is about the gate that the pod is at.

use std::collections::BTreeSet;

use findings::{Confidence, Entity, Finding, Gate, Link, PodReport, Verdict};

use crate::causes::blocked_task::BlockedTask;
use crate::causes::{socket_candidate, uninterruptible, unmounting};
use crate::facts::Facts;
use crate::observation::{
    ApiFacts, ContainerState, Freezer, HolderSearch, HostPath, MountTable, Observation, Process, RuntimeFacts, Seen,
};
use crate::view::{Candidate, KubeletMinor, PodView};

/// Of so many pods of a node it is judged.
const MAX_PODS: usize = 16;
/// More of what must end too is not named.
const MAX_OTHERS: usize = 5;

/// Says of the findings of stuck pods what must end beside them.
pub fn weigh(
    seen: &Facts<'_>,
    candidates: &[Candidate],
    kubelet: KubeletMinor,
    reports: &mut [PodReport],
    judge: impl Fn(&PodView<'_>) -> PodReport,
) {
    let stuck = reports.iter_mut().filter(|report| report.verdict == Verdict::Stuck && !report.findings.is_empty());
    for report in stuck.take(MAX_PODS) {
        let candidate = candidates.iter().find(|candidate| candidate.pod.uid == report.pod.uid);
        if let Some(candidate) = candidate {
            let alone = share(seen, candidate);
            let others = report.findings.iter().map(|finding| besides(&alone, candidate, kubelet, finding, &judge));
            let others: Vec<Option<Vec<String>>> = others.collect();
            report.findings.iter_mut().zip(others).for_each(|(finding, others)| finding.must_end_too = others);
        }
    }
}

/// What holds the same gate when this root has ended; none when that is unknown.
fn besides(
    alone: &Observation,
    candidate: &Candidate,
    kubelet: KubeletMinor,
    finding: &Finding,
    judge: impl Fn(&PodView<'_>) -> PodReport,
) -> Option<Vec<String>> {
    // A socket that may be bound there may hold it as well.
    let may_be_held = finding.gate == Some(Gate::VolumesUnmounted) && socket_candidate::may_hold(alone);
    if !finding.cause.followed || may_be_held {
        return None;
    }
    let without = end(alone, candidate, kubelet, finding);
    let facts = Facts::complete(&without);
    let after = judge(&PodView::new(&facts, candidate, kubelet));
    // What is only likely, and is none of the causes that are followed here, is what the kubelet has left to do.
    let holds = |other: &Finding| other.cause.followed || other.confidence == Confidence::Proven;
    let is_other = |other: &&Finding| {
        other.gate == finding.gate && other.root != finding.root && other.cause.patience.ms().is_some() && holds(other)
    };
    let roots: Vec<&Link> = after.findings.iter().filter(is_other).flat_map(Finding::roots).collect();
    if may_wait_too(alone, &roots, || waiting_for(alone, candidate, kubelet, finding)) {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    for root in roots {
        if !names.contains(&root.subject) {
            names.push(root.subject.clone());
        }
    }
    names.truncate(MAX_OTHERS);
    Some(names)
}

/// Whether one of these roots is a process that was not looked at, and holds what another one holds because it waits: of
/// many holders not all are asked what they wait for.
fn may_wait_too(alone: &Observation, roots: &[&Link], waiting: impl FnOnce() -> BTreeSet<u32>) -> bool {
    let pids = roots.iter().filter_map(|root| match root.what {
        Some(Entity::Process { pid, .. }) => Some(pid),
        _ => None,
    });
    let is_seen = |pid: &u32| alone.processes.iter().any(|process| process.pid == *pid);
    let unseen: BTreeSet<u32> = pids.filter(|pid| !is_seen(pid)).collect();
    if unseen.is_empty() {
        return false;
    }
    let waiting = waiting();
    let holds_one_of =
        |search: &HolderSearch, pids: &BTreeSet<u32>| search.holders.iter().any(|holder| pids.contains(&holder.pid));
    alone.holders.iter().any(|search| holds_one_of(search, &unseen) && holds_one_of(search, &waiting))
}

/// What was seen of this pod and of those it depends on.
fn share(seen: &Observation, candidate: &Candidate) -> Observation {
    let uid = &candidate.pod.uid;
    let of_pod = |path: &HostPath| path.show().contains(uid.as_str());
    let mut mounts = seen.mounts.clone_without_kubelet();
    mounts.kubelet = pick(&seen.mounts.kubelet, |table| MountTable {
        mounts: table
            .mounts
            .iter()
            .filter(|mount| of_pod(&mount.mount_point) || mount.needs_server())
            .cloned()
            .collect(),
        ..*table
    });
    Observation {
        schema: seen.schema,
        agent_version: String::new(),
        at_ms: seen.at_ms,
        uptime_ms: seen.uptime_ms,
        before: seen.before,
        rights: seen.rights.clone(),
        node: seen.node.clone(),
        api: pick(&seen.api, |api| ApiFacts {
            pods: api.pods.iter().filter(|pod| pod.uid == *uid).cloned().collect(),
            volumes: api.volumes.clone(),
            kubelet_version: api.kubelet_version.clone(),
            boot_id: api.boot_id.clone(),
            not_ready: api.not_ready.clone(),
            heard: api.heard.clone(),
            stale: api.stale.clone(),
        }),
        runtime: pick(&seen.runtime, |runtime| RuntimeFacts {
            name: runtime.name.clone(),
            version: runtime.version.clone(),
            cgroup_driver: runtime.cgroup_driver,
            unready: runtime.unready.clone(),
            sandboxes: runtime.sandboxes.iter().filter(|sandbox| sandbox.pod.uid == *uid).cloned().collect(),
            containers: runtime.containers.iter().filter(|container| container.pod.uid == *uid).cloned().collect(),
        }),
        pod_dirs: pick(&seen.pod_dirs, |dirs| dirs.iter().filter(|dir| dir.uid == *uid).cloned().collect()),
        cgroups: pick(&seen.cgroups, |all| all.iter().filter(|cgroup| cgroup.uid == *uid).cloned().collect()),
        mounts,
        looked_into: vec![uid.clone()],
        processes: seen.processes.clone(),
        shims: seen.shims.clone(),
        multipath: seen.multipath.clone(),
        path_mounts: seen.path_mounts.clone(),
        block_stacks: seen.block_stacks.clone(),
        fuse: seen.fuse.clone(),
        holders: seen.holders.iter().filter(|search| of_pod(&search.mount_point)).cloned().collect(),
        protected_files: seen.protected_files.clone(),
        in_flight: seen.in_flight.clone(),
        writable: Vec::new(),
        mount_copies: seen.mount_copies.clone(),
        csi: seen.csi.clone(),
        dra_drivers: seen.dra_drivers.clone(),
        kubelet_counters: seen.kubelet_counters.clone(),
        kernel_log: Seen::Missing,
        staging: Vec::new(),
        volumes_changed_ms: Seen::Missing,
        unstaged: Vec::new(),
        unmounted_devices: seen.unmounted_devices.clone(),
        loops: seen.loops.clone(),
        asked: BTreeSet::new(),
        faults: seen.faults.clone(),
    }
}

fn pick<T: Clone>(seen: &Seen<T>, part: impl FnOnce(&T) -> T) -> Seen<T> {
    match seen {
        Seen::Seen(all) => Seen::Seen(part(all)),
        other => other.clone(),
    }
}

/// The node as it would be when the roots of this finding have ended, and what follows from it.
fn end(alone: &Observation, candidate: &Candidate, kubelet: KubeletMinor, finding: &Finding) -> Observation {
    let mut after = alone.clone();
    let mut ended: BTreeSet<u32> = BTreeSet::new();
    for what in finding.roots().filter_map(|link| link.what.as_ref()) {
        match what {
            Entity::Process { pid, .. } => _ = ended.insert(*pid),
            Entity::Cgroup { path } => {
                let thawed = thaw(&mut after, path);
                // At this gate the kubelet kills what lives in the pod's cgroups (`tryKillingCgroupProcesses`).
                if finding.gate == Some(Gate::CgroupRemoved) {
                    ended.extend(thawed);
                }
            }
            Entity::Mount { path, .. } if finding.gate == Some(Gate::VolumesUnmounted) => unmount(&mut after, path),
            _ => {}
        }
    }
    ended.extend(waiting_for(alone, candidate, kubelet, finding));
    remove(&mut after, &ended);
    let dead = settle(&after, candidate, kubelet);
    remove(&mut after, &dead);
    end_containers(&mut after, candidate, kubelet);
    unmount_free(alone, &mut after);
    after
}

/// Who was killed and cannot die because of this root, or holds a volume because it waits for it.
fn waiting_for(alone: &Observation, candidate: &Candidate, kubelet: KubeletMinor, finding: &Finding) -> BTreeSet<u32> {
    let facts = Facts::complete(alone);
    let view = PodView::new(&facts, candidate, kubelet);
    let waits = |process: &&Process| {
        let mut threads = process.threads.iter().filter(|thread| thread.waits() && thread.steady);
        threads.any(|thread| {
            let waiting = BlockedTask { process, thread, head: &[], gate: finding.gate };
            (process.is_ending(thread) && uninterruptible::is_at_pipe(thread))
                || uninterruptible::explain(&view, &waiting).root == finding.root
                || unmounting::waits_for(&view, &waiting, &finding.root)
        })
    };
    alone.processes.iter().filter(waits).map(|process| process.pid).collect()
}

/// Killed tasks that nothing holds any more.
fn settle(after: &Observation, candidate: &Candidate, kubelet: KubeletMinor) -> BTreeSet<u32> {
    let facts = Facts::complete(after);
    let view = PodView::new(&facts, candidate, kubelet);
    let processes = view.processes();
    let is_held = |process: &&Process| process.threads.iter().any(|thread| thread.state == 'D');
    let frozen = view.cgroup_nodes().filter(|(dir, node)| dir.hierarchy != "v2" && node.freezer != Freezer::Thawed);
    let frozen: BTreeSet<u32> = frozen.flat_map(|(_, node)| node.procs.iter().copied()).collect();
    let lives = |process: &&Process| frozen.contains(&process.pid) || is_held(process) || !process.is_dying();
    let living: Vec<&&Process> = processes.iter().filter(|process| lives(process)).collect();
    // The init of a pid namespace waits for its last member.
    let has_members = |init: &Process| {
        let is_init = init.ns_pids.len() > 1 && init.ns_pids.last() == Some(&1);
        is_init && living.iter().any(|process| process.pid != init.pid && process.pid_ns == init.pid_ns)
    };
    let dies = |process: &&&Process| !lives(process) && !has_members(process);
    processes.iter().filter(dies).map(|process| process.pid).collect()
}

fn remove(after: &mut Observation, ended: &BTreeSet<u32>) {
    after.processes.retain(|process| !ended.contains(&process.pid));
    after.holders.iter_mut().for_each(|search| search.holders.retain(|holder| !ended.contains(&holder.pid)));
    after.in_flight.retain(|owner| !ended.contains(&owner.pid));
    if let Seen::Seen(cgroups) = &mut after.cgroups {
        for dir in cgroups.iter_mut().flat_map(|cgroup| &mut cgroup.dirs) {
            if let Seen::Seen(tree) = &mut dir.tree {
                tree.iter_mut().for_each(|node| node.procs.retain(|pid| !ended.contains(pid)));
            }
        }
    }
}

/// A container whose last task has ended is EXITED for the runtime.
fn end_containers(after: &mut Observation, candidate: &Candidate, kubelet: KubeletMinor) {
    let facts = Facts::complete(after);
    let view = PodView::new(&facts, candidate, kubelet);
    let is_empty = |id: &String| {
        let container = view.containers.iter().find(|container| container.id == *id);
        container.is_some_and(|container| view.processes_of(container).is_empty())
    };
    let ids: Vec<String> =
        view.containers.iter().map(|container| container.id.clone()).filter(|id| is_empty(id)).collect();
    if let Seen::Seen(runtime) = &mut after.runtime {
        let ended = runtime.containers.iter_mut().filter(|container| ids.contains(&container.id));
        ended.for_each(|container| container.state = ContainerState::Exited);
    }
}

/// What was held and is free now is unmounted by the kubelet's next try.
fn unmount_free(before: &Observation, after: &mut Observation) {
    let held = before.holders.iter().filter(|search| !search.holders.is_empty());
    let is_free =
        |path: &&HostPath| after.holders.iter().any(|search| search.mount_point == **path && search.holders.is_empty());
    let free: Vec<HostPath> = held.map(|search| &search.mount_point).filter(is_free).cloned().collect();
    free.iter().for_each(|path| unmount(after, &path.show()));
}

fn unmount(after: &mut Observation, path: &str) {
    let is_it = |at: &HostPath| at.as_str() == Some(path);
    if let Seen::Seen(table) = &mut after.mounts.kubelet {
        table.mounts.retain(|mount| !is_it(&mount.mount_point));
    }
    let Seen::Seen(dirs) = &mut after.pod_dirs else { return };
    for dir in dirs {
        dir.sub_paths.retain(|sub_path| !is_it(&sub_path.path));
        if let Seen::Seen(volumes) = &mut dir.volumes {
            volumes.retain(|volume| !is_it(volume.target.get().unwrap_or(&volume.path)));
        }
    }
}

/// Thaws it, and says whose tasks then run on.
fn thaw(after: &mut Observation, path: &str) -> BTreeSet<u32> {
    let mut thawed = BTreeSet::new();
    let Seen::Seen(cgroups) = &mut after.cgroups else { return thawed };
    for dir in cgroups.iter_mut().flat_map(|cgroup| &mut cgroup.dirs) {
        let top = dir.path.clone();
        let Seen::Seen(tree) = &mut dir.tree else { continue };
        for node in tree {
            let at = if node.below.as_bytes().is_empty() { top.clone() } else { top.join(node.below.as_path()) };
            if at.is_within(&HostPath::from(path)) {
                node.freezer = Freezer::Thawed;
                thawed.extend(node.procs.iter().copied());
            }
        }
    }
    // A frozen task shows D.
    let is_frozen = |wchan: &String| wchan.is_empty() || wchan.contains("refrigerator") || wchan.contains("freez");
    for process in after.processes.iter_mut().filter(|process| thawed.contains(&process.pid)) {
        let frozen = process.threads.iter_mut().filter(|thread| thread.wchan.get().is_none_or(is_frozen));
        frozen.for_each(|thread| thread.state = if thread.state == 'D' { 'S' } else { thread.state });
    }
    thawed
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;
    use proptest::prelude::*;

    fn holder(pid: u32, copy: CopyKind) -> Holder {
        Holder { pid, comm: "du".into(), copy, mount_ns: 9, ..sample::holder() }
    }

    fn others_to_end(seen: &Observation) -> Vec<Option<Vec<String>>> {
        judge(seen).pods[0].findings.iter().map(|finding| finding.must_end_too.clone()).collect()
    }

    #[test]
    fn one_holder_alone_is_enough_and_of_two_kinds_both_must_go() {
        let mut seen = sample::mounted("ext4");
        seen.holders[0].holders.push(holder(700, CopyKind::Original));
        assert_eq!(others_to_end(&seen), [Some(Vec::new())]);
        seen.holders[0].holders.push(holder(701, CopyKind::Propagated));
        assert_eq!(others_to_end(&seen), [Some(vec!["pid 701 du".to_owned()]), Some(vec!["pid 700 du".to_owned()])]);
    }

    /// What a frozen cgroup hides is found when it is thought away.
    #[test]
    fn a_task_behind_a_freezer_must_go_too() {
        let mut seen = sample::running();
        let mut child = process(INIT + 1, "cat", 'S', INIT);
        (child.ns_pids, child.pid_ns, child.mount_ns) = (vec![INIT + 1, 2], Some(500), Some(600));
        child.owner = seen.processes[0].owner.clone();
        seen.processes.push(child);
        seen.processes[0].kill_pending = true;
        seen.processes[0].threads[0].kill_pending = true;
        seen.cgroups = sample::cgroup(&[INIT, INIT + 1]);
        let cgroups = seen.cgroups.get_mut().unwrap();
        cgroups[0].dirs[0].hierarchy = "freezer".into();
        cgroups[0].dirs[0].tree.get_mut().unwrap()[0].freezer = Freezer::Frozen;
        seen.processes[1].kill_pending = true;
        seen.processes[1].threads[0].kill_pending = true;
        assert_eq!(others_to_end(&seen), [Some(Vec::new())]);
        block(&mut seen, INIT + 1, "wait_for_response");
        container_table(
            &mut seen,
            vec![Mount { source: HostPath::from("//files/share"), ..mount(9, "0:60", "/data", "cifs") }],
        );
        assert_eq!(others_to_end(&seen)[0], Some(vec!["mount /data (0:60, cifs)".to_owned()]));
    }

    #[test]
    fn what_is_not_followed_is_not_claimed() {
        assert_eq!(others_to_end(&sample::running()), [None], "nothing has killed it");
    }

    proptest! {
        /// Whatever holds a volume: when a finding and all that it says must end too have ended, nothing is left.
        #[test]
        fn what_is_said_to_be_enough_is_enough(copies in proptest::collection::vec(0..3u8, 1..6)) {
            let mut seen = sample::mounted("ext4");
            for (at, copy) in copies.iter().enumerate() {
                let copy = [CopyKind::Original, CopyKind::Propagated, CopyKind::Private][usize::from(*copy)];
                seen.holders[0].holders.push(holder(700 + u32::try_from(at).unwrap(), copy));
            }
            let report = judge(&seen);
            for finding in report.pods[0].findings.iter() {
                let Some(others) = &finding.must_end_too else { continue };
                let mut gone = seen.clone();
                let named = |holder: &Holder| {
                    let name = format!("pid {} {}", holder.pid, holder.comm);
                    finding.roots().any(|root| root.subject == name) || others.contains(&name)
                };
                gone.holders[0].holders.retain(|holder| !named(holder));
                let left = judge(&gone).pods[0].findings.iter().flat_map(|f| f.roots().map(|r| r.subject.clone()).collect::<Vec<_>>()).collect::<Vec<String>>();
                prop_assert!(left.iter().all(|subject| !subject.starts_with("pid ")), "{left:?}");
            }
        }
    }
}
