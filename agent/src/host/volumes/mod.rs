//! The pods' directories, `<root-dir>/pods/<uid>`, read as the kubelet reads them
//! (`pkg/kubelet/kubelet_getters.go`, `kubelet_volumes.go`), but without ever touching a file
//! system that needs a server.

mod devices;
mod is_mounted;
mod sub_paths;
#[cfg(test)]
mod tests;
mod vol_data;
mod volume_dirs;

use std::{collections::BTreeSet, io, path::Path};

use findings::PodUid;

use super::{
    HostRoot, fault_at,
    mounts::{touchable, within},
    seen_at,
};
use crate::{
    observation::{Fault, HostPath, Mount, MountTable, PodDir, Seen},
    sys::{self, Entry, EntryKind},
};

pub(super) use vol_data::read_vol_data;

/// The most entries of one directory that are listed: a tenant cannot add any here, but a
/// container that breaks out or a mad driver can.
const ENTRIES_CAP: usize = 10_000;

/// The directories of all pods, or of these, without looking into them: one listing and one `statx` each.
pub fn pod_dirs(
    host: &HostRoot,
    kubelet_root: &HostPath,
    table: &MountTable,
    only: Option<&BTreeSet<PodUid>>,
) -> Seen<Vec<PodDir>> {
    let pods = kubelet_root.join("pods");
    if let Err(fault) = touchable(&table.mounts, &pods) {
        return Seen::Failed(fault);
    }
    let uids = match only {
        Some(uids) => sys::file_facts(&host.at(&pods)).map(|_| uids.iter().cloned().collect()),
        None => listed(&host.at(&pods)),
    };
    let dirs = |uids: Vec<PodUid>| uids.into_iter().filter_map(|uid| pod_dir(host, &pods, table, uid)).collect();
    seen_at(&pods, uids).map(dirs)
}

fn listed(pods: &Path) -> io::Result<Vec<PodUid>> {
    let entries = sys::list_capped(pods, ENTRIES_CAP)?;
    let uids = entries.iter().filter(|entry| entry.kind != EntryKind::Other);
    Ok(uids.filter_map(|entry| PodUid::parse(entry.name.to_str()?)).collect())
}

/// `None` when it has gone since it was listed.
fn pod_dir(host: &HostRoot, pods: &HostPath, table: &MountTable, uid: PodUid) -> Option<PodDir> {
    let path = pods.join(uid.as_str());
    let mut dir = PodDir {
        uid,
        changed_ms: 0,
        volumes: Seen::NotAsked,
        strays: Vec::new(),
        sub_paths: Vec::new(),
        devices: Vec::new(),
        faults: Vec::new(),
    };
    // Only a mount right on the pod's directory could forbid it; the way to it is clear.
    let mounted_on = table.mounts.iter().find(|mount| mount.mount_point == path && mount.needs_server());
    if mounted_on.is_some()
        && let Err(fault) = touchable(&table.mounts, &path)
    {
        dir.faults.push(fault);
        return Some(dir);
    }
    match sys::file_facts(&host.at(&path)) {
        Ok(facts) if facts.is_directory => dir.changed_ms = facts.changed_ms,
        Ok(_) => return None,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => dir.faults.push(fault_at(&path, &error)),
    }
    Some(dir)
}

/// Looks into one pod's directory: its volumes, what is left of its subPaths and its devices.
///
/// `kubelet_minor` decides how the kubelet tells a mount point (up to 1.29 by comparing devices); 0 when its
/// version is not known.
pub fn read_into(dir: &mut PodDir, host: &HostRoot, kubelet_root: &HostPath, table: &MountTable, kubelet_minor: u32) {
    let path = kubelet_root.join("pods").join(dir.uid.as_str());
    // The walk over the table is done for every volume, so it is cut down to this pod first.
    let near = |mount: &&Mount| {
        let point = mount.mount_point.as_bytes();
        within(point, path.as_bytes()) || within(path.as_bytes(), point)
    };
    let mounts: Vec<Mount> = table.mounts.iter().filter(near).cloned().collect();
    let reader = PodDirReader { host, mounts: &mounts, kubelet_minor };
    volume_dirs::fill(dir, &reader, &path.join("volumes"));
    sub_paths::fill(dir, &reader, &path.join("volume-subpaths"));
    devices::fill(dir, &reader, &path.join("volumeDevices"));
}

/// What is needed to read one pod's directory.
struct PodDirReader<'a> {
    host: &'a HostRoot,
    mounts: &'a [Mount],
    kubelet_minor: u32,
}

impl PodDirReader<'_> {
    /// The entries of a directory by name and kind, in the order of their names. `Missing` when
    /// there is no such directory; nothing is listed that a server would have to answer for.
    fn list(&self, path: &HostPath) -> Seen<Vec<Entry>> {
        if let Err(fault) = touchable(self.mounts, path) {
            return Seen::Failed(fault);
        }
        match sys::list_capped(&self.host.at(path), ENTRIES_CAP) {
            Ok(mut entries) => {
                entries.sort_by(|a, b| a.name.cmp(&b.name));
                Seen::Seen(entries)
            }
            Err(error) => seen_at(path, Err(error)),
        }
    }

    /// Like [`PodDirReader::list`], where a failure is noted and a directory that is gone is empty.
    fn list_or_note(&self, path: &HostPath, faults: &mut Vec<Fault>) -> Vec<Entry> {
        match self.list(path) {
            Seen::Seen(entries) => entries,
            Seen::Missing | Seen::NotAsked => Vec::new(),
            Seen::Failed(fault) => {
                faults.push(fault);
                Vec::new()
            }
        }
    }
}
