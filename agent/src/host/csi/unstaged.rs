//! Staging directories in which nothing is mounted: `NodeUnstageVolume` has unmounted the volume, or
//! the driver stages nothing, and the kubelet has not removed the directory.

use super::super::{HostRoot, mounts::touchable};
use crate::{
    observation::{HostPath, MountTable, UnstagedVolume},
    sys,
};

/// So many directories are looked at; a node has a few dozen.
const AT_MOST: usize = 512;

/// `<root-dir>/plugins/kubernetes.io/csi/<driver>/<sha256>/globalmount` without a mount at or below.
pub fn unstaged(host: &HostRoot, kubelet_root: &HostPath, table: &MountTable) -> Vec<UnstagedVolume> {
    let plugins = kubelet_root.join("plugins/kubernetes.io/csi");
    let mut found = Vec::new();
    for driver in list(host, &plugins, table) {
        // The old layout is named by PVs, and block volumes are not mounted.
        if matches!(driver.as_str(), "volumeDevices" | "pv") {
            continue;
        }
        let of_driver = plugins.join(&driver);
        for volume in list(host, &of_driver, table) {
            let path = of_driver.join(volume).join("globalmount");
            if table.mounts.iter().any(|mount| mount.mount_point.is_within(&path)) {
                continue;
            }
            let Ok(facts) = sys::file_facts(&host.at(&path)) else { continue };
            if facts.is_directory {
                found.push(UnstagedVolume { driver: driver.clone(), path, changed_ms: facts.changed_ms });
            }
        }
    }
    found
}

fn list(host: &HostRoot, dir: &HostPath, table: &MountTable) -> Vec<String> {
    if touchable(&table.mounts, dir).is_err() {
        return Vec::new();
    }
    let entries = sys::list_capped(&host.at(dir), AT_MOST).unwrap_or_default();
    entries.iter().filter_map(|entry| entry.name.to_str().map(str::to_owned)).collect()
}
