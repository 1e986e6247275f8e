//! What a forced deletion would cost: what of the pod would go on when its object is gone.

use std::collections::BTreeSet;

use findings::{ForceCost, ForcedVolume, OtherPod, Writer, clean};

use crate::causes::{container, csi, describe};
use crate::observation::{ApiPod, Mount, Process, VolumeDir, WritableFile};
use crate::view::{DeletionReason, PodView, RETRY_WINDOW_MS};

/// More of them are reported by their number.
const MAX_NAMED: usize = 5;
/// Of so many processes it is read what they have open.
const MAX_PROCESSES_READ: usize = 64;

/// Of a pod whose deletion was requested. None when nothing of it would go on.
pub fn cost(view: &PodView) -> Option<ForceCost> {
    if !matches!(view.why, DeletionReason::DeletionRequested(_)) {
        return None;
    }
    // A zombie writes nothing any more; one of its threads may.
    let writes = |process: &&Process| process.state != 'Z' || process.threads.iter().any(|thread| thread.state != 'Z');
    let in_cgroups = view.cgroup_nodes().flat_map(|(_, node)| node.procs.iter().copied());
    let inits = container::running(view).into_iter().filter_map(|container| view.init(container)).map(|init| init.pid);
    let pids: BTreeSet<u32> = in_cgroups.chain(inits).collect();
    let living: Vec<&Process> = pids.into_iter().filter_map(|pid| view.process(pid)).filter(writes).collect();
    let volumes: Vec<(ForcedVolume, &Mount)> = view
        .dir
        .into_iter()
        .flat_map(|dir| dir.volumes.get().into_iter().flatten())
        .filter_map(|one| volume(view, one))
        .collect();
    let writing = if volumes.is_empty() { Writing::default() } else { writing(view, &living, &volumes) };
    let unsaved = view.cgroup.and_then(|cgroup| cgroup.dirs.iter().find_map(|dir| dir.dirty_bytes));
    let names = living.iter().take(MAX_NAMED).map(|process| describe::process(process).text);
    let controller = view.api.and_then(|pod| pod.controller.as_ref());
    let cost = ForceCost {
        processes: names.collect(),
        process_count: living.len(),
        writers: writing.writers,
        writer_count: writing.count,
        writers_not_seen: writing.not_seen,
        volumes: volumes.into_iter().map(|(volume, _)| volume).collect(),
        unsaved_bytes: unsaved.filter(|bytes| *bytes > 0),
        controller: controller.map(|controller| clean(&format!("{} {}", controller.kind, controller.name), 320)),
        others: other_pods(view).take(MAX_NAMED).collect(),
    };
    (cost.process_count > 0 || !cost.volumes.is_empty() || cost.unsaved_bytes.is_some()).then_some(cost)
}

/// Who can go on writing.
#[derive(Default)]
struct Writing {
    writers: Vec<Writer>,
    count: usize,
    not_seen: Option<String>,
}

fn writing(view: &PodView, living: &[&Process], volumes: &[(ForcedVolume, &Mount)]) -> Writing {
    let mut writing = Writing::default();
    if living.len() > MAX_PROCESSES_READ {
        writing.not_seen = Some(format!("{} of {} processes were looked at", MAX_PROCESSES_READ, living.len()));
    }
    let looked_at = living.iter().take(MAX_PROCESSES_READ);
    for (process, open) in looked_at.filter_map(|process| Some((process, view.writable_files(process)?))) {
        if let Some(fault) = &open.fault {
            writing.not_seen.get_or_insert_with(|| clean(&fault.to_string(), 200));
        }
        let of_each = volumes.iter().filter_map(|(volume, mount)| writer(process, &volume.name, &open.files, mount));
        let before = writing.writers.len();
        writing.writers.extend(of_each);
        writing.count += usize::from(writing.writers.len() > before);
    }
    writing.writers.truncate(MAX_NAMED);
    writing
}

/// What a process can write to of what is mounted at `mount`: opened where the same directory of the same file system
/// is mounted, or one below it (a subPath).
fn writer(process: &Process, volume: &str, open: &[WritableFile], mount: &Mount) -> Option<Writer> {
    let mut files = open.iter().filter(|file| file.dev == mount.dev && file.root.is_within(&mount.root));
    let file = files.next()?;
    Some(Writer {
        process: describe::process(process).text,
        volume: volume.to_owned(),
        file: describe::path(&file.path),
        fd: file.fd,
        more_files: files.count(),
        ending: process.is_dying(),
    })
}

/// Other pods of the same controller that run here and are ready. Those of a StatefulSet each do a work of their own,
/// unless they use the same claim.
fn other_pods<'a>(view: &PodView<'a>) -> impl Iterator<Item = OtherPod> + use<'a> {
    let pods = view.seen.api.get().into_iter().filter(|api| api.stale.is_none()).flat_map(|api| &api.pods);
    let ours = view.api.and_then(|pod| Some((pod, pod.controller.as_ref()?)));
    pods.filter_map(move |other| {
        let (pod, controller) = ours?;
        let is_same = |other: &ApiPod| other.controller.as_ref().is_some_and(|theirs| theirs.uid == controller.uid);
        let is_other = other.uid != pod.uid && other.ready && other.deletion.is_none() && is_same(other);
        let shared = other.volume_claims.iter().filter(|claim| pod.volume_claims.contains(claim));
        let shared_claims: Vec<String> = shared.map(|claim| clean(claim, 253)).collect();
        let counts = is_other && (controller.kind != "StatefulSet" || !shared_claims.is_empty());
        counts.then(|| OtherPod { pod: clean(&format!("{}/{}", other.namespace, other.name), 320), shared_claims })
    })
}

fn volume<'a>(view: &PodView<'a>, volume: &VolumeDir) -> Option<(ForcedVolume, &'a Mount)> {
    let mount = view.mount_at(volume.target.get().unwrap_or(&volume.path))?;
    let is_writable = !mount.read_only && !mount.super_read_only;
    let is_persistent = !volume.is_made_for_the_pod();
    (is_writable && is_persistent).then(|| {
        let volume = ForcedVolume {
            name: clean(&volume.name, 253),
            path: mount.mount_point.show(),
            // Only what is attached to a node is detached from it.
            may_be_detached: volume.plugin == "kubernetes.io/csi" && mount.dev.major != 0,
            access_modes: access_modes(view, volume),
        };
        (volume, mount)
    })
}

/// Of one that a claim of the pod is bound to. The API server is not queried before the pod is late.
fn access_modes(view: &PodView, volume: &VolumeDir) -> Vec<String> {
    let is_claimed = view.api.is_some_and(|pod| !pod.volume_claims.is_empty()) && view.is_overdue_by(RETRY_WINDOW_MS);
    let known = is_claimed.then(|| csi::persistent_volume(view, volume)).flatten();
    known.map(|known| known.access_modes.iter().map(|mode| clean(mode, 40)).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    /// Its process runs on beside a volume that is a directory of a disk.
    fn running_with_volume() -> Observation {
        let mut seen = sample::mounted("ext4");
        let mount = &mut table(&mut seen)[0];
        (mount.dev, mount.root) = (Dev { major: 8, minor: 16 }, HostPath::from("/volumes/pv-1"));
        seen.processes = sample::running().processes;
        seen.cgroups = sample::cgroup(&[INIT]);
        seen
    }

    fn opened(seen: &mut Observation, root: &str, path: &str, fd: Option<u32>) {
        let file = WritableFile {
            dev: Dev { major: 8, minor: 16 },
            root: HostPath::from(root),
            path: HostPath::from(path),
            fd,
        };
        seen.writable.push(WritableFiles { pid: INIT, start_ticks: None, files: vec![file], fault: None });
    }

    #[test]
    fn who_has_a_file_of_a_volume_open_for_writing_is_named() {
        let mut seen = running_with_volume();
        opened(&mut seen, "/volumes/pv-1/sub", "/data/journal", Some(3));
        crate::plan::tests::check(&seen);
        let cost = judge(&seen).pods[0].force.clone().unwrap();
        let writers: Vec<_> =
            cost.writers.iter().map(|one| (one.process.as_str(), one.volume.as_str(), one.fd)).collect();
        assert_eq!((writers.as_slice(), cost.writer_count), ([("pid 326 sh", "pv-1", Some(3))].as_slice(), 1));
        assert_eq!(cost.writers[0].file, "/data/journal");
        assert!(!cost.writers[0].ending);
        let other = seen.processes.iter().find(|process| process.pid == INIT).map(|process| process.start_ticks + 1);
        seen.writable[0].start_ticks = other;
        assert_eq!(judge(&seen).pods[0].force.clone().unwrap().writer_count, 0, "another process had the pid");
    }

    /// An emptyDir on the same disk, or a volume whose name only begins like this one's.
    #[test]
    fn what_lies_beside_the_volume_on_its_disk_is_not_it() {
        for root in ["/", "/kubelet/pods/u/volumes/scratch", "/volumes/pv-10", "/volumes"] {
            let mut seen = running_with_volume();
            opened(&mut seen, root, "/data/journal", Some(3));
            let cost = judge(&seen).pods[0].force.clone().unwrap();
            assert_eq!((cost.writers.len(), cost.writer_count), (0, 0), "{root}");
        }
        let mut seen = running_with_volume();
        opened(&mut seen, "/volumes/pv-1", "/data/journal", None);
        seen.writable[0].files[0].dev.minor = 17;
        assert_eq!(judge(&seen).pods[0].force.clone().unwrap().writer_count, 0);
    }

    #[test]
    fn who_could_not_be_looked_at_may_write_too() {
        let mut seen = running_with_volume();
        let fault = crate::observation::Fault::new("/proc/326/fd", (FaultKind::Denied, "may not be listed"));
        seen.writable.push(WritableFiles { pid: INIT, start_ticks: None, files: Vec::new(), fault: Some(fault) });
        let cost = judge(&seen).pods[0].force.clone().unwrap();
        assert!(cost.writers_not_seen.is_some_and(|why| why.contains("may not be listed")));
    }

    /// Open files are not read when no volume could be written to.
    #[test]
    fn descriptors_are_read_for_volumes_only() {
        let asks = |seen: &Observation| {
            crate::plan::plan(seen)
                .iter()
                .any(|question| matches!(question, crate::observation::Question::WritableFiles(_)))
        };
        let mut seen = running_with_volume();
        let mut asked = false;
        for _ in 0..8 {
            asked |= asks(&seen);
            seen.asked.extend(crate::plan::plan(&seen));
        }
        assert!(asked);
        let mut seen = running_with_volume();
        table(&mut seen)[0].read_only = true;
        for _ in 0..8 {
            assert!(!asks(&seen));
            seen.asked.extend(crate::plan::plan(&seen));
        }
    }

    #[test]
    fn another_pod_of_its_controller_that_runs_here_is_named() {
        let mut seen = running_with_volume();
        let api = seen.api.get_mut().unwrap();
        let controller =
            |uid: &str, kind: &str| Some(Controller { kind: kind.into(), name: "web".into(), uid: uid.into() });
        (api.pods[0].controller, api.pods[0].volume_claims) = (controller("u1", "ReplicaSet"), vec!["data".into()]);
        let other = |number: u32, of: &str| ApiPod {
            uid: findings::PodUid::parse(&format!("96fb425e-919e-44f9-8b42-{number:012x}")).unwrap(),
            name: format!("web-{number}"),
            deletion: None,
            phase: "Running".into(),
            controller: controller(of, "ReplicaSet"),
            ready: true,
            ..api.pods[0].clone()
        };
        let others = [
            other(1, "u1"),
            ApiPod { volume_claims: Vec::new(), ..other(2, "u1") },
            ApiPod { ready: false, ..other(3, "u1") },
            ApiPod { deletion: api.pods[0].deletion, ..other(4, "u1") },
            // One of the same name that was made anew, and one without a controller.
            other(5, "u2"),
            ApiPod { controller: None, ..other(6, "u1") },
        ];
        api.pods.extend(others);
        let of = |seen: &Observation| judge(seen).pods[0].force.clone().unwrap();
        let named = |seen: &Observation| {
            of(seen).others.into_iter().map(|one| (one.pod, one.shared_claims)).collect::<Vec<_>>()
        };
        assert_eq!(of(&seen).controller.as_deref(), Some("ReplicaSet web"));
        assert_eq!(
            named(&seen),
            [("shop/web-1".to_owned(), vec!["data".to_owned()]), ("shop/web-2".to_owned(), vec![])]
        );
        seen.api.get_mut().unwrap().pods[0].controller = controller("u1", "StatefulSet");
        assert_eq!(named(&seen).len(), 1, "the others of a StatefulSet do not do its work");
    }

    #[test]
    fn processes_and_volumes_that_would_go_on_are_named() {
        let mut seen = sample::mounted("ext4");
        table(&mut seen)[0].dev = Dev { major: 8, minor: 16 };
        seen.processes = sample::running().processes;
        seen.cgroups = sample::cgroup(&[INIT]);
        let cost = judge(&seen).pods[0].force.clone().unwrap();
        assert_eq!((cost.processes.as_slice(), cost.process_count), (["pid 326 sh".to_owned()].as_slice(), 1));
        assert_eq!((cost.volumes[0].name.as_str(), cost.volumes[0].may_be_detached), ("pv-1", true));
        table(&mut seen)[0].read_only = true;
        assert!(judge(&seen).pods[0].force.clone().unwrap().volumes.is_empty());
    }

    #[test]
    fn how_a_volume_may_be_used_is_told_of_the_pods_own() {
        let mut seen = sample::mounted("ext4");
        let api = seen.api.get_mut().unwrap();
        api.pods[0].volume_claims = vec!["data-db-0".into()];
        api.volumes =
            vec![PersistentVolume { access_modes: vec!["ReadWriteOnce".into()], ..sample::persistent_volume() }];
        let modes = |seen: &crate::observation::Observation| {
            judge(seen).pods[0].force.clone().unwrap().volumes[0].access_modes.clone()
        };
        assert_eq!(modes(&seen), ["ReadWriteOnce"]);
        seen.api.get_mut().unwrap().volumes[0].claim = Some("till/data-db-0".into());
        assert!(modes(&seen).is_empty(), "a stranger's of the same name");
    }

    #[test]
    fn what_is_not_on_disk_is_told_and_nothing_costs_nothing() {
        let mut seen = sample::mounted("ext4");
        table(&mut seen)[0].read_only = true;
        assert_eq!(judge(&seen).pods[0].force, None);
        seen.cgroups = sample::cgroup(&[]);
        seen.cgroups.get_mut().unwrap()[0].dirs[0].dirty_bytes = Some(4 << 20);
        assert_eq!(judge(&seen).pods[0].force.clone().unwrap().unsaved_bytes, Some(4 << 20));
    }
}
