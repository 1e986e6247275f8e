//! The pods' directories, `<root-dir>/pods/<uid>`, read as the kubelet reads them
//! (`pkg/kubelet/kubelet_getters.go`, `kubelet_volumes.go`), but without ever touching a file
//! system that needs a server.

mod protected;
mod published;
mod sub_paths;
#[cfg(test)]
mod tests;
mod vol_data;
mod volume_dirs;

use std::collections::BTreeSet;

use findings::PodUid;

use super::{HostRoot, tree::Tree};
use crate::host::mounts::touchable;
use crate::observation::{Fault, HostPath, Mount, MountTable, PodDir, Seen, covering, is_path_within};
use crate::sys::{Entry, EntryKind};

pub use protected::search as protected_files;
pub(super) use vol_data::read_vol_data;

/// The most entries of one directory that are listed: a tenant cannot add any here, but a
/// container that breaks out or a mad driver can.
const MAX_ENTRIES: usize = 10_000;

/// The directories of all pods, or of these, without looking into them: one listing and one `statx` each.
pub fn pod_dirs(
    host: &HostRoot,
    kubelet_root: &HostPath,
    table: &MountTable,
    only: Option<&BTreeSet<PodUid>>,
) -> Seen<Vec<PodDir>> {
    let pods = kubelet_root.join("pods");
    // The table is gone through for every pod, and only what is mounted above them or right on one counts.
    let is_near = |mount: &&Mount| {
        let point = mount.mount_point.as_path();
        is_path_within(pods.as_bytes(), mount.mount_point.as_bytes()) || point.parent() == Some(pods.as_path())
    };
    let mounts: Vec<Mount> = table.mounts.iter().filter(is_near).cloned().collect();
    Tree::open(host, &pods, &mounts).and_then(|tree| {
        let uids = match only {
            Some(uids) => Seen::Seen(uids.iter().cloned().collect()),
            None => tree.list(&pods, MAX_ENTRIES).map(listed),
        };
        uids.map(|uids| uids.into_iter().filter_map(|uid| pod_dir(&tree, &pods, uid)).collect())
    })
}

fn listed(entries: Vec<Entry>) -> Vec<PodUid> {
    let uids = entries.iter().filter(|entry| entry.kind != EntryKind::Other);
    uids.filter_map(|entry| PodUid::parse(entry.name.to_str()?)).collect()
}

/// `None` when it has gone since it was listed.
fn pod_dir(tree: &Tree<'_>, pods: &HostPath, uid: PodUid) -> Option<PodDir> {
    let path = pods.join(uid.as_str());
    let mut dir = PodDir::new(uid);
    match tree.facts(&path) {
        Seen::Seen(facts) if facts.is_directory => dir.changed_ms = facts.changed_ms,
        Seen::Seen(_) | Seen::Missing | Seen::NotAsked => return None,
        Seen::Failed(fault) => dir.faults.push(fault),
    }
    Some(dir)
}

/// When a pod's directory, or a CSI volume in one, last came or went.
pub fn changed_ms(host: &HostRoot, kubelet_root: &HostPath, table: &MountTable) -> Seen<u64> {
    let pods = kubelet_root.join("pods");
    Tree::open(host, &pods, &table.mounts).and_then(|tree| {
        tree.list(&pods, MAX_ENTRIES).map(listed).and_then(|uids| {
            let volumes = uids.iter().map(|uid| pods.join(uid.as_str()).join("volumes/kubernetes.io~csi"));
            let times = volumes.filter_map(|dir| Some(tree.facts(&dir).get()?.changed_ms));
            let newest = times.max().unwrap_or(0);
            // Last: what has gone meanwhile shows here.
            tree.facts(&pods).map(|facts| facts.changed_ms.max(newest))
        })
    })
}

/// Looks into one pod's directory: its volumes, what is left of its subPaths and its devices; and which raw block
/// volumes are published for it.
///
/// `kubelet_minor` decides how the kubelet detects a mount point (up to 1.29 by comparing devices); 0 when its version is
/// not known.
pub fn read_into(dir: &mut PodDir, host: &HostRoot, kubelet_root: &HostPath, table: &MountTable, kubelet_minor: u32) {
    let pods = kubelet_root.join("pods");
    let path = pods.join(dir.uid.as_str());
    let mounts = mounts_near(table, &path);
    let tree = match Tree::open(host, &pods, &mounts) {
        Seen::Seen(tree) => tree,
        Seen::Missing | Seen::NotAsked => return dir.volumes = Seen::Seen(Vec::new()),
        Seen::Failed(fault) => return dir.volumes = Seen::Failed(fault),
    };
    let reader = PodDirReader { tree, mounts: &mounts, kubelet_minor };
    volume_dirs::fill(dir, &reader, &path.join("volumes"));
    sub_paths::fill(dir, &reader, &path.join("volume-subpaths"));
    let of_plugins = path.join("volumeDevices");
    for plugin in reader.list_or_note(&of_plugins, &mut dir.faults) {
        let of_plugin = of_plugins.join(&plugin.name);
        // Links to raw block volumes.
        let devices = reader.list_or_note(&of_plugin, &mut dir.faults);
        dir.devices.extend(devices.iter().map(|device| of_plugin.join(&device.name)));
    }
    let devices = kubelet_root.join("plugins/kubernetes.io/csi/volumeDevices");
    let mounts = mounts_near(table, &devices);
    if let Some(tree) = Tree::open(host, &devices, &mounts).or_note(&mut dir.faults) {
        published::fill(dir, &PodDirReader { tree, mounts: &mounts, kubelet_minor }, &devices);
    }
}

/// The walk over the table is done for every volume, so it is cut down first.
fn mounts_near(table: &MountTable, path: &HostPath) -> Vec<Mount> {
    let is_near = |mount: &&Mount| {
        let point = mount.mount_point.as_bytes();
        is_path_within(point, path.as_bytes()) || is_path_within(path.as_bytes(), point)
    };
    table.mounts.iter().filter(is_near).cloned().collect()
}

/// What is needed to read one pod's directory.
struct PodDirReader<'a> {
    tree: Tree<'a>,
    mounts: &'a [Mount],
    kubelet_minor: u32,
}

impl PodDirReader<'_> {
    /// The entries of a directory by name and kind, in the order of their names. `Missing` when
    /// there is no such directory; nothing is listed that a server would have to answer for.
    fn list(&self, path: &HostPath) -> Seen<Vec<Entry>> {
        self.tree.list(path, MAX_ENTRIES).map(|mut entries| {
            entries.sort_by(|a, b| a.name.cmp(&b.name));
            entries
        })
    }

    /// Like [`PodDirReader::list`], where a failure is noted and a directory that is gone is empty.
    fn list_or_note(&self, path: &HostPath, faults: &mut Vec<Fault>) -> Vec<Entry> {
        self.list(path).or_note(faults).unwrap_or_default()
    }
}

/// The first kubelet that asks `statx` for `STATX_ATTR_MOUNT_ROOT`. Older ones compare the
/// devices of the path and of its parent, and so do not see a bind mount within one file system.
const FIRST_MINOR_WITH_STATX: u32 = 30;

impl PodDirReader<'_> {
    /// Whether `path` is a mount point in the kubelet's eyes. The kernel is asked where that is
    /// safe, else the mount table.
    fn is_mounted(&self, path: &HostPath) -> Seen<bool> {
        if self.kubelet_minor != 0 && self.kubelet_minor < FIRST_MINOR_WITH_STATX {
            return Seen::Seen(self.is_other_device(path));
        }
        if touchable(self.mounts, path).is_err() {
            return Seen::Seen(self.is_in_table(path));
        }
        // A kernel that does not show it (< 5.8): the kubelet compares devices then.
        let root = self.tree.is_mount_root(path);
        root.map(|root| root.unwrap_or_else(|| self.is_other_device(path)))
    }

    fn is_in_table(&self, path: &HostPath) -> bool {
        self.mounts.iter().any(|mount| mount.mount_point == *path)
    }

    /// What comparing `st_dev` of a path and of its parent would say, without `stat`.
    fn is_other_device(&self, path: &HostPath) -> bool {
        let dev = |path: &HostPath| covering(self.mounts, path).map(|mount| mount.dev);
        path.parent().is_some_and(|parent| dev(path) != dev(&parent))
    }
}
