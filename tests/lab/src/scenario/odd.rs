//! Healthy nodes on which something is odd: nothing of it holds up a pod, so nothing may be said.

use std::{fs, path::PathBuf, time::Duration};

use anyhow::Context as _;
use nix::sys::signal::Signal;

use super::leftovers::losetup;
use super::support::{self, FuseMount};
use super::{Staged, csi, frozen};
use crate::{Launch, Node, PodSpec, Restart, mounts, process, standin::csi::Manner, volume::plugin, wait_for};

scenarios! {
    "odd-waits-for-fuse", "a running pod's process waits for a FUSE server that never answers", waits_for_fuse;
    "odd-hung-fuse-of-host", "a process of the host waits for a FUSE server that never answers", hung_fuse_of_host;
    "odd-paused", "the cgroup of a running container is frozen, as by a pause", paused;
    "odd-traced", "a debugger of the host traces a running container's process", traced;
    "odd-child-from-outside", "a process from outside runs in a running container's pid namespace", child_from_outside;
    "odd-zombie", "a running container's process does not reap its child", zombie;
    "odd-shared-processes", "a running pod has one pid namespace for all", shared_processes;
    "odd-shim-stopped", "the shim of a running pod is stopped", shim_stopped;
    "odd-kubelet-restarted", "the kubelet was restarted while a pod runs", kubelet_restarted;
    "odd-cwd", "a process of the host stands in a running pod's volume", |node| held(node, "odd-cwd", &["--cwd"], "");
    "odd-mapped", "a process of the host has a running pod's file mapped", |node| held(node, "odd-mapped", &["--map"], "data");
    "odd-in-flight", "a running pod's file is on its way over a socket", |node| held(node, "odd-in-flight", &["--send"], "data");
    "odd-private-copy", "a private mount namespace has a copy of a running pod's volume",
        |node| held(node, "odd-private-copy", &["--namespace", "private", "--open"], "data");
    "odd-nested-mount", "something is mounted below a running pod's volume", nested_mount;
    "odd-subpath", "a running pod has a subPath", sub_path;
    "odd-loop-device", "a loop device lies on a file in a running pod's volume", loop_device;
    "odd-csi", "a CSI driver serves a running pod", served_by_csi;
    "odd-completed", "a pod has ended by itself, and its object stays", completed;
    "odd-frozen-disk", "somebody has frozen a file system that no pod uses", frozen_disk;
    "odd-mounted-over", "a directory of the host is mounted over twice", mounted_over;
    "odd-many-mounts", "the host has three hundred mounts more", many_mounts;
    "odd-second-view", "the kubelet's pod directories are shown at a second place", second_view;
}

fn fine(spec: PodSpec) -> anyhow::Result<Staged> {
    Ok(Staged::fine(vec![spec.pod]))
}

/// A running pod with a volume.
fn with_volume(node: &Node, name: &str) -> anyhow::Result<(PodSpec, PathBuf)> {
    let mut spec = PodSpec::sleeping(name);
    let volume = node.empty_dir(&mut spec, "scratch", true)?;
    node.run(&spec)?;
    Ok((spec, volume))
}

fn hung(node: &Node, name: &str) -> anyhow::Result<(FuseMount, PathBuf)> {
    let path = node.layout().mnt(name);
    Ok((support::fuse_mount(node, "s3fs", &path)?, path))
}

fn waits_for_fuse(node: &Node) -> anyhow::Result<Staged> {
    let (_, media) = hung(node, "odd-media")?;
    let spec = PodSpec::new("odd-waits-for-fuse").container(&["/bin/cat", "/media/hang"]).mount(&media, "/media");
    support::wait_fuse_wait(node.run(&spec)?.app()?.pid)?;
    fine(spec)
}

fn hung_fuse_of_host(node: &Node) -> anyhow::Result<Staged> {
    let (_, media) = hung(node, "odd-host-media")?;
    let reader = Launch::stand_in("backup").args(["stand-in", "hold", "--read"]).arg(media.join("hang"));
    support::wait_fuse_wait(node.launch(reader)?)?;
    let spec = PodSpec::sleeping("odd-hung-fuse-of-host");
    node.run(&spec)?;
    fine(spec)
}

fn paused(node: &Node) -> anyhow::Result<Staged> {
    let spec = PodSpec::sleeping("odd-paused");
    let cgroup = frozen::v2_cgroup(node.run(&spec)?.app()?.pid)?;
    fs::write(cgroup.join("cgroup.freeze"), "1").with_context(|| format!("freeze {}", cgroup.display()))?;
    fine(spec)
}

fn traced(node: &Node) -> anyhow::Result<Staged> {
    let spec = PodSpec::sleeping("odd-traced");
    let init = node.run(&spec)?.app()?.pid;
    let tracer = Launch::stand_in("gdb").args(["stand-in", "tracer", "--of"]).arg(init.to_string());
    let tracer = node.launch(tracer)?;
    wait_for("the debugger traces the process", Duration::from_secs(5), || {
        let status = fs::read_to_string(format!("/proc/{init}/status"))?;
        Ok(status.contains(&format!("TracerPid:\t{tracer}\n")).then_some(()))
    })?;
    fine(spec)
}

fn child_from_outside(node: &Node) -> anyhow::Result<Staged> {
    let spec = PodSpec::sleeping("odd-child-from-outside");
    let init = node.run(&spec)?.app()?.pid;
    let launch = Launch::stand_in("debug-agent").args(["stand-in", "foreign-parent", "--namespace-of"]);
    node.launch(launch.arg(init.to_string()))?;
    fine(spec)
}

fn zombie(node: &Node) -> anyhow::Result<Staged> {
    let spec = PodSpec::new("odd-zombie").container(&["/bin/sh", "-c", "sleep 0 & exec sleep 2147483647"]);
    let init = node.run(&spec)?.app()?.pid;
    wait_for("its child is a zombie", Duration::from_secs(5), || {
        Ok(process::children(init).iter().any(|child| process::state(*child) == Some('Z')).then_some(()))
    })?;
    fine(spec)
}

fn shared_processes(node: &Node) -> anyhow::Result<Staged> {
    let spec = PodSpec::sleeping("odd-shared-processes").shared_processes();
    node.run(&spec)?;
    fine(spec)
}

fn shim_stopped(node: &Node) -> anyhow::Result<Staged> {
    let spec = PodSpec::sleeping("odd-shim-stopped");
    let shim = process::parent(node.run(&spec)?.app()?.pid)?;
    process::signal(shim, Signal::SIGSTOP)?;
    process::wait_state(shim, "T")?;
    fine(spec)
}

fn kubelet_restarted(node: &Node) -> anyhow::Result<Staged> {
    let (spec, _) = with_volume(node, "odd-kubelet-restarted")?;
    node.restart_kubelet(Restart::default())?;
    fine(spec)
}

/// A process of the host that does this with the volume, or with a file in it.
fn held(node: &Node, name: &str, flags: &[&str], file: &str) -> anyhow::Result<Staged> {
    let (spec, volume) = with_volume(node, name)?;
    let launch = Launch::stand_in("backup").args(["stand-in", "hold"]).args(flags.iter().copied());
    node.launch(launch.arg(volume.join(file)))?;
    fine(spec)
}

fn nested_mount(node: &Node) -> anyhow::Result<Staged> {
    let (spec, volume) = with_volume(node, "odd-nested-mount")?;
    mounts::tmpfs(&volume.join("inner"))?;
    fine(spec)
}

fn sub_path(node: &Node) -> anyhow::Result<Staged> {
    let (spec, volume) = with_volume(node, "odd-subpath")?;
    let part = volume.join("part");
    let target = node.layout().pod_dir(&spec.pod.uid).join("volume-subpaths/scratch/app/0");
    for dir in [&part, &target] {
        fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
    }
    mounts::bind(&part, &target)?;
    fine(spec)
}

fn loop_device(node: &Node) -> anyhow::Result<Staged> {
    let (spec, volume) = with_volume(node, "odd-loop-device")?;
    let disk = volume.join("disk.img");
    fs::File::create(&disk).and_then(|file| file.set_len(4 << 20)).context("create the image of a disk")?;
    losetup(&disk)?;
    fine(spec)
}

fn served_by_csi(node: &Node) -> anyhow::Result<Staged> {
    csi::start_driver(node, Manner::Proper)?;
    let mut spec = PodSpec::sleeping("odd-csi");
    node.csi_volume(&mut spec, "pvc-odd")?;
    node.run(&spec)?;
    fine(spec)
}

fn completed(node: &Node) -> anyhow::Result<Staged> {
    let (spec, volume) = with_volume(node, "odd-completed")?;
    node.complete(&spec)?;
    wait_for("its volume is unmounted", Duration::from_secs(20), || Ok((!mounts::is_mounted(&volume)?).then_some(())))?;
    fine(spec)
}

fn frozen_disk(node: &Node) -> anyhow::Result<Staged> {
    let (disk, data) = (node.layout().mnt("odd.img"), node.layout().mnt("odd-data"));
    fs::create_dir_all(&data).context("create a mount point")?;
    fs::File::create(&disk).and_then(|file| file.set_len(16 << 20)).context("create the image of a disk")?;
    support::shell(&format!("mkfs.ext4 -q {0} && mount -o loop {0} {1}", disk.display(), data.display()))?;
    support::shell(&format!("fsfreeze -f {}", data.display()))?;
    let spec = PodSpec::sleeping("odd-frozen-disk");
    node.run(&spec)?;
    fine(spec)
}

fn mounted_over(node: &Node) -> anyhow::Result<Staged> {
    let dir = node.layout().mnt("odd-over");
    mounts::tmpfs(&dir)?;
    mounts::tmpfs(&dir)?;
    let spec = PodSpec::sleeping("odd-mounted-over");
    node.run(&spec)?;
    fine(spec)
}

fn many_mounts(node: &Node) -> anyhow::Result<Staged> {
    let dir = node.layout().mnt("odd-many");
    (0..300).try_for_each(|number| mounts::tmpfs(&dir.join(number.to_string())))?;
    let (spec, _) = with_volume(node, "odd-many-mounts")?;
    fine(spec)
}

fn second_view(node: &Node) -> anyhow::Result<Staged> {
    let (spec, _) = with_volume(node, "odd-second-view")?;
    let copy = node.layout().mnt("odd-pods");
    fs::create_dir_all(&copy).context("create a mount point")?;
    mounts::bind(&node.layout().kubelet_root().join("pods"), &copy)?;
    anyhow::ensure!(
        copy.join(&spec.pod.uid).join("volumes").join(plugin::EMPTY_DIR).exists(),
        "the copy shows nothing"
    );
    fine(spec)
}
