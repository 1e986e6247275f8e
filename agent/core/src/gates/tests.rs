//! The order of the gates, the verdicts, and who is a candidate.

use findings::{Gate, GateState};

use crate::test_prelude::*;

#[test]
fn a_healthy_node_says_nothing() {
    let report = judge(&sample::node());
    assert_eq!((report.verdict, report.pods.len(), report.node_findings.len()), (Verdict::Clear, 0, 0));
    assert!(report.unknown.is_empty(), "{:?}", report.unknown);
    assert_eq!(report.at, "2026-09-21T14:13:20Z");
}

#[test]
fn a_node_without_a_socket_of_a_runtime_is_told_so() {
    let mut seen = sample::node();
    (seen.node.cri_socket, seen.runtime) = (Seen::Missing, Seen::Missing);
    let report = judge(&seen);
    assert_eq!(report.verdict, Verdict::CannotTell);
    assert!(report.unknown.iter().any(|one| one.why.starts_with("no socket of a container runtime")), "{report:?}");
}

#[test]
fn a_kubelet_that_is_stopped_is_stuck_though_nothing_waits_yet() {
    let mut seen = sample::node();
    seen.node.kubelet.get_mut().unwrap().state = 'T';
    let report = judge(&seen);
    assert_eq!((report.verdict, report.node_findings.len()), (Verdict::Stuck, 1), "{report:?}");
    assert_eq!(report.node_findings[0].pods, []);
}

#[test]
fn a_clock_that_differs_is_said() {
    let notes = |ahead_ms: i64| {
        let mut seen = sample::running();
        seen.api.get_mut().unwrap().heard.server_ahead_ms = Some(ahead_ms);
        judge(&seen).notes
    };
    assert!(notes(90_000)[0].contains("is 1m30s ahead of this node's"), "{:?}", notes(90_000));
    assert!(notes(-90_000)[0].contains("is 1m30s behind this node's"), "{:?}", notes(-90_000));
    assert!(notes(0).is_empty());
}

#[test]
fn a_mount_namespace_of_the_kubelets_own_is_said() {
    let mut seen = sample::node();
    seen.mounts.init = Seen::Seen(MountTable { ns: 1, through_pid: 1, total: 0, mounts: Vec::new() });
    assert!(judge(&seen).notes.is_empty(), "it is the same");
    seen.node.init_mount_ns = Some(2);
    assert!(judge(&seen).notes[0].starts_with("the kubelet runs in a mount namespace of its own"));
    seen.mounts.init = Seen::Missing;
    assert!(judge(&seen).notes.is_empty(), "nothing else could have been judged");
}

#[test]
fn a_false_kubelet_is_named_and_changes_nothing() {
    let mut seen = sample::node();
    let named = |pid: u32| FalseKubelet { pid, comm: "kubelet\u{1b}[2J".into(), why: Disbelief::InPod };
    seen.node.false_kubelets = vec![named(4242), FalseKubelet { why: Disbelief::NotRoot(65534), ..named(4243) }];
    let report = judge(&seen);
    assert_eq!(report.verdict, Verdict::Clear);
    assert!(report.notes[0].starts_with("pid 4242 is called kubelet\\u{1b}[2J, but belongs to a pod:"), "{report:?}");
    assert!(report.notes[1].contains("one of its user or group ids is 65534"), "{report:?}");
    seen.node.false_kubelets = (1..=1000).map(named).collect();
    let notes = judge(&seen).notes;
    assert_eq!((notes.len(), notes[5].starts_with("995 more processes")), (6, true), "{notes:?}");
}

#[test]
fn whether_a_kubelet_runs_cannot_be_told_by_a_false_one() {
    let mut seen = sample::running();
    let fault = Fault::new("/proc/7", (FaultKind::Denied, "Permission denied"));
    seen.node.kubelet = Seen::Failed(fault.clone());
    seen.node.false_kubelets =
        vec![FalseKubelet { pid: 7, comm: "kubelet".into(), why: Disbelief::Untold(fault.clone()) }];
    let report = judge(&seen);
    assert!(report.node_findings.is_empty(), "{report:?}");
    assert_eq!(report.unknown[0].source, "/proc/7");
    assert!(report.notes.is_empty(), "it is reported once: {report:?}");
}

#[test]
fn a_version_that_nobody_told_is_said_to_be_assumed() {
    let mut seen = sample::running();
    assert!(judge(&seen).notes.is_empty());
    seen.api.get_mut().unwrap().kubelet_version = None;
    assert!(judge(&seen).notes[0].contains("1.36 was assumed"), "{:?}", judge(&seen).notes);
}

#[test]
fn only_the_first_gate_is_the_cause() {
    let mut seen = sample::mounted("ext4");
    seen.runtime.get_mut().unwrap().containers[0].state = ContainerState::Running;
    seen.processes = sample::running().processes;
    let pod = &judge(&seen).pods[0];
    assert_eq!(pod.gate, Some(Gate::ContainersStopped));
    assert!(pod.findings.iter().all(|finding| finding.gate == Some(Gate::ContainersStopped)));
    let volumes = pod.gates.iter().find(|gate| gate.gate == Gate::VolumesUnmounted).unwrap();
    assert_eq!((volumes.state, volumes.detail.as_str()), (GateState::NotReached, "1 mount"));
}

/// Up to 1.26 `PodResourcesAreReclaimed` tests all gates, but the volume manager begins to unmount when the containers have
/// ended there too (`findAndRemoveDeletedPods`): what is mounted before holds nothing.
#[test]
fn an_old_kubelet_unmounts_after_the_containers_too() {
    let mut seen = sample::mounted("ext4");
    seen.runtime.get_mut().unwrap().containers[0].state = ContainerState::Running;
    seen.processes = sample::running().processes;
    seen.api.get_mut().unwrap().kubelet_version = Some("v1.26.15".into());
    let pod = &judge(&seen).pods[0];
    assert!(pod.findings.iter().all(|finding| finding.gate == Some(Gate::ContainersStopped)), "{:#?}", pod.findings);
}

/// The kubelet reports a terminal phase before it waits for volumes, since 1.27.
#[test]
fn the_phase_tells_how_far_the_kubelet_has_come() {
    let mut seen = sample::mounted("ext4");
    sample::set_phase(&mut seen, "Running");
    assert_eq!(sample::causes(&seen), ["TerminationNotFinished"]);
    let pod = judge(&seen).pods.remove(0);
    assert_eq!(pod.gate, Some(Gate::SandboxStopped));
    assert!(!serde_json::to_string(&pod.findings[0].remedy.steps).unwrap().contains("umount"), "{pod:?}");
    // It waits for volumes, and its status does not get through.
    seen.cgroups = sample::cgroup(&[]);
    seen.cgroups.get_mut().unwrap()[0].dirs[0].cpu_at_minimum = Some(true);
    assert_eq!(judge(&seen).pods[0].gate, Some(Gate::VolumesUnmounted));
    seen.api.get_mut().unwrap().pods[0].asks_for_cpu = false;
    assert_eq!(judge(&seen).pods[0].gate, Some(Gate::SandboxStopped), "it never has more");
    sample::set_deadline(&mut seen, NOW - 5_000, 30);
    assert_eq!(judge(&seen).pods[0].gate, Some(Gate::VolumesUnmounted), "it reports every 10 s");
    let mut old = sample::mounted("ext4");
    sample::set_phase(&mut old, "Running");
    old.api.get_mut().unwrap().kubelet_version = Some("v1.26.15".into());
    assert_eq!(judge(&old).pods[0].gate, Some(Gate::VolumesUnmounted));
}

/// A container of it never ran, so the kubelet leaves it Pending to the end (`getPhase`, `TerminatePod`).
#[test]
fn a_phase_that_stays_pending_tells_nothing_of_the_volumes() {
    let mut seen = sample::mounted("ext4");
    sample::set_phase(&mut seen, "Pending");
    seen.holders[0].holders.push(sample::holder());
    assert_eq!(sample::causes(&seen), ["VolumeHeldByProcess"]);
    // Its share of the processors does: it is not lowered yet.
    seen.cgroups = sample::cgroup(&[]);
    seen.cgroups.get_mut().unwrap()[0].dirs[0].cpu_at_minimum = Some(false);
    assert_eq!(sample::causes(&seen), ["TerminationNotFinished"]);
    assert!(serde_json::to_string(&judge(&seen)).unwrap().contains("Pending"));
}

/// The cgroup comes last, so who has removed it was not stopped by what is left.
#[test]
fn a_removed_cgroup_acquits_what_is_left_of_volumes() {
    let mut seen = sample::mounted("ext4");
    sample::table(&mut seen).clear();
    let volume = sample::volume(&mut seen);
    (volume.mounted, volume.vol_data) = (Seen::Seen(false), VolData::Missing);
    let confidence = |seen: &Observation| judge(seen).pods[0].findings[0].confidence;
    assert_eq!(sample::causes(&seen), ["VolDataMissing"]);
    assert_eq!(confidence(&seen), findings::Confidence::Probable);
    seen.api.get_mut().unwrap().pods[0].finalizers = vec!["example.com/hold".into()];
    assert_eq!(sample::causes(&seen), ["FinalizersRemain"]);
    // It may as well have gone with a reboot, or is there.
    for change in
        [|seen: &mut Observation| seen.uptime_ms = 1000, |seen: &mut Observation| seen.cgroups = sample::cgroup(&[])]
    {
        let mut seen = seen.clone();
        change(&mut seen);
        assert_eq!(sample::causes(&seen), ["VolDataMissing", "FinalizersRemain"]);
        assert_eq!(confidence(&seen), findings::Confidence::Proven);
    }
    sample::volume(&mut seen).target = Seen::Missing;
    seen.uptime_ms = 1000;
    assert_eq!(sample::causes(&seen), ["FinalizersRemain"], "the kubelet does not even look at it");
}

#[test]
fn a_finalizer_is_named_beside_a_volume() {
    let mut seen = sample::mounted("ext4");
    seen.csi = Seen::Seen(Vec::new());
    seen.api.get_mut().unwrap().pods[0].finalizers = vec!["example.com/hold".into()];
    assert_eq!(sample::causes(&seen), ["CsiDriverNotRegistered", "FinalizersRemain"]);
    sample::set_phase(&mut seen, "Running");
    assert_eq!(sample::causes(&seen), ["TerminationNotFinished"], "its controller may wait for the end");
}

#[test]
fn inside_the_grace_period_it_progresses() {
    let mut seen = sample::running();
    sample::set_deadline(&mut seen, NOW + 20_000, 30);
    assert_eq!(sample::causes(&seen), ["GracePeriodRunning"]);
    assert_eq!(sample::verdict(&seen), Verdict::Progressing);
    assert_eq!(judge(&seen).verdict, Verdict::Progressing);
    // Whatever could not be seen of it.
    let mut seen = sample::deleted();
    sample::set_deadline(&mut seen, NOW + 20_000, 30);
    seen.cgroups = Seen::failed("cgroups", (FaultKind::Failed, "no kubepods cgroup was found"));
    assert_eq!(sample::verdict(&seen), Verdict::Progressing);
    // With the deadline its time has passed.
    sample::set_deadline(&mut seen, NOW, 30);
    assert_eq!(sample::verdict(&seen), Verdict::CannotTell);
}

/// The kubelet's next try may do, so what only says that it has not been done yet proves nothing.
#[test]
fn what_the_next_try_may_do_is_not_called_stuck() {
    let mut seen = sample::mounted("ext4");
    seen.holders[0].behind_unread_tables = 1;
    assert_eq!(sample::causes(&seen), ["VolumeMountedNoHolder"]);
    assert_eq!(sample::verdict(&seen), Verdict::CannotTell);
}

#[test]
fn a_gate_says_what_it_waits_for() {
    let detail = |seen: &Observation, gate: Gate| {
        let pod = judge(seen).pods.remove(0);
        pod.gates.into_iter().find(|view| view.gate == gate).unwrap().detail
    };
    let mut seen = sample::running();
    sample::runtime(&mut seen).containers[0].state = ContainerState::Exited;
    assert_eq!(detail(&seen, Gate::SandboxStopped), "1 READY");
    sample::runtime(&mut seen).sandboxes[0].ready = false;
    sample::runtime(&mut seen).containers[0].state = ContainerState::Unknown;
    assert_eq!(detail(&seen, Gate::SandboxStopped), "stopped, a container of it is UNKNOWN");
    let network = NetworkNamespace { path: HostPath::from("/var/run/netns/cni-1"), pinned: true, missing: false };
    let facts = sample::runtime(&mut seen);
    facts.containers[0].state = ContainerState::Exited;
    facts.sandboxes[0].network = Seen::Seen(network.clone());
    assert_eq!(detail(&seen, Gate::SandboxStopped), "stopped, its network is still there");
    let gone = NetworkNamespace { pinned: false, missing: true, ..network };
    sample::runtime(&mut seen).sandboxes[0].network = Seen::Seen(gone);
    (seen.uptime_ms, seen.cgroups) = (60_000, sample::cgroup(&[]));
    assert_eq!(detail(&seen, Gate::SandboxStopped), "stopped, its network is not torn down");
    let mut seen = sample::mounted("ext4");
    sample::table(&mut seen).clear();
    sample::volume(&mut seen).mounted = Seen::Seen(false);
    assert_eq!(detail(&seen, Gate::VolumesUnmounted), "1 directory");
    for (left, told) in [(&[][..], "empty, still there"), (&[900], "1 process"), (&[900, 901], "2 processes")] {
        seen.cgroups = sample::cgroup(left);
        assert_eq!(detail(&seen, Gate::CgroupRemoved), told);
    }
}

#[test]
fn a_silent_runtime_holds_the_pod_and_is_told_once() {
    let mut seen = sample::deleted();
    seen.runtime =
        Seen::failed("CRI unix:///run/containerd/containerd.sock", (FaultKind::TimedOut, "did not answer within 1.5s"));
    let report = judge(&seen);
    assert_eq!(report.verdict, Verdict::Stuck);
    assert_eq!(report.node_findings[0].finding.cause.id, "RuntimeNotResponding");
    assert_eq!(report.node_findings[0].pods, [sample::pod()]);
    assert_eq!(report.pods[0].verdict, Verdict::Stuck);
}

/// Seen in the soak: containerd was being started again, and what was frozen was reported as a task that hangs in the
/// kernel.
#[test]
fn what_is_frozen_is_told_while_the_runtime_is_silent() {
    let mut seen = sample::running();
    sample::block(&mut seen, sample::INIT, "hrtimer_nanosleep");
    seen.cgroups = sample::cgroup(&[sample::INIT]);
    seen.runtime = Seen::failed("CRI", (FaultKind::TimedOut, "did not answer within 1.5s"));
    let answer = |seen: &Observation| {
        let pod = &judge(seen).pods[0];
        (pod.gate, pod.findings.iter().map(|finding| finding.cause.id).collect::<Vec<_>>())
    };
    assert_eq!(answer(&seen), (Some(Gate::ContainersStopped), vec!["UninterruptibleTask"]));
    let cgroups = seen.cgroups.get_mut().unwrap();
    let dir = &mut cgroups[0].dirs[0];
    dir.hierarchy = "freezer".into();
    dir.tree.get_mut().unwrap()[0].freezer = Freezer::Freezing;
    assert_eq!(answer(&seen), (Some(Gate::ContainersStopped), vec!["CgroupFrozen"]));
}

#[test]
fn an_api_that_fails_is_not_an_empty_list() {
    let mut seen = sample::node();
    seen.api = Seen::failed(Source::ApiServer, (FaultKind::Refused, "connection refused"));
    let report = judge(&seen);
    assert_eq!(report.verdict, Verdict::CannotTell);
    assert!(report.unknown[0].why.contains("connection refused"));
}

#[test]
fn an_unreadable_pods_directory_is_not_an_unmounted_volume() {
    let mut seen = sample::deleted();
    seen.pod_dirs = Seen::failed("/var/lib/kubelet/pods", (FaultKind::Denied, "Permission denied"));
    let report = judge(&seen);
    assert_eq!((report.verdict, report.pods[0].verdict), (Verdict::CannotTell, Verdict::CannotTell));
    assert_eq!(report.pods[0].gate, Some(Gate::VolumesUnmounted));
}

#[test]
fn without_the_api_a_running_pod_is_left_alone() {
    let mut seen = sample::running();
    seen.api = Seen::Missing;
    assert_eq!(judge(&seen).pods, []);
    sample::block(&mut seen, sample::INIT, "folio_wait_bit");
    assert_eq!(judge(&seen).pods.len(), 1);
}

#[test]
fn without_the_api_an_ended_pod_is_told_by_what_is_left() {
    let mut seen = sample::mounted("ext4");
    seen.api = Seen::Missing;
    let report = judge(&seen);
    assert_eq!(report.pods[0].pod.uid.as_str(), UID);
    sample::table(&mut seen).clear();
    assert_eq!(judge(&seen).pods, []);
}

#[test]
fn a_static_pod_is_not_taken_for_a_force_deleted_one() {
    let mut seen = sample::node();
    let uid = findings::PodUid::parse("0123456789abcdef0123456789abcdef").unwrap();
    seen.pod_dirs = Seen::Seen(vec![PodDir { volumes: Seen::Missing, ..PodDir::new(uid) }]);
    assert_eq!(judge(&seen).pods, []);
}

/// Its manifest sets a `metadata.uid`, which the kubelet keeps (`applyDefaults`), and its mirror could not be made.
#[test]
fn a_static_pod_with_a_uid_of_its_own_is_not_taken_for_a_force_deleted_one() {
    let mut seen = sample::running();
    seen.api.get_mut().unwrap().pods.clear();
    assert_eq!(sample::causes(&seen), ["ForceDeletedStillRunning"]);
    sample::runtime(&mut seen).sandboxes[0].is_static = true;
    assert_eq!(judge(&seen).pods, []);
}

#[test]
fn one_root_of_two_pods_is_told_by_the_node() {
    let mut seen = sample::mounted("ext4");
    seen.csi = Seen::Seen(Vec::new());
    let other = "10be21d9-de4c-4473-8f5c-7e484a9962e3";
    let api = seen.api.get_mut().unwrap();
    let mut pod = api.pods[0].clone();
    pod.uid = findings::PodUid::parse(other).unwrap();
    pod.name = "db-1".into();
    api.pods.push(pod);
    let dirs = seen.pod_dirs.get_mut().unwrap();
    seen.looked_into.push(findings::PodUid::parse(other).unwrap());
    let mut dir = dirs[0].clone();
    dir.uid = findings::PodUid::parse(other).unwrap();
    dirs.push(dir);
    let report = judge(&seen);
    assert_eq!(report.node_findings.len(), 1);
    assert_eq!(report.node_findings[0].finding.cause.id, "CsiDriverNotRegistered");
    assert_eq!(report.node_findings[0].pods.len(), 2);
}

#[test]
fn an_observation_survives_being_saved() {
    let seen = sample::mounted("fuse.s3fs");
    let again: Observation = serde_json::from_str(&serde_json::to_string(&seen).unwrap()).unwrap();
    assert_eq!(again, seen);
    assert_eq!(judge(&again), judge(&seen));
}

#[test]
fn a_mirror_of_a_healthy_static_pod_is_only_an_object() {
    let mut seen = sample::running();
    let api = seen.api.get_mut().unwrap();
    api.pods[0].mirror = true;
    api.pods[0].finalizers = vec!["example.com/hold".into()];
    let pod = &judge(&seen).pods[0];
    assert_eq!(pod.gate, Some(Gate::ObjectRemoved));
    assert_eq!(sample::causes(&seen), ["FinalizersRemain"]);
    assert!(!serde_json::to_string(pod).unwrap().contains("are gone"), "its containers run");
}

#[test]
fn an_old_kubelet_accuses_no_process_inside_the_grace_period() {
    let mut seen = sample::running();
    seen.cgroups = sample::cgroup(&[sample::INIT]);
    let api = seen.api.get_mut().unwrap();
    api.kubelet_version = Some("v1.26.15".into());
    api.pods[0].deletion = Some(Deletion { deadline_ms: NOW + 20_000, grace_s: 30 });
    assert_eq!(sample::causes(&seen), ["GracePeriodRunning"]);
}

#[test]
fn volumes_that_could_not_be_read_are_not_unmounted() {
    let mut seen = sample::mounted("ext4");
    seen.pod_dirs.get_mut().unwrap()[0].volumes = Seen::failed("volumes", (FaultKind::Failed, "Input/output error"));
    let pod = &judge(&seen).pods[0];
    assert_eq!((pod.gate, pod.verdict), (Some(Gate::VolumesUnmounted), Verdict::CannotTell));
    assert!(pod.unknown[0].why.contains("Input/output error"));
}

#[test]
fn cgroups_that_could_not_be_read_are_not_removed() {
    let mut seen = sample::deleted();
    seen.cgroups = Seen::failed("cgroups", (FaultKind::Failed, "no kubepods cgroup was found"));
    let pod = &judge(&seen).pods[0];
    assert_eq!((pod.gate, pod.verdict), (Some(Gate::CgroupRemoved), Verdict::CannotTell));
}

#[test]
fn a_network_that_could_not_be_seen_is_not_torn_down() {
    let mut seen = sample::mounted("ext4");
    seen.runtime.get_mut().unwrap().sandboxes[0].network = Seen::failed("CRI", (FaultKind::TimedOut, "did not answer"));
    let pod = &judge(&seen).pods[0];
    assert_eq!((pod.gate, pod.verdict), (Some(Gate::SandboxStopped), Verdict::CannotTell));
}

#[test]
fn a_runtime_that_is_only_slow_is_probable() {
    let mut seen = sample::deleted();
    seen.runtime = Seen::failed("CRI", (FaultKind::TimedOut, "did not answer within 1.5s"));
    let process = RuntimeProcess { pid: 90, start_ticks: Some(9), comm: "containerd".into(), unit: None, state: 'S' };
    seen.node.runtime_process = Seen::Seen(process);
    let confidence = |seen: &Observation| judge(seen).node_findings[0].finding.confidence;
    assert_eq!(confidence(&seen), findings::Confidence::Probable);
    seen.node.runtime_process =
        Seen::Seen(RuntimeProcess { pid: 90, start_ticks: Some(9), comm: "containerd".into(), unit: None, state: 'T' });
    assert_eq!(confidence(&seen), findings::Confidence::Proven);
    // Alone, and with nothing held, it is a doubt and no fact.
    seen.node.runtime_process = Seen::Missing;
    seen.api = Seen::Missing;
    assert_eq!(judge(&seen).verdict, Verdict::CannotTell);
}

#[test]
fn a_pod_just_past_its_deadline_is_given_the_time_to_go() {
    let mut seen = sample::mounted("ext4");
    seen.csi = Seen::Seen(Vec::new());
    sample::set_deadline(&mut seen, NOW - 5_000, 30);
    assert_eq!(sample::verdict(&seen), Verdict::Progressing);
}

#[test]
fn a_pod_of_which_nothing_is_left_but_the_runtimes_records_is_gone() {
    let mut seen = sample::mounted("ext4");
    sample::table(&mut seen).clear();
    seen.pod_dirs = Seen::Seen(Vec::new());
    seen.api.get_mut().unwrap().pods.clear();
    assert_eq!((judge(&seen).verdict, judge(&seen).pods.len()), (Verdict::Clear, 0));
}

#[test]
fn a_pod_that_was_not_looked_into_is_not_judged() {
    let mut seen = sample::mounted("ext4");
    seen.looked_into.clear();
    assert_eq!(judge(&seen).pods, []);
}

#[test]
fn an_old_answer_of_the_api_server_proves_no_absence_and_no_status() {
    let stale = |seen: &mut Observation| {
        seen.api.get_mut().unwrap().stale =
            Some(Fault::new(Source::ApiServer, (FaultKind::Failed, "not heard of for 5m")));
    };
    let mut seen = sample::running();
    seen.api.get_mut().unwrap().pods.clear();
    assert_eq!(judge(&seen).pods.len(), 1, "it is not in the API and runs");
    stale(&mut seen);
    assert!(judge(&seen).pods.is_empty(), "it may have been made since");
    let mut seen = sample::deleted();
    seen.api.get_mut().unwrap().pods[0].finalizers.push("example.com/hold".into());
    stale(&mut seen);
    let report = judge(&seen);
    assert_eq!((report.pods[0].verdict, report.pods[0].findings.len()), (Verdict::CannotTell, 0));
    assert!(report.unknown.iter().any(|unknown| unknown.source == "API server"));
}

/// Its deletion and its finalizers are metadata; its status is not.
#[test]
fn a_pod_that_was_too_long_to_be_read_is_not_said_to_lack_a_status() {
    let mut seen = sample::deleted();
    seen.api.get_mut().unwrap().pods[0].phase.clear();
    let pod = &judge(&seen).pods[0];
    assert_eq!((pod.verdict, pod.findings.len()), (Verdict::CannotTell, 0));
    assert!(pod.unknown.iter().any(|unknown| unknown.why.contains("only the metadata")), "{:?}", pod.unknown);
    let mut held = sample::running();
    held.api.get_mut().unwrap().pods[0].phase.clear();
    let is_told =
        |seen: &Observation| judge(seen).pods[0].findings.iter().map(|found| found.cause.id).collect::<Vec<_>>();
    let unclear = is_told(&held);
    assert_eq!(unclear, is_told(&sample::running()), "what holds it on the node is reported all the same");
}

#[test]
fn a_pod_that_progresses_says_when_the_kubelet_tries_again() {
    let why = |seen: &Observation| judge(seen).pods[0].gone_because.clone();
    let overdue = |mut seen: Observation, ms: u64| {
        sample::set_deadline(&mut seen, NOW - ms, 30);
        seen
    };
    let unmounting = why(&overdue(sample::mounted("ext4"), 60_000));
    assert_eq!(unmounting, "deadline passed 1m ago, grace was 30s; the kubelet tries again within 2m2s");
    let mut with_cgroup = overdue(sample::deleted(), 5_000);
    with_cgroup.cgroups = sample::cgroup(&[]);
    assert!(why(&with_cgroup).ends_with("; the kubelet tries again within 15s"), "{}", why(&with_cgroup));
    assert!(!why(&sample::mounted("ext4")).contains("tries again"), "it is stuck");
    assert!(!why(&overdue(sample::running(), 5_000)).contains("tries again"), "a stop may last longer");
}
