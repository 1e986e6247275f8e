//! A process of the host uses a volume that the kubelet wants to unmount.

use std::{fs, path::Path};

use anyhow::Context as _;

use super::{Scenario, Staged, support};
use crate::{Gate, Launch, Node, PodSpec, mounts};

/// It stands in the volume.
pub const CWD: Scenario = Scenario {
    name: "cwd",
    about: "a process of the host has its working directory in an emptyDir of the pod",
    stage: |node| {
        hold(
            node,
            "cwd",
            "VolumeHeldByProcess",
            "--cwd",
            |volume| volume.to_owned(),
            |pid, path| support::wait_link(&format!("/proc/{pid}/cwd"), path),
        )
    },
};

/// It has a file open.
pub const OPEN_FD: Scenario = Scenario {
    name: "open-fd",
    about: "a process of the host has a file of an emptyDir of the pod open",
    stage: |node| {
        hold(node, "open-fd", "VolumeHeldByProcess", "--open", |volume| volume.join("data"), support::wait_open)
    },
};

/// It has a file mapped, and closed.
pub const MAPPED_FILE: Scenario = Scenario {
    name: "mapped-file",
    about: "a process of the host has a file of an emptyDir of the pod mapped, but not open",
    stage: |node| {
        hold(node, "mapped-file", "VolumeHeldByMapping", "--map", |volume| volume.join("data"), support::wait_mapped)
    },
};

/// It stands in a subPath.
pub const SUBPATH_BUSY: Scenario = Scenario {
    name: "subpath-busy",
    about: "a process of the host has its working directory in a subPath mount of the pod",
    stage: subpath_busy,
};

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
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "SubPathBusy", names).cured_by(format!("kill {holder}")))
}
