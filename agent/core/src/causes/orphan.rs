//! Pods the API server does not know any more, with something of them left here.

use findings::Confidence;

use super::prelude::*;
use super::{container, csi, kill, kubelet_operations, stray_file};

/// Its containers run although the API server has forgotten it: a replacement elsewhere may
/// already write to the same data.
pub fn still_running(view: &PodView) -> Option<Finding> {
    let container = container::running(view).into_iter().next().filter(|_| view.why == DeletionReason::NotInApi)?;
    let cause = &cause::FORCE_DELETED_STILL_RUNNING;
    let init = view.init(container).and_then(|init| kill::may_be_killed(view, init.id(), &init.comm));
    let pids: Vec<String> = view.processes().iter().take(8).map(|process| process.pid.to_string()).collect();
    let draft = pod_finding(view, cause, Some(Gate::ContainersStopped), &describe::container(view, container))
        .blame("API server", format!("does not know this pod any more, and it runs (pid {})", pids.join(", ")))
        .evidence("API server, pods of this node", format!("no pod with uid {}", view.uid()))
        .evidence(format!("CRI ListContainers {}", container.id), "RUNNING")
        .evidence("terminationGracePeriodSeconds", grace(view, container))
        .name(Placeholder::Container, &container.id)
        .name(Placeholder::Sandbox, &container.sandbox)
        .name(Placeholder::GraceSeconds, container.grace_s.unwrap_or(30))
        .root(view.uid());
    // No step cuts the grace period of a database short.
    let is_over = view.overdue_ms().is_some() && view.is_overdue_by(RETRY_WINDOW_MS);
    let draft =
        if is_over { draft.name_if(Placeholder::Pid, init) } else { draft.probable("that its grace period has ended") };
    Some(draft.finish())
}

fn grace(view: &PodView, container: &Container) -> String {
    let seconds = container.grace_s.map_or("unknown".to_owned(), findings::duration);
    match view.overdue_ms() {
        None => {
            format!("{seconds}; if it was deleted by force less than that ago, the kubelet may still be stopping it")
        }
        Some(overdue) if overdue < 0 => format!("{seconds}; it was forgotten less than that ago, and is being stopped"),
        Some(_) => format!("{seconds}; it was forgotten longer ago than that"),
    }
}

/// Its directory is left with volumes or data in it. Asked at the gate of the volumes: nothing of it runs or is READY.
pub fn directory(view: &PodView) -> Option<Finding> {
    let has_ended = view.containers.iter().all(|container| container.state == ContainerState::Exited);
    let dir = view.dir.filter(|_| view.why == DeletionReason::NotInApi && has_ended)?;
    // `podVolumesExist` fails on it, and the kubelet goes no further.
    if let Some(stray) = stray_file::find(view, dir).into_iter().next() {
        return Some(stray);
    }
    let volumes: Vec<&VolumeDir> = dir.volumes.get().into_iter().flatten().collect();
    if volumes.is_empty() {
        return left_file(view).map(|file| sub_path_file(view, &file.path));
    }
    Some(match memory(view, dir, &volumes) {
        Memory::Remembers(volume, why) if !volumes.iter().any(is_in_use) => remembered(view, &volumes, volume, why),
        Memory::Forgot => forgotten(view, &volumes, leftover_file(&volumes)),
        Memory::Remembers(..) | Memory::Untold => forgotten(view, &volumes, None),
    })
}

/// Whether it helps with an orphan's mount as with that of a pod which ends: something really holds it, or its driver has
/// left it.
pub fn is_of_mount(view: &PodView, finding: &Finding) -> bool {
    let left = [&cause::CSI_UNPUBLISH_LEFT_MOUNT, &cause::CSI_UNPUBLISH_FAILS];
    let is_left = left.iter().any(|left| left.id == finding.cause.id);
    finding.confidence == Confidence::Proven || (is_left && has_had_its_time(view))
}

/// Whether it is known to be forgotten for longer than the kubelet needs for another try.
fn has_had_its_time(view: &PodView) -> bool {
    let forgotten_ms = view.seen.api.get().and_then(|api| api.heard.forgotten.get(view.uid()));
    forgotten_ms.is_some_and(|ms| view.seen.at_ms.saturating_sub(*ms) >= UNMOUNT_RETRY_MS)
}

/// The file of a subPath that this kubelet cannot remove of an orphan: up to 1.35 it tries `rmdir`
/// (`removeOrphanedPodVolumeDirs`).
pub fn left_file<'a>(view: &PodView<'a>) -> Option<&'a SubPath> {
    let dir = view.dir.filter(|_| view.why == DeletionReason::NotInApi && view.kubelet < KubeletMinor(36))?;
    dir.sub_paths.iter().find(|sub_path| sub_path.is_file && sub_path.mounted.get() == Some(&false))
}

/// Something is in it, whatever the kubelet remembers.
fn is_in_use(volume: &&VolumeDir) -> bool {
    volume.mounted.get() == Some(&true) || volume.entries.unwrap_or(0) > 0
}

/// What the kubelet still tracks of an orphan's volumes, as far as that is visible from outside.
enum Memory<'a> {
    /// This volume, because of that.
    Remembers(&'a VolumeDir, &'static str),
    /// None: it found none at its start, or would have had it unpublished by now.
    Forgot,
    /// Perhaps one.
    Untold,
}

fn memory<'a>(view: &PodView, dir: &PodDir, volumes: &[&'a VolumeDir]) -> Memory<'a> {
    let is_noted = |volume: &&VolumeDir| volume.vol_data != VolData::NotCsi && !is_in_use(volume);
    let noted: Vec<&VolumeDir> = volumes.iter().copied().filter(is_noted).collect();
    let Some(first) = noted.first() else { return Memory::Forgot };
    if noted.iter().all(|volume| volume.vol_data == VolData::Missing) {
        return Memory::Remembers(first, "only empty directories are left, and it would remove those every 2 s");
    }
    let (Some(kubelet), Some(_)) = (view.seen.node.kubelet.get(), view.csi_drivers()) else { return Memory::Untold };
    let age_ms = view.seen.at_ms.saturating_sub(dir.changed_ms);
    // At its start it takes for mounted whatever it can read a vol_data.json of.
    let is_younger = kubelet.age_ms < age_ms;
    let is_read = |volume: &&&VolumeDir| matches!(volume.vol_data, VolData::Read(_));
    match noted.iter().filter(is_read).find(|volume| csi::is_not_tried(view, volume)) {
        Some(volume) if is_younger => {
            Memory::Remembers(volume, "it was started later, read vol_data.json then, and has no driver to call")
        }
        Some(volume) => counted_memory(view, volume),
        None if noted.iter().all(|volume| matches!(volume.vol_data, VolData::Unusable(_))) && is_younger => {
            Memory::Forgot
        }
        None if noted.iter().all(|volume| is_read(&volume)) && kubelet.age_ms.min(age_ms) > UNMOUNT_RETRY_MS => {
            Memory::Forgot
        }
        None => Memory::Untold,
    }
}

/// A kubelet that remembers a volume tries to unmount it again and again, and counts that.
fn counted_memory<'a>(view: &PodView, volume: &'a VolumeDir) -> Memory<'a> {
    match kubelet_operations::unmount(view, volume) {
        Some(tries) if tries.proves_failure() => {
            Memory::Remembers(volume, "its counters show that it goes on trying to unmount it")
        }
        Some(tries) if tries.has_given_up() => Memory::Forgot,
        _ => Memory::Untold,
    }
}

fn remembered(view: &PodView, volumes: &[&VolumeDir], volume: &VolumeDir, why: &str) -> Finding {
    let is_missing = volume.vol_data == VolData::Missing;
    let file = volume.path.join("vol_data.json");
    let mut draft = orphan(view, &cause::ORPHANED_VOLUME_REMEMBERED, volumes)
        .probable("the kubelet's memory of its volumes, which nothing shows from outside")
        .blame("the kubelet", format!("most likely remembers volume {}: {why}", findings::clean(&volume.name, 80)))
        .evidence(file.show(), if is_missing { "does not exist" } else { "is there" });
    if let Some(kubelet) = view.seen.node.kubelet.get() {
        let runs = format!("it runs {}", describe::age(kubelet.age_ms));
        draft = draft.evidence(format!("/proc/{}/stat of the kubelet", kubelet.pid), runs);
    }
    draft
        .name_if(Placeholder::Path, volume.path.join("mount").as_str().filter(|_| volume.target == Seen::Missing))
        .name_if(Placeholder::VolData, file.as_str().filter(|_| is_missing))
        .finish()
}

/// Begins a finding about the directory of an orphan.
fn orphan(view: &PodView, cause: &'static Cause, volumes: &[&VolumeDir]) -> FindingBuilder {
    let path = view.seen.node.kubelet_root.join("pods").join(view.uid().as_str());
    let entries: u32 = volumes.iter().filter_map(|volume| volume.entries).sum();
    let mounted = volumes.iter().filter(|volume| volume.mounted.get() == Some(&true)).count();
    let directories = describe::count(volumes.len(), "volume directory", "volume directories");
    let holds = format!("{directories}, {mounted} mounted, {entries} entries in the rest");
    let count = describe::count(
        view.sandboxes.len() + view.containers.len(),
        "sandbox or container",
        "sandboxes and containers",
    );
    let mut draft = pod_finding(view, cause, Some(Gate::VolumesUnmounted), &[])
        .link(describe::file(&path), format!("its pod is in no API and no runtime; {holds}"))
        .evidence(path.show(), &holds)
        .evidence("API server, pods of this node", format!("no pod with uid {}", view.uid()))
        .evidence("CRI", format!("{count} of it, none running"))
        .root(view.uid());
    for volume in volumes.iter().take(4) {
        let what = match (volume.mounted.get(), volume.entries) {
            (Some(true), _) => "mounted".to_owned(),
            (Some(false), Some(entries)) => {
                format!("not mounted, {}", describe::count(entries as usize, "entry", "entries"))
            }
            (Some(false), None) => "not mounted, nothing to list".to_owned(),
            (None, _) => "could not be looked at".to_owned(),
        };
        draft = draft.evidence(volume.path.show(), what);
    }
    draft
}

/// The directory is itself the root.
fn forgotten(view: &PodView, volumes: &[&VolumeDir], to_move: Option<HostPath>) -> Finding {
    let draft = orphan(view, &cause::ORPHANED_POD_DIRECTORY, volumes).blame_last();
    draft.name_if(Placeholder::Path, to_move.as_ref().and_then(|file| file.as_str())).finish()
}

/// The one file that is known to be no data: the kubelet's own note in the directory of a volume
/// that is not mounted.
fn leftover_file(volumes: &[&VolumeDir]) -> Option<HostPath> {
    let has_note = |volume: &&&VolumeDir| matches!(volume.vol_data, VolData::Read(_) | VolData::Unusable(_));
    let is_empty = |volume: &&&VolumeDir| volume.mounted.get() != Some(&true) && volume.entries.unwrap_or(0) == 0;
    volumes.iter().filter(is_empty).find(has_note).map(|volume| volume.path.join("vol_data.json"))
}

fn sub_path_file(view: &PodView, path: &HostPath) -> Finding {
    pod_finding(view, &cause::ORPHANED_POD_DIRECTORY, Some(Gate::VolumesUnmounted), &[])
        .blame(describe::file(path), "a file, and the kubelet tries rmdir")
        .evidence(path.show(), "a regular file, not a mount point")
        .name_if(Placeholder::Path, path.as_str())
        .root(path.show())
        .finish()
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    /// The pod has ended and is not in the API.
    fn forgotten() -> Observation {
        let mut seen = sample::mounted("ext4");
        seen.api.get_mut().unwrap().pods.clear();
        table(&mut seen).clear();
        seen
    }

    #[test]
    fn a_sub_path_file_of_a_forgotten_pod() {
        let mut seen = forgotten();
        pod_dir(&mut seen).volumes = Seen::Seen(Vec::new());
        pod_dir(&mut seen).sub_paths.push(sub_path(Seen::Seen(false), true));
        assert_eq!(causes(&seen), Vec::<&str>::new(), "1.36 removes it");
        seen.api.get_mut().unwrap().kubelet_version = Some("v1.35.1".into());
        assert_eq!(causes(&seen), ["OrphanedPodDirectory"]);
        assert!(serde_json::to_string(&judge(&seen)).unwrap().contains("a regular file, not a mount point"));
        assert_eq!(sample::verdict(&seen), findings::Verdict::Stuck);
        pod_dir(&mut seen).sub_paths[0].is_file = false;
        assert_eq!(causes(&seen), Vec::<&str>::new());
    }

    /// `podVolumesExist` fails on it, and then nothing else is looked at.
    #[test]
    fn a_stray_file_of_a_forgotten_pod_is_named_before_what_comes_after_it() {
        let mut seen = forgotten();
        volume(&mut seen).mounted = Seen::Seen(false);
        assert_eq!(causes(&seen), ["OrphanedPodDirectory"]);
        pod_dir(&mut seen).strays.push(HostPath::from("/x"));
        assert_eq!(causes(&seen), ["StrayFileInVolumes"]);
        seen.api.get_mut().unwrap().kubelet_version = Some("v1.35.1".into());
        pod_dir(&mut seen).sub_paths.push(sub_path(Seen::Seen(false), true));
        pod_dir(&mut seen).volumes = Seen::Seen(Vec::new());
        assert_eq!(causes(&seen), ["StrayFileInVolumes"]);
    }

    /// What stands beside it in another volume changes nothing of what the kubelet remembers.
    #[test]
    fn what_the_kubelet_remembers_is_left_to_it_beside_a_volume_that_is_in_use() {
        let moves = |seen: &Observation| {
            assert_eq!(causes(seen), ["OrphanedPodDirectory"]);
            let finding = crate::gates::judge(seen).pods.remove(0).findings.remove(0);
            serde_json::to_string(&finding.remedy.steps).unwrap().contains("&& mv ")
        };
        let mut seen = forgotten();
        volume(&mut seen).mounted = Seen::Seen(false);
        let beside = VolumeDir {
            plugin: "kubernetes.io/empty-dir".into(),
            name: "scratch".into(),
            vol_data: VolData::NotCsi,
            entries: Some(3),
            ..volume(&mut seen).clone()
        };
        pod_dir(&mut seen).volumes.get_mut().unwrap().push(beside);
        assert!(moves(&seen), "its driver would have been asked by now");
        // It was found again at the start, and no driver is there.
        seen.node.kubelet.get_mut().unwrap().age_ms = 60_000;
        seen.csi = Seen::Seen(Vec::new());
        assert!(!moves(&seen));
    }

    /// A kubelet that is running stops it in the orderly way, and its grace period may be long.
    #[test]
    fn what_was_deleted_by_force_has_its_grace_period() {
        let mut seen = sample::running();
        seen.api.get_mut().unwrap().pods.clear();
        sample::runtime(&mut seen).containers[0].grace_s = Some(600);
        let answer = |seen: &Observation| {
            let pod = crate::gates::judge(seen).pods.remove(0);
            let finding = pod.findings.iter().find(|one| one.cause.id == "ForceDeletedStillRunning").unwrap();
            let steps = serde_json::to_string(&finding.remedy.steps).unwrap();
            assert!(steps.contains("stop --timeout 600 "), "{steps}");
            let grace = finding.evidence.iter().find(|one| one.source == "terminationGracePeriodSeconds").unwrap();
            let words = grace.says.strip_prefix("10m; ").unwrap().to_owned();
            (pod.verdict, finding.confidence, steps.contains("kill -9"), words)
        };
        use findings::{Confidence::*, Verdict::*};
        let unseen = "if it was deleted by force less than that ago, the kubelet may still be stopping it".to_owned();
        assert_eq!(answer(&seen), (CannotTell, Probable, false, unseen), "when is unknown");
        let forgotten = |seen: &mut Observation, ago_ms| {
            seen.api.get_mut().unwrap().heard.forgotten.insert(sample::pod().uid, sample::NOW - ago_ms);
        };
        forgotten(&mut seen, 60_000);
        let lately = "it was forgotten less than that ago, and is being stopped".to_owned();
        assert_eq!(answer(&seen), (Progressing, Probable, false, lately));
        forgotten(&mut seen, 700_000);
        let long_ago = "it was forgotten longer ago than that".to_owned();
        assert_eq!(answer(&seen), (Stuck, Proven, true, long_ago.clone()));
        let mut needed = seen.clone();
        needed.processes[0].comm = "containerd-shim".into();
        assert_eq!(answer(&needed), (Stuck, Proven, false, long_ago.clone()), "no step kills that");
        // It was gone already when the agent began to listen.
        let api = seen.api.get_mut().unwrap();
        api.heard.forgotten.clear();
        api.heard.since_ms = Some(sample::NOW - 700_000);
        assert_eq!(answer(&seen), (Stuck, Proven, true, long_ago));
    }

    /// The file may be moved only when the kubelet will not ask for it again.
    #[test]
    fn what_the_kubelet_remembers_is_left_to_it() {
        let cause_and_move = |seen: &Observation| {
            let finding = crate::gates::judge(seen).pods.remove(0).findings.remove(0);
            let text = serde_json::to_string(&finding.remedy.steps).unwrap();
            (causes(seen)[0], text.contains("&& mv "), text.contains("mkdir "), text.contains("put it back"))
        };
        let (gone, kept) = ("OrphanedPodDirectory", "OrphanedVolumeRemembered");
        let mut seen = forgotten();
        volume(&mut seen).mounted = Seen::Seen(false);
        let kubelet_ms = |seen: &mut Observation, age_ms| {
            seen.node.kubelet.get_mut().unwrap().age_ms = age_ms;
        };
        assert_eq!(cause_and_move(&seen), (gone, true, false, false), "its driver would have been asked by now");
        kubelet_ms(&mut seen, 60_000);
        assert_eq!(cause_and_move(&seen), (gone, false, false, false), "its driver may be asked yet");
        seen.csi = Seen::Seen(Vec::new());
        assert_eq!(cause_and_move(&seen), (kept, false, false, false), "it was found again at the start");
        kubelet_ms(&mut seen, 900_000_000);
        assert_eq!(cause_and_move(&seen), (gone, false, false, false), "it may be remembered from before");
        // Unless its counters show it.
        let read = |at_ms: u64, count: u64| {
            let of = Operation::Storage { plugin: "kubernetes.io/csi:exam.csi".into(), name: "volume_unmount".into() };
            CounterRead { at_ms, counters: vec![Counter { of, outcome: "fail-unknown".into(), count }] }
        };
        let counted = |seen: &mut Observation, before: u64| {
            let earlier = Some(read(sample::NOW - 200_000, before));
            seen.kubelet_counters = Seen::Seen(KubeletCounters { last: read(sample::NOW, 42), earlier });
        };
        counted(&mut seen, 40);
        assert_eq!(cause_and_move(&seen), (kept, false, false, false), "it goes on trying");
        counted(&mut seen, 42);
        assert_eq!(cause_and_move(&seen), (gone, true, false, false), "it does not try any more");
        seen.kubelet_counters.get_mut().unwrap().earlier.as_mut().unwrap().at_ms = sample::NOW - 20_000;
        assert_eq!(cause_and_move(&seen), (gone, false, false, false), "it may try in a while");
        seen.kubelet_counters = Seen::Missing;
        volume(&mut seen).vol_data = VolData::Unusable("has 0 bytes".into());
        assert_eq!(cause_and_move(&seen), (gone, false, false, false));
        kubelet_ms(&mut seen, 60_000);
        assert_eq!(cause_and_move(&seen), (gone, true, false, false), "it could not be read at the start");
        volume(&mut seen).vol_data = VolData::Missing;
        assert_eq!(cause_and_move(&seen), (kept, false, false, true), "empty directories do not stay");
        volume(&mut seen).target = Seen::Missing;
        assert_eq!(cause_and_move(&seen), (kept, false, true, true));
    }

    #[test]
    fn an_orphan_whose_directory_has_just_changed_is_on_its_way() {
        let mut seen = forgotten();
        volume(&mut seen).mounted = Seen::Seen(false);
        assert_eq!(causes(&seen), ["OrphanedPodDirectory"]);
        assert_eq!(sample::verdict(&seen), findings::Verdict::Stuck);
        let finding = crate::gates::judge(&seen).pods.remove(0).findings.remove(0);
        assert!(
            finding.chain[0].state.ends_with("; 1 volume directory, 0 mounted, 0 entries in the rest"),
            "{finding:?}"
        );
        let of_runtime = finding.evidence.iter().find(|one| one.source == "CRI").unwrap();
        assert_eq!(of_runtime.says, "2 sandboxes and containers of it, none running");
        pod_dir(&mut seen).changed_ms = sample::NOW - 2_000;
        assert_eq!(sample::verdict(&seen), findings::Verdict::Progressing);
    }

    /// No step moves a file out of a volume that has data in it, or is mounted.
    #[test]
    fn a_directory_with_data_in_it_is_left_as_it_is() {
        let answer = |seen: &Observation| {
            let finding = crate::gates::judge(seen).pods.remove(0).findings.remove(0);
            (causes(seen), serde_json::to_string(&finding.remedy.steps).unwrap().contains("&& mv "))
        };
        let mut seen = forgotten();
        (volume(&mut seen).mounted, volume(&mut seen).entries) = (Seen::Seen(false), Some(3));
        assert_eq!(answer(&seen), (vec!["OrphanedPodDirectory"], false));
        volume(&mut seen).vol_data = VolData::Missing;
        assert_eq!(answer(&seen), (vec!["OrphanedPodDirectory"], false));
        let mut seen = sample::mounted("ext4");
        seen.api.get_mut().unwrap().pods.clear();
        assert_eq!(answer(&seen), (vec!["OrphanedPodDirectory"], false), "the driver may be at it");
        // It goes when that is unmounted; what the kubelet remembers then shows afterwards.
        seen.api.get_mut().unwrap().heard.forgotten.insert(sample::pod().uid, sample::NOW - 600_000);
        assert_eq!(answer(&seen), (vec!["CsiUnpublishLeftMount"], false));
    }

    #[test]
    fn what_really_holds_a_mount_of_an_orphan_is_told() {
        let mut seen = sample::mounted("ext4");
        seen.api.get_mut().unwrap().pods.clear();
        seen.holders[0].holders.push(Holder { comm: "du".into(), ..sample::holder() });
        assert_eq!(causes(&seen), ["VolumeHeldByProcess"]);
        // What is proven of one that is not mounted helps a terminating pod, and not here.
        let mut seen = forgotten();
        seen.uptime_ms = 1000;
        (volume(&mut seen).mounted, volume(&mut seen).vol_data) = (Seen::Seen(false), VolData::Missing);
        assert_eq!(causes(&seen), ["OrphanedVolumeRemembered"]);
    }

    #[test]
    fn a_container_that_has_not_ended_makes_no_orphan() {
        let mut seen = forgotten();
        volume(&mut seen).mounted = Seen::Seen(false);
        sample::runtime(&mut seen).containers[0].state = ContainerState::Created;
        assert!(!causes(&seen).contains(&"OrphanedPodDirectory"), "{:?}", causes(&seen));
    }
}
