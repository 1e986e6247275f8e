//! What is worth a closer look, picked from what is known so far. Nothing is read here.

use std::collections::BTreeSet;

use findings::PodUid;

use crate::{observation::*, view};

/// The processes of these pods, from their cgroups and from the runtime.
pub fn pids(seen: &Observation, suspects: &BTreeSet<PodUid>) -> BTreeSet<u32> {
    let mut pids = BTreeSet::new();
    for cgroup in seen.cgroups.get().into_iter().flatten().filter(|cgroup| suspects.contains(&cgroup.uid)) {
        let nodes = cgroup.dirs.iter().flat_map(|dir| dir.tree.get().into_iter().flatten());
        pids.extend(nodes.flat_map(|node| node.procs.iter().copied()));
    }
    if let Some(runtime) = seen.runtime.get() {
        let containers =
            runtime.containers.iter().filter(|c| suspects.contains(&c.pod.uid)).filter_map(|c| c.pid.get());
        let sandboxes = runtime.sandboxes.iter().filter(|s| suspects.contains(&s.pod.uid)).filter_map(|s| s.pid.get());
        pids.extend(containers.chain(sandboxes).copied().filter(|pid| *pid > 0));
    }
    pids
}

fn volumes<'a>(seen: &'a Observation, suspects: &'a BTreeSet<PodUid>) -> impl Iterator<Item = &'a VolumeDir> {
    let dirs = seen.pod_dirs.get().into_iter().flatten().filter(|dir| suspects.contains(&dir.uid));
    dirs.flat_map(|dir| dir.volumes.get().into_iter().flatten())
}

fn below_pods<'a>(seen: &'a Observation, suspects: &'a BTreeSet<PodUid>) -> impl Iterator<Item = &'a Mount> {
    let pods = seen.node.kubelet_root.join("pods");
    let dirs: Vec<HostPath> = suspects.iter().map(|uid| pods.join(uid.as_str())).collect();
    let mounts = seen.mounts.kubelet.get().into_iter().flat_map(|table| &table.mounts);
    mounts.filter(move |mount| dirs.iter().any(|dir| mount.mount_point.is_below(dir)))
}

/// Whether one of the volumes is CSI's.
pub fn has_csi(seen: &Observation, suspects: &BTreeSet<PodUid>) -> bool {
    volumes(seen, suspects).any(|volume| volume.vol_data != VolData::NotCsi)
}

/// Whether one of the volumes is on NFS.
pub fn has_nfs(seen: &Observation, suspects: &BTreeSet<PodUid>) -> bool {
    below_pods(seen, suspects).any(Mount::is_nfs)
}

/// The block devices that these pods' volumes are mounted from.
pub fn block_devices(seen: &Observation, suspects: &BTreeSet<PodUid>) -> Vec<Dev> {
    let devices: BTreeSet<Dev> = below_pods(seen, suspects).map(|mount| mount.dev).collect();
    devices.into_iter().filter(|dev| dev.major != 0).collect()
}

/// FUSE mounts below these pods' directories.
pub fn fuse_volumes(seen: &Observation, suspects: &BTreeSet<PodUid>) -> Vec<Mount> {
    below_pods(seen, suspects).filter(|mount| mount.fuse_connection().is_some()).cloned().collect()
}

/// RUNNING containers whose process is gone.
pub fn lost_containers(seen: &Observation, suspects: &BTreeSet<PodUid>) -> Vec<String> {
    let is_lost = |container: &&Container| {
        let gone = |pid: &u32| seen.processes.iter().all(|process| process.pid != *pid);
        container.state == ContainerState::Running && container.pid.get().is_some_and(gone)
    };
    let containers = seen.runtime.get().into_iter().flat_map(|runtime| &runtime.containers);
    containers.filter(|c| suspects.contains(&c.pod.uid)).filter(is_lost).map(|c| c.id.clone()).collect()
}

/// Whether the kubelet does not even try to unmount this volume: then nobody needs to hold it, and
/// the dearest search is spared.
fn is_explained(seen: &Observation, volume: &VolumeDir) -> bool {
    match &volume.vol_data {
        VolData::Missing | VolData::Unusable(_) => true,
        VolData::Read(data) => seen.csi.get().is_some_and(|drivers| {
            let is_this = |driver: &CsiDriver| driver.info.get().is_some_and(|info| info.name == data.driver);
            drivers.iter().all(|driver| driver.info.fault().is_none() && !is_this(driver))
        }),
        VolData::NotCsi | VolData::Failed(_) => false,
    }
}

/// The mounts somebody may hold: volumes and subPaths of pods of which nothing runs any more, and
/// the root file systems of lost containers.
pub fn busy(seen: &Observation, suspects: &BTreeSet<PodUid>, rootfs: &[String]) -> Vec<Mount> {
    let Some(table) = seen.mounts.kubelet.get() else { return Vec::new() };
    let runs = |uid: &PodUid| {
        seen.runtime.get().is_some_and(|runtime| {
            runtime.containers.iter().any(|c| c.pod.uid == *uid && c.state == ContainerState::Running)
                || runtime.sandboxes.iter().any(|s| s.pod.uid == *uid && s.ready)
        })
    };
    let mut paths: BTreeSet<HostPath> = BTreeSet::new();
    let dirs = seen.pod_dirs.get().into_iter().flatten();
    for dir in dirs.filter(|dir| suspects.contains(&dir.uid) && !runs(&dir.uid)) {
        let open = dir.volumes.get().into_iter().flatten().filter(|volume| !is_explained(seen, volume));
        paths.extend(open.filter_map(|volume| volume.target.get().cloned()));
        paths.extend(dir.sub_paths.iter().map(|sub_path| sub_path.path.clone()));
    }
    let of_container = |mount: &&Mount| rootfs.iter().any(|id| mount.is_rootfs_of(id));
    paths.extend(table.mounts.iter().filter(of_container).map(|mount| mount.mount_point.clone()));
    let topmost = |path: HostPath| table.mounts.iter().rfind(|mount| mount.mount_point == path).cloned();
    paths.into_iter().filter_map(topmost).collect()
}

/// The ends of paths that may be mounted in another namespace and hold something by that: on old
/// kernels the pins of network namespaces, and the volumes that are unmounted and not removed.
pub fn gone_mounts(seen: &Observation, suspects: &BTreeSet<PodUid>) -> Vec<String> {
    if !view::copies_block(seen) {
        return Vec::new();
    }
    let sandboxes = seen.runtime.get().into_iter().flat_map(|runtime| &runtime.sandboxes);
    let stopped = sandboxes.filter(|sandbox| suspects.contains(&sandbox.pod.uid) && !sandbox.ready);
    let pins = stopped.filter_map(|sandbox| sandbox.network.get()).filter(|network| !network.missing);
    let pins = pins.filter_map(|network| Some(format!("netns/{}", network.path.as_path().file_name()?.to_str()?)));
    let unmounted = volumes(seen, suspects).filter(|volume| volume.mounted.get() == Some(&false));
    let below = |volume: &VolumeDir| {
        let target = volume.target.get().unwrap_or(&volume.path);
        Some(target.as_path().strip_prefix(seen.node.kubelet_root.as_path()).ok()?.to_str()?.to_owned())
    };
    pins.chain(unmounted.filter_map(below)).collect()
}

/// PVs whose `vol_data.json` is missing or of no use.
pub fn forgotten_volumes(seen: &Observation, suspects: &BTreeSet<PodUid>) -> Vec<String> {
    let is_forgotten = |volume: &&VolumeDir| matches!(volume.vol_data, VolData::Missing | VolData::Unusable(_));
    volumes(seen, suspects).filter(is_forgotten).map(|volume| volume.name.clone()).take(16).collect()
}
