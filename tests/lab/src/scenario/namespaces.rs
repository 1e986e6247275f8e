//! Copies of a volume in other mount namespaces.

use std::{fs, time::Duration};

use anyhow::Context as _;

use super::{Repair, Staged, leftovers::losetup, support};
use nix::sys::signal::Signal;

use crate::{Gate, Launch, Node, PodSpec, mounts, node::loop_devices, process, volume, wait_for};

scenarios! {
    "propagated-copy",
        "a process in another mount namespace has a file open in its copy of the volume, which follows the host's",
        propagated_copy;
    "held-twice", "one process uses the volume, another its copy in another mount namespace: both must end", held_twice;
    "private-copy", "a private mount namespace has a copy of the volume, also with an open file: holds nothing up",
        private_copy;
    "namespace-without-process",
        "a file of the volume is open through a mount namespace that only a bind mount keeps: it cannot be searched",
        namespace_without_process;
    "device-pinned",
        "a private mount namespace has a copy of a staged volume that is unmounted here: its device stays in use",
        device_pinned;
}

fn propagated_copy(node: &Node) -> anyhow::Result<Staged> {
    let mut spec = PodSpec::sleeping("propagated-copy");
    let volume = node.empty_dir(&mut spec, "scratch", true)?;
    node.run(&spec)?;
    let file = volume.join("data");
    let launch = Launch::stand_in("node-exporter").args(["stand-in", "hold", "--namespace", "slave", "--open"]);
    let holder = node.launch(launch.arg(&file))?;
    support::wait_open(holder, &file)?;
    support::ensure_own_mount_namespace(holder)?;
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "VolumeHeldInOtherNamespace", vec![holder.to_string()])
        .cured_by(format!("kill {holder}")))
}

fn namespace_without_process(node: &Node) -> anyhow::Result<Staged> {
    let mut spec = PodSpec::sleeping("namespace-without-process");
    let volume = node.empty_dir(&mut spec, "scratch", true)?;
    node.run(&spec)?;
    let (file, kept) = (volume.join("data"), node.layout().mnt("namespaces"));
    // A namespace cannot be bound where the mount would arrive in itself.
    mounts::tmpfs(&kept)?;
    support::shell(&format!("mount --make-private {0} && touch {0}/left", kept.display()))?;
    let launch = Launch::stand_in("entrant").args(["stand-in", "hold", "--namespace", "slave", "--open"]);
    let holder = node.launch(launch.arg(&file).arg("--keep-at").arg(kept.join("left")))?;
    support::wait_open(holder, &file)?;
    wait_for("the namespace is kept", Duration::from_secs(10), || {
        Ok(mounts::is_mounted(&kept.join("left"))?.then_some(()))
    })?;
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    let says = ["kept by a bind mount or a descriptor", "on a mount that is in no mount table"];
    let mut names = vec![volume.display().to_string(), format!("/proc/{holder}/fdinfo")];
    names.extend(says.map(str::to_owned));
    let mut staged = Staged::stuck(spec.pod, Gate::VolumesUnmounted, "VolumeMountedNoHolder", names);
    staged.expect.iter_mut().for_each(|expect| expect.verdict = "CannotTell");
    Ok(staged.by_hand(Repair::Holder(holder)))
}

fn held_twice(node: &Node) -> anyhow::Result<Staged> {
    let mut spec = PodSpec::sleeping("held-twice");
    let volume = node.empty_dir(&mut spec, "scratch", true)?;
    node.run(&spec)?;
    let file = volume.join("data");
    let there = Launch::stand_in("exporter").args(["stand-in", "hold", "--namespace", "slave", "--open"]);
    let there = node.launch(there.arg(&file))?;
    support::wait_open(there, &file)?;
    let here = node.launch(Launch::stand_in("backup").args(["stand-in", "hold", "--cwd"]).arg(&volume))?;
    support::wait_link(&format!("/proc/{here}/cwd"), &volume)?;
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    // Each names the other.
    let names = vec![format!("pid {here} backup"), format!("pid {there} exporter")];
    let mut staged = Staged::stuck(spec.pod, Gate::VolumesUnmounted, "VolumeHeldByProcess", names)
        .cured_by(format!("kill {here} && kill {there}"));
    let mut other = staged.expect.clone();
    other.iter_mut().for_each(|expect| expect.cause = Some("VolumeHeldInOtherNamespace"));
    staged.expect.append(&mut other);
    Ok(staged)
}

fn private_copy(node: &Node) -> anyhow::Result<Staged> {
    let mut spec = PodSpec::sleeping("private-copy");
    let volume = node.empty_dir(&mut spec, "scratch", true)?;
    node.run(&spec)?;
    let file = volume.join("data");
    let launch = Launch::stand_in("node-exporter").args(["stand-in", "hold", "--namespace", "private", "--open"]);
    let bystander = node.launch(launch.arg(&file))?;
    support::wait_open(bystander, &file)?;
    support::ensure_own_mount_namespace(bystander)?;
    node.delete(&spec)?;
    node.wait_gone(&spec.pod, Duration::from_secs(20))?;
    let mut staged = Staged::fine(vec![spec.pod]);
    staged.ends = true;
    Ok(staged)
}

/// The device is a loop device, and goes with its mounts.
fn device_pinned(node: &Node) -> anyhow::Result<Staged> {
    let disk = node.layout().mnt("pinned.img");
    fs::File::create(&disk).and_then(|file| file.set_len(16 << 20)).context("create the image of a disk")?;
    support::shell(&format!("mkfs.ext4 -q {}", disk.display()))?;
    let device = losetup(&disk)?;
    let staged = node.global_mount(&volume::handle("pvc-pinned"));
    fs::create_dir_all(&staged).with_context(|| format!("create {}", staged.display()))?;
    support::shell(&format!("mount {device} {} && losetup -d {device}", staged.display()))?;
    let file = node.layout().mnt("exporter");
    fs::write(&file, "").context("write a file for the exporter")?;
    let launch = Launch::stand_in("node-exporter").args(["stand-in", "hold", "--namespace", "private", "--open"]);
    let holder = node.launch(launch.arg(&file))?;
    support::wait_open(holder, &file)?;
    support::ensure_own_mount_namespace(holder)?;
    support::shell(&format!("umount {}", staged.display()))?;
    support::age(&staged)?;
    let names = vec![holder.to_string(), staged.display().to_string()];
    Ok(Staged::node("DevicePinnedByPrivateCopy", names).by_hand(Repair::Holder(holder)))
}

/// Ends the process whose mount namespace has the copy. The kernel lets go of the file system a
/// moment later.
pub fn end_holder(node: &Node, pid: i32) -> anyhow::Result<()> {
    process::signal(pid, Signal::SIGKILL)?;
    process::wait_end(pid)?;
    wait_for("the device is free", Duration::from_secs(10), || {
        Ok(loop_devices(node.layout().dir()).is_empty().then_some(()))
    })
}
