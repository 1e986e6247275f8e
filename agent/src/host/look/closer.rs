//! Looking into the pods that should be gone.

use std::{collections::BTreeSet, time::Duration};

use findings::PodUid;
use tokio::time::Instant;

use super::{Looker, targets};
use crate::{
    host::{
        census::Census,
        cgroups, csi, elsewhere, fuse, holders, multipath, netns,
        processes::{self, Depth},
        shims, volumes,
    },
    observation::*,
    sys, view,
};

/// Registration sockets answer at once or not at all.
const CSI_DEADLINE: Duration = Duration::from_millis(500);
/// The search for holders, mappings included.
const HOLDERS_DEADLINE: Duration = Duration::from_millis(800);
/// A FUSE server that lives answers a `stat` within milliseconds.
const FUSE_DEADLINE: Duration = Duration::from_millis(300);
/// More file systems than this are not asked in one look.
const MAX_FUSE_PROBES: usize = 3;
/// Of so many holders it is looked at what they wait for.
const MAX_HOLDERS: usize = 20;
/// Between two looks at a task that waits.
const MOMENT: Duration = Duration::from_millis(250);
/// `dra_manager_state` of a node with many claims.
const MAX_DRA_STATE: usize = 16 << 20;

impl Looker<'_> {
    /// Looks into the pods that should be gone.
    pub(super) async fn look_closer(&mut self, seen: &mut Observation) {
        if seen.api.get().is_none_or(|api| api.stale.is_some()) {
            self.find_killed(seen);
        }
        let suspects = self.suspects(seen);
        seen.looked_into = suspects.iter().cloned().collect();
        if suspects.is_empty() {
            return;
        }
        let runtime = self.runtime.take();
        if let (Seen::Seen(facts), Some(runtime)) = (&mut seen.runtime, &runtime) {
            let host = seen.node.kubelet.get().map_or(1, |kubelet| kubelet.pid);
            let mut table = || self.reader.table(host).map(|table| table.bytes.clone());
            let network_at = |path| netns::look(&self.view, path, &mut table);
            runtime.look_into(facts, |uid| suspects.contains(uid), network_at).await;
            self.faults.extend(runtime.ask_conditions(facts).await.err());
        }
        if let Seen::Seen(cgroups) = &mut seen.cgroups {
            let of_suspects = cgroups.iter_mut().filter(|cgroup| suspects.contains(&cgroup.uid));
            of_suspects.for_each(|cgroup| cgroups::look_into(&self.view, cgroup));
        }
        self.read_processes(seen, &suspects);
        if let (Seen::Seen(facts), Some(runtime)) = (&mut seen.runtime, &runtime) {
            let processes = &seen.processes;
            let is_gone = |pid| processes.iter().all(|process| process.pid != pid);
            runtime.ask_again(facts, is_gone).await;
        }
        self.read_volumes(seen, &suspects);
        self.ask_volumes(seen, &suspects).await;
        seen.node.dra_pods = self.dra_pods(&seen.node.kubelet_root, &suspects);
        if let (true, Some(table)) = (targets::has_csi(seen, &suspects), seen.mounts.kubelet.get()) {
            seen.csi = csi::drivers(&self.view, &seen.node.kubelet_root, table, CSI_DEADLINE).await;
        }
        self.read_shims(seen, &suspects);
        seen.multipath = multipath::maps(&self.view, &targets::block_devices(seen, &suspects));
        self.search_holders(seen, &suspects);
        self.search_elsewhere(seen, &suspects);
        self.read_holders(seen);
        self.read_task_mounts(seen);
        self.read_fuse(seen, &suspects);
        // Last, when most of the moment has passed.
        self.look_again(seen).await;
    }

    fn suspects(&self, seen: &Observation) -> BTreeSet<PodUid> {
        let wanted = |pod: &findings::PodRef| self.options.only.as_ref().is_none_or(|only| only.matches(pod));
        let candidates = view::candidates(seen).into_iter();
        candidates.filter(|candidate| wanted(&candidate.pod)).map(|candidate| candidate.pod.uid).collect()
    }

    /// Without the API server a pending SIGKILL is the sign of a pod that is being stopped: look
    /// at the leaders of all pods' processes.
    fn find_killed(&self, seen: &mut Observation) {
        let Seen::Seen(cgroups) = &mut seen.cgroups else { return };
        let mut pids = BTreeSet::new();
        for dir in cgroups.iter_mut().filter_map(|cgroup| cgroup.dirs.first_mut()) {
            cgroups::read_tree(&self.view, dir);
            pids.extend(dir.tree.get().into_iter().flatten().flat_map(|node| node.procs.iter().copied()));
        }
        let killed = pids.into_iter().filter(|pid| processes::is_killed(*pid));
        seen.processes = killed.filter_map(|pid| processes::process(pid, Depth::Leader).get().cloned()).collect();
    }

    fn read_processes(&mut self, seen: &mut Observation, suspects: &BTreeSet<PodUid>) {
        let pids = targets::pids(seen, suspects);
        seen.processes.clear();
        self.add_processes(seen, &pids, Depth::Threads);
        let members = self.members(&seen.processes);
        self.add_processes(seen, &members, Depth::Threads);
        // A shim with one thread in D is as good as hung.
        let parents = seen.processes.iter().map(|process| process.parent).filter(|pid| *pid > 1).collect();
        self.add_processes(seen, &parents, Depth::Blocked);
        if targets::has_nfs(seen, suspects) {
            let kubelet = seen.node.kubelet.get().map(|kubelet| kubelet.pid);
            let umounts = kubelet.map(processes::children).into_iter().flatten().collect();
            self.add_processes(seen, &umounts, Depth::Threads);
        }
    }

    /// The members of the pid namespaces that these processes die in.
    fn members(&self, known: &[Process]) -> BTreeSet<u32> {
        let dying = || known.iter().filter(|process| is_dying(process) && process.ns_pids.len() > 1);
        let namespaces: BTreeSet<u64> = dying().filter_map(|process| process.pid_ns).collect();
        if namespaces.is_empty() {
            return BTreeSet::new();
        }
        // Whom somebody outside has put into a namespace is waited for only when its init is on its
        // way out. Before that, members are below their init, or below the shim that started them.
        let here = || known.iter().filter(|process| process.pid_ns.is_some_and(|ns| namespaces.contains(&ns)));
        let has_init = |ns: &u64| here().any(|p| p.pid_ns == Some(*ns) && p.ns_pids.last() == Some(&1));
        let has_shim = here().all(|process| process.parent > 1);
        let is_whole = has_shim && namespaces.iter().all(has_init) && !dying().any(is_exiting);
        let tops = here().flat_map(|process| [process.pid, process.parent]).collect();
        let Some(family) = is_whole.then(|| processes::descendants(&tops)).flatten() else {
            return self.census().members(&namespaces).collect();
        };
        let is_member = |pid: &u32| sys::namespace_of(*pid, "pid").is_ok_and(|ns| namespaces.contains(&ns));
        family.into_iter().filter(is_member).collect()
    }

    /// Looks once more at the tasks that wait, to tell those that do not move.
    async fn look_again(&self, seen: &mut Observation) {
        if let Some(since) = self.waiting_since {
            tokio::time::sleep_until(since + MOMENT).await;
            seen.processes.iter_mut().for_each(processes::look_again);
        }
    }

    /// A holder that itself waits for the file system is no cause, but leads to it.
    fn read_holders(&mut self, seen: &mut Observation) {
        let holders = seen.holders.iter().flat_map(|search| &search.holders).map(|holder| holder.pid);
        let pids = holders.filter(|pid| *pid > 0).take(MAX_HOLDERS).collect();
        self.add_processes(seen, &pids, Depth::Threads);
    }

    /// Asks the API server for what a lost `vol_data.json` said.
    async fn ask_volumes(&self, seen: &mut Observation, suspects: &BTreeSet<PodUid>) {
        let mut names = targets::forgotten_volumes(seen, suspects);
        let Seen::Seen(facts) = &mut seen.api else { return };
        // Volumes do not change; whoever looks again and again brings what it has learnt.
        names.retain(|name| facts.volumes.iter().all(|known| known.name != *name));
        if names.is_empty() {
            return;
        }
        if let Some(Ok(conversation)) = self.conversation()
            && let Seen::Seen(volumes) = conversation.volumes(names).await
        {
            facts.volumes.extend(volumes);
        }
    }

    fn add_processes(&mut self, seen: &mut Observation, pids: &BTreeSet<u32>, depth: Depth) {
        for pid in pids {
            // One that was only looked at as the parent of another may need a closer look.
            let is_whole = |known: &Process| known.threads.len() >= known.thread_count as usize;
            let known = seen.processes.iter().find(|known| known.pid == *pid);
            if known.is_some_and(|known| depth != Depth::Threads || is_whole(known)) {
                continue;
            }
            match processes::process(*pid, depth) {
                Seen::Seen(process) => {
                    if process.threads.iter().any(Thread::waits) {
                        self.waiting_since = Some(Instant::now());
                    }
                    seen.processes.retain(|known| known.pid != *pid);
                    seen.processes.push(process);
                }
                Seen::Failed(fault) => self.faults.push(fault),
                Seen::Missing | Seen::NotAsked => {}
            }
        }
    }

    fn read_volumes(&self, seen: &mut Observation, suspects: &BTreeSet<PodUid>) {
        let minor = view::kubelet_minor(seen);
        let (Seen::Seen(dirs), Some(table)) = (&mut seen.pod_dirs, seen.mounts.kubelet.get()) else { return };
        for dir in dirs.iter_mut().filter(|dir| suspects.contains(&dir.uid)) {
            volumes::look_into(dir, &self.view, &seen.node.kubelet_root, table, minor.0);
        }
    }

    fn dra_pods(&self, kubelet_root: &HostPath, suspects: &BTreeSet<PodUid>) -> Seen<Vec<PodUid>> {
        let path = self.view.at(kubelet_root).join("dra_manager_state");
        let text = crate::host::seen(sys::read_text(&path, MAX_DRA_STATE));
        text.map(|text| suspects.iter().filter(|uid| text.contains(uid.as_str())).cloned().collect())
    }

    /// What file systems the tasks in D can see.
    fn read_task_mounts(&mut self, seen: &mut Observation) {
        for process in &seen.processes {
            let Some(thread) = process.threads.iter().find(|thread| thread.waits()) else { continue };
            if process.mount_ns.is_none_or(|ns| seen.mounts.others.iter().any(|table| table.ns == ns)) {
                continue;
            }
            // The thread's own number: a zombie leader has no mount table any more.
            match self.reader.other(thread.tid, &[]) {
                Seen::Seen(table) => seen.mounts.others.push(table),
                Seen::Failed(fault) => self.faults.push(fault),
                Seen::Missing | Seen::NotAsked => {}
            }
        }
    }

    /// What is left of a sandbox in which a container has no process any more.
    fn read_shims(&self, seen: &mut Observation, suspects: &BTreeSet<PodUid>) {
        let lost = targets::lost_containers(seen, suspects);
        let containers = seen.runtime.get().into_iter().flat_map(|runtime| &runtime.containers);
        let sandboxes: BTreeSet<String> =
            containers.filter(|container| lost.contains(&container.id)).map(|c| c.sandbox.clone()).collect();
        if !sandboxes.is_empty() {
            seen.shims = shims::of_sandboxes(&sandboxes.into_iter().collect::<Vec<_>>(), self.census());
        }
    }

    /// Only what the first open gate needs: the volumes of pods whose containers have ended, and
    /// the root file systems of containers whose process has.
    fn search_holders(&mut self, seen: &mut Observation, suspects: &BTreeSet<PodUid>) {
        let rootfs = targets::lost_containers(seen, suspects);
        if let (Seen::Seen(table), false) = (&mut seen.mounts.kubelet, rootfs.is_empty()) {
            let found = self.reader.rootfs(table.through_pid, &rootfs);
            table.mounts.extend(found.get().into_iter().flatten().cloned());
        }
        let Some(table) = seen.mounts.kubelet.get() else { return };
        let targets = targets::busy(seen, suspects, &rootfs);
        if targets.is_empty() {
            return;
        }
        let census = self.census.get_or_init(Census::take);
        let options = holders::Options {
            prober: Some(self.prober),
            census: Some(census),
            deadline: HOLDERS_DEADLINE,
            ..Default::default()
        };
        seen.holders = holders::search(&targets, table, &mut self.reader, &options);
    }

    /// What is unmounted here, and may still be mounted elsewhere.
    fn search_elsewhere(&mut self, seen: &mut Observation, suspects: &BTreeSet<PodUid>) {
        let ends = targets::gone_mounts(seen, suspects);
        if ends.is_empty() {
            return;
        }
        let own = seen.mounts.kubelet.get().map(|table| table.ns).into_iter().chain(seen.node.init_mount_ns);
        let census = self.census.get_or_init(Census::take);
        seen.elsewhere.extend(elsewhere::search(&ends, &own.collect(), census, &mut self.reader));
    }

    fn read_fuse(&self, seen: &mut Observation, suspects: &BTreeSet<PodUid>) {
        let volumes = targets::fuse_volumes(seen, suspects);
        let of_tasks = seen.mounts.others.iter().flat_map(|table| &table.mounts).filter_map(Mount::fuse_connection);
        let numbers: BTreeSet<u32> = of_tasks.chain(volumes.iter().filter_map(Mount::fuse_connection)).collect();
        if numbers.is_empty() {
            return;
        }
        let mounts = seen.mounts.others.iter().flat_map(|table| &table.mounts).chain(&volumes);
        let names = mounts.filter_map(|mount| mount.fs_type.strip_prefix("fuse.")).map(str::to_owned).collect();
        let hints = fuse::Hints {
            census: Some(&self.census),
            names,
            mount_ns: seen.mounts.kubelet.get().map(|table| table.ns),
        };
        seen.fuse = fuse::connections(&numbers.into_iter().collect::<Vec<_>>(), &hints, &self.view);
        if !self.options.probe_fuse {
            return;
        }
        // Requests that wait, and a server that cannot be found, prove nothing: a busy file system
        // always has some waiting. Only the file system itself can say, and it is asked in a child.
        let is_doubtful = |c: &FuseConnection| !c.exact || c.servers.is_empty() || c.waiting.get() != Some(&0);
        let doubtful = seen.fuse.iter_mut().filter(|connection| is_doubtful(connection));
        let of_volumes = doubtful.filter_map(|connection| {
            let mount = volumes.iter().find(|mount| mount.fuse_connection() == Some(connection.number))?;
            Some((connection, mount))
        });
        for (connection, mount) in of_volumes.take(MAX_FUSE_PROBES) {
            fuse::probe(connection, mount, &self.view, self.prober, FUSE_DEADLINE);
        }
    }
}

/// A process that has been killed, or that hangs on its way out.
fn is_dying(process: &Process) -> bool {
    is_exiting(process) || process.kill_pending || process.threads.iter().any(|thread| thread.kill_pending)
}

/// A process on its way out, or whose pid namespace is ending.
fn is_exiting(process: &Process) -> bool {
    let in_zap = |thread: &Thread| thread.wchan.get().is_some_and(|wchan| wchan == "zap_pid_ns_processes");
    process.exiting || process.threads.iter().any(in_zap)
}
