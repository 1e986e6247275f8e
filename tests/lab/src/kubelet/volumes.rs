//! Gate VolumesUnmounted: tear down what the kubelet remembers, then wait until nothing on disk is
//! a mount.

use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context as _;
use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};

use super::{block, csi};
use crate::pod::{Record, VolumeRef};
use crate::volume::plugin;
use crate::{Layout, mounts};

/// The volumes of one pod, as far as the kubelet remembers them.
pub struct Volumes {
    pod_dir: PathBuf,
    kubelet_root: PathBuf,
    uid: String,
    remembered: Vec<VolumeRef>,
}

impl Volumes {
    /// All volumes that were mounted for the pod.
    pub fn new(layout: &Layout, record: &Record) -> Self {
        Self {
            pod_dir: layout.pod_dir(&record.pod.uid),
            kubelet_root: layout.kubelet_root(),
            uid: record.pod.uid.clone(),
            remembered: record.volumes.clone(),
        }
    }

    /// One round. A volume that was torn down without an error is forgotten, even when it is
    /// still mounted: then only the disk speaks of it, and nothing will try again.
    pub fn tear_down(&mut self) -> anyhow::Result<()> {
        let (pod_dir, kubelet_root, uid) = (&self.pod_dir, &self.kubelet_root, &self.uid);
        let mut failures = Vec::new();
        self.remembered.retain(|volume| match tear_down_one(pod_dir, kubelet_root, uid, volume) {
            Ok(()) => false,
            Err(error) => {
                failures.push(format!("UnmountVolume.TearDown failed for volume {:?}: {error:#}", volume.name));
                true
            }
        });
        anyhow::ensure!(failures.is_empty(), "{}", failures.join("; "));
        let mounted = mounted_on_disk(&self.pod_dir)
            .context("Pod found, but error occurred during checking mounted volumes from disk")?;
        anyhow::ensure!(mounted.is_empty(), "Pod found, but volumes are still mounted on disk: {mounted:?}");
        Ok(())
    }
}

fn tear_down_one(pod_dir: &Path, kubelet_root: &Path, uid: &str, volume: &VolumeRef) -> anyhow::Result<()> {
    if volume.block {
        return block::tear_down(kubelet_root, pod_dir, uid, &volume.name);
    }
    clean_subpaths(pod_dir, volume)?;
    let dir = crate::volume::dir(pod_dir, &volume.plugin, &volume.name);
    if volume.plugin == plugin::CSI { csi::tear_down(kubelet_root, &dir) } else { tear_down_local(&dir) }
}

/// Before the volume itself: `volume-subpaths/<volume>/<container>/<index>` are mounts of parts of it.
fn clean_subpaths(pod_dir: &Path, volume: &VolumeRef) -> anyhow::Result<()> {
    let base = pod_dir.join("volume-subpaths").join(&volume.name);
    if !exists(&base)? {
        return Ok(());
    }
    for container in names(&base)? {
        for target in names(&container)? {
            if is_mount(&target)? {
                unmount(&target)
                    .with_context(|| format!("error cleaning subPath mounts for volume {:?}", volume.name))?;
            }
            remove(&target)?;
        }
        fs::remove_dir(&container).with_context(|| format!("error deleting {}", container.display()))?;
    }
    fs::remove_dir(&base).with_context(|| format!("error deleting {}", base.display()))
}

/// emptyDir, secret and their like: a tmpfs is unmounted, then everything is removed.
fn tear_down_local(dir: &Path) -> anyhow::Result<()> {
    if !exists(dir)? {
        return Ok(());
    }
    if is_mount(dir)? {
        unmount(dir)?;
    }
    remove_all(dir)
}

/// Removes a directory with what is in it; unlike `umount`, this meets a nested mount as "busy".
fn remove_all(dir: &Path) -> anyhow::Result<()> {
    fs::remove_dir_all(dir).with_context(|| format!("unlinkat {}", dir.display()))
}

/// The text is that of the kubelet's wrapper of umount(8).
pub fn unmount(target: &Path) -> anyhow::Result<()> {
    mounts::unmount(target).map_err(|error| {
        let target = target.display();
        let why = if error == nix::errno::Errno::EBUSY { "target is busy".to_owned() } else { error.to_string() };
        anyhow::anyhow!(
            "unmount failed: exit status 32\nUnmounting arguments: {target}\nOutput: umount: {target}: {why}."
        )
    })
}

fn remove(path: &Path) -> anyhow::Result<()> {
    let outcome = match fs::remove_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => fs::remove_file(path),
        outcome => outcome,
    };
    outcome.with_context(|| format!("remove {}", path.display()))
}

/// What `podVolumesExist` sees: the mounts among `volumes/<plugin>/<volume>`, for CSI one deeper.
pub fn mounted_on_disk(pod_dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut mounted = Vec::new();
    for path in volume_paths(pod_dir)? {
        if is_mount(&path).with_context(|| format!("fail to check mount point {:?}", path.display()))? {
            mounted.push(path);
        }
    }
    Ok(mounted)
}

/// Every entry counts, without looking what it is: a stray file in `volumes` is read as a
/// directory, and that error never goes away.
pub fn volume_paths(pod_dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let base = pod_dir.join("volumes");
    if !exists(&base)? {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for plugin_dir in names(&base)? {
        let volumes =
            names(&plugin_dir).with_context(|| format!("could not read directory {}", plugin_dir.display()))?;
        if plugin_dir.ends_with(plugin::CSI) {
            let targets = volumes.into_iter().map(|volume| volume.join("mount"));
            paths.extend(targets.filter(|target| target.symlink_metadata().is_ok()));
        } else {
            paths.extend(volumes);
        }
    }
    Ok(paths)
}

/// As the kubelet asks since 1.30: never waits for a server. A path that is gone is no mount.
pub fn is_mount(path: &Path) -> io::Result<bool> {
    match statx(CWD, path, AtFlags::STATX_DONT_SYNC, StatxFlags::empty()) {
        Ok(answer) => Ok(answer.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)),
        Err(rustix::io::Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// As `PathExists` of the kubelet: a file system that does not work is an error.
pub fn exists(path: &Path) -> anyhow::Result<bool> {
    path.try_exists().with_context(|| format!("error checking if path exists: stat {}", path.display()))
}

fn names(dir: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect()
}
