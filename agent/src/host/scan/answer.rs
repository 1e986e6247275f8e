//! Answers to what the judgement asks: one function for each kind of evidence. Nothing here decides what
//! is worth a question.

use std::{collections::BTreeSet, time::Duration};

use agent_core::{MAX_ROUNDS, causes::kubelet_operations, plan};
use findings::PodUid;
use tokio::time::Instant;

use super::Scan;
use crate::host::process_index::{FUSE_WAIT, ProcessIndex};
use crate::host::{
    block_stack, cgroups, csi, fuse, holders, in_flight, kubelet, mount_copies, multipath, netns, processes, runtime,
    shims, superblocks, volumes, writable,
};
use crate::observation::*;
use crate::{parse, sys, view};

/// More file systems than this are not asked in one scan.
const MAX_FUSE_ANSWERS: usize = 3;
/// More PersistentVolumes than this are not asked for in one round.
const MAX_VOLUMES: usize = 16;
/// The sockets of a node with many connections are not all looked at.
const IN_FLIGHT_TIMEOUT: Duration = Duration::from_millis(800);
/// More processes that unmount something are not looked at.
const MAX_UNMOUNTS: usize = 64;
/// More processes that wait for FUSE servers are not looked at.
const MAX_FUSE_WAITERS: usize = 64;
/// Between two looks at a task that waits.
const RECHECK_INTERVAL: Duration = Duration::from_millis(250);
/// Between two readings of the kubelet's counters that show whether calls of drivers fail just now.
const COUNTING_INTERVAL: Duration = Duration::from_secs(4);
/// `dra_manager_state` of a node with many claims.
const MAX_DRA_STATE_BYTES: usize = 16 << 20;

/// What the questions of one kind name.
macro_rules! named {
    ($round:expr, $kind:ident) => {
        $round
            .iter()
            .filter_map(|question| match question {
                Question::$kind(name) => Some(name.clone()),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
}

impl Scan<'_> {
    /// Asks the node, round by round, until the judgement lacks nothing.
    pub(super) async fn gather(&mut self, seen: &mut Observation) {
        for _ in 0..MAX_ROUNDS {
            self.choose_pods(seen);
            let round = plan(seen);
            if round.is_empty() {
                return;
            }
            self.answer(&round, seen).await;
            seen.asked.extend(round);
        }
        let why = format!("something is still lacking after {MAX_ROUNDS} rounds of questions");
        seen.faults.push(Fault::new("evidence", (FaultKind::NotAsked, why)));
    }

    /// The pods that should be gone, as far as the user wants to know of them.
    fn choose_pods(&self, seen: &mut Observation) {
        let wanted = |pod: &findings::PodRef| self.options.scan.only.as_ref().is_none_or(|only| only.matches(pod));
        let pods = view::candidates(seen).into_iter().map(|candidate| candidate.pod).filter(wanted);
        let uids: BTreeSet<PodUid> = pods.map(|pod| pod.uid).filter(|uid| !seen.looked_into.contains(uid)).collect();
        seen.looked_into.extend(uids);
    }

    async fn answer(&mut self, round: &[Question], seen: &mut Observation) {
        for question in round {
            self.answer_one(question, seen).await;
        }
        self.answer_together(round, seen).await;
        self.answer_later(round, seen).await;
    }

    async fn answer_one(&mut self, question: &Question, seen: &mut Observation) {
        match question {
            Question::KilledProcesses => self.killed_processes(seen),
            Question::RuntimeConditions => self.runtime_conditions(seen).await,
            Question::RuntimeListener => self.runtime_listener(seen).await,
            Question::CgroupTree(uid) => self.cgroup_tree(uid, seen),
            Question::PodVolumes(uid) => self.pod_volumes(uid, seen),
            Question::DraState => self.dra_state(seen),
            Question::Process { pid, depth } => self.process(*pid, *depth, seen),
            Question::PidNamespace(ns) => {
                self.members(*ns, seen).into_iter().for_each(|pid| self.process(pid, Depth::Threads, seen));
            }
            Question::Unmounts => {
                let pids = self.process_index().blocked("umount", MAX_UNMOUNTS);
                pids.into_iter().for_each(|pid| self.process(pid, Depth::Threads, seen));
            }
            Question::FuseWaiters => {
                let pids = self.process_index().waiting_in(FUSE_WAIT, MAX_FUSE_WAITERS);
                let known: BTreeSet<u32> = seen.processes.iter().map(|process| process.pid).collect();
                let new = pids.into_iter().filter(|pid| !known.contains(pid));
                new.for_each(|pid| self.process(pid, Depth::Threads, seen));
            }
            Question::MountTable { ns, tid } => self.mount_table(*ns, *tid, seen),
            Question::PathMount(path) => self.path_mount(path, seen),
            Question::InFlight => seen.in_flight = in_flight::owners(self.process_index(), IN_FLIGHT_TIMEOUT),
            Question::ProtectedFiles(dir) => {
                if let Some(table) = seen.mounts.kubelet.get() {
                    seen.protected_files.push(volumes::protected_files(&self.host, dir, table));
                }
            }
            Question::VolumesChanged => self.volumes_changed(seen),
            Question::UnmountedDevices => self.unmounted_devices(seen),
            Question::FuseAnswer { connection, mount_point } => {
                self.fuse_answer(*connection, mount_point, question.deadline(), seen);
            }
            Question::CsiDrivers => self.csi_drivers(question.deadline(), seen).await,
            Question::KubeletCounters => seen.kubelet_counters = self.kubelet_counters(seen).await,
            Question::KernelLog if self.options.kernel_log => {
                seen.kernel_log = crate::host::seen(sys::kernel_log().map(|ring| parse::kernel_log(&ring)));
            }
            Question::KernelLog => seen.kernel_log = Seen::Missing,
            Question::MultipathMap(dev) => seen.multipath.extend(multipath::maps(&self.host, &[*dev])),
            // Answered together, or later.
            Question::ContainerStatus(_)
            | Question::SandboxStatus(_)
            | Question::PersistentVolume(_)
            | Question::RootFileSystem(_)
            | Question::Holders(_)
            | Question::WritableFiles(_)
            | Question::MountCopies(_)
            | Question::FuseConnection(_)
            | Question::Shims(_)
            | Question::ContainerState(_)
            | Question::WaitingThreads(_)
            | Question::BlockStack(_) => {}
        }
    }

    /// Answers the questions of which one answer serves all of a kind.
    async fn answer_together(&mut self, round: &[Question], seen: &mut Observation) {
        let deadline = round.iter().filter_map(Question::deadline).max().unwrap_or_default();
        let (containers, sandboxes) = (named!(round, ContainerStatus), named!(round, SandboxStatus));
        if !containers.is_empty() || !sandboxes.is_empty() {
            self.statuses(containers, sandboxes, deadline, seen).await;
        }
        let volumes = named!(round, PersistentVolume);
        if !volumes.is_empty() {
            self.persistent_volumes(volumes, seen).await;
        }
        if let containers @ [_, ..] = named!(round, RootFileSystem).as_slice() {
            self.root_file_systems(containers, seen);
        }
        if let paths @ [_, ..] = named!(round, Holders).as_slice() {
            self.holders(paths, deadline, seen);
        }
        if let pids @ [_, ..] = named!(round, WritableFiles).as_slice() {
            self.writable_files(pids, deadline, seen);
        }
        if let ends @ [_, ..] = named!(round, MountCopies).as_slice() {
            self.mount_copies(ends, seen);
        }
        if let numbers @ [_, ..] = named!(round, FuseConnection).as_slice() {
            self.fuse_connections(numbers, seen);
        }
        if let sandboxes @ [_, ..] = named!(round, Shims).as_slice() {
            seen.shims.extend(shims::sandbox_shims(sandboxes, self.process_index()));
        }
    }

    /// Answers what needs two reads: these come last, when a part of the time between them has passed.
    async fn answer_later(&mut self, round: &[Question], seen: &mut Observation) {
        let stacks = block_stack::read(&self.host, &named!(round, BlockStack));
        let began = Instant::now();
        let states = named!(round, ContainerState);
        if !states.is_empty()
            && let (Seen::Seen(facts), Some(runtime)) = (&mut seen.runtime, &self.runtime)
        {
            tokio::time::sleep(RECHECK_INTERVAL).await;
            runtime.states(facts, &states).await;
        }
        if let pids @ [_, ..] = named!(round, WaitingThreads).as_slice() {
            self.waiting_threads(pids, seen).await;
        }
        if !stacks.is_empty() {
            tokio::time::sleep_until(began + RECHECK_INTERVAL).await;
            seen.block_stacks.extend(stacks.into_iter().map(|stack| block_stack::read_again(&self.host, stack)));
        }
    }

    /// Of each pod the leaders that have been killed: few among many, so only those are kept.
    fn killed_processes(&self, seen: &mut Observation) {
        let mut pids = Vec::new();
        for dir in seen.cgroups.get().into_iter().flatten().filter_map(|cgroup| cgroup.dirs.first()) {
            let tree = cgroups::tree(&self.host, dir);
            pids.extend(tree.get().into_iter().flatten().flat_map(|node| node.procs.iter().copied()));
        }
        let killed = processes::killed(&pids).into_iter();
        seen.processes.extend(killed.filter_map(|pid| processes::process(pid, Depth::Leader).get().cloned()));
    }

    async fn statuses(
        &mut self,
        containers: Vec<String>,
        sandboxes: Vec<String>,
        deadline: Duration,
        seen: &mut Observation,
    ) {
        let pid = seen.node.kubelet.get().map_or(1, |kubelet| kubelet.pid);
        let (Seen::Seen(facts), Some(runtime)) = (&mut seen.runtime, &self.runtime) else { return };
        let mut table = || self.reader.table(pid);
        let network_at = |path| netns::facts(&self.host, path, &mut table);
        runtime.statuses(facts, containers, sandboxes, deadline, network_at).await;
    }

    async fn runtime_conditions(&self, seen: &mut Observation) {
        let (Seen::Seen(facts), Some(runtime)) = (&mut seen.runtime, &self.runtime) else { return };
        match runtime.unready().await {
            Ok(unready) => facts.unready = unready,
            Err(fault) => seen.faults.push(fault),
        }
    }

    async fn runtime_listener(&self, seen: &mut Observation) {
        let Some(socket) = seen.node.cri_socket.get() else {
            seen.node.runtime_process = Seen::Missing;
            return;
        };
        seen.node.runtime_process = runtime::listener(&self.options.sockets, &self.host.at(socket), socket).await;
    }

    fn cgroup_tree(&self, uid: &PodUid, seen: &mut Observation) {
        let Seen::Seen(cgroups) = &mut seen.cgroups else { return };
        let of_pod = cgroups.iter_mut().filter(|cgroup| cgroup.uid == *uid);
        of_pod.for_each(|cgroup| cgroups::read_tree(&self.host, cgroup));
    }

    fn pod_volumes(&self, uid: &PodUid, seen: &mut Observation) {
        let minor = view::kubelet_minor(seen);
        let (Seen::Seen(dirs), Some(table)) = (&mut seen.pod_dirs, seen.mounts.kubelet.get()) else { return };
        for dir in dirs.iter_mut().filter(|dir| dir.uid == *uid) {
            volumes::read_into(dir, &self.host, &seen.node.kubelet_root, table, minor.0);
        }
    }

    fn dra_state(&self, seen: &mut Observation) {
        let path = self.host.at(&seen.node.kubelet_root).join("dra_manager_state");
        let text = crate::host::seen(sys::read_text(&path, MAX_DRA_STATE_BYTES));
        let claims = text.get().and_then(|text| parse::dra_claims(text.as_bytes())).unwrap_or_default();
        let is_held = |uid: &&PodUid, text: &str| text.contains(uid.as_str());
        seen.node.dra_pods =
            text.map(|text| seen.looked_into.iter().filter(|uid| is_held(uid, &text)).cloned().collect());
        seen.node.dra_claims = claims;
    }

    fn process(&mut self, pid: u32, depth: Depth, seen: &mut Observation) {
        // What was read less closely, or has ended since.
        let known = seen.processes.iter().position(|known| known.pid == pid);
        let known = known.map(|at| seen.processes.remove(at));
        match processes::process(pid, depth) {
            Seen::Seen(mut process) => {
                // As of the observation: a runtime that does not answer can make this a second later.
                process.age_ms = process.age_ms.saturating_sub(sys::uptime_ms().saturating_sub(seen.uptime_ms));
                if process.threads.iter().any(Thread::may_pass) {
                    self.waiting_since = Some(Instant::now());
                }
                seen.processes.push(process);
            }
            Seen::Failed(fault) => {
                seen.processes.extend(known);
                if !seen.faults.contains(&fault) {
                    seen.faults.push(fault);
                }
            }
            Seen::Missing | Seen::NotAsked => {}
        }
    }

    /// The members of a pid namespace that are not known yet.
    fn members(&self, ns: u64, seen: &Observation) -> BTreeSet<u32> {
        let known = || seen.processes.iter().filter(|process| process.pid_ns == Some(ns));
        // A process that joined a namespace from outside is waited for only when its init is exiting. Before that, members
        // are below their init, or below the shim that started them.
        let has_init = known().any(|process| process.ns_pids.last() == Some(&1));
        let has_shim = known().all(|process| process.parent > 1);
        let is_whole = has_init && has_shim && !known().any(Process::is_exiting);
        let tops = known().flat_map(|process| [process.pid, process.parent]).collect();
        let mut members: BTreeSet<u32> = match is_whole.then(|| processes::descendants(&tops)).flatten() {
            Some(family) => {
                let is_member = |pid: &u32| sys::namespace_of(*pid, "pid").is_ok_and(|of| of == ns);
                family.into_iter().filter(is_member).collect()
            }
            None => self.process_index().members(&[ns].into()).collect(),
        };
        let is_read = |process: &&Process| process.threads.len() >= process.thread_count as usize;
        known().filter(is_read).for_each(|process| _ = members.remove(&process.pid));
        members
    }

    /// Reads the waiting tasks once more, to find those that do not move.
    async fn waiting_threads(&self, pids: &[u32], seen: &mut Observation) {
        if let Some(since) = self.waiting_since {
            tokio::time::sleep_until(since + RECHECK_INTERVAL).await;
        }
        let waiting = seen.processes.iter_mut().filter(|process| pids.contains(&process.pid));
        waiting.for_each(processes::read_again);
    }

    fn mount_table(&mut self, ns: u64, tid: u32, seen: &mut Observation) {
        let there = seen.processes.iter().filter(|process| process.mount_ns == Some(ns));
        let files = there.flat_map(|process| &process.threads).filter_map(|thread| thread.works_on.as_ref());
        let ids: Vec<u32> = files.filter_map(|file| file.mount_id).collect();
        let table = self.reader.task_table(tid, &ids).or_note(&mut seen.faults);
        seen.mounts.others.extend(table);
    }

    fn path_mount(&mut self, path: &HostPath, seen: &mut Observation) {
        let Some(pid) = seen.mounts.kubelet.get().map(|table| table.through_pid) else { return };
        let mount = self.reader.path_mount(pid, path);
        if let Seen::Failed(fault) = &mount
            && !seen.faults.contains(fault)
        {
            seen.faults.push(fault.clone());
        }
        seen.path_mounts.push(PathMount { path: path.clone(), mount: mount.get().cloned() });
    }

    fn root_file_systems(&mut self, containers: &[String], seen: &mut Observation) {
        let Seen::Seen(table) = &mut seen.mounts.kubelet else { return };
        let mounts = self.reader.rootfs(table.through_pid, containers);
        table.mounts.extend(mounts.get().into_iter().flatten().cloned());
    }

    fn holders(&mut self, paths: &[HostPath], deadline: Duration, seen: &mut Observation) {
        let Some(table) = seen.mounts.kubelet.get() else { return };
        let targets: Vec<Mount> = paths.iter().filter_map(|path| mounted_at(&table.mounts, path).cloned()).collect();
        let process_index = self.process_index.get_or_init(ProcessIndex::read);
        let options = holders::Options {
            prober: Some(self.prober),
            process_index: Some(process_index),
            deadline,
            ..Default::default()
        };
        seen.holders.extend(holders::search(&targets, table, &mut self.reader, &options));
    }

    fn writable_files(&mut self, pids: &[u32], deadline: Duration, seen: &mut Observation) {
        let Some(table) = seen.mounts.kubelet.get() else { return };
        let pods = seen.node.kubelet_root.join("pods");
        let below = table.mounts.iter().filter(|mount| mount.mount_point.is_below(&pods));
        let devs: BTreeSet<Dev> = below.map(|mount| mount.dev).collect();
        seen.writable.extend(writable::files(pids, &devs, &mut self.reader, self.prober, deadline));
    }

    /// In all namespaces but the kubelet's and pid 1's.
    fn mount_copies(&mut self, ends: &[String], seen: &mut Observation) {
        let own = seen.mounts.kubelet.get().map(|table| table.ns).into_iter().chain(seen.node.init_mount_ns);
        let process_index = self.process_index.get_or_init(ProcessIndex::read);
        seen.mount_copies.extend(mount_copies::search(ends, &own.collect(), process_index, &mut self.reader));
    }

    fn volumes_changed(&self, seen: &mut Observation) {
        let Some(table) = seen.mounts.kubelet.get() else { return };
        seen.volumes_changed_ms = volumes::changed_ms(&self.host, &seen.node.kubelet_root, table);
    }

    fn unmounted_devices(&mut self, seen: &mut Observation) {
        let Some(kubelets) = seen.mounts.kubelet.get() else { return };
        let Ok(table) = self.reader.table(kubelets.through_pid) else { return };
        let unmounted = superblocks::unmounted(&self.host, &table);
        // What was not found in half a table may be mounted.
        seen.unmounted_devices = if table.fault().is_none() { unmounted } else { Vec::new() };
    }

    fn fuse_connections(&self, numbers: &[u32], seen: &mut Observation) {
        let tables = seen.mounts.others.iter().chain(seen.mounts.kubelet.get());
        let served = |mount: &&Mount| mount.fuse_connection().is_some_and(|number| numbers.contains(&number));
        let mounts = tables.flat_map(|table| &table.mounts).filter(served);
        let hints = fuse::Hints {
            process_index: Some(&self.process_index),
            names: mounts.filter_map(|mount| mount.fs_type.split_once('.')).map(|(_, name)| name.to_owned()).collect(),
            mount_ns: seen.mounts.kubelet.get().map(|table| table.ns),
        };
        seen.fuse.extend(fuse::connections(numbers, &hints, &self.host));
    }

    fn fuse_answer(&mut self, number: u32, at: &HostPath, deadline: Option<Duration>, seen: &mut Observation) {
        let connection = seen.fuse.iter_mut().find(|connection| connection.number == number);
        let table = seen.mounts.kubelet.get();
        let mount = table.and_then(|table| mounted_at(&table.mounts, at));
        let (Some(connection), Some(mount), Some(deadline)) = (connection, mount, deadline) else { return };
        if self.options.scan.probe_fuse && self.fuse_answers < MAX_FUSE_ANSWERS {
            self.fuse_answers += 1;
            fuse::probe(connection, mount, &self.host, self.prober, deadline);
        }
    }

    async fn csi_drivers(&self, deadline: Option<Duration>, seen: &mut Observation) {
        let (Some(table), Some(deadline)) = (seen.mounts.kubelet.get(), deadline) else { return };
        let root = csi::Root { configured: &self.configured_root, real: &seen.node.kubelet_root };
        let drivers = csi::drivers(&self.host, &self.options.sockets, root, table, deadline).await;
        seen.csi = drivers.map(|drivers| {
            let is_dra = |driver: &CsiDriver| driver.info.get().is_some_and(|info| info.is_dra);
            let (dra, csi) = drivers.into_iter().partition(is_dra);
            seen.dra_drivers = dra;
            csi
        });
    }

    async fn kubelet_counters(&self, seen: &Observation) -> Seen<KubeletCounters> {
        let first = self.read_counters(seen).await;
        if self.options.scan.watches_counters && first.get().is_some_and(kubelet_operations::may_grow) {
            tokio::time::sleep(COUNTING_INTERVAL).await;
            let second = self.read_counters(seen).await;
            return if second.get().is_some() { second } else { first };
        }
        first
    }

    /// Queried by the process that has the credentials; this one names the kubelet.
    async fn read_counters(&self, seen: &Observation) -> Seen<KubeletCounters> {
        // A kubelet asks the API server who it is that asks.
        let Some(found) = self.kubelet.get().filter(|_| seen.api.get().is_some()) else { return Seen::Missing };
        let listener = match kubelet::listener(found, &self.settings, &self.host) {
            Ok(listener) => listener,
            Err(fault) => return Seen::Failed(fault),
        };
        let volumes = kubelet_operations::to_be_unmounted(seen);
        if let Some(relay) = &self.options.relay {
            return relay.kubelet_counters(listener, volumes).await;
        }
        match self.conversation() {
            Some(Ok(conversation)) => {
                self.options.counters.read(conversation, &seen.node.name, listener, volumes).await
            }
            _ => Seen::Missing,
        }
    }

    /// What a lost `vol_data.json` said.
    async fn persistent_volumes(&self, mut names: Vec<String>, seen: &mut Observation) {
        names.truncate(MAX_VOLUMES);
        let Seen::Seen(facts) = &mut seen.api else { return };
        let volumes = match &self.options.relay {
            Some(relay) => relay.volumes(names).await,
            None => match self.conversation() {
                Some(Ok(conversation)) => conversation.volumes(names).await,
                _ => return,
            },
        };
        facts.volumes.extend(volumes.get().into_iter().flatten().cloned());
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use agent_core::observation::sample;

    use super::*;
    use crate::host::{api, prober::Prober, scan::Options};

    /// Its parent is about to reap it, as every shim is.
    #[tokio::test]
    async fn a_zombie_that_is_reaped_a_moment_later_is_not_steady() {
        let mut child = Command::new("true").spawn().unwrap();
        let pid = child.id();
        let (options, prober, mut seen) = (Options::default(), Prober::default(), sample::node());
        let (mut scan, _) = Scan::begin(&options, &prober);
        while !seen.processes.iter().any(|process| process.threads[0].state == 'Z') {
            seen.processes.clear();
            scan.process(pid, Depth::Threads, &mut seen);
        }
        let reaper = std::thread::spawn(move || {
            std::thread::sleep(RECHECK_INTERVAL / 10);
            child.wait()
        });
        scan.waiting_threads(&[pid], &mut seen).await;
        assert!(!seen.processes[0].threads[0].steady, "{:?}", seen.processes);
        assert!(reaper.join().unwrap().unwrap().success());
    }

    #[test]
    fn one_call_has_one_deadline() {
        assert_eq!(Question::PersistentVolume("pv".into()).deadline(), Some(api::CHECK.request_timeout));
    }
}
