//! Something in the volume's place that the kubelet cannot take away.

use std::{fs, os::unix::fs::PermissionsExt as _, time::Duration};

use anyhow::Context as _;

use super::{Cure, Staged, support};
use crate::{Gate, Launch, Node, PodSpec, Restart, mounts, process, wait_for};

scenarios! {
    "nested-mount", "something is mounted below an emptyDir of the pod", |node| nested_mount(node, "nested-mount");
    "autofs", "an automounter waits below an emptyDir of the pod, and does not answer", autofs;
    "stray-file", "a regular file lies directly in the pod's volumes directory", stray_file;
    "immutable-file", "a file of an emptyDir on the node's disk is immutable", immutable_file;
    "hidden-volume", "the kubelet's directory was mounted over itself after the pod's tmpfs was mounted", hidden_volume;
    "kubelet-namespace", "the kubelet has a mount namespace of its own, and something is mounted there below an emptyDir",
        kubelet_namespace;
}

pub(super) fn nested_mount(node: &Node, name: &str) -> anyhow::Result<Staged> {
    let mut spec = PodSpec::sleeping(name);
    let volume = node.empty_dir(&mut spec, "scratch", false)?;
    let nested = volume.join("inner");
    mounts::tmpfs(&nested)?;
    node.run(&spec)?;
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    let path = nested.display().to_string();
    let cure = format!("umount {path}");
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "NestedMount", vec![path]).cured_by(cure))
}

fn autofs(node: &Node) -> anyhow::Result<Staged> {
    let mut spec = PodSpec::sleeping("autofs");
    let volume = node.empty_dir(&mut spec, "scratch", false)?;
    let nested = volume.join("inner");
    fs::create_dir(&nested).context("create the nested directory")?;
    node.run(&spec)?;
    node.launch(Launch::stand_in("automount").args(["stand-in", "hold", "--autofs"]).arg(&nested))?;
    wait_for(
        "the automounter has mounted",
        Duration::from_secs(10),
        || Ok(mounts::is_mounted(&nested)?.then_some(())),
    )?;
    node.delete(&spec)?;
    // Nothing is said of a kubelet that waits there itself.
    let kubelet = node.kubelet_pid()?;
    wait_for("the kubelet waits for the automounter", Duration::from_secs(10), || {
        let waits = |tid: &i32| {
            fs::read_to_string(format!("/proc/{kubelet}/task/{tid}/wchan")).is_ok_and(|at| at == "autofs_wait")
        };
        Ok(process::threads(kubelet).iter().any(waits).then_some(()))
    })?;
    let path = nested.display().to_string();
    let names = vec![path, "whether its automounter answers".to_owned()];
    let mut staged = Staged::stuck(spec.pod, Gate::VolumesUnmounted, "NestedMount", names);
    // The umount would wait for the automounter as well.
    (staged.cure, staged.ends) = (Cure::None, false);
    Ok(staged)
}

fn immutable_file(node: &Node) -> anyhow::Result<Staged> {
    let mut spec = PodSpec::sleeping("immutable-file");
    let volume = node.empty_dir(&mut spec, "scratch", false)?;
    node.run(&spec)?;
    let file = volume.join("data");
    let (set, cure) = (format!("chattr +i {}", file.display()), format!("chattr -ia {}", file.display()));
    support::shell(&set)?;
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    let names = vec![file.display().to_string()];
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "VolumeFileImmutable", names).cured_by(cure))
}

fn stray_file(node: &Node) -> anyhow::Result<Staged> {
    let mut spec = PodSpec::sleeping("stray-file");
    node.empty_dir(&mut spec, "scratch", true)?;
    let file = node.run(&spec)?.dir.join("volumes/backup.log");
    fs::write(&file, "something\n").with_context(|| format!("write {}", file.display()))?;
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    let path = file.display().to_string();
    let cure = format!("rm {path}");
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "StrayFileInVolumes", vec![path]).cured_by(cure))
}

fn kubelet_namespace(node: &Node) -> anyhow::Result<Staged> {
    let mut spec = PodSpec::sleeping("kubelet-namespace");
    let volume = node.empty_dir(&mut spec, "scratch", false)?;
    let nested = volume.join("inner");
    fs::create_dir(&nested).context("create the nested directory")?;
    node.run(&spec)?;
    let kubelet = node.restart_kubelet(Restart::in_own_mount_namespace())?;
    let path = nested.display().to_string();
    let inside = format!("nsenter --mount=/proc/{kubelet}/ns/mnt");
    // Any process that can mount there decides which program `umount` is. The remedy is typed by root and must not run it.
    let trap = node.layout().dir().join("umount-of-the-namespace");
    fs::write(&trap, "#!/bin/sh\necho \"a program of the other namespace ran as root\" >&2\nexit 1\n")?;
    fs::set_permissions(&trap, fs::Permissions::from_mode(0o755))?;
    support::shell(&format!("{inside} mount --bind {} $(readlink -f $(command -v umount))", trap.display()))?;
    support::shell(&format!("{inside} mount -t tmpfs tmpfs {path}"))?;
    anyhow::ensure!(!mounts::is_mounted(&nested)?, "the mount is seen by the host as well");
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "NestedMount", vec![path.clone(), kubelet.to_string()])
        .cured_by(format!("umount -i -n -c -N {kubelet} {path}")))
}

fn hidden_volume(node: &Node) -> anyhow::Result<Staged> {
    let mut spec = PodSpec::sleeping("hidden-volume");
    let volume = node.empty_dir(&mut spec, "scratch", true)?;
    node.run(&spec)?;
    let root = node.layout().kubelet_root();
    mounts::bind(&root, &root)?;
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    let names = vec![volume.display().to_string(), root.display().to_string()];
    let cure = format!("umount {}", root.display());
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "KubeletRootAmbiguous", names).cured_by(cure))
}
