//! Staging directories in which nothing is mounted: `NodeUnstageVolume` has unmounted the volume, or
//! the driver stages nothing, and the kubelet has not removed the directory.

use super::super::{HostRoot, tree::Tree};
use crate::observation::{HostPath, MountTable, Seen, UnstagedVolume};

/// So many directories are looked at; a node has a few dozen.
const MAX_DIRECTORIES: usize = 512;

/// `<root-dir>/plugins/kubernetes.io/csi/<driver>/<sha256>/globalmount` without a mount at or below.
pub fn unstaged(host: &HostRoot, kubelet_root: &HostPath, table: &MountTable) -> Vec<UnstagedVolume> {
    let plugins = kubelet_root.join("plugins/kubernetes.io/csi");
    let Seen::Seen(tree) = Tree::open(host, &plugins, &table.mounts) else { return Vec::new() };
    let mut volumes = Vec::new();
    for driver in list(&tree, &plugins) {
        // The old layout is named by PVs, and block volumes are not mounted.
        if matches!(driver.as_str(), "volumeDevices" | "pv") {
            continue;
        }
        let of_driver = plugins.join(&driver);
        for volume in list(&tree, &of_driver) {
            let path = of_driver.join(volume).join("globalmount");
            if table.mounts.iter().any(|mount| mount.mount_point.is_within(&path)) {
                continue;
            }
            let Seen::Seen(facts) = tree.facts(&path) else { continue };
            if facts.is_directory {
                volumes.push(UnstagedVolume { driver: driver.clone(), path, changed_ms: facts.changed_ms });
            }
        }
    }
    volumes
}

fn list(tree: &Tree<'_>, dir: &HostPath) -> Vec<String> {
    let entries = tree.list(dir, MAX_DIRECTORIES);
    entries.get().into_iter().flatten().filter_map(|entry| entry.name.to_str().map(str::to_owned)).collect()
}
