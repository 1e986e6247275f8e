//! What is left on the node when its pod is gone, or nearly.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;

use super::{Repair, Staged, csi, machine, support};
use crate::standin::csi::Manner;
use crate::volume::{self, plugin};
use crate::{Gate, Node, PodRef, PodSpec, Restart, mounts};

scenarios! {
    "globalmount-left", "a CSI volume is still staged on the node although no pod uses it", globalmount_left;
    "kubelet-namespace-globalmount",
        "the kubelet has a mount namespace of its own, and a CSI volume is still staged there for no pod", |node| {
        let kubelet = node.restart_kubelet(Restart::in_own_mount_namespace())?;
        let path = global_mount_left(node, |path| {
            fs::create_dir_all(path).context("create the staging directory")?;
            support::shell(&format!(
                "nsenter --mount=/proc/{kubelet}/ns/mnt mount -t tmpfs -o size=4m tmpfs {}",
                path.display()
            ))?;
            anyhow::ensure!(!mounts::is_mounted(path)?, "the mount is seen by the host as well");
            Ok(())
        })?;
        let names =
            vec![path.clone(), format!("findmnt -N {kubelet} {path}"), format!("umount -i -n -c -N {kubelet} {path}")];
        let cure = names[2].clone();
        Ok(Staged::node("GlobalMountLeft", names).cured_by(cure))
    };
    "loop-left", "the kubelet cannot detach the loop device of a raw block volume", loop_left;
    "vm-lvm-on-block", "the node's LVM has activated a volume group that it found on a raw block volume", lvm_on_block;
    "vm-md-on-block", "the node has assembled a mirror (md) that it found on a raw block volume", md_on_block;
    "orphan-dir", "the directory of a pod that is long gone stays, because a file is left in it", orphan_dir;
    "orphan-remembered",
        "the kubelet found a volume of a pod that is long gone when it started, and its CSI driver is away", |node| {
        let (pod, file) = orphan_with(node, "orphan-remembered", &serde_json::to_vec(&volume::vol_data("pvc-data"))?)?;
        node.restart_kubelet(Restart::default())?;
        let names = vec![file.display().to_string()];
        Ok(orphaned(pod, "OrphanedVolumeRemembered", names).by_hand(Repair::CsiDriver))
    };
    "orphan-remembered-moved",
        "the kubelet remembers a volume of a pod that is long gone, and its vol_data.json was moved away",
        orphan_remembered_moved;
}

fn globalmount_left(node: &Node) -> anyhow::Result<Staged> {
    let path = global_mount_left(node, mounts::tmpfs)?;
    let cure = format!("umount {path}");
    Ok(Staged::node("GlobalMountLeft", vec![path]).cured_by(cure))
}

fn global_mount_left(node: &Node, mount: impl Fn(&Path) -> anyhow::Result<()>) -> anyhow::Result<String> {
    let handle = volume::handle("pvc-gone");
    let path = node.global_mount(&handle);
    mount(&path)?;
    let data = serde_json::json!({"volumeHandle": handle, "driverName": volume::CSI_DRIVER});
    fs::write(path.with_file_name("vol_data.json"), serde_json::to_vec(&data)?).context("write vol_data.json")?;
    // While pods come and go it is not looked for.
    let pods = node.layout().kubelet_root().join("pods");
    for dir in fs::read_dir(&pods).context("list the pods' directories")? {
        let dir = dir.context("list the pods' directories")?.path();
        support::age(&dir)?;
        // Not each has CSI volumes, and nothing is made here.
        support::age(&dir.join("volumes").join(volume::plugin::CSI))?;
    }
    support::age(&pods)?;
    support::age(path.parent().context("a global mount is in a directory")?)?;
    Ok(path.display().to_string())
}

/// A kubelet in a container without util-linux finds the loop device and cannot run `losetup`.
fn loop_left(node: &Node) -> anyhow::Result<Staged> {
    let mut spec = PodSpec::sleeping("loop-left");
    let disk = node.layout().mnt("raw.img");
    fs::File::create(&disk).and_then(|file| file.set_len(4 << 20)).context("create the image of a disk")?;
    let block_device = losetup(&disk)?;
    let published = node.block_volume(&mut spec, "pvc-raw", Path::new(&block_device))?;
    let lock = losetup(&published)?;
    node.run(&spec)?;
    node.restart_kubelet(Restart::without_programs())?;
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    let names = vec![lock.clone(), published.display().to_string()];
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "LoopDeviceLeft", names).cured_by(format!("losetup -d {lock}")))
}

/// A raw block volume of CSI that the kubelet has locked: its pod, and the loop device.
fn locked_block(node: &Node, name: &str) -> anyhow::Result<(PodSpec, String)> {
    csi::start_driver(node, Manner::Proper)?;
    let mut spec = PodSpec::sleeping(name);
    let disk = node.layout().mnt(&format!("{name}.img"));
    fs::File::create(&disk).and_then(|file| file.set_len(32 << 20)).context("create the image of a disk")?;
    let device = losetup(&disk)?;
    let bound = node.block_volume(&mut spec, "pvc-raw", Path::new(&device))?;
    node.publish_block(&spec, "pvc-raw", Path::new(&device))?;
    Ok((spec, losetup(&bound)?))
}

fn held_block(node: &Node, spec: PodSpec, lock: String, layer: &str, cure: &str) -> anyhow::Result<Staged> {
    node.run(&spec)?;
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    let names = vec![lock, layer.to_owned(), cure.to_owned()];
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "BlockDeviceHeld", names).cured_by(cure))
}

fn lvm_on_block(node: &Node) -> anyhow::Result<Staged> {
    let (spec, lock) = locked_block(node, "vm-lvm-on-block")?;
    machine::logical_volume(Path::new(&lock))?;
    held_block(node, spec, lock, "(LVM, lab-data)", "dmsetup remove lab-data")
}

fn md_on_block(node: &Node) -> anyhow::Result<Staged> {
    let (spec, lock) = locked_block(node, "vm-md-on-block")?;
    let disks = format!("{lock} missing");
    support::shell(&format!(
        "mdadm --create {} --quiet --run --level=1 --metadata=1.2 --raid-devices=2 {disks}",
        machine::MIRROR
    ))?;
    held_block(node, spec, lock, "RAID md77", "mdadm --stop /dev/md77")
}

pub(super) fn losetup(file: &Path) -> anyhow::Result<String> {
    let output = Command::new("losetup")
        .args(["--find", "--show"])
        .arg(file)
        .stdin(Stdio::null())
        .output()
        .context("run losetup (util-linux)")?;
    let why = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "losetup cannot attach {}: {why}", file.display());
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn orphan_remembered_moved(node: &Node) -> anyhow::Result<Staged> {
    let data = serde_json::to_vec(&volume::vol_data("pvc-data"))?;
    let (pod, file) = orphan_with(node, "orphan-remembered-moved", &data)?;
    node.restart_kubelet(Restart::default())?;
    fs::rename(&file, node.layout().mnt("saved.json")).context("move vol_data.json away")?;
    let target = file.with_file_name("mount");
    fs::remove_dir(&target).context("remove the empty target")?;
    csi::start_driver(node, Manner::Proper)?;
    let names = vec![file.display().to_string(), format!("mkdir '{}'", target.display())];
    Ok(orphaned(pod, "OrphanedVolumeRemembered", names).by_hand(Repair::VolumeNote))
}

/// Undoes it, in the order that is printed.
pub fn put_back(node: &Node) -> anyhow::Result<()> {
    let pod = PodRef::new("orphan-remembered-moved");
    let dir = volume::dir(&node.layout().pod_dir(&pod.uid), plugin::CSI, "pvc-data");
    fs::create_dir(dir.join("mount")).context("make the empty target")?;
    fs::rename(node.layout().mnt("saved.json"), dir.join("vol_data.json")).context("put vol_data.json back")
}

/// The file was damaged by a power loss, so a kubelet that starts afterwards finds no volume there.
fn orphan_dir(node: &Node) -> anyhow::Result<Staged> {
    let (pod, file) = orphan_with(node, "orphan-dir", b"")?;
    node.restart_kubelet(Restart::default())?;
    let path = file.display().to_string();
    let cure = format!("mv {path} {}", node.layout().mnt("saved.json").display());
    Ok(orphaned(pod, "OrphanedPodDirectory", vec![path]).cured_by(cure))
}

/// Such an orphaned pod directory, with this `vol_data.json` beside an empty target.
fn orphan_with(node: &Node, name: &str, vol_data: &[u8]) -> anyhow::Result<(PodRef, PathBuf)> {
    let pod = PodRef::new(name);
    node.begin(&pod.uid)?;
    let dir = volume::dir(&node.layout().pod_dir(&pod.uid), plugin::CSI, "pvc-data");
    fs::create_dir_all(dir.join("mount")).with_context(|| format!("create {}", dir.display()))?;
    let file = dir.join("vol_data.json");
    fs::write(&file, vol_data).context("write vol_data.json")?;
    for path in [&file, &dir, &node.layout().pod_dir(&pod.uid)] {
        support::age(path)?;
    }
    node.made(&pod.uid)?;
    Ok((pod, file))
}

fn orphaned(pod: PodRef, cause: &'static str, names: Vec<String>) -> Staged {
    Staged::stuck(pod, Gate::VolumesUnmounted, cause, names)
}
