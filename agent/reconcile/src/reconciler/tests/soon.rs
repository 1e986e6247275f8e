//! How long it takes until a finding is reported.

use agent_core::observation::{
    BlockDevice, BlockKind, BlockStack, Dev, HeldBy, Holder, HostPath, Layers, Mount, OpenFile, PathMount, Syscall,
    VolData,
};
use findings::Confidence;

use super::*;

/// Its deadline is at second 60.
fn due(mut seen: Observation) -> Observation {
    sample::set_deadline(&mut seen, moment(60).wall_ms, 30);
    seen
}

/// The second of the first Event, and how many were written in an hour.
fn report_time(seen: &Observation, seed: u64) -> (u64, usize) {
    let mut world = World::new(seen.clone(), Api::Down);
    world.reconciler = Reconciler::new("node-7", Settings::default(), true, seed, moment(0));
    world.api = Api::Up;
    world.tell_list();
    world.run_until(3_600);
    (world.writes.first().map_or(u64::MAX, |(second, _)| *second), world.writes.len())
}

fn held_by_a_process() -> Observation {
    let mut seen = sample::mounted("ext4");
    seen.holders[0].holders.push(sample::holder());
    seen
}

fn empty_file() -> Observation {
    let mut seen = sample::mounted("ext4");
    sample::volume(&mut seen).vol_data = VolData::Unusable("it is empty".into());
    seen
}

fn driver_gone() -> Observation {
    let mut seen = sample::mounted("ext4");
    seen.csi = Seen::Seen(Vec::new());
    seen
}

fn stopped_shim() -> Observation {
    let mut seen = sample::running();
    seen.processes[1].state = 'T';
    seen.processes[1].threads[0].state = 'T';
    seen
}

fn loop_device() -> Observation {
    let mut seen = sample::mounted("ext4");
    let how = HeldBy::Loop { device: "/dev/loop3".into(), file: HostPath::from("/x/disk.img") };
    seen.holders[0].holders.push(Holder { how, ..sample::holder() });
    seen
}

/// Init waits for a FUSE server that has its request.
fn silent_fuse() -> Observation {
    let mut seen = sample::running();
    sample::block(&mut seen, sample::INIT, "request_wait_answer");
    sample::container_table(&mut seen, vec![sample::mount(9, "0:40", "/mnt/media", "fuse.s3fs")]);
    seen.fuse = vec![sample::fuse_connection(40, 1, vec![sample::fuse_server(4111, 'S')])];
    seen
}

fn frozen() -> Observation {
    let mut seen = sample::running();
    sample::block(&mut seen, sample::INIT, "percpu_rwsem_wait");
    sample::container_table(&mut seen, vec![sample::mount(9, "7:0", "/data", "ext4")]);
    let thread = &mut seen.processes[0].threads[0];
    thread.syscall = Seen::Seen(Syscall { number: 1, first_argument: 5, name: Some("write".into()) });
    thread.works_on = Some(OpenFile { fd: 5, path: HostPath::from("/data/x"), mount_id: Some(9) });
    seen
}

/// Init looks up a name on a loop device, whose file lies on a FUSE server that does not answer.
fn loop_on_fuse() -> Observation {
    let mut seen = sample::running();
    sample::block(&mut seen, sample::INIT, "__ext4_find_entry");
    let others = vec![sample::mount(9, "7:0", "/data", "ext4"), sample::mount(10, "254:0", "/etc/hosts", "ext4")];
    sample::container_table(&mut seen, others);
    let stack = |dev: &str, kind: BlockKind, in_flight: u64| BlockStack {
        mounted: Dev::parse(dev).unwrap(),
        devices: vec![BlockDevice {
            name: if in_flight > 0 { "loop0".into() } else { "vda".into() },
            kind,
            in_flight: Some(in_flight),
            finished: [Some(7); 2],
            written: [Some(7); 2],
            below: Vec::new(),
        }],
        errors: None,
    };
    let file = HostPath::from("/srv/media/disk.img");
    seen.block_stacks = vec![
        stack("7:0", BlockKind::Loop { file: file.clone() }, 1),
        stack("254:0", BlockKind::Disk { state: Some("running".into()) }, 0),
    ];
    let below = sample::mount(50, "0:40", "/srv/media", "fuse.s3fs");
    sample::table(&mut seen).push(below.clone());
    seen.path_mounts = vec![PathMount { path: file, mount: Some(below) }];
    seen.fuse = vec![sample::fuse_connection(40, 1, vec![sample::fuse_server(4111, 'S')])];
    seen
}

/// Init reads a file of an image, a layer of which lies on the server.
fn overlay_on_fuse() -> Observation {
    let mut seen = silent_fuse();
    let layer = HostPath::from("/srv/media/1/fs");
    let layers = Layers { upper: Vec::new(), lower: vec![layer.clone()] };
    sample::container_table(&mut seen, vec![Mount { layers, ..sample::mount(9, "0:70", "/", "overlay") }]);
    let below = sample::mount(50, "0:40", "/srv/media", "fuse.s3fs");
    sample::table(&mut seen).push(below.clone());
    seen.path_mounts = vec![PathMount { path: layer, mount: Some(below) }];
    seen
}

/// Init writes to a logical volume that is suspended.
fn suspended() -> Observation {
    let mut seen = frozen();
    sample::container_table(&mut seen, vec![sample::mount(9, "253:4", "/data", "xfs")]);
    let kind = BlockKind::Mapper { name: "vg-data".into(), user: Some("LVM".into()), suspended: Some(true) };
    let (in_flight, finished, written) = (Some(0), [Some(7); 2], [None; 2]);
    let device = BlockDevice { name: "dm-4".into(), kind, in_flight, finished, written, below: Vec::new() };
    seen.block_stacks = vec![BlockStack { mounted: Dev { major: 253, minor: 4 }, devices: vec![device], errors: None }];
    seen
}

/// A process that no container knows waits in the pod's cgroup for a server, and has been killed.
fn stranger_in_the_cgroup() -> Observation {
    let mut seen = sample::deleted();
    seen.processes.push(sample::process(900, "sync", 'S', 1));
    sample::block(&mut seen, 900, "request_wait_answer");
    seen.cgroups = sample::cgroup(&[900]);
    sample::table(&mut seen).push(sample::mount(9, "0:40", "/mnt/media", "fuse.s3fs"));
    seen.fuse = vec![sample::fuse_connection(40, 1, vec![sample::fuse_server(4111, 'S')])];
    seen
}

fn proven() -> [(&'static str, Observation); 11] {
    [
        ("a holder", held_by_a_process()),
        ("an empty file", empty_file()),
        ("a dead driver", driver_gone()),
        ("a stopped shim", stopped_shim()),
        ("a loop device", loop_device()),
        ("a silent FUSE server", silent_fuse()),
        ("a frozen file system", frozen()),
        ("a suspended device", suspended()),
        ("a loop device on a silent FUSE server", loop_on_fuse()),
        ("an overlay on a silent FUSE server", overlay_on_fuse()),
        ("a stranger in the pod's cgroup", stranger_in_the_cgroup()),
    ]
}

#[test]
fn what_is_proven_is_known_within_25_seconds_of_the_deadline_at_the_same_cost() {
    for (what, seen) in proven() {
        for seed in 0..20 {
            let (second, writes) = report_time(&due(seen.clone()), seed);
            assert!(second <= 60 + 25, "{what}, seed {seed}: {second}");
            assert!(second >= 60 + 15, "{what}: the kubelet gets the time for its own try");
            assert_eq!(writes, 2, "{what}");
        }
    }
}

/// A check that is run at once gives the answer that does not change later.
#[test]
fn a_check_20_seconds_after_the_deadline_says_what_one_says_after_140() {
    for (what, seen) in proven() {
        let answer = |overdue_s: u64| {
            let mut seen = seen.clone();
            let deadline_ms = seen.at_ms - overdue_s * 1000;
            sample::set_deadline(&mut seen, deadline_ms, 30);
            said(&seen)
        };
        let early = answer(20);
        assert_eq!(early.0, Verdict::Stuck, "{what}: {early:?}");
        assert!(early.1.iter().all(|(_, confidence, _)| *confidence == Confidence::Proven), "{what}: {early:?}");
        assert_eq!(early, answer(140), "{what}");
    }
}

/// How often a kubelet has tried by this second that begins at second 61 and doubles its pause each time.
fn tries(second: u64) -> u64 {
    (0..9).filter(|power| 2 * second + 1 >= 122 + (1 << power)).count() as u64
}

fn claimed_volume() -> Observation {
    let mut seen = sample::mounted("ext4");
    seen.api.get_mut().unwrap().pods[0].volume_claims = vec!["data-db-0".into()];
    seen.csi.get_mut().unwrap()[0].info.get_mut().unwrap().since_ms = Seen::Seen(0);
    due(seen)
}

/// The kubelet's counters name no pod, so they are read at the deadline, before anything of this pod is counted.
#[test]
fn a_driver_that_refuses_is_known_within_25_seconds_of_the_deadline() {
    for seed in 0..20 {
        let mut world = World::new(claimed_volume(), Api::Down);
        world.failures = Some(|second| 40 + tries(second));
        world.reconciler = Reconciler::new("node-7", Settings::default(), true, seed, moment(0));
        world.api = Api::Up;
        world.tell_list();
        world.run_until(200);
        let second = world.writes.first().map_or(u64::MAX, |(second, _)| *second);
        assert!((60 + 15..=60 + 25).contains(&second), "seed {seed}: {second}, scans {:?}", world.scans);
        assert!(world.writes[0].1.note.contains("CSI driver exam.csi"), "{}", world.writes[0].1.note);
    }
}

/// As the kubelet counts them: 40 before the deadline, and so many since.
fn failures_since(overdue_s: u64, since: u64) -> Observation {
    let mut seen = claimed_volume();
    let deadline_ms = seen.at_ms - overdue_s * 1000;
    sample::set_deadline(&mut seen, deadline_ms, 30);
    let of = Operation::Csi { driver: "exam.csi".into(), method: "/csi.v1.Node/NodeUnpublishVolume".to_owned() };
    let read = |at_ms, count| {
        let counters = vec![Counter { of: of.clone(), outcome: "Internal".into(), count }];
        CounterRead { at_ms, counters }
    };
    let (earlier, last) = (Some(read(deadline_ms, 40)), read(seen.at_ms, 40 + since));
    seen.kubelet_counters = Seen::Seen(KubeletCounters { last, earlier });
    seen
}

fn said(seen: &Observation) -> (Verdict, Vec<(&'static str, Confidence, String)>) {
    let pod = judge(seen).pods.remove(0);
    let findings = pod.findings.into_iter().map(|one| (one.cause.id, one.confidence, one.root));
    (pod.verdict, findings.collect())
}

#[test]
fn a_check_says_of_a_driver_that_refuses_after_20_seconds_what_it_says_after_140() {
    let early = said(&failures_since(20, 5));
    assert_eq!((early.0, early.1.len()), (Verdict::Stuck, 1), "{early:?}");
    assert_eq!((early.1[0].0, early.1[0].1), ("CsiUnpublishFails", Confidence::Proven));
    assert_eq!(early, said(&failures_since(140, 8)));
}

/// Its volume is busy for a moment, as while the last process of the pod ends.
#[test]
fn a_driver_that_fails_three_times_and_then_succeeds_is_not_stuck_but_is_named() {
    for seed in 0..20 {
        let mut world = World::new(claimed_volume(), Api::Down);
        world.failures = Some(|second| 40 + tries(second).min(3));
        world.reconciler = Reconciler::new("node-7", Settings::default(), true, seed, moment(0));
        world.api = Api::Up;
        world.tell_list();
        // The fourth try.
        world.run_until(65);
        end(&mut world);
        world.run_until(300);
        assert!(world.writes.is_empty(), "seed {seed}: {:?}", world.writes);
    }
    let meanwhile = said(&failures_since(4, 3));
    assert_eq!((meanwhile.0, meanwhile.1[0].0), (Verdict::Progressing, "CsiUnpublishFails"), "{meanwhile:?}");
}

/// What the counters say is of before, and another try is not made within the hour.
#[test]
fn a_driver_that_failed_before_the_deadline_only_is_waited_for() {
    let mut world = World::new(claimed_volume(), Api::Up);
    world.failures = Some(|_| 40);
    world.run_until(60 + 110);
    assert!(world.writes.is_empty(), "{:?}", world.writes);
}

#[test]
fn what_may_pass_is_waited_for_as_before() {
    let mut seen = sample::running();
    sample::block(&mut seen, sample::INIT, "folio_wait_bit_common");
    for seed in 0..20 {
        let (second, _) = report_time(&due(seen.clone()), seed);
        assert!(second >= 60 + 60, "a task in D, seed {seed}: {second}");
    }
}

/// A server that is only slow answers one after the other, and each of them dies.
#[test]
fn another_task_that_waits_is_another_wait() {
    let mut tracker = Tracker::new(Settings::default().rules, 7);
    let mut seen = silent_fuse();
    let mut take = |seen: &Observation, second: u64| {
        let report = judge(seen);
        tracker.take(&Snapshot { at: moment(second), report: &report, complete: true }).len()
    };
    assert_eq!(take(&seen, 100), 0);
    for (round, second) in [104, 108, 112].into_iter().enumerate() {
        let pid = sample::INIT + 1 + u32::try_from(round).unwrap();
        seen.processes[0].pid = pid;
        seen.processes[0].threads[0].tid = pid;
        sample::runtime(&mut seen).containers[0].pid = Seen::Seen(pid);
        assert_eq!(take(&seen, second), 0, "pid {pid}");
    }
    assert_eq!(take(&seen, 116), 1, "it was seen twice");
}
