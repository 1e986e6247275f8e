//! Observations made by hand, for tests of the judgement: what the reference says a situation looks
//! like, where no machine of ours can stage it.

use findings::{PodRef, PodUid};

use super::*;

/// The pod of all samples.
pub const UID: &str = "96fb425e-919e-44f9-8b42-b1254a602ba1";
/// When the samples were taken.
pub const NOW: u64 = 1_790_000_000_000;
/// The init of the sample's container.
pub const INIT: u32 = 326;
/// The shim of the sample's sandbox.
pub const SHIM: u32 = 300;
const CONTAINER: &str = "8cd7aa00112233445566778899aabbccddeeff00112233445566778899aabbcc";
const SANDBOX: &str = "1cd7aa00112233445566778899aabbccddeeff00112233445566778899aabbcc";

pub fn pod() -> PodRef {
    PodRef { namespace: Some("shop".into()), name: Some("db-0".into()), uid: PodUid::parse(UID).unwrap() }
}

/// A healthy node without pods.
pub fn node() -> Observation {
    let kubelet = KubeletFacts {
        pid: 77,
        start_ticks: Some(100),
        comm: "kubelet".into(),
        unit: Some("kubelet.service".into()),
        state: 'S',
        age_ms: 900_000_000,
        mount_ns: Some(1),
        cgroup_driver: Some(CgroupDriver::Systemd),
        cgroup_root: "/".into(),
        healthz: Seen::Seen(Healthz { status: 200, body: "ok".into() }),
        kubeconfig: None,
    };
    Observation {
        schema: Observation::SCHEMA,
        agent_version: "test".into(),
        at_ms: NOW,
        uptime_ms: 1_000_000_000,
        node: NodeFacts {
            name: "node-7".into(),
            kernel: "6.1.0".into(),
            kubelet: Seen::Seen(kubelet),
            kubelet_root: HostPath::from("/var/lib/kubelet"),
            cri_socket: Seen::Seen(HostPath::from("/run/containerd/containerd.sock")),
            cgroup_mounts: vec![CgroupMount { mount_point: HostPath::from("/sys/fs/cgroup"), v1: None }],
            cri_socket_is_kubelets: true,
            init_mount_ns: Some(1),
            ..NodeFacts::default()
        },
        api: Seen::Seen(ApiFacts { kubelet_version: Some("v1.36.2".into()), ..ApiFacts::default() }),
        runtime: Seen::Seen(RuntimeFacts { name: "containerd".into(), version: "2.1.0".into(), ..Default::default() }),
        pod_dirs: Seen::Seen(Vec::new()),
        cgroups: Seen::Seen(Vec::new()),
        mounts: MountTables {
            kubelet: Seen::Seen(MountTable { ns: 1, through_pid: 77, ..Default::default() }),
            ..Default::default()
        },
        looked_into: vec![PodUid::parse(UID).unwrap()],
        ..Observation::default()
    }
}

/// A pod whose deadline passed an hour ago and of which nothing is left on the node.
pub fn deleted() -> Observation {
    let mut seen = node();
    let pod = ApiPod {
        namespace: "shop".into(),
        name: "db-0".into(),
        uid: PodUid::parse(UID).unwrap(),
        deletion: Some(Deletion { deadline_ms: NOW - 3_600_000, grace_s: 30 }),
        phase: "Failed".into(),
        finished_ms: None,
        finalizers: Vec::new(),
        mirror: false,
        claims: Vec::new(),
        claims_not_generated: Vec::new(),
        volume_claims: Vec::new(),
        volumes: Vec::new(),
        controller: None,
        ready: false,
        asks_for_cpu: true,
    };
    seen.api.get_mut().unwrap().pods.push(pod);
    seen
}

/// The same with its container still RUNNING: init, its shim, nothing pending.
pub fn running() -> Observation {
    let mut seen = deleted();
    set_phase(&mut seen, "Running");
    let container = Container {
        id: CONTAINER.into(),
        sandbox: SANDBOX.into(),
        pod: pod(),
        name: "app".into(),
        state: ContainerState::Running,
        created_ms: NOW - 90_000_000,
        grace_s: Some(30),
        pre_stop: false,
        pid: Seen::Seen(INIT),
        started_ms: Some(NOW - 7_200_000),
    };
    let sandbox = Sandbox {
        id: SANDBOX.into(),
        pod: pod(),
        ready: true,
        created_ms: NOW - 7_200_000,
        pid: Seen::Seen(310),
        is_static: false,
        network: Seen::Missing,
    };
    let runtime = seen.runtime.get_mut().unwrap();
    runtime.containers.push(container);
    runtime.sandboxes.push(sandbox);
    let mut init = process(INIT, "sh", 'S', SHIM);
    init.ns_pids = vec![INIT, 1];
    init.pid_ns = Some(500);
    init.mount_ns = Some(600);
    init.owner = Owner::Pod { uid: PodUid::parse(UID).unwrap(), container: Some(CONTAINER.into()) };
    seen.processes = vec![init, process(SHIM, "containerd-shim", 'S', 1)];
    seen
}

/// The kubelet's counters, where this operation has failed twice between the two looks.
pub fn failing(of: Operation, outcome: &str) -> Seen<KubeletCounters> {
    let read = |at_ms: u64, count: u64| {
        let counter = Counter { of: of.clone(), outcome: outcome.to_owned(), count };
        CounterRead { at_ms, counters: vec![counter] }
    };
    Seen::Seen(KubeletCounters { last: read(NOW, 42), earlier: Some(read(NOW - 200_000, 40)) })
}

/// The same with everything in the CRI ended, and one CSI volume mounted.
pub fn mounted(fs_type: &str) -> Observation {
    let mut seen = running();
    seen.processes.clear();
    set_phase(&mut seen, "Failed");
    let runtime = seen.runtime.get_mut().unwrap();
    runtime.containers[0].state = ContainerState::Exited;
    runtime.sandboxes[0].ready = false;
    let path = HostPath::from(format!("/var/lib/kubelet/pods/{UID}/volumes/kubernetes.io~csi/pv-1").as_str());
    let target = path.join("mount");
    let data =
        CsiVolume { driver: "exam.csi".into(), handle: "vol-1".into(), spec_id: "pv-1".into(), ..Default::default() };
    let volume = VolumeDir {
        plugin: "kubernetes.io/csi".into(),
        name: "pv-1".into(),
        path,
        target: Seen::Seen(target.clone()),
        mounted: Seen::Seen(true),
        vol_data: VolData::Read(data),
        failed: None,
        entries: None,
    };
    let volumes = Seen::Seen(vec![volume]);
    seen.pod_dirs = Seen::Seen(vec![PodDir { changed_ms: NOW - 90_000_000, volumes, ..PodDir::new(pod().uid) }]);
    table(&mut seen).push(mount(46, "0:41", target.as_str().unwrap(), fs_type));
    let info = CsiDriverInfo {
        name: "exam.csi".into(),
        endpoint: HostPath::from("/csi.sock"),
        listens: Seen::Seen(true),
        since_ms: Seen::Seen(NOW - 86_400_000),
        is_dra: false,
    };
    seen.csi = Seen::Seen(vec![CsiDriver { socket: HostPath::from("/reg.sock"), info: Seen::Seen(info) }]);
    seen.holders = vec![holder_search(&target, Dev { major: 0, minor: 41 })];
    seen
}

/// The same with a raw block volume instead: the kubelet has removed the link to it, and its driver has not unpublished
/// it. The pod's cgroup is empty.
pub fn published() -> Observation {
    let mut seen = mounted("ext4");
    let devices = HostPath::from("/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices");
    let target = devices.join("publish/pv-1").join(UID);
    let path = devices.join("pv-1/data");
    let block = VolumeDir { path, target: Seen::Seen(target.clone()), ..volume(&mut seen).clone() };
    (pod_dir(&mut seen).volumes, pod_dir(&mut seen).published) = (Seen::Seen(Vec::new()), vec![block]);
    *table(&mut seen) = vec![mount(46, "0:5", target.as_str().unwrap(), "devtmpfs")];
    seen.holders.clear();
    seen.cgroups = cgroup(&[]);
    seen.cgroups.get_mut().unwrap()[0].dirs[0].path =
        HostPath::from("/sys/fs/cgroup/kubepods.slice/kubepods-pod96fb425e.slice");
    seen
}

/// Sets the pod's phase.
pub fn set_phase(seen: &mut Observation, phase: &str) {
    seen.api.get_mut().unwrap().pods[0].phase = phase.into();
}

/// Sets when the pod should be gone.
pub fn set_deadline(seen: &mut Observation, deadline_ms: u64, grace_s: u64) {
    seen.api.get_mut().unwrap().pods[0].deletion = Some(Deletion { deadline_ms, grace_s });
}

pub fn runtime(seen: &mut Observation) -> &mut RuntimeFacts {
    seen.runtime.get_mut().unwrap()
}

/// CRI-O in containerd's place.
pub fn with_crio(seen: &mut Observation) {
    runtime(seen).name = "cri-o".into();
    runtime(seen).version = "1.34.1".into();
    seen.node.cri_socket = Seen::Seen(HostPath::from("/run/crio/crio.sock"));
}

/// The directory of the pod.
pub fn pod_dir(seen: &mut Observation) -> &mut PodDir {
    let dirs = seen.pod_dirs.get_mut().unwrap();
    &mut dirs[0]
}

pub fn volume(seen: &mut Observation) -> &mut VolumeDir {
    let volumes = pod_dir(seen).volumes.get_mut().unwrap();
    &mut volumes[0]
}

/// A sub-path of the pod's volume.
pub fn sub_path(mounted: Seen<bool>, is_file: bool) -> SubPath {
    let path = format!("/var/lib/kubelet/pods/{UID}/volume-subpaths/pv-1/app/0");
    SubPath { volume: "pv-1".into(), container: "app".into(), path: HostPath::from(path.as_str()), mounted, is_file }
}

/// Puts these mounts into the mount namespace of the container.
pub fn container_table(seen: &mut Observation, mounts: Vec<Mount>) {
    seen.mounts.others.push(MountTable { ns: 600, through_pid: INIT, total: mounts.len(), mounts });
}

/// The kubelet's mounts.
pub fn table(seen: &mut Observation) -> &mut Vec<Mount> {
    let table = seen.mounts.kubelet.get_mut().unwrap();
    &mut table.mounts
}

/// A mount of a whole file system.
pub fn mount(id: u32, dev: &str, mount_point: &str, fs_type: &str) -> Mount {
    Mount {
        id,
        parent: 1,
        dev: Dev::parse(dev).unwrap(),
        root: HostPath::from("/"),
        mount_point: HostPath::from(mount_point),
        fs_type: fs_type.into(),
        source: HostPath::from("server:/export"),
        shared: Some(1),
        master: None,
        read_only: false,
        super_read_only: false,
        read_only_options: Vec::new(),
        layers: Layers::default(),
    }
}

/// A private copy of a mount in the mount namespace of a service.
pub fn mount_copy(dev: &str, path: &str) -> MountCopy {
    let mut mount = mount(90, dev, path, "ext4");
    mount.shared = None;
    MountCopy { mount, ns: 900, pid: 700, comm: "ntpd".into(), state: 'S', owner: Owner::Unit("ntpd.service".into()) }
}

/// A process of the host whose working directory is in the volume.
pub fn holder() -> Holder {
    Holder {
        pid: 700,
        start_ticks: 1,
        comm: "backup".into(),
        state: 'S',
        how: HeldBy::Cwd(HostPath::from("/x")),
        copy: CopyKind::Original,
        mount_ns: 1,
        owner: Owner::Host,
    }
}

/// A search without a holder.
pub fn holder_search(mount_point: &HostPath, dev: Dev) -> HolderSearch {
    HolderSearch {
        mount_point: mount_point.clone(),
        dev,
        holders: Vec::new(),
        looked_at: 9,
        unreadable: 0,
        behind_unread_tables: 0,
        unsearched_namespaces: 0,
        socket_candidates: Vec::new(),
        mappings: Seen::Missing,
    }
}

/// A process of the host that was sent a descriptor which it has not received.
pub fn in_flight() -> InFlight {
    InFlight {
        pid: 700,
        start_ticks: 1,
        comm: "broker".into(),
        state: 'S',
        fd: 4,
        count: 1,
        mount_ns: None,
        owner: Owner::Host,
    }
}

/// A FUSE connection with so many requests waiting, whose servers are all known.
pub fn fuse_connection(number: u32, waiting: u32, servers: Vec<FuseServer>) -> FuseConnection {
    FuseConnection { number, waiting: Seen::Seen(waiting), servers, exact: true, probe: Seen::Missing }
}

/// A process that serves a FUSE connection.
pub fn fuse_server(pid: u32, state: char) -> FuseServer {
    FuseServer {
        pid,
        start_ticks: Some(4000),
        comm: "s3fs".into(),
        state,
        wchan: Seen::Seen("tcp_recvmsg".into()),
        age_ms: 9,
        owner: Owner::Host,
    }
}

/// A volume that is staged for no pod.
pub fn staging_mount() -> StagingMount {
    StagingMount {
        path: HostPath::from("/var/lib/kubelet/plugins/kubernetes.io/csi/exam.csi/d2e8/globalmount"),
        dev: Dev { major: 8, minor: 16 },
        driver: "exam.csi".into(),
        vol_data: VolData::Missing,
        used_by: Vec::new(),
        staged_ms: None,
    }
}

/// What the API server knows of the pod's volume.
pub fn persistent_volume() -> PersistentVolume {
    PersistentVolume {
        name: "pv-1".into(),
        driver: "exam.csi".into(),
        handle: "vol-1".into(),
        claim: Some("shop/data-db-0".into()),
        access_modes: Vec::new(),
    }
}

/// A process with one thread that sleeps nowhere special.
pub fn process(pid: u32, comm: &str, state: char, parent: u32) -> Process {
    let thread = Thread {
        tid: pid,
        comm: comm.into(),
        state,
        kill_pending: false,
        exiting: false,
        tracer: None,
        wchan: Seen::Seen(String::new()),
        syscall: Seen::Missing,
        stack: Seen::Missing,
        switches: 7,
        steady: true,
        works_on: None,
        in_exec: false,
    };
    Process {
        pid,
        start_ticks: 1000,
        age_ms: 7_200_000,
        comm: comm.into(),
        state,
        parent,
        thread_count: 1,
        kill_pending: false,
        exiting: false,
        ns_pids: vec![pid],
        pid_ns: Some(400),
        mount_ns: Some(1),
        threads: vec![thread],
        owner: Owner::Host,
        devices: Vec::new(),
    }
}

/// The pod's cgroup with these processes in it.
pub fn cgroup(procs: &[u32]) -> Seen<Vec<PodCgroup>> {
    let node = CgroupNode { below: HostPath::default(), procs: procs.to_vec(), freezer: Freezer::Thawed };
    let dir = CgroupDir {
        path: HostPath::from("/sys/fs/cgroup/kubepods/pod"),
        hierarchy: "v2".into(),
        known_to_runtime: true,
        cpu_at_minimum: None,
        dirty_bytes: None,
        tree: Seen::Seen(vec![node]),
    };
    Seen::Seen(vec![PodCgroup { uid: pod().uid, dirs: vec![dir] }])
}

/// Puts the first thread of `pid` into D in `wchan` with a SIGKILL pending.
pub fn block(seen: &mut Observation, pid: u32, wchan: &str) {
    let process = seen.processes.iter_mut().find(|process| process.pid == pid).unwrap();
    process.kill_pending = true;
    process.threads[0].state = 'D';
    process.threads[0].kill_pending = true;
    process.threads[0].wchan = Seen::Seen(wchan.into());
}

/// Lets the first thread of `pid` hang on its way out in `wchan`: the kernel drops a SIGKILL sent then.
pub fn exit_blocked(seen: &mut Observation, pid: u32, state: char, wchan: &str) {
    let process = seen.processes.iter_mut().find(|process| process.pid == pid).unwrap();
    (process.exiting, process.threads[0].exiting) = (true, true);
    (process.state, process.threads[0].state) = (state, state);
    process.threads[0].wchan = Seen::Seen(wchan.into());
}

/// Judges, and names the causes of the only pod.
pub fn causes(seen: &Observation) -> Vec<&'static str> {
    #[cfg(test)]
    crate::plan::tests::check(seen);
    let report = crate::gates::judge(seen);
    #[cfg(test)]
    kept(&report);
    report.pods.iter().flat_map(|pod| &pod.findings).map(|finding| finding.cause.0.id).collect()
}

/// Judges, and names the causes that are the node's.
pub fn node_causes(seen: &Observation) -> Vec<&'static str> {
    #[cfg(test)]
    crate::plan::tests::check(seen);
    let report = crate::gates::judge(seen);
    #[cfg(test)]
    kept(&report);
    report.node_findings.iter().map(|found| found.finding.cause.0.id).collect()
}

/// What names a cause that no scenario shows is an answer for its page.
#[cfg(test)]
fn kept(report: &findings::NodeReport) {
    use findings::render::{self, Detail, Page, Style};
    use findings::{Confidence, Proven, Verdict};
    let Some(test) = answers::current_test() else { return };
    let of_pods = report.pods.iter().flat_map(|pod| pod.findings.iter().map(move |finding| (finding, pod.verdict)));
    let of_node = report.node_findings.iter().map(|found| (&found.finding, report.verdict));
    let all: Vec<_> = of_pods.chain(of_node).collect();
    for (finding, verdict) in &all {
        let cause = finding.cause.id;
        if matches!(finding.cause.diagnosis, Proven::Lab(scenario) if answers::is_shown_by(scenario, cause)) {
            continue;
        }
        let mut page = Page::new(80, Style::Plain);
        render::finding(&mut page, finding);
        page.gap();
        render::remedy(&mut page, finding, "why-terminating-agent", Detail::Short);
        let lacks_a_step = finding.remedy.steps.len() < finding.cause.safe.len();
        let faults =
            [all.len() > 1, *verdict != Verdict::Stuck, finding.confidence != Confidence::Proven, lacks_a_step];
        let answer = answers::Answer { cause, faults: &faults, text: &page.finish() };
        answers::check_kept(&answers::folder("node"), &test, &answer);
    }
}

/// Judges, and gives the verdict of the only pod.
pub fn verdict(seen: &Observation) -> findings::Verdict {
    #[cfg(test)]
    crate::plan::tests::check(seen);
    let report = crate::gates::judge(seen);
    report.pods.first().map_or(findings::Verdict::Clear, |pod| pod.verdict)
}
