//! Staged volumes: `<root-dir>/plugins/kubernetes.io/csi/<driver>/<sha256>/globalmount`.

use std::collections::BTreeSet;

use super::super::{HostRoot, tree::Tree, volumes::read_vol_data};
use crate::observation::{HostPath, Mount, MountTable, Seen, StagingMount, VolData};

/// The staging mounts in the kubelet's table, each with the `vol_data.json` beside it and the
/// mounts of pods that show the same file system.
pub fn staging(host: &HostRoot, kubelet_root: &HostPath, table: &MountTable) -> Vec<StagingMount> {
    let plugins = kubelet_root.join("plugins/kubernetes.io/csi");
    let pods = kubelet_root.join("pods");
    let tree = Tree::open(host, &plugins, &table.mounts);
    let staged = |mount: &Mount| {
        let (driver, beside) = staged_volume(&mount.mount_point, &plugins)?;
        let shows_same = |other: &&Mount| other.dev == mount.dev && other.mount_point.is_below(&pods);
        let used_by: BTreeSet<_> = table.mounts.iter().filter(shows_same).map(|other| &other.mount_point).collect();
        let vol_data = match &tree {
            Seen::Seen(tree) => read_vol_data(tree, &beside.join("vol_data.json")),
            Seen::Missing | Seen::NotAsked => VolData::Missing,
            Seen::Failed(fault) => VolData::Failed(fault.clone()),
        };
        let staged_ms = tree.get().and_then(|tree| Some(tree.facts(&beside).get()?.changed_ms));
        let (path, dev) = (mount.mount_point.clone(), mount.dev);
        Some(StagingMount { driver, path, dev, vol_data, used_by: used_by.into_iter().cloned().collect(), staged_ms })
    };
    // Where the kubelet's directory was bound over itself, each is in the table twice.
    let mut met = BTreeSet::new();
    table.mounts.iter().filter(|mount| met.insert((&mount.mount_point, mount.dev))).filter_map(staged).collect()
}

/// The driver's directory and the volume's, if `point` is a `globalmount` or below one (some
/// drivers mount one directory deeper).
fn staged_volume(point: &HostPath, plugins: &HostPath) -> Option<(String, HostPath)> {
    let below = point.as_path().strip_prefix(plugins.as_path()).ok()?;
    let mut parts = below.iter();
    let (driver, volume) = (parts.next()?, parts.next()?);
    (parts.next()? == "globalmount").then(|| {
        let driver_dir = plugins.join(driver);
        (driver.to_string_lossy().into_owned(), driver_dir.join(volume))
    })
}
