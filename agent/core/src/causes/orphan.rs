//! Pods the API server does not know any more, with something of them left here.

use findings::{Finding, Gate, Placeholder, cause};

use super::{FindingBuilder, container, words};
use crate::{
    observation::{Container, ContainerState, HostPath, Process, VolData, VolumeDir},
    view::{PodView, Why},
};

/// Its containers run although the API server has forgotten it: a replacement elsewhere may
/// already write to the same data.
pub fn still_running(view: &PodView) -> Option<Finding> {
    let container = container::running(view).into_iter().next().filter(|_| view.why == Why::NotInApi)?;
    let cause = &cause::FORCE_DELETED_STILL_RUNNING;
    let init = container.pid.get().and_then(|pid| view.process(*pid));
    let pids: Vec<String> = view.processes().iter().take(8).map(|process| process.pid.to_string()).collect();
    let found = FindingBuilder::of_pod(view, cause, Some(Gate::ContainersStopped), &words::container(view, container))
        .blame("API server", format!("does not know this pod any more, and it runs (pid {})", pids.join(", ")))
        .evidence("API server, pods of this node", format!("no pod with uid {}", view.uid()))
        .evidence(format!("CRI ListContainers {}", container.id), "RUNNING")
        .evidence("terminationGracePeriodSeconds", grace(container))
        .name(Placeholder::Container, &container.id)
        .name(Placeholder::Sandbox, &container.sandbox)
        .name_if(Placeholder::Pid, init.map(Process::id))
        .root(view.uid());
    Some(found.finish())
}

fn grace(container: &Container) -> String {
    let seconds = container.grace_s.map_or("unknown".to_owned(), findings::duration);
    format!("{seconds}; if it was deleted by force less than that ago, the kubelet may still be stopping it")
}

/// Nothing of it runs, and its directory is left with volumes or data in it.
pub fn directory(view: &PodView) -> Option<Finding> {
    let dir = view.dir.filter(|_| view.why == Why::NotInApi && is_over(view))?;
    let volumes: Vec<&VolumeDir> = dir.volumes.get().into_iter().flatten().collect();
    let has_file = dir.sub_paths.iter().find(|sub_path| sub_path.is_file && sub_path.mounted.get() == Some(&false));
    if volumes.is_empty() && has_file.is_none() && dir.strays.is_empty() {
        return None;
    }
    let path = view.seen.node.kubelet_root.join("pods").join(view.uid().as_str());
    if let Some(file) = has_file.filter(|_| volumes.is_empty()) {
        return Some(sub_path_file(view, &file.path));
    }
    let entries: u32 = volumes.iter().filter_map(|volume| volume.entries).sum();
    let mounted = volumes.iter().filter(|volume| volume.mounted.get() == Some(&true)).count();
    let cause = &cause::ORPHANED_POD_DIRECTORY;
    let directories = if volumes.len() == 1 {
        "1 volume directory".to_owned()
    } else {
        format!("{} volume directories", volumes.len())
    };
    let holds = format!("{directories}, {mounted} mounted, {entries} entries in the rest");
    let mut found = FindingBuilder::of_pod(view, cause, Some(Gate::VolumesUnmounted), &[])
        .blame(words::place(&path), format!("its pod is in no API and no runtime; {holds}"))
        .evidence(path.show(), &holds)
        .evidence("API server, pods of this node", format!("no pod with uid {}", view.uid()))
        .evidence(
            "CRI",
            format!(
                "{} of it, none running",
                words::count(
                    view.sandboxes.len() + view.containers.len(),
                    "sandbox or container",
                    "sandboxes and containers"
                )
            ),
        );
    for volume in volumes.iter().take(4) {
        let what = match (volume.mounted.get(), volume.entries) {
            (Some(true), _) => "mounted".to_owned(),
            (Some(false), Some(entries)) => {
                format!("not mounted, {}", words::count(entries as usize, "entry", "entries"))
            }
            (Some(false), None) => "not mounted, nothing to list".to_owned(),
            (None, _) => "could not be looked at".to_owned(),
        };
        found = found.evidence(volume.path.show(), what);
    }
    let found = found
        .name_if(Placeholder::Path, leftover_file(&volumes).as_ref().and_then(|file| file.as_str()))
        .root(view.uid());
    Some(found.finish())
}

/// The one file that is known to be no data: the kubelet's own note in the directory of a volume
/// that is not mounted.
fn leftover_file(volumes: &[&VolumeDir]) -> Option<HostPath> {
    let has_note = |volume: &&&VolumeDir| matches!(volume.vol_data, VolData::Read(_) | VolData::Unusable(_));
    let is_empty = |volume: &&&VolumeDir| volume.mounted.get() != Some(&true) && volume.entries.unwrap_or(0) == 0;
    volumes.iter().filter(is_empty).find(has_note).map(|volume| volume.path.join("vol_data.json"))
}

fn sub_path_file(view: &PodView, path: &HostPath) -> Finding {
    let cause = &cause::ORPHANED_SUB_PATH_FILE;
    FindingBuilder::of_pod(view, cause, Some(Gate::VolumesUnmounted), &[])
        .blame(words::place(path), "a file, and the kubelet tries rmdir")
        .evidence(path.show(), "a regular file, not a mount point")
        .name_if(Placeholder::Path, path.as_str())
        .root(path.show())
        .finish()
}

fn is_over(view: &PodView) -> bool {
    view.seen.runtime.get().is_some()
        && view.sandboxes.iter().all(|sandbox| !sandbox.ready)
        && view.containers.iter().all(|container| container.state == ContainerState::Exited)
}

#[cfg(test)]
mod tests {
    use crate::observation::{
        sample::{self, causes, pod_dir, sub_path, table, volume},
        *,
    };

    /// The pod has ended and is not in the API.
    fn forgotten() -> Observation {
        let mut seen = sample::mounted("ext4");
        let Seen::Seen(api) = &mut seen.api else { unreachable!() };
        api.pods.clear();
        table(&mut seen).clear();
        seen
    }

    #[test]
    fn a_sub_path_file_of_a_forgotten_pod() {
        let mut seen = forgotten();
        pod_dir(&mut seen).volumes = Seen::Seen(Vec::new());
        pod_dir(&mut seen).sub_paths.push(sub_path(Seen::Seen(false), true));
        pod_dir(&mut seen).strays.push(HostPath::from("/x"));
        assert_eq!(causes(&seen), ["OrphanedSubPathFile"]);
    }

    #[test]
    fn an_orphan_whose_directory_has_just_changed_is_on_its_way() {
        let mut seen = forgotten();
        volume(&mut seen).mounted = Seen::Seen(false);
        assert_eq!(causes(&seen), ["OrphanedPodDirectory"]);
        assert_eq!(sample::verdict(&seen), findings::Verdict::Stuck);
        pod_dir(&mut seen).changed_ms = sample::NOW - 2_000;
        assert_eq!(sample::verdict(&seen), findings::Verdict::Progressing);
    }
}
