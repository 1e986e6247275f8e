//! What each cause needs before it is claimed; situations that the lab stages for real are tested
//! there, these are made after the reference.

use findings::{Confidence, Verdict};

use crate::observation::{
    sample::{self, INIT, UID, block, causes, mount, process, table, verdict},
    *,
};

fn container_table(seen: &mut Observation, mounts: Vec<Mount>) {
    seen.mounts.others.push(MountTable { ns: 600, through_pid: INIT, total: mounts.len(), mounts });
}

fn fuse_connection(number: u32, waiting: u32, servers: Vec<FuseServer>) -> FuseConnection {
    FuseConnection { number, waiting: Seen::Seen(waiting), servers, exact: true, probe: Seen::Missing }
}

fn server(pid: u32, state: char) -> FuseServer {
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

fn runtime(seen: &mut Observation) -> &mut RuntimeFacts {
    let Seen::Seen(runtime) = &mut seen.runtime else { unreachable!() };
    runtime
}

#[test]
fn a_task_on_nfs_names_the_server() {
    let mut seen = sample::running();
    block(&mut seen, INIT, "rpc_wait_bit_killable");
    container_table(&mut seen, vec![mount(9, "0:55", "/data", "nfs4")]);
    assert_eq!(causes(&seen), ["NfsServerNotResponding"]);
    assert_eq!(verdict(&seen), Verdict::Stuck);
    let finding = crate::gates::judge(&seen).pods[0].findings[0].clone();
    assert!(finding.chain.last().unwrap().state.contains("server:/export"), "{finding:?}");
}

#[test]
fn of_two_nfs_mounts_neither_is_accused() {
    let mut seen = sample::running();
    block(&mut seen, INIT, "nfs4_wait_clnt_recover");
    container_table(&mut seen, vec![mount(9, "0:55", "/a", "nfs4"), mount(10, "0:56", "/b", "nfs4")]);
    let finding = crate::gates::judge(&seen).pods[0].findings[0].clone();
    assert_eq!((finding.cause.id, finding.confidence), ("NfsServerNotResponding", Confidence::Probable));
}

#[test]
fn only_the_connection_with_waiting_requests_is_accused() {
    let mut seen = sample::running();
    block(&mut seen, INIT, "request_wait_answer");
    container_table(
        &mut seen,
        vec![mount(9, "0:40", "/mnt/media", "fuse.s3fs"), mount(10, "0:41", "/mnt/other", "fuse.sshfs")],
    );
    seen.fuse = vec![fuse_connection(40, 1, vec![server(4111, 'S')]), fuse_connection(41, 0, vec![server(4112, 'S')])];
    let finding = crate::gates::judge(&seen).pods[0].findings[0].clone();
    assert_eq!((finding.cause.id, finding.confidence), ("FuseServerNotResponding", Confidence::Proven));
    let text = serde_json::to_string(&finding).unwrap();
    assert!(text.contains("4111") && !text.contains("4112"), "{text}");
    assert!(text.contains("/sys/fs/fuse/connections/40/abort"), "{text}");
}

/// As on Linux 5.10 without CAP_SYS_ADMIN: wchan says 0, and the stack may not be read.
fn untold(seen: &mut Observation) {
    block(seen, INIT, "");
    let refused = Fault::new(
        format!("/proc/{INIT}/task/{INIT}/stack"),
        (FaultKind::Denied, "Operation not permitted (os error 1)"),
    );
    seen.processes[0].threads[0].stack = Seen::Failed(refused);
}

#[test]
fn a_fuse_server_is_only_likely_where_the_kernel_does_not_tell() {
    let mut seen = sample::running();
    untold(&mut seen);
    container_table(&mut seen, vec![mount(9, "0:40", "/mnt/media", "fuse.s3fs")]);
    seen.fuse = vec![fuse_connection(40, 1, vec![server(4111, 'S')])];
    let finding = crate::gates::judge(&seen).pods[0].findings[0].clone();
    assert_eq!((finding.cause.id, finding.confidence), ("FuseServerNotResponding", Confidence::Probable));
    assert!(finding.evidence.iter().any(|one| one.says.contains("CAP_SYS_ADMIN")), "{finding:?}");
    seen.fuse = vec![fuse_connection(40, 0, vec![server(4111, 'S')])];
    let finding = crate::gates::judge(&seen).pods[0].findings[0].clone();
    assert_eq!(finding.cause.id, "UninterruptibleTask", "nobody waits for that server");
    assert!(finding.evidence.iter().any(|one| one.says.contains("CAP_SYS_ADMIN")), "{finding:?}");
}

#[test]
fn a_d_state_nobody_knows_stays_unexplained() {
    let mut seen = sample::running();
    block(&mut seen, INIT, "io_schedule");
    assert_eq!(causes(&seen), ["UninterruptibleTask"]);
}

#[test]
fn a_d_state_without_a_kill_is_no_cause() {
    let mut seen = sample::running();
    seen.processes[0].threads[0].state = 'D';
    assert_eq!(causes(&seen), ["KillNotAttempted"]);
}

#[test]
fn a_process_that_is_gone_while_the_cri_says_running() {
    let mut seen = sample::running();
    seen.processes.clear();
    assert_eq!(causes(&seen), ["RuntimeLostExit"]);
    // It could not be read: then nothing is claimed of it.
    seen.faults.push(Fault::new(Source::Process(INIT), (FaultKind::Denied, "Permission denied")));
    assert_eq!(causes(&seen), Vec::<&str>::new());
}

#[test]
fn a_stopped_shim() {
    let mut seen = sample::running();
    seen.processes[1].state = 'T';
    assert_eq!(causes(&seen), ["ShimNotResponding"]);
}

#[test]
fn a_shim_that_is_gone() {
    let mut seen = sample::running();
    seen.processes[0].parent = 1;
    assert_eq!(causes(&seen), ["ShimGone"]);
    runtime(&mut seen).name = "cri-o".into();
    assert_eq!(causes(&seen), ["CrioStopLoopStuck"], "conmon is no shim");
}

#[test]
fn an_init_that_its_shim_does_not_reap() {
    let mut seen = sample::running();
    seen.processes[0].state = 'Z';
    seen.processes[0].threads[0].state = 'Z';
    assert_eq!(causes(&seen), ["ContainerInitUnreaped"]);
}

#[test]
fn a_zombie_inside_with_a_parent_inside_is_no_cause() {
    let mut seen = sample::running();
    seen.processes[0].threads[0].wchan = Seen::Seen("zap_pid_ns_processes".into());
    let mut zombie = process(338, "probe", 'Z', INIT);
    zombie.pid_ns = Some(500);
    zombie.ns_pids = vec![338, 7];
    seen.processes.push(zombie);
    assert!(!causes(&seen).contains(&"PidNamespaceZombieUnreaped"));
    // The same zombie with a parent outside.
    seen.processes[2].parent = 900;
    seen.processes.push(process(900, "nsenter", 'S', 1));
    assert_eq!(causes(&seen), ["PidNamespaceZombieUnreaped"]);
}

#[test]
fn frozen_on_v1_only() {
    let mut seen = sample::running();
    let node = CgroupNode { below: HostPath::from("c"), procs: vec![INIT], freezer: Freezer::Frozen };
    let mut dir = CgroupDir {
        path: HostPath::from("/sys/fs/cgroup/freezer/kubepods/pod"),
        hierarchy: "freezer".into(),
        known_to_runtime: true,
        cpu_at_minimum: None,
        tree: Seen::Seen(vec![node]),
    };
    let cgroup = |dir: &CgroupDir| Seen::Seen(vec![PodCgroup { uid: sample::pod().uid, dirs: vec![dir.clone()] }]);
    seen.cgroups = cgroup(&dir);
    assert_eq!(causes(&seen), ["CgroupFrozen"]);
    dir.hierarchy = "v2".into();
    seen.cgroups = cgroup(&dir);
    assert_eq!(causes(&seen), ["KillNotAttempted"]);
}

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
    // A plugin that is loaded and not ready is called all the same.
    runtime(&mut seen).unready.push(("NetworkReady".into(), "plugin status check failed".into()));
    assert_eq!(causes(&seen), ["CniTeardownFailing"]);
    runtime(&mut seen).name = "cri-o".into();
    runtime(&mut seen).unready[0].1 = "No CNI configuration file in /etc/cni/net.d/.".into();
    assert_eq!(causes(&seen), ["CniNotInitialized"]);
}

#[test]
fn a_network_of_the_node_that_is_not_ready_is_told_once() {
    let mut seen = sample::running();
    seen.processes.clear();
    let facts = runtime(&mut seen);
    facts.containers[0].state = ContainerState::Exited;
    facts.sandboxes[0].ready = false;
    facts.unready.push(("NetworkReady".into(), "Network plugin returns error: cni plugin not initialized".into()));
    let network = NetworkNamespace { path: HostPath::from("/var/run/netns/cni-1"), pinned: false, missing: true };
    facts.sandboxes[0].network = Seen::Seen(network.clone());
    assert_eq!(crate::gates::judge(&seen).node_findings, [], "it holds nothing here");
    runtime(&mut seen).sandboxes[0].network = Seen::Seen(NetworkNamespace { pinned: true, ..network });
    let report = crate::gates::judge(&seen);
    assert_eq!(report.node_findings[0].finding.cause.id, "NetworkNotReady");
    assert_eq!(report.node_findings[0].pods, [sample::pod()]);
    assert_eq!((report.pods[0].verdict, report.pods[0].findings.len()), (Verdict::Stuck, 0));
    runtime(&mut seen).name = "cri-o".into();
    assert_eq!(causes(&seen), ["CniTeardownFailing"], "it may go by its cache");
}

#[test]
fn a_driver_that_is_not_registered_is_named() {
    let mut seen = sample::mounted("ext4");
    seen.csi = Seen::Seen(Vec::new());
    assert_eq!(causes(&seen), ["CsiDriverNotRegistered"]);
    // It could not be asked which drivers there are: nothing is said of them.
    seen.csi = Seen::Failed(Fault::new("/var/lib/kubelet/plugins_registry", (FaultKind::Denied, "Permission denied")));
    assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"]);
}

#[test]
fn a_volume_nobody_holds_is_at_first_only_on_its_way() {
    let mut seen = sample::mounted("ext4");
    let Seen::Seen(api) = &mut seen.api else { unreachable!() };
    api.pods[0].deletion = Some(Deletion { deadline_ms: sample::NOW - 60_000, grace_s: 30 });
    assert_eq!(causes(&seen), ["VolumeMountedNoHolder"]);
    assert_eq!(verdict(&seen), Verdict::Progressing);
}

#[test]
fn a_private_copy_is_blamed_for_nothing() {
    let mut seen = sample::mounted("ext4");
    let holder = Holder {
        pid: 700,
        start_ticks: 1,
        comm: "exporter".into(),
        state: 'S',
        how: How::Cwd(HostPath::from("/host/x")),
        copy: Copy::Private,
        mount_ns: 9,
        owner: Owner::Host,
    };
    seen.holders[0].holders.push(holder);
    assert!(!serde_json::to_string(&crate::gates::judge(&seen)).unwrap().contains("exporter"));
    seen.holders[0].holders[0].copy = Copy::Propagated;
    assert_eq!(causes(&seen), ["VolumeHeldInOtherNamespace"]);
}

#[test]
fn a_volume_on_nfs_whose_umount_hangs() {
    let mut seen = sample::mounted("nfs4");
    let mut umount = process(801, "umount.nfs4", 'S', 77);
    umount.threads[0].state = 'D';
    umount.threads[0].wchan = Seen::Seen("rpc_wait_bit_killable".into());
    seen.processes.push(umount);
    assert_eq!(causes(&seen), ["NfsServerNotResponding"]);
}

#[test]
fn a_mount_that_the_kubelet_cannot_see() {
    let mut seen = sample::mounted("ext4");
    let hidden = table(&mut seen).remove(0);
    seen.mounts.init = Seen::Seen(MountTable { ns: 2, through_pid: 1, total: 1, mounts: vec![hidden] });
    assert_eq!(causes(&seen), ["MountHiddenFromKubelet"]);
}

#[test]
fn a_cgroup_in_a_hierarchy_the_runtime_does_not_know_holds_nothing() {
    let mut seen = sample::deleted();
    let dir = CgroupDir {
        path: HostPath::from(format!("/sys/fs/cgroup/files/kubepods/pod{UID}").as_str()),
        hierarchy: "files".into(),
        known_to_runtime: false,
        cpu_at_minimum: None,
        tree: Seen::Missing,
    };
    seen.cgroups = Seen::Seen(vec![PodCgroup { uid: sample::pod().uid, dirs: vec![dir] }]);
    let pod = &crate::gates::judge(&seen).pods[0];
    assert_ne!(pod.gate, Some(findings::Gate::CgroupRemoved));
    let report = crate::gates::judge(&seen);
    assert_eq!(report.node_findings[0].finding.cause.id, "CgroupHierarchyUnknown");
}

#[test]
fn a_finalizer_is_not_the_node() {
    let mut seen = sample::deleted();
    let Seen::Seen(api) = &mut seen.api else { unreachable!() };
    api.pods[0].finalizers = vec!["example.com/hold".into()];
    assert_eq!(causes(&seen), ["FinalizersRemain"]);
}

#[test]
fn a_status_that_is_not_reported() {
    let mut seen = sample::deleted();
    sample::set_phase(&mut seen, "Running");
    assert_eq!(causes(&seen), ["StatusNotReported"]);
}

#[test]
fn devices_of_a_driver_that_is_gone() {
    let mut seen = sample::deleted();
    sample::set_phase(&mut seen, "Running");
    seen.node.dra_pods = Seen::Seen(vec![sample::pod().uid]);
    assert_eq!(causes(&seen), ["DraDriverGone"]);
}

#[test]
fn a_kubelet_that_says_its_sync_loop_hangs() {
    let mut seen = sample::mounted("ext4");
    let Seen::Seen(kubelet) = &mut seen.node.kubelet else { unreachable!() };
    kubelet.healthz =
        Seen::Seen(Healthz { status: 500, body: "[-]syncloop failed: sync Loop took longer than expected".into() });
    let report = crate::gates::judge(&seen);
    assert_eq!(report.node_findings[0].finding.cause.id, "KubeletSyncLoopHung");
    assert_eq!(report.node_findings[0].pods.len(), 1);
}

#[test]
fn no_kubelet_and_a_pod_that_should_be_gone() {
    let mut seen = sample::running();
    seen.node.kubelet = Seen::Missing;
    let report = crate::gates::judge(&seen);
    assert_eq!(report.node_findings[0].finding.cause.id, "KubeletNotRunning");
}

#[test]
fn cri_o_has_its_own_words_for_it() {
    let mut seen = sample::running();
    runtime(&mut seen).name = "cri-o".into();
    assert_eq!(causes(&seen), ["CrioStopLoopStuck"]);
    seen.processes.clear();
    assert_eq!(causes(&seen), ["ConmonGone"]);
}

#[test]
fn runc_that_never_became_the_container() {
    let mut seen = sample::running();
    seen.processes[0].comm = "runc:[2:INIT]".into();
    assert_eq!(causes(&seen), ["RuncInitStuck"]);
}

fn volume(seen: &mut Observation) -> &mut VolumeDir {
    let Seen::Seen(dirs) = &mut seen.pod_dirs else { unreachable!() };
    let Seen::Seen(volumes) = &mut dirs[0].volumes else { unreachable!() };
    &mut volumes[0]
}

#[test]
fn a_plugin_that_the_kubelet_no_longer_has() {
    let mut seen = sample::mounted("ceph");
    volume(&mut seen).plugin = "kubernetes.io/rbd".into();
    volume(&mut seen).vol_data = VolData::NotCsi;
    assert_eq!(causes(&seen), ["VolumePluginRemoved"]);
    let Seen::Seen(api) = &mut seen.api else { unreachable!() };
    api.kubelet_version = Some("v1.29.0".into());
    assert_eq!(causes(&seen), ["VolumeMountedNoHolder"]);
}

#[test]
fn a_secret_that_a_restarted_kubelet_forgot() {
    let mut seen = sample::mounted("tmpfs");
    volume(&mut seen).plugin = "kubernetes.io/secret".into();
    volume(&mut seen).vol_data = VolData::NotCsi;
    assert_eq!(causes(&seen), ["VolumeMountedNoHolder"]);
    let Seen::Seen(kubelet) = &mut seen.node.kubelet else { unreachable!() };
    kubelet.age_ms = 600_000;
    assert_eq!(causes(&seen), ["VolumeNotReconstructed"]);
}

#[test]
fn a_target_that_is_not_mounted_and_not_cleaned_up() {
    let mut seen = sample::mounted("ext4");
    table(&mut seen).clear();
    volume(&mut seen).mounted = Seen::Seen(false);
    assert_eq!(causes(&seen), ["CsiUnpublishFails"]);
    volume(&mut seen).vol_data = VolData::NotCsi;
    volume(&mut seen).plugin = "kubernetes.io/empty-dir".into();
    volume(&mut seen).entries = Some(3);
    assert_eq!(causes(&seen), ["VolumeDirectoryNotEmpty"]);
    let mut root = mount(1, "8:1", "/var/lib/kubelet", "ext4");
    root.super_read_only = true;
    table(&mut seen).push(root);
    assert_eq!(causes(&seen), ["FileSystemReadOnly"]);
}

#[test]
fn two_mounts_on_one_path() {
    let mut seen = sample::mounted("tmpfs");
    volume(&mut seen).vol_data = VolData::NotCsi;
    let again = table(&mut seen)[0].clone();
    table(&mut seen).push(again);
    assert_eq!(causes(&seen), ["KubeletRootAmbiguous"]);
}

#[test]
fn a_sub_path_whose_target_was_deleted() {
    let mut seen = sample::mounted("tmpfs");
    let path = format!("/var/lib/kubelet/pods/{UID}/volume-subpaths/pv-1/app/0//deleted");
    table(&mut seen).push(mount(50, "0:41", &path, "tmpfs"));
    assert_eq!(causes(&seen), ["SubPathTargetMissing"]);
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
            tree: Seen::Seen(vec![CgroupNode {
                below: HostPath::default(),
                procs: Vec::new(),
                freezer: Freezer::Thawed,
            }]),
        };
        Seen::Seen(vec![PodCgroup { uid: sample::pod().uid, dirs: vec![dir] }])
    };
    seen.cgroups = cgroup(format!("/sys/fs/cgroup/kubepods.slice/kubepods-pod{}.slice", UID.replace('-', "_")));
    assert_eq!(causes(&seen), ["KubeletRemembersVolume"]);
    let Seen::Seen(cgroups) = &mut seen.cgroups else { unreachable!() };
    cgroups[0].dirs[0].cpu_at_minimum = Some(false);
    assert_eq!(causes(&seen), ["CgroupSystemdTimeout"]);
    seen.cgroups = cgroup(format!("/sys/fs/cgroup/kubepods/pod{UID}"));
    assert_eq!(causes(&seen), ["KubeletRemembersVolume"]);
}

#[test]
fn a_task_that_moved_between_two_looks_is_no_cause() {
    let mut seen = sample::running();
    block(&mut seen, INIT, "io_schedule");
    seen.processes[0].threads[0].steady = false;
    assert_eq!(causes(&seen), Vec::<&str>::new());
}

#[test]
fn a_busy_fuse_volume_with_a_server_that_answers_is_not_accused() {
    let mut seen = sample::mounted("fuse.s3fs");
    volume(&mut seen).vol_data = VolData::NotCsi;
    let mut connection = fuse_connection(41, 5, vec![server(4111, 'S')]);
    connection.probe = Seen::Seen(FuseProbe::Answers);
    seen.fuse = vec![connection.clone()];
    assert_eq!(causes(&seen), ["VolumeMountedNoHolder"]);
    connection.probe = Seen::Seen(FuseProbe::Silent);
    seen.fuse = vec![connection.clone()];
    assert_eq!(causes(&seen), ["FuseServerNotResponding"]);
    connection.probe = Seen::Seen(FuseProbe::Dead);
    seen.fuse = vec![connection];
    assert_eq!(causes(&seen), ["FuseServerGone"]);
}

#[test]
fn a_search_that_found_no_server_is_only_probable() {
    let mut seen = sample::mounted("fuse.s3fs");
    volume(&mut seen).vol_data = VolData::NotCsi;
    seen.fuse = vec![fuse_connection(41, 0, Vec::new())];
    let finding = crate::gates::judge(&seen).pods[0].findings[0].clone();
    assert_eq!((finding.cause.id, finding.confidence), ("FuseServerGone", Confidence::Probable));
}

#[test]
fn nobody_is_told_to_kill_what_a_node_needs() {
    for (pid, comm) in
        [(1, "systemd"), (77, "anything"), (500, "containerd"), (501, "containerd-shim"), (502, "conmon")]
    {
        let mut seen = sample::mounted("ext4");
        let holder = Holder {
            pid,
            start_ticks: 1,
            comm: comm.into(),
            state: 'S',
            how: How::Cwd(HostPath::from("/x")),
            copy: Copy::Propagated,
            mount_ns: 9,
            owner: Owner::Host,
        };
        seen.holders[0].holders.push(holder);
        let report = crate::gates::judge(&seen);
        let steps = report.pods.iter().flat_map(|pod| &pod.findings).flat_map(|finding| &finding.remedy.steps);
        let commands: Vec<&String> = steps.filter_map(|step| step.command.as_ref()).collect();
        assert!(commands.iter().all(|command| !command.contains(&format!("kill {pid}"))), "{comm}: {commands:?}");
        assert!(commands.iter().all(|command| !command.contains(&format!("kill -9 {pid}"))), "{comm}: {commands:?}");
    }
}

#[test]
fn a_loop_device_of_a_pod_that_runs_is_not_left() {
    let mut seen = sample::running();
    seen.loops = vec![LoopDevice {
        device: "/dev/loop0".into(),
        dev: Dev { major: 7, minor: 0 },
        file: HostPath::from(format!("/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/pv/dev/{UID}").as_str()),
        deleted: false,
        holders: Vec::new(),
    }];
    assert_eq!(crate::gates::judge(&seen).node_findings, []);
    let mut gone = sample::node();
    gone.loops = seen.loops;
    assert_eq!(crate::gates::judge(&gone).node_findings[0].finding.cause.id, "LoopDeviceLeft");
}

#[test]
fn a_cgroup_task_in_d_for_an_unknown_reason() {
    let mut seen = sample::deleted();
    let mut task = process(900, "sync", 'S', 1);
    task.threads[0].state = 'D';
    task.threads[0].wchan = Seen::Seen("io_schedule".into());
    seen.processes.push(task);
    seen.cgroups = sample::cgroup(&[900]);
    assert_eq!(causes(&seen), ["CgroupHeldByTask"]);
    seen.processes[0].state = 'Z';
    assert_eq!(causes(&seen), ["CgroupHeldByThread"]);
}
