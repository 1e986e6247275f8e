//! `volumes/<plugin>/<name>`, as `podVolumesExist` goes through it.

use super::PodDirReader;
use crate::observation::{Fault, FaultKind, HostPath, Mount, PodDir, Seen, VolData, VolumeDir};
use crate::sys::{Entry, EntryKind};

/// The plugin whose volumes are mounted one directory deeper.
pub(super) const CSI: &str = "kubernetes.io/csi";
/// Entries of an unmounted directory are counted up to this.
const MAX_ENTRIES: usize = 100;

/// Fills `volumes` and `strays`.
pub(super) fn fill(dir: &mut PodDir, reader: &PodDirReader<'_>, volumes: &HostPath) {
    let plugins = match reader.list(volumes) {
        Seen::Seen(plugins) => plugins,
        // The kubelet takes that for a pod without volumes.
        Seen::Missing | Seen::NotAsked => Vec::new(),
        Seen::Failed(fault) => {
            dir.volumes = Seen::Failed(fault);
            return;
        }
    };
    let mut dirs = Vec::new();
    for plugin in plugins {
        let path = volumes.join(&plugin.name);
        if matches!(plugin.kind, EntryKind::Other | EntryKind::Link) {
            dir.strays.push(path);
            continue;
        }
        let name = plugin.name.to_string_lossy().replace('~', "/");
        for entry in reader.list_or_note(&path, &mut dir.faults) {
            dirs.push(volume(reader, &name, &path, &entry));
        }
    }
    dir.volumes = Seen::Seen(dirs);
}

fn volume(reader: &PodDirReader<'_>, plugin: &str, above: &HostPath, entry: &Entry) -> VolumeDir {
    let path = above.join(&entry.name);
    let csi = plugin == CSI;
    let target = if csi { csi_target(reader, &path) } else { Seen::Seen(path.clone()) };
    let mounted = target.as_ref().and_then(|target| match entry.kind {
        // The kubelet would follow the link; where it leads cannot be known to be safe.
        EntryKind::Link => Seen::failed(&path, (FaultKind::NotAsked, "is a symbolic link, which is not followed")),
        _ => reader.is_mounted(target),
    });
    let entries = match (&target, &mounted) {
        (Seen::Seen(target), Seen::Seen(false)) => count(reader, target),
        _ => None,
    };
    let failed = match (&target, &mounted) {
        (Seen::Seen(target), Seen::Seen(true)) => failure(reader, target),
        _ => None,
    };
    let vol_data = if csi { super::read_vol_data(&reader.tree, &path.join("vol_data.json")) } else { VolData::NotCsi };
    let name = entry.name.to_string_lossy().into_owned();
    VolumeDir { plugin: plugin.to_owned(), name, path, target, mounted, vol_data, failed, entries }
}

/// XFS that has shut itself down answers nothing but EIO, and the mount table does not show it. The root of a file system
/// is in memory: no disk is waited for.
fn failure(reader: &PodDirReader<'_>, target: &HostPath) -> Option<Fault> {
    let is_on_device = |mount: &&Mount| mount.mount_point == *target && mount.dev.major != 0;
    reader.mounts.iter().find(is_on_device)?;
    reader.tree.link(target).fault().filter(|fault| fault.is_of_failed_file_system()).cloned()
}

/// `<path>/mount`, if there is one. It is found by listing, which does not touch what is mounted
/// there.
fn csi_target(reader: &PodDirReader<'_>, path: &HostPath) -> Seen<HostPath> {
    reader.list(path).and_then(|entries| match entries.iter().any(|entry| entry.name == "mount") {
        true => Seen::Seen(path.join("mount")),
        false => Seen::Missing,
    })
}

/// `None` when it is no directory, cannot be read, or is mounted after all: an old kubelet does
/// not see a bind mount within one file system, and what is in there is not ours to list.
fn count(reader: &PodDirReader<'_>, target: &HostPath) -> Option<u32> {
    if reader.is_in_table(target) {
        return None;
    }
    let entries = reader.tree.list(target, MAX_ENTRIES);
    entries.get().and_then(|entries| u32::try_from(entries.len()).ok())
}
