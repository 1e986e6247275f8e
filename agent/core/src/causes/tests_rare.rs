//! Causes that are rare or that the lab does not stage, from observations made after the reference.

use crate::observation::{
    sample::{self, INIT, SHIM, UID, causes, mount, process, table},
    *,
};

fn dir(seen: &mut Observation) -> &mut PodDir {
    let Seen::Seen(dirs) = &mut seen.pod_dirs else { unreachable!() };
    &mut dirs[0]
}

fn volume(seen: &mut Observation) -> &mut VolumeDir {
    let Seen::Seen(volumes) = &mut dir(seen).volumes else { unreachable!() };
    &mut volumes[0]
}

fn runtime(seen: &mut Observation) -> &mut RuntimeFacts {
    let Seen::Seen(runtime) = &mut seen.runtime else { unreachable!() };
    runtime
}

fn node_causes(seen: &Observation) -> Vec<&'static str> {
    crate::gates::judge(seen).node_findings.iter().map(|found| found.finding.cause.0.id).collect()
}

fn sub_path(mounted: Seen<bool>, is_file: bool) -> SubPath {
    let path = format!("/var/lib/kubelet/pods/{UID}/volume-subpaths/pv-1/app/0");
    SubPath { volume: "pv-1".into(), container: "app".into(), path: HostPath::from(path.as_str()), mounted, is_file }
}

/// The pod has ended and is not in the API.
fn forgotten() -> Observation {
    let mut seen = sample::mounted("ext4");
    let Seen::Seen(api) = &mut seen.api else { unreachable!() };
    api.pods.clear();
    table(&mut seen).clear();
    seen
}

#[test]
fn a_live_process_in_the_cgroup() {
    let mut seen = sample::deleted();
    seen.processes.push(process(900, "sync", 'S', 1));
    seen.cgroups = sample::cgroup(&[900]);
    assert_eq!(causes(&seen), ["CgroupProcessAlive"]);
}

#[test]
fn a_runtime_whose_socket_nobody_listens_on() {
    let mut seen = sample::deleted();
    seen.runtime =
        Seen::Failed(Fault::new("CRI", (FaultKind::Refused, "cannot be reached: Connection refused (os error 111)")));
    assert_eq!(node_causes(&seen), ["RuntimeNotReachable"]);
    seen.runtime =
        Seen::Failed(Fault::new("CRI", (FaultKind::Denied, "cannot be reached: Permission denied (os error 13)")));
    assert_eq!(node_causes(&seen), Vec::<&str>::new());
}

#[test]
fn a_relist_that_is_stale() {
    let mut seen = sample::running();
    let Seen::Seen(kubelet) = &mut seen.node.kubelet else { unreachable!() };
    let body = "[-]pleg failed: pleg was last seen active 4m0s ago; threshold is 3m0s";
    kubelet.healthz = Seen::Seen(Healthz { status: 500, body: body.into() });
    assert_eq!(node_causes(&seen), ["PlegStalled"]);
}

#[test]
fn a_loop_device_on_a_file_in_the_volume() {
    let mut seen = sample::mounted("ext4");
    seen.holders[0].holders.push(Holder {
        pid: 0,
        start_ticks: 0,
        comm: String::new(),
        state: ' ',
        how: How::Loop { device: "/dev/loop3".into(), file: HostPath::from("/x/disk.img") },
        copy: Copy::Original,
        mount_ns: 1,
        owner: Owner::Host,
    });
    assert_eq!(causes(&seen), ["VolumeHeldByLoopDevice"]);
}

#[test]
fn a_mount_below_a_sub_path() {
    let mut seen = sample::mounted("ext4");
    dir(&mut seen).sub_paths.push(sub_path(Seen::Seen(true), false));
    let path = sub_path(Seen::Missing, false).path;
    table(&mut seen).push(mount(50, "0:41", path.as_str().unwrap(), "ext4"));
    table(&mut seen).push(mount(51, "0:60", path.join("inner").as_str().unwrap(), "tmpfs"));
    assert!(causes(&seen).contains(&"NestedMountUnderSubPath"));
}

#[test]
fn a_sub_path_with_a_stale_handle() {
    let mut seen = sample::mounted("ext4");
    let fault = Fault::new("statx", (FaultKind::Stale, "/x: Stale file handle (os error 116)"));
    dir(&mut seen).sub_paths.push(sub_path(Seen::Failed(fault), false));
    assert!(causes(&seen).contains(&"SubPathStaleHandle"));
}

#[test]
fn an_empty_directory_that_is_left() {
    let mut seen = sample::mounted("ext4");
    table(&mut seen).clear();
    volume(&mut seen).mounted = Seen::Seen(false);
    volume(&mut seen).vol_data = VolData::NotCsi;
    volume(&mut seen).plugin = "kubernetes.io/nfs".into();
    volume(&mut seen).entries = Some(0);
    assert_eq!(causes(&seen), ["MountDirectoryLeft"]);
}

#[test]
fn a_block_device_with_something_built_on_it() {
    let mut seen = sample::mounted("ext4");
    seen.loops.push(LoopDevice {
        device: "/dev/loop0".into(),
        dev: Dev { major: 7, minor: 0 },
        file: HostPath::from(format!("/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/pv/dev/{UID}").as_str()),
        deleted: false,
        holders: vec!["dm-3".into()],
    });
    assert!(causes(&seen).contains(&"BlockDeviceHeld"));
}

#[test]
fn a_sub_path_file_of_a_forgotten_pod() {
    let mut seen = forgotten();
    dir(&mut seen).volumes = Seen::Seen(Vec::new());
    dir(&mut seen).sub_paths.push(sub_path(Seen::Seen(false), true));
    dir(&mut seen).strays.push(HostPath::from("/x"));
    assert_eq!(causes(&seen), ["OrphanedSubPathFile"]);
}

#[test]
fn an_orphan_whose_directory_has_just_changed_is_on_its_way() {
    let mut seen = forgotten();
    volume(&mut seen).mounted = Seen::Seen(false);
    assert_eq!(causes(&seen), ["OrphanedPodDirectory"]);
    assert_eq!(sample::verdict(&seen), findings::Verdict::Stuck);
    dir(&mut seen).changed_ms = sample::NOW - 2_000;
    assert_eq!(sample::verdict(&seen), findings::Verdict::Progressing);
}

#[test]
fn a_sandbox_that_stays_ready_and_a_container_of_unknown_state() {
    let mut seen = sample::running();
    seen.processes = vec![process(310, "pause", 'S', SHIM), process(SHIM, "containerd-shim", 'S', 1)];
    runtime(&mut seen).containers[0].state = ContainerState::Exited;
    runtime(&mut seen).containers[0].pid = Seen::Seen(INIT);
    assert_eq!(causes(&seen), ["SandboxNotStopped"]);
    runtime(&mut seen).containers[0].state = ContainerState::Unknown;
    assert_eq!(causes(&seen), ["SandboxNotStopped", "ContainerStateUnknown"]);
}

#[test]
fn an_old_static_pod_that_holds_its_name() {
    let mut seen = sample::running();
    seen.api = Seen::Missing;
    let mut old = runtime(&mut seen).containers[0].clone();
    old.pod.uid = findings::PodUid::parse("0123456789abcdef0123456789abcdef").unwrap();
    let mut new = old.clone();
    new.pod.uid = findings::PodUid::parse("1123456789abcdef0123456789abcdef").unwrap();
    new.created_ms += 60_000;
    runtime(&mut seen).containers = vec![old.clone(), new];
    assert_eq!(node_causes(&seen), ["StaticPodNameHeld"]);
    runtime(&mut seen).containers = vec![old];
    assert_eq!(node_causes(&seen), Vec::<&str>::new());
}

#[test]
fn a_map_that_has_lost_its_paths() {
    let mut seen = sample::mounted("xfs");
    let dev = Dev { major: 253, minor: 4 };
    table(&mut seen)[0].dev = dev;
    let path = |device: &str, state: &str| MultipathPath { device: device.into(), state: Some(state.into()) };
    let paths = vec![path("sdb", "offline"), path("sdc", "transport-offline")];
    seen.multipath = vec![MultipathMap { mounted: dev, name: "mpatha".into(), device: "dm-3".into(), paths }];
    assert_eq!(causes(&seen), ["MultipathStale"]);
    assert_eq!(crate::gates::judge(&seen).pods[0].findings[0].confidence, findings::Confidence::Probable);
    seen.multipath[0].paths[1].state = Some("running".into());
    assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"]);
    seen.multipath[0].paths[1].state = None;
    assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"], "what is not told is not dead");
    seen.multipath[0].paths.clear();
    assert_eq!(causes(&seen), ["MultipathStale"]);
    seen.multipath[0].mounted = Dev { major: 253, minor: 9 };
    assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"], "it is another volume's");
}
