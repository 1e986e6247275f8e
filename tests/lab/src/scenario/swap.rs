//! The kernel swaps to a file in a volume.

use std::fs;

use anyhow::Context as _;

use super::{Staged, csi, support};
use crate::{Gate, Node, PodSpec, standin::csi::Manner};

scenarios! {
    "swap-on-volume", "a file of a CSI volume of the pod is in use as swap", swap_on_volume;
}

fn swap_on_volume(node: &Node) -> anyhow::Result<Staged> {
    csi::start_driver(node, Manner::Proper)?;
    let mut spec = PodSpec::sleeping("swap-on-volume");
    let volume = node.csi_directory(&mut spec, "pvc-data")?;
    let disk = node.layout().mnt("swap.img");
    fs::File::create(&disk).and_then(|file| file.set_len(16 << 20)).context("create the image of a disk")?;
    let (disk, target) = (disk.display(), volume.target.display());
    let file = format!("{target}/swapfile");
    support::shell(&format!("mkfs.ext4 -q {disk} && mount -o loop {disk} {target}"))?;
    node.run(&spec)?;
    // It is the whole machine's, so it is small.
    support::shell(&format!("dd if=/dev/zero of={file} bs=4k count=64 status=none && chmod 600 {file}"))?;
    support::shell(&format!("mkswap -q {file} && swapon {file}"))?;
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    let cure = format!("swapoff {file}");
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "VolumeHeldBySwap", vec![file]).cured_by(cure))
}
