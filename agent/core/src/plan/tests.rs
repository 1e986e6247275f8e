//! A host that knows one whole observation and reveals of it only what it is asked.

use std::{collections::BTreeSet, fs, path::PathBuf};

use super::{MAX_ROUNDS, plan};
use crate::gates::judge;
use crate::observation::{self, sample, *};
use crate::view::candidates;

/// What the lists alone show of a node.
fn lists(whole: &Observation) -> Observation {
    let mut seen = whole.clone();
    seen.node.runtime_process = Seen::NotAsked;
    seen.node.dra_pods = Seen::NotAsked;
    seen.node.dra_claims.clear();
    seen.dra_drivers.clear();
    seen.csi = Seen::NotAsked;
    seen.kubelet_counters = Seen::NotAsked;
    seen.kernel_log = Seen::NotAsked;
    seen.volumes_changed_ms = Seen::NotAsked;
    seen.mounts.others.clear();
    if let Seen::Seen(api) = &mut seen.api {
        api.volumes.clear();
    }
    if let Seen::Seen(runtime) = &mut seen.runtime {
        runtime.unready.clear();
        for container in &mut runtime.containers {
            container.pid = Seen::NotAsked;
            if let Seen::Seen(table) = &mut seen.mounts.kubelet {
                table.mounts.retain(|mount| !mount.is_rootfs_of(&container.id));
            }
        }
        for sandbox in &mut runtime.sandboxes {
            (sandbox.pid, sandbox.network) = (Seen::NotAsked, Seen::NotAsked);
        }
    }
    if let Seen::Seen(cgroups) = &mut seen.cgroups {
        for dir in cgroups.iter_mut().flat_map(|cgroup| &mut cgroup.dirs) {
            (dir.tree, dir.cpu_at_minimum, dir.dirty_bytes) = (Seen::NotAsked, None, None);
        }
    }
    if let Seen::Seen(dirs) = &mut seen.pod_dirs {
        for dir in dirs {
            *dir = PodDir { changed_ms: dir.changed_ms, ..PodDir::new(dir.uid.clone()) };
        }
    }
    seen.looked_into.clear();
    seen.processes.clear();
    seen.shims.clear();
    seen.multipath.clear();
    seen.block_stacks.clear();
    seen.path_mounts.clear();
    seen.fuse.clear();
    seen.holders.clear();
    seen.protected_files.clear();
    seen.in_flight.clear();
    seen.writable.clear();
    seen.mount_copies.clear();
    seen.unmounted_devices.clear();
    seen
}

/// Puts a process into the observation as the host sees it at first: nothing is known to be steady.
fn add(seen: &mut Observation, process: &Process, depth: Depth) {
    let is_wanted = |at: usize, thread: &Thread| match depth {
        Depth::Leader => at == 0,
        Depth::Blocked => at == 0 || thread.state == 'D',
        Depth::Threads => true,
    };
    let threads = process.threads.iter().enumerate().filter(|(at, thread)| is_wanted(*at, thread));
    let threads: Vec<Thread> = threads.map(|(_, thread)| Thread { steady: false, ..thread.clone() }).collect();
    let known = seen.processes.iter().position(|known| known.pid == process.pid);
    match known {
        Some(at) if seen.processes[at].threads.len() >= threads.len() => {}
        Some(at) => seen.processes[at] = Process { threads, ..process.clone() },
        None => seen.processes.push(Process { threads, ..process.clone() }),
    }
}

fn copy_all<T: Clone + PartialEq>(from: &[T], to: &mut Vec<T>, is_one: impl Fn(&T) -> bool) {
    for one in from.iter().filter(|one| is_one(one)) {
        if !to.contains(one) {
            to.push(one.clone());
        }
    }
}

fn answer(question: &Question, whole: &Observation, seen: &mut Observation) {
    use Question::*;
    assert!(seen.asked.insert(question.clone()), "{question:?} is asked twice");
    let mut add_all = |depth: Depth, is_one: &dyn Fn(&observation::Process) -> bool| {
        whole.processes.iter().filter(|process| is_one(process)).for_each(|process| add(seen, process, depth));
    };
    match question {
        KilledProcesses => add_all(Depth::Leader, &|one| {
            matches!(one.owner, Owner::Pod { .. }) && (one.kill_pending || one.is_ending(&one.threads[0]))
        }),
        Process { pid, depth } => add_all(*depth, &|one| one.pid == *pid),
        PidNamespace(ns) => add_all(Depth::Threads, &|one| one.pid_ns == Some(*ns)),
        FuseWaiters => {
            add_all(Depth::Threads, &|one| one.threads[0].wchan.get().is_some_and(|at| at == "request_wait_answer"));
        }
        Unmounts => add_all(Depth::Threads, &|one| matches!(one.state, 'D' | 'S') && one.comm.starts_with("umount")),
        _ => {}
    }
    if let (Seen::Seen(from), Seen::Seen(to)) = (&whole.runtime, &mut seen.runtime) {
        match question {
            ContainerStatus(id) | ContainerState(id) => {
                let from = from.containers.iter().find(|container| container.id == *id);
                let to = to.containers.iter_mut().find(|container| container.id == *id);
                *to.unwrap() = from.unwrap().clone();
            }
            SandboxStatus(id) => {
                let from = from.sandboxes.iter().find(|sandbox| sandbox.id == *id);
                let to = to.sandboxes.iter_mut().find(|sandbox| sandbox.id == *id);
                *to.unwrap() = from.unwrap().clone();
            }
            RuntimeConditions => to.unready = from.unready.clone(),
            _ => {}
        }
    }
    match question {
        ContainerStatus(_) | ContainerState(_) | SandboxStatus(_) | RuntimeConditions => {}
        KilledProcesses | Process { .. } | PidNamespace(_) | Unmounts | FuseWaiters => {}
        RuntimeListener => seen.node.runtime_process = whole.node.runtime_process.clone(),
        CgroupTree(uid) => {
            let from = whole.cgroups.get().unwrap().iter().find(|cgroup| cgroup.uid == *uid).unwrap();
            *seen.cgroups.get_mut().unwrap().iter_mut().find(|cgroup| cgroup.uid == *uid).unwrap() = from.clone();
        }
        PodVolumes(uid) => {
            let from = whole.pod_dirs.get().unwrap().iter().find(|dir| dir.uid == *uid).unwrap();
            *seen.pod_dirs.get_mut().unwrap().iter_mut().find(|dir| dir.uid == *uid).unwrap() = from.clone();
        }
        DraState => {
            seen.node.dra_pods = whole.node.dra_pods.clone();
            seen.node.dra_claims = whole.node.dra_claims.clone();
        }
        WaitingThreads(pid) => {
            let from = whole.processes.iter().find(|process| process.pid == *pid).unwrap();
            let to = seen.processes.iter_mut().find(|process| process.pid == *pid).unwrap();
            for thread in &mut to.threads {
                thread.steady = from.threads.iter().any(|other| other.tid == thread.tid && other.steady);
            }
        }
        MountTable { ns, .. } => copy_all(&whole.mounts.others, &mut seen.mounts.others, |table| table.ns == *ns),
        PathMount(path) => copy_all(&whole.path_mounts, &mut seen.path_mounts, |known| known.path == *path),
        RootFileSystem(id) => {
            if let (Seen::Seen(from), Seen::Seen(to)) = (&whole.mounts.kubelet, &mut seen.mounts.kubelet) {
                copy_all(&from.mounts, &mut to.mounts, |mount| mount.is_rootfs_of(id));
            }
        }
        Holders(path) => copy_all(&whole.holders, &mut seen.holders, |search| search.mount_point == *path),
        MountCopies(end) => copy_all(&whole.mount_copies, &mut seen.mount_copies, |copy| {
            copy.mount.mount_point.as_path().ends_with(end)
        }),
        ProtectedFiles(dir) => copy_all(&whole.protected_files, &mut seen.protected_files, |known| known.dir == *dir),
        InFlight => seen.in_flight = whole.in_flight.clone(),
        WritableFiles(pid) => copy_all(&whole.writable, &mut seen.writable, |known| known.pid == *pid),
        VolumesChanged => seen.volumes_changed_ms = whole.volumes_changed_ms.clone(),
        UnmountedDevices => seen.unmounted_devices = whole.unmounted_devices.clone(),
        FuseConnection(number) => {
            let from = whole.fuse.iter().filter(|connection| connection.number == *number).cloned();
            seen.fuse
                .extend(from.map(|connection| observation::FuseConnection { probe: Seen::NotAsked, ..connection }));
        }
        FuseAnswer { connection, .. } => {
            let from = whole.fuse.iter().find(|known| known.number == *connection).unwrap();
            seen.fuse.iter_mut().find(|known| known.number == *connection).unwrap().probe = from.probe.clone();
        }
        CsiDrivers => {
            seen.csi = whole.csi.clone();
            seen.dra_drivers = whole.dra_drivers.clone();
        }
        KubeletCounters => seen.kubelet_counters = whole.kubelet_counters.clone(),
        KernelLog => seen.kernel_log = whole.kernel_log.clone(),
        BlockStack(dev) => copy_all(&whole.block_stacks, &mut seen.block_stacks, |stack| stack.mounted == *dev),
        MultipathMap(dev) => copy_all(&whole.multipath, &mut seen.multipath, |map| map.mounted == *dev),
        Shims(id) => copy_all(&whole.shims, &mut seen.shims, |shim| shim.sandbox == *id),
        PersistentVolume(name) => {
            if let (Seen::Seen(from), Seen::Seen(to)) = (&whole.api, &mut seen.api) {
                copy_all(&from.volumes, &mut to.volumes, |volume| volume.name == *name);
            }
        }
    }
}

/// Asks of `whole` until nothing is lacking. How many rounds it took.
fn complete(seen: &mut Observation, whole: &Observation) -> usize {
    for round in 0..MAX_ROUNDS {
        let wanted = |uid: &findings::PodUid| whole.looked_into.contains(uid) && !seen.looked_into.contains(uid);
        let uids = candidates(seen).into_iter().map(|candidate| candidate.pod.uid);
        let uids: BTreeSet<_> = uids.filter(wanted).collect();
        seen.looked_into.extend(uids);
        let questions = plan(seen);
        if questions.is_empty() {
            return round;
        }
        questions.iter().for_each(|question| answer(question, whole, seen));
    }
    panic!("{:?} is still lacking", plan(seen));
}

/// Starting from the lists and asking gives the same report as the whole observation; with all of that known, no question
/// would change a thing.
pub(crate) fn check(whole: &Observation) {
    let mut seen = lists(whole);
    let rounds = complete(&mut seen, whole);
    assert!(rounds <= 8, "{rounds} rounds: {:?}", seen.asked);
    let asked = std::mem::take(&mut seen.asked);
    assert_eq!(judge(&seen), judge(whole), "asked: {asked:#?}");
    let mut again = whole.clone();
    complete(&mut again, whole);
    again.asked.clear();
    assert_eq!(again, *whole);
}

fn adversary() -> impl Iterator<Item = (String, Observation)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/adversary");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let saved = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    saved.map(|path| {
        let mut seen = Observation::read(&fs::read(&path).unwrap()).unwrap();
        seen.asked.clear();
        (path.display().to_string(), seen)
    })
}

#[test]
fn asking_round_by_round_ends_with_the_answer_of_the_whole() {
    let samples = [sample::node(), sample::deleted(), sample::running(), sample::mounted("ext4")];
    samples.iter().for_each(check);
    let mut count = 0;
    for (name, whole) in adversary() {
        println!("{name}");
        check(&whole);
        count += 1;
    }
    assert!(count >= 37);
}

#[test]
fn a_node_without_stuck_pods_is_asked_nothing() {
    let mut seen = lists(&sample::running());
    seen.api.get_mut().unwrap().pods[0].deletion = None;
    assert_eq!(plan(&seen), []);
}

#[test]
fn what_was_asked_and_gave_nothing_is_not_asked_again() {
    let mut seen = lists(&sample::running());
    seen.looked_into = vec![sample::pod().uid];
    while let questions @ [_, ..] = plan(&seen).as_slice() {
        questions.iter().for_each(|question| assert!(seen.asked.insert(question.clone()), "{question:?}"));
    }
    assert!(!seen.asked.is_empty());
}

/// While a container runs its volumes have no other holder.
#[test]
fn the_dear_searches_are_for_what_is_to_be_unmounted_now() {
    let mut whole = sample::mounted("fuse.s3fs");
    let asked = |whole: &Observation| {
        let mut seen = lists(whole);
        complete(&mut seen, whole);
        seen.asked
    };
    let is_search = |question: &&Question| matches!(question, Question::Holders(_) | Question::FuseConnection(_));
    assert_eq!(asked(&whole).iter().filter(is_search).count(), 2);
    whole.runtime.get_mut().unwrap().containers[0].state = ContainerState::Running;
    whole.processes = sample::running().processes;
    assert_eq!(asked(&whole).iter().filter(is_search).count(), 0);
}

/// The kubelet does not even try to unmount a volume that it has forgotten.
#[test]
fn nobody_is_searched_for_a_volume_that_is_explained() {
    let mut whole = sample::mounted("ext4");
    whole.pod_dirs.get_mut().unwrap()[0].volumes.get_mut().unwrap()[0].vol_data = VolData::Missing;
    let mut seen = lists(&whole);
    complete(&mut seen, &whole);
    assert!(!seen.asked.iter().any(|question| matches!(question, Question::Holders(_))), "{:?}", seen.asked);
    assert!(seen.asked.contains(&Question::PersistentVolume("pv-1".into())));
}

/// The kubelet's counters explain only what nothing else does.
#[test]
fn the_counters_are_not_asked_for_beside_a_search() {
    let asked = |whole: &Observation| {
        let mut seen = lists(whole);
        complete(&mut seen, whole);
        seen.asked.contains(&Question::KubeletCounters)
    };
    let mut whole = sample::mounted("ext4");
    assert!(asked(&whole), "nothing holds it");
    whole.holders[0].holders.push(Holder { mount_ns: 9, ..sample::holder() });
    assert!(!asked(&whole), "something does");
}

#[test]
fn an_observation_tells_what_was_asked() {
    let mut seen = sample::node();
    seen.asked.insert(Question::Holders(HostPath::new(b"/a\xff".as_slice())));
    seen.csi = Seen::NotAsked;
    let saved = serde_json::to_string(&seen).unwrap();
    assert_eq!(serde_json::from_str::<Observation>(&saved).unwrap(), seen);
    let mut old = serde_json::to_value(sample::running()).unwrap();
    old.as_object_mut().unwrap().remove("asked");
    assert_eq!(serde_json::from_value::<Observation>(old).unwrap(), sample::running());
}
