//! One pod's share of an observation.

use std::collections::BTreeSet;

use findings::{PodRef, PodUid};

use super::{Candidate, DeletionReason, KubeletMinor};
use crate::{facts::Facts, observation::*};

/// Milliseconds past the deadline in which the kubelet is given time: it kills two seconds after
/// the deadline at the earliest and tries again every 10–15 s (`backOffPeriod` with jitter).
pub const RETRY_WINDOW_MS: u64 = 15_000;
/// The longest pause between two tries to unmount (`nestedpendingoperations`): 2 min 2 s.
pub const UNMOUNT_RETRY_MS: u64 = 122_000;

/// How long a sandbox may take to start: twice the kubelet's `runtimeRequestTimeout` (`RunPodSandbox` of its CRI client).
const RUN_SANDBOX_MS: u64 = 240_000;
/// An init begins before its container counts as started. Whatever the clock is corrected by is less.
const CLOCK_MS: u64 = 10_000;

/// How far the API server's clock is ahead of the node's. It is known to the second only, so less than two is nothing.
pub fn server_ahead_ms(seen: &Observation) -> i64 {
    let ahead = seen.api.get().and_then(|api| api.heard.server_ahead_ms);
    ahead.filter(|ahead| ahead.unsigned_abs() >= 2000).unwrap_or(0)
}

/// Everything that was seen of one pod that should be gone.
pub struct PodView<'a> {
    /// All that is known of the node.
    pub seen: &'a Facts<'a>,
    pub pod: &'a PodRef,
    /// How it is known that it should be gone.
    pub why: DeletionReason,
    /// The kubelet's version, the newest when it is not known.
    pub kubelet: KubeletMinor,
    /// Its API object, when the API server was asked and has it.
    pub api: Option<&'a ApiPod>,
    pub containers: Vec<&'a Container>,
    pub sandboxes: Vec<&'a Sandbox>,
    /// Its directory.
    pub dir: Option<&'a PodDir>,
    pub cgroup: Option<&'a PodCgroup>,
}

impl<'a> PodView<'a> {
    /// Picks the pod's share.
    pub fn new(seen: &'a Facts<'a>, candidate: &'a Candidate, kubelet: KubeletMinor) -> Self {
        let uid = &candidate.pod.uid;
        let runtime = seen.runtime.get();
        let view = PodView {
            seen,
            pod: &candidate.pod,
            why: candidate.why,
            kubelet,
            api: seen.api.get().and_then(|api| api.pods.iter().find(|pod| pod.uid == *uid)),
            containers: runtime
                .map(|r| r.containers.iter().filter(|c| c.pod.uid == *uid).collect())
                .unwrap_or_default(),
            sandboxes: runtime.map(|r| r.sandboxes.iter().filter(|s| s.pod.uid == *uid).collect()).unwrap_or_default(),
            dir: seen.pod_dirs.get().and_then(|dirs| dirs.iter().find(|dir| dir.uid == *uid)),
            cgroup: seen.cgroups.get().and_then(|cgroups| cgroups.iter().find(|cgroup| cgroup.uid == *uid)),
        };
        view.ask_for_all_gates();
        view
    }

    /// Without these the first open gate is unknown.
    fn ask_for_all_gates(&self) {
        // Of a container that has ended everything stands in the list.
        let living = self.containers.iter().filter(|container| container.state != ContainerState::Exited);
        let containers = living.map(|container| Question::ContainerStatus(container.id.clone()));
        let sandboxes = self.sandboxes.iter().map(|sandbox| Question::SandboxStatus(sandbox.id.clone()));
        let cgroup = self.cgroup.map(|cgroup| Question::CgroupTree(cgroup.uid.clone()));
        let volumes = self.dir.map(|dir| Question::PodVolumes(dir.uid.clone()));
        for question in containers.chain(sandboxes).chain(cgroup).chain(volumes).chain([Question::DraState]) {
            self.seen.is_settled(question);
        }
        self.ask_for_baseline();
    }

    /// What the kubelet counts of drivers is read as soon as the deadline has passed, so that it is known later what has
    /// grown since.
    fn ask_for_baseline(&self) {
        let is_late =
            (0..i64::try_from(RETRY_WINDOW_MS).unwrap_or(i64::MAX)).contains(&self.overdue_ms().unwrap_or(-1));
        let mut volumes =
            self.dir.into_iter().flat_map(|dir| dir.volumes.get().into_iter().flatten().chain(&dir.published));
        let has_volume = volumes.any(|volume| matches!(volume.vol_data, VolData::Read(_)));
        if is_late && (has_volume || self.holds_devices()) {
            self.kubelet_counters();
        }
    }

    /// Whether its API object may have changed since it was seen.
    pub fn is_stale(&self) -> bool {
        self.api.is_some() && self.seen.api.get().is_some_and(|api| api.stale.is_some())
    }

    /// Whether its phase in the API is terminal, where that shows how far the kubelet has come: since 1.27 it reports such a
    /// phase only when no container may run any more and no device is held (`mergePodStatus`). From then on it is never
    /// Running. But while a container of it never ran it is Pending, and stays so until its cgroup is removed (`getPhase`,
    /// `TerminatePod`): that shows nothing.
    pub fn is_reported_ended(&self) -> Option<bool> {
        let pod = self.api.filter(|pod| !pod.mirror && !self.is_stale() && !self.kubelet.tests_together())?;
        match pod.phase.as_str() {
            "Succeeded" | "Failed" => Some(true),
            "Running" => Some(false),
            _ => None,
        }
    }

    /// Whether the kubelet has removed its cgroup, and so, since 1.27, has passed every gate before that. A reboot
    /// takes a cgroup away too, so something of the pod must be younger than the node's start.
    pub fn has_passed_cgroup(&self) -> bool {
        let boot_ms = self.seen.at_ms.saturating_sub(self.seen.uptime_ms);
        let sandboxes = self.sandboxes.iter().map(|sandbox| sandbox.created_ms);
        let containers = self.containers.iter().map(|container| container.created_ms);
        let mut times = sandboxes.chain(containers).chain(self.dir.map(|dir| dir.changed_ms));
        self.seen.cgroups.get().is_some()
            && self.cgroup.is_none()
            && !self.kubelet.tests_together()
            && times.any(|time| time > boot_ms)
    }

    /// Whether the kubelet has lowered its share of the processors, which it does while it waits for volumes
    /// (`ReduceCPULimits`). One that asks for little or nothing has the least all its life (`MilliCPUToShares`).
    pub fn has_lowered_cpu(&self) -> Option<bool> {
        let is_least = self.cgroup?.dirs.iter().find_map(|dir| dir.cpu_at_minimum)?;
        (!is_least || self.api.is_some_and(|pod| pod.asks_for_cpu)).then_some(is_least)
    }

    /// Whether the kubelet holds devices (DRA) for it.
    pub fn holds_devices(&self) -> bool {
        self.seen.node.dra_pods.get().is_some_and(|pods| pods.contains(self.uid()))
    }

    pub fn uid(&self) -> &'a PodUid {
        &self.pod.uid
    }

    /// The shim of this sandbox. A pod in the host's pid namespace can have a process of its name, in a directory of its name.
    pub fn shim(&self, sandbox: &str) -> Option<&'a Shim> {
        self.seen.is_settled(Question::Shims(sandbox.to_owned()));
        let is_others = |shim: &Shim| matches!(&shim.owner, Owner::Pod { uid, .. } if uid != self.uid());
        self.seen.shims.iter().find(|shim| shim.sandbox == sandbox && !is_others(shim))
    }

    /// Milliseconds since its deadline; negative before it, `None` when it is unknown.
    pub fn overdue_ms(&self) -> Option<i64> {
        let since =
            |ms: u64| i64::try_from(self.seen.at_ms).unwrap_or(i64::MAX) - i64::try_from(ms).unwrap_or(i64::MAX);
        match self.why {
            // The deadline is by the server's clock.
            DeletionReason::DeletionRequested(deletion) => {
                Some(since(deletion.deadline_ms).saturating_add(server_ahead_ms(self.seen)))
            }
            // It had no deadline: from its end on the kubelet has nothing to wait for.
            DeletionReason::Completed { finished_ms } => Some(since(finished_ms)),
            // What runs of a pod that was deleted by force has its whole grace period.
            DeletionReason::NotInApi if self.runs() => {
                let api = self.seen.api.get()?;
                let since_ms = api.heard.forgotten.get(self.uid()).copied().or(api.heard.since_ms)?;
                Some(since(since_ms.saturating_add(self.container_grace_s() * 1000)))
            }
            _ => None,
        }
    }

    /// The longest time, in seconds, that one of its containers is given to end, as the runtime knows it.
    pub fn container_grace_s(&self) -> u64 {
        self.containers.iter().filter_map(|container| container.grace_s).max().unwrap_or(30)
    }

    /// Whether its deadline passed at least `ms` milliseconds ago. Where the deadline is unknown, the pod has shown by
    /// itself that it is late, unless its directory has just changed: the kubelet removes what is left of a pod within
    /// seconds after its object is gone.
    pub fn is_overdue_by(&self, ms: u64) -> bool {
        let age = |dir: &PodDir| self.seen.at_ms.saturating_sub(dir.changed_ms);
        let runs = self.containers.iter().any(|container| container.state == ContainerState::Running);
        if self.why == DeletionReason::NotInApi
            && !runs
            && self.dir.is_some_and(|dir| age(dir) < ms.min(RETRY_WINDOW_MS))
        {
            return false;
        }
        self.overdue_ms().is_none_or(|overdue| overdue >= i64::try_from(ms).unwrap_or(i64::MAX))
    }

    /// Every cgroup of the pod's trees, with the hierarchy's directory.
    pub fn cgroup_nodes(&self) -> impl Iterator<Item = (&'a CgroupDir, &'a CgroupNode)> {
        let dirs = self.cgroup.into_iter().flat_map(|cgroup| &cgroup.dirs);
        dirs.flat_map(|dir| dir.tree.get().into_iter().flatten().map(move |node| (dir, node)))
    }

    /// The pod's processes: those in its cgroups, and, because a process that is exiting is shown
    /// elsewhere on cgroup v1, the members of the pid namespaces of its containers.
    pub fn processes(&self) -> Vec<&'a Process> {
        let pids = self.read_processes();
        let is_owned =
            |p: &&Process| pids.contains(&p.pid) || matches!(&p.owner, Owner::Pod { uid, .. } if uid == self.uid());
        let owned: Vec<&Process> = self.seen.processes.iter().filter(is_owned).collect();
        let owned = self.add_members(owned);
        let namespaces: BTreeSet<u64> = owned.iter().filter(|p| p.is_in_container()).filter_map(|p| p.pid_ns).collect();
        let owned: BTreeSet<u32> = owned.iter().map(|process| process.pid).collect();
        let belongs = |p: &&Process| {
            owned.contains(&p.pid) || (p.is_in_container() && p.pid_ns.is_some_and(|ns| namespaces.contains(&ns)))
        };
        self.seen.processes.iter().filter(belongs).collect()
    }

    /// The pids of the pod's cgroups and of its containers and sandboxes, each looked at with all its threads.
    fn read_processes(&self) -> BTreeSet<u32> {
        let mut pids: BTreeSet<u32> = self.cgroup_nodes().flat_map(|(_, node)| node.procs.iter().copied()).collect();
        let inits = self.containers.iter().filter_map(|container| self.init(container));
        let pauses = self.sandboxes.iter().filter_map(|sandbox| self.pause(sandbox));
        pids.extend(inits.chain(pauses).map(|process| process.pid));
        if self.seen.is_recording() {
            pids.iter().for_each(|pid| _ = self.process(*pid));
        }
        pids
    }

    /// Has the members of the pid namespaces looked for that end with one of `processes`.
    fn add_members(&self, processes: Vec<&'a Process>) -> Vec<&'a Process> {
        for process in processes.iter().filter(|process| process.is_in_container() && process.is_dying()) {
            process.pid_ns.map(|ns| self.seen.is_settled(Question::PidNamespace(ns)));
        }
        processes
    }

    /// A process, with all its threads.
    pub fn process(&self, pid: u32) -> Option<&'a Process> {
        self.is_read(pid, Depth::Threads);
        self.seen.process(pid)
    }

    pub fn init(&self, container: &Container) -> Option<&'a Process> {
        let process = self.process(*container.pid.get()?)?;
        let is_stranger = container.started_ms.is_some_and(|started_ms| self.is_stranger(process, started_ms));
        (!is_stranger).then_some(process)
    }

    /// Whether it is known that the init of a container is gone.
    pub fn has_lost_init(&self, container: &Container) -> bool {
        container.pid.get().is_some_and(|pid| self.is_read(*pid, Depth::Threads)) && self.init(container).is_none()
    }

    pub fn pause(&self, sandbox: &Sandbox) -> Option<&'a Process> {
        let process = self.process(*sandbox.pid.get()?)?;
        (!self.is_stranger(process, sandbox.created_ms + RUN_SANDBOX_MS)).then_some(process)
    }

    /// Whether a process has its pid by chance, because the one that began until then is gone: the runtime reports the pid
    /// of that until it has handled its exit. What is in the pod's cgroup is the pod's, whatever the clock says, which may
    /// have been set since.
    fn is_stranger(&self, process: &Process, since_ms: u64) -> bool {
        let may_be_its = match &process.owner {
            Owner::Pod { uid, .. } => uid == self.uid(),
            Owner::Unknown => true,
            Owner::Unit(_) | Owner::Host => false,
        };
        !may_be_its && self.seen.at_ms.saturating_sub(process.age_ms) > since_ms + CLOCK_MS
    }

    /// The parent of a process, with those of its threads that are in D.
    pub fn parent(&self, process: &Process) -> Option<&'a Process> {
        self.is_read(process.parent, Depth::Blocked);
        self.seen.process(process.parent)
    }

    /// Who traces a thread, with those of its own that are in D.
    pub fn tracer(&self, thread: &Thread) -> Option<&'a Process> {
        let pid = thread.tracer?;
        self.is_read(pid, Depth::Blocked);
        self.seen.process(pid)
    }

    /// There is nothing to read of a process without a parent, and of what the runtime has no pid of.
    fn is_read(&self, pid: u32, depth: Depth) -> bool {
        let least = if depth == Depth::Blocked { 1 } else { 0 };
        pid <= least || self.seen.is_settled(Question::Process { pid, depth })
    }

    /// Whether a thread that waits stays where it is. As long as it was seen once only, it is taken to, so
    /// that what it waits for is looked at before it is looked at again.
    pub fn is_steady(&self, process: &Process, thread: &Thread) -> bool {
        thread.steady || !self.seen.is_settled(Question::WaitingThreads(process.pid))
    }

    /// Whether one of its containers or sandboxes runs.
    pub fn runs(&self) -> bool {
        self.containers.iter().any(|container| container.state == ContainerState::Running)
            || self.sandboxes.iter().any(|sandbox| sandbox.ready)
    }

    /// The processes of one container: its init's pid namespace, or its cgroup.
    pub fn processes_of(&self, container: &Container) -> Vec<&'a Process> {
        let init = self.init(container);
        self.read_processes();
        let namespace = init.filter(|p| p.is_in_container()).and_then(|p| p.pid_ns);
        let belongs = |p: &&Process| {
            init.is_some_and(|init| init.pid == p.pid)
                || (is_in_cgroup_of(p, container) && !is_conmon(p))
                || (namespace.is_some() && p.pid_ns == namespace && p.is_in_container())
        };
        self.add_members(self.seen.processes.iter().filter(belongs).collect())
    }

    /// The conmon of a container, where CRI-O puts it into the pod's cgroup (`conmon_cgroup = "pod"`): the name of its own
    /// there has the container's id in it too.
    pub fn conmon_of(&self, container: &Container) -> Option<&'a Process> {
        self.seen.processes.iter().find(|p| is_in_cgroup_of(p, container) && is_conmon(p))
    }

    /// Whether it was tried to read this process, and failed.
    pub fn is_unreadable(&self, pid: u32) -> bool {
        self.seen.faults.iter().any(|fault| fault.source == Source::Process(pid))
    }

    /// The mounts of the kubelet's namespace.
    pub fn kubelet_mounts(&self) -> &'a [Mount] {
        self.seen.mounts.kubelet.get().map(|table| table.mounts.as_slice()).unwrap_or_default()
    }

    /// The kubelet's mount whose mount point is exactly `path`, of several that which is not hidden.
    pub fn mount_at(&self, path: &HostPath) -> Option<&'a Mount> {
        mounted_at(self.kubelet_mounts(), path)
    }

    /// The mounts strictly below `path` in the kubelet's namespace, deepest first.
    pub fn mounts_below(&self, path: &HostPath) -> Vec<&'a Mount> {
        let mut below: Vec<&Mount> = self.kubelet_mounts().iter().filter(|m| m.mount_point.is_below(path)).collect();
        below.sort_by_key(|mount| std::cmp::Reverse(mount.mount_point.as_bytes().len()));
        below
    }

    /// The mounts that one of a process's threads can see.
    pub fn table(&self, process: &Process, thread: &Thread) -> Option<&'a MountTable> {
        let ns = process.mount_ns?;
        self.seen.is_settled(Question::MountTable { ns, tid: thread.tid });
        self.seen.mounts.table(ns)
    }

    /// The mounts that a task may use: those it can see, or, where it has left its mount namespace, those of the kubelet's
    /// that its pod may have: what lies elsewhere below the kubelet's root is another pod's, or is mounted here as well.
    pub fn mounts_of(&self, process: &Process, thread: &Thread) -> Option<Vec<&'a Mount>> {
        if !process.has_left_mounts(thread) {
            return self.table(process, thread).map(|table| table.mounts.iter().collect());
        }
        let root = &self.seen.node.kubelet_root;
        let own = root.join("pods").join(self.uid().as_str());
        let may_be_seen = |mount: &&Mount| mount.mount_point.is_within(&own) || !mount.mount_point.is_below(root);
        Some(self.kubelet_mounts().iter().filter(may_be_seen).collect())
    }

    /// The kubelet's mount that a walk to `path` ends on.
    pub fn mount_of(&self, path: &HostPath) -> Option<&'a Mount> {
        self.seen.is_settled(Question::PathMount(path.clone()));
        self.seen.path_mounts.iter().find(|known| known.path == *path)?.mount.as_ref()
    }

    /// The FUSE connection with this number.
    pub fn fuse(&self, number: u32) -> Option<&'a FuseConnection> {
        self.seen.is_settled(Question::FuseConnection(number));
        self.seen.fuse.iter().find(|connection| connection.number == number)
    }

    /// Whether a search can find every holder there is: with fewer rights it does not prove that there is none.
    pub fn sees_every_holder(&self) -> bool {
        self.seen.rights.get().is_none_or(Rights::sees_every_holder)
    }

    /// The CSI drivers that are registered.
    pub fn csi_drivers(&self) -> Option<&'a Vec<CsiDriver>> {
        self.seen.is_settled(Question::CsiDrivers);
        self.seen.csi.get()
    }

    /// When it was first seen that a CSI driver which it waits for had just come back, in milliseconds.
    pub fn driver_back_ms(&self) -> Option<u64> {
        self.seen.api.get()?.heard.driver_back.get(self.uid()).copied()
    }

    /// What the kubelet counts of its own work.
    pub fn kubelet_counters(&self) -> &'a Seen<KubeletCounters> {
        self.seen.is_settled(Question::KubeletCounters);
        &self.seen.kubelet_counters
    }

    /// What a process can go on writing to, unless another had its pid when that was read.
    pub fn writable_files(&self, process: &Process) -> Option<&'a WritableFiles> {
        self.seen.is_settled(Question::WritableFiles(process.pid));
        let known = self.seen.writable.iter().find(|known| known.pid == process.pid)?;
        known.start_ticks.is_none_or(|start| start == process.start_ticks).then_some(known)
    }

    /// The search for holders of the mount at `path`, if one was made.
    pub fn holders(&self, path: &HostPath) -> Option<&'a HolderSearch> {
        self.seen.holders.iter().find(|search| search.mount_point == *path)
    }
}

fn is_in_cgroup_of(process: &Process, container: &Container) -> bool {
    matches!(&process.owner, Owner::Pod { container: Some(id), .. } if *id == container.id)
}

/// It lives outside of the container that it watches over.
fn is_conmon(process: &Process) -> bool {
    process.comm.starts_with("conmon") && !process.is_in_container()
}
