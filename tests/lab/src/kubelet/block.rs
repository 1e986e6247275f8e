//! How the kubelet takes away a raw block volume.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, io};

use anyhow::Context as _;

use super::csi;
use super::volumes::{is_mount, unmount};
use crate::{node::loop_devices, volume};

/// Detaches the loop device that locks the volume, removes the bound device and the link, and then has the driver
/// unpublish the device, where it was published.
pub fn tear_down(kubelet_root: &Path, pod_dir: &Path, pod_uid: &str, name: &str) -> anyhow::Result<()> {
    let device = volume::block_device(kubelet_root, name, pod_uid);
    detach(&device).with_context(|| {
        let path = device.with_file_name("");
        format!(
            "UnmapVolume.UnmapBlockVolume failed: blkUtil.DetachFileDevice failed. \
             globalUnmapPath:{}, podUID: {pod_uid}, bindMount: true",
            path.display()
        )
    })?;
    if is_mount(&device)? {
        unmount(&device)?;
    }
    remove(&device)?;
    remove(&volume::block_link(pod_dir, name))?;
    let target = volume::block_target(kubelet_root, name, pod_uid);
    if !target.exists() {
        return Ok(());
    }
    csi::unpublish(kubelet_root, &volume::block_data(kubelet_root, name), &target)
        .context("UnmapVolume.UnmapPodDevice failed")
}

fn detach(file: &Path) -> anyhow::Result<()> {
    for device in loop_devices(file) {
        let output = Command::new("losetup").arg("-d").arg(&device).stdin(Stdio::null()).output().context("losetup")?;
        anyhow::ensure!(output.status.success(), "losetup: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

fn remove(path: &Path) -> anyhow::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("remove {}", path.display()))
        }
        _ => Ok(()),
    }
}
