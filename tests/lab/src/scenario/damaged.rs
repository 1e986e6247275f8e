//! A file system that takes no writes any more: after an error, or because it is full.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;

use super::{Cure, Repair, Staged, csi, leftovers::losetup, machine::Map, support};
use crate::{Gate, Launch, Node, PodSpec, mounts, process, standin::csi::Manner, wait_for};

scenarios! {
    "ext4-error", "the disk of the pods' directories has become read-only after an error of its ext4", |node| {
        let device = disk_of_pods(node, "ext4", "errors=remount-ro")?;
        let staged = empty_dir(node, "ext4-error", |_| {
            let name = device.file_name().context("a device has a name")?;
            let trigger = Path::new("/sys/fs/ext4").join(name).join("trigger_fs_error");
            fs::write(&trigger, "the lab").with_context(|| format!("write {}", trigger.display()))
        })?;
        Ok(staged)
    };
    "vm-ext4-error", "the disk of the pods' directories fails each write, and its ext4 has ended its journal", |node| {
        let name = "vm-ext4-error";
        let map = Map::create(node, name, 16 << 20)?;
        let pods = pods(node);
        support::shell(&format!(
            "mkfs.ext4 -q {0} && mount -o errors=remount-ro {0} {1}",
            map.device().display(),
            pods.display()
        ))?;
        let mut staged = empty_dir(node, name, |pods| {
            map.fail()?;
            let (file, pods) = (pods.join("not-written"), pods.display());
            support::shell(&format!("echo something >{0}; sync -f {pods}; sync -f {pods}; ! rm {0}", file.display()))
        })?;
        staged.expect.iter_mut().for_each(|expect| expect.names.push("errors_count".to_owned()));
        // The disk is lost, and with it what was not written.
        (staged.cure, staged.ends) = (Cure::None, false);
        Ok(staged)
    };
    "xfs-shut-down", "the xfs of the pods' directories has shut itself down after an error", |node| {
        disk_of_pods(node, "xfs", "rw")?;
        empty_dir(node, "xfs-shut-down", shut_down)
    };
    "xfs-held", "a process of the host has a file open on a volume whose xfs has shut itself down", |node| {
        csi::start_driver(node, Manner::Blunt)?;
        let (spec, target) = volume_on_xfs(node, "xfs-held")?;
        let file = target.join("log");
        let holder = node.launch(Launch::stand_in("backup").args(["stand-in", "hold", "--open"]).arg(&file))?;
        support::wait_open(holder, &file)?;
        shut_down(&target)?;
        node.delete_until(&spec, Gate::VolumesUnmounted)?;
        let names = vec![holder.to_string(), target.display().to_string()];
        Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "VolumeHeldByProcess", names)
            .cured_by(format!("kill {holder}")))
    };
    "xfs-looked-at", "a volume's xfs has shut itself down, and its CSI driver fails over that", |node| {
        csi::start_driver(node, Manner::Proper)?;
        let (spec, target) = volume_on_xfs(node, "xfs-looked-at")?;
        shut_down(&target)?;
        csi::age_driver(node)?;
        node.delete_until(&spec, Gate::VolumesUnmounted)?;
        let path = target.display().to_string();
        Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "VolumeFileSystemFailed", vec![path.clone()])
            .cured_by(format!("umount {path}")))
    };
    "full-disk", "the disk of the runtime is full, so it cannot write down that the container has ended", |node| {
        let spec = PodSpec::sleeping("full-disk");
        let container = node.run(&spec)?.app()?.clone();
        let dir = node.layout().containerd().join("root/io.containerd.grpc.v1.cri/containers").join(&container.id);
        let status = fs::read(dir.join("status")).context("read the container's state")?;
        support::shell(&format!("mount -t tmpfs -o size=64k tmpfs {}", dir.display()))?;
        fs::write(dir.join("status"), status).context("keep the container's state")?;
        support::shell(&format!("dd if=/dev/zero of={}/filler bs=4k 2>/dev/null || true", dir.display()))?;
        node.delete_until(&spec, Gate::ContainersStopped)?;
        process::wait_end(container.pid)?;
        let names = vec![container.pid.to_string()];
        Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, "RuntimeLostExit", names).by_hand(Repair::Room))
    };
}

/// Makes room on the full disk.
pub fn make_room(node: &Node) -> anyhow::Result<()> {
    let mut fillers = mounts::below(&node.layout().containerd())?.into_iter().map(|mount| mount.target.join("filler"));
    let filler = fillers.rfind(|filler| filler.exists()).context("the disk is full")?;
    fs::remove_file(&filler).with_context(|| format!("remove {}", filler.display()))
}

/// The image of a disk and the command that makes a file system of this kind on it.
fn disk(node: &Node, name: &str, kind: &str) -> anyhow::Result<PathBuf> {
    let image = node.layout().mnt(&format!("{name}.img"));
    // mkfs.xfs refuses less than 300 MiB.
    let size = if kind == "xfs" { 320 << 20 } else { 16 << 20 };
    fs::File::create(&image).and_then(|file| file.set_len(size)).context("create the image of a disk")?;
    support::shell(&format!("mkfs.{kind} -q {}", image.display()))?;
    Ok(losetup(&image)?.into())
}

/// Puts a disk of its own below the kubelet's `pods`; returns its device.
fn disk_of_pods(node: &Node, kind: &str, options: &str) -> anyhow::Result<PathBuf> {
    let device = disk(node, "pods", kind)?;
    let pods = pods(node);
    support::shell(&format!("mount -o {options} {} {}", device.display(), pods.display()))?;
    Ok(device)
}

fn pods(node: &Node) -> PathBuf {
    node.layout().kubelet_root().join("pods")
}

fn shut_down(path: &Path) -> anyhow::Result<()> {
    support::shell(&format!("xfs_io -x -c shutdown {}", path.display()))
}

/// A pod with an emptyDir below `pods`, whose disk fails meanwhile.
fn empty_dir(node: &Node, name: &str, fail: impl FnOnce(&Path) -> anyhow::Result<()>) -> anyhow::Result<Staged> {
    let mut spec = PodSpec::sleeping(name);
    node.empty_dir(&mut spec, "scratch", false)?;
    node.run(&spec)?;
    let pods = pods(node);
    fail(&pods)?;
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    let names = vec![pods.display().to_string()];
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "FileSystemReadOnly", names).by_hand(Repair::Disk))
}

/// What an administrator does whose disk is well again.
pub fn repair(node: &Node) -> anyhow::Result<()> {
    let pods = pods(node);
    let mounted = mounts::below(&pods)?.into_iter().find(|mount| mount.target == pods).context("pods is a mount")?;
    // The kubelet looks there all the time.
    wait_for("the disk is unmounted", Duration::from_secs(10), || Ok(mounts::unmount(&pods).ok()))?;
    let check = if mounted.kind == "xfs" { "true" } else { "e2fsck -fy" };
    support::shell(&format!("{check} {} >&2; mount {0} {}", mounted.source, pods.display()))
}

fn volume_on_xfs(node: &Node, name: &str) -> anyhow::Result<(PodSpec, PathBuf)> {
    let device = disk(node, name, "xfs")?;
    let mut spec = PodSpec::sleeping(name);
    let volume = node.csi_directory(&mut spec, "pvc-data")?;
    support::shell(&format!("mount {} {}", device.display(), volume.target.display()))?;
    fs::write(volume.target.join("log"), "something\n").context("write into the volume")?;
    node.run(&spec)?;
    Ok((spec, volume.target))
}
