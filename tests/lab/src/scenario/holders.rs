//! A process of the host uses a volume that the kubelet wants to unmount.

use std::{fs, path::Path};

use anyhow::Context as _;

use super::{Repair, Staged, leftovers::losetup, support};
use crate::{Gate, Launch, Node, PodSpec, mounts};

scenarios! {
    "cwd", "a process of the host has its working directory in an emptyDir of the pod", |node| cwd(node, "cwd");
    "open-fd", "a process of the host has a file of an emptyDir of the pod open", |node| open_fd(node, "open-fd");
    "mapped-file", "a process of the host has a file of an emptyDir of the pod mapped, but not open",
        |node| mapped_file(node, "mapped-file");
    "fd-in-flight", "a file of an emptyDir of the pod is open nowhere but on its way over a unix socket", |node| {
        let staged = hold(
            node,
            "fd-in-flight",
            "VolumeHeldInFlight",
            "--send",
            |volume| volume.join("data"),
            |pid, _| support::wait_in_flight(pid),
        )?;
        // Which of the processes that were sent something has a file of the volume, only a person knows.
        let holder = staged.expect.first().and_then(|expect| expect.names.first()).context("the holder has a name")?;
        let repair = Repair::Holder(holder.parse()?);
        Ok(staged.by_hand(repair))
    };
    "registered-file",
        "a process of the host has a file of an emptyDir of the pod registered with an io_uring, but not open", |node| {
        let file = |volume: &Path| volume.join("data");
        hold(node, "registered-file", "VolumeHeldByProcess", "--register", file, support::wait_registered)
    };
    "loop-on-volume", "a loop device of the host is backed by a file of an emptyDir of the pod", |node| {
        let mut spec = PodSpec::sleeping("loop-on-volume");
        let volume = node.empty_dir(&mut spec, "scratch", true)?;
        node.run(&spec)?;
        let image = volume.join("disk.img");
        fs::File::create(&image).and_then(|file| file.set_len(1 << 20)).context("create the image of a disk")?;
        let device = losetup(&image)?;
        node.delete_until(&spec, Gate::VolumesUnmounted)?;
        let cure = format!("losetup -d {device}");
        let names = vec![device, image.display().to_string()];
        Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "VolumeHeldByLoopDevice", names).cured_by(cure))
    };
    "several-holders", "three processes of the host use an emptyDir of the pod: one finding, and all must go",
        several_holders;
    "completed-pod", "a pod has ended by itself, and a process of the host has its working directory in its emptyDir",
        completed_pod;
    "subpath-busy", "a process of the host has its working directory in a subPath mount of the pod", subpath_busy;
}

pub(super) fn cwd(node: &Node, name: &str) -> anyhow::Result<Staged> {
    let stands = |pid, path: &Path| support::wait_link(&format!("/proc/{pid}/cwd"), path);
    hold(node, name, "VolumeHeldByProcess", "--cwd", Path::to_owned, stands)
}

pub(super) fn open_fd(node: &Node, name: &str) -> anyhow::Result<Staged> {
    hold(node, name, "VolumeHeldByProcess", "--open", |volume| volume.join("data"), support::wait_open)
}

pub(super) fn mapped_file(node: &Node, name: &str) -> anyhow::Result<Staged> {
    hold(node, name, "VolumeHeldByProcess", "--map", |volume| volume.join("data"), support::wait_mapped)
}

fn hold(
    node: &Node,
    name: &str,
    cause: &'static str,
    flag: &str,
    held: fn(&Path) -> std::path::PathBuf,
    holds: fn(i32, &Path) -> anyhow::Result<()>,
) -> anyhow::Result<Staged> {
    let mut spec = PodSpec::sleeping(name);
    let volume = node.empty_dir(&mut spec, "scratch", true)?;
    node.run(&spec)?;
    let path = held(&volume);
    let holder = node.launch(Launch::stand_in("backup").args(["stand-in", "hold", flag]).arg(&path))?;
    holds(holder, &path)?;
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    let names = vec![holder.to_string(), volume.display().to_string()];
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, cause, names).cured_by(format!("kill {holder}")))
}

fn completed_pod(node: &Node) -> anyhow::Result<Staged> {
    let mut spec = PodSpec::sleeping("completed-pod");
    let volume = node.empty_dir(&mut spec, "scratch", true)?;
    node.run(&spec)?;
    let holder = node.launch(Launch::stand_in("backup").args(["stand-in", "hold", "--cwd"]).arg(&volume))?;
    support::wait_link(&format!("/proc/{holder}/cwd"), &volume)?;
    node.complete(&spec)?;
    node.wait_held(&spec.pod, Gate::VolumesUnmounted)?;
    let names = vec![holder.to_string(), volume.display().to_string()];
    let mut staged = Staged::stuck(spec.pod, Gate::VolumesUnmounted, "CompletedPodVolumeBusy", names)
        .cured_by(format!("kill {holder}"));
    // Its object stays, and rightly so.
    staged.pods.clear();
    Ok(staged)
}

fn several_holders(node: &Node) -> anyhow::Result<Staged> {
    let mut spec = PodSpec::sleeping("several-holders");
    let volume = node.empty_dir(&mut spec, "scratch", true)?;
    node.run(&spec)?;
    let mut names = vec![volume.display().to_string()];
    let mut kills = Vec::new();
    for name in ["backup", "scanner", "shell"] {
        let holder = node.launch(Launch::stand_in(name).args(["stand-in", "hold", "--cwd"]).arg(&volume))?;
        support::wait_link(&format!("/proc/{holder}/cwd"), &volume)?;
        names.push(holder.to_string());
        kills.push(format!("kill {holder}"));
    }
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "VolumeHeldByProcess", names).cured_by(kills.join(" && ")))
}

fn subpath_busy(node: &Node) -> anyhow::Result<Staged> {
    let mut spec = PodSpec::sleeping("subpath-busy");
    let volume = node.empty_dir(&mut spec, "scratch", true)?;
    let part = volume.join("part");
    let target = node.layout().pod_dir(&spec.pod.uid).join("volume-subpaths/scratch/app/0");
    for dir in [&part, &target] {
        fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
    }
    mounts::bind(&part, &target)?;
    node.run(&spec)?;
    let holder = node.launch(Launch::stand_in("backup").args(["stand-in", "hold", "--cwd"]).arg(&target))?;
    support::wait_link(&format!("/proc/{holder}/cwd"), &target)?;
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    let names = vec![holder.to_string(), target.display().to_string()];
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "VolumeHeldByProcess", names).cured_by(format!("kill {holder}")))
}
