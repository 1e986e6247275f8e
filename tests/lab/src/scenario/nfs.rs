//! A task of the pod waits for an NFS server. Only in a machine of its own: what waits so may never end.

use std::{fs, path::Path, time::Duration};

use anyhow::Context as _;

use super::machine::{self, NFS};
use super::{Cure, Repair, Staged, support};
use crate::{Gate, Launch, Node, PodSpec, mounts, process, wait_for};

/// What `tests/vm/inside.sh` serves.
const EXPORT: &str = "10.99.0.1:/srv/export";

scenarios! {
    "vm-nfs4-writer", "the container's process has written a file on NFS 4, and the server is silent",
        |node| Ok(writer(node, "vm-nfs4-writer", "4.2")?.by_hand(Repair::Server));
    "vm-nfs3-writer", "the container's process has written a file on NFS 3, and the server is silent",
        |node| writer(node, "vm-nfs3-writer", "3,nolock");
    "vm-nfs4-reader", "the container's process has a file open on NFS 4 and writes nothing, and the server is silent",
        reader;
    "vm-nfs-back", "the container's process has written a file on NFS 4, and the server answers again after a minute", |node| {
        let mut staged = writer(node, "vm-nfs-back", "4.2")?;
        support::shell("(sleep 60; iptables -F INPUT) >/dev/null 2>&1 &")?;
        staged.cure = Cure::None;
        staged.expect.iter_mut().for_each(|expect| expect.names.push("continue by themselves".to_owned()));
        Ok(staged)
    };
    "vm-nfs-subpath",
        "the container's process has written a file in a subPath of a volume on NFS 3, and the server is silent",
        sub_path;
    "vm-nfs-busy", "a process of the host has its working directory in a volume on NFS 3, whose server is silent", busy;
    "vm-nfs-stale", "a process of the host has a file open in a volume on NFS, whose server exports it no more", stale;
    "vm-nfs-loop", "the container's process waits for a loop device, whose file lies on NFS, and the server is silent",
        loop_on_nfs;
    "vm-nfs-overlay",
        "the container's process closes a file of an overlay whose lower layer lies on NFS, and the server is silent",
        overlay_on_nfs;
    "vm-autofs",
        "the container's process has written a file on NFS 3 that an automounter has mounted, and the server is silent",
        automounted;
}

const CAUSE: &str = "NfsServerNotResponding";
const WRITES: [&str; 3] = ["/bin/sh", "-c", "exec 3> /data/log; while true; do echo on >&3; sleep 1; done"];

/// On its way out it sends what it has written, and waits for the answer.
fn writer(node: &Node, name: &str, version: &str) -> anyhow::Result<Staged> {
    machine::answer()?;
    let mut spec = PodSpec::new(name).container(&WRITES);
    let volume = node.nfs_volume(&mut spec, "data", EXPORT, version)?;
    let spec = spec.mount(&volume, "/data");
    silent_writer(node, spec, &volume, &volume)
}

/// The server is silent while the container writes to `seen`, a part of `volume`.
fn silent_writer(node: &Node, spec: PodSpec, volume: &Path, seen: &Path) -> anyhow::Result<Staged> {
    let task = node.run(&spec)?.app()?.pid;
    support::wait_exists(&seen.join("log"))?;
    machine::silence(NFS)?;
    std::thread::sleep(Duration::from_secs(3));
    node.delete_until(&spec, Gate::ContainersStopped)?;
    process::wait_state(task, "D")?;
    support::wait_stack(task, "nfs")?;
    let path = volume.display().to_string();
    let names = vec![task.to_string(), EXPORT.to_owned(), path.clone()];
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, CAUSE, names).cured_by(format!("umount -f {path}")))
}

fn reader(node: &Node) -> anyhow::Result<Staged> {
    machine::answer()?;
    fs::write("/srv/export/kept", "something\n").context("write on the server's side")?;
    let command = ["/bin/sh", "-c", "exec 3</data/kept; exec sleep 2147483647"];
    let mut spec = PodSpec::new("vm-nfs4-reader").container(&command);
    let volume = node.nfs_volume(&mut spec, "data", EXPORT, "4.2")?;
    let spec = spec.mount(&volume, "/data");
    let task = node.run(&spec)?.app()?.pid;
    support::wait_open(task, Path::new("/data/kept"))?;
    machine::silence(NFS)?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    process::wait_state(task, "D")?;
    let names = vec![task.to_string(), EXPORT.to_owned(), volume.display().to_string()];
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, CAUSE, names).by_hand(Repair::Server))
}

fn sub_path(node: &Node) -> anyhow::Result<Staged> {
    machine::answer()?;
    let mut spec = PodSpec::new("vm-nfs-subpath").container(&WRITES);
    let volume = node.nfs_volume(&mut spec, "data", EXPORT, "3,nolock")?;
    let target = node.layout().pod_dir(&spec.pod.uid).join("volume-subpaths/data/app/0");
    let part = volume.join("part");
    for dir in [&part, &target] {
        fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
    }
    mounts::bind(&part, &target)?;
    let spec = spec.mount(&target, "/data");
    silent_writer(node, spec, &volume, &part)
}

fn busy(node: &Node) -> anyhow::Result<Staged> {
    machine::answer()?;
    let mut spec = PodSpec::sleeping("vm-nfs-busy");
    let volume = node.nfs_volume(&mut spec, "data", EXPORT, "3,nolock")?;
    node.run(&spec)?;
    let holder = node.launch(Launch::stand_in("backup").args(["stand-in", "hold", "--cwd"]).arg(&volume))?;
    support::wait_link(&format!("/proc/{holder}/cwd"), &volume)?;
    machine::silence(NFS)?;
    held(node, spec, holder, &volume)
}

fn held(node: &Node, spec: PodSpec, holder: i32, volume: &Path) -> anyhow::Result<Staged> {
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    let names = vec![holder.to_string(), volume.display().to_string()];
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "VolumeHeldByProcess", names).cured_by(format!("kill {holder}")))
}

fn stale(node: &Node) -> anyhow::Result<Staged> {
    machine::answer()?;
    let mut spec = PodSpec::sleeping("vm-nfs-stale");
    let volume = node.nfs_volume(&mut spec, "data", EXPORT, "3,nolock")?;
    node.run(&spec)?;
    let file = volume.join("kept");
    fs::write(&file, "something\n").context("write into the volume")?;
    let holder = node.launch(Launch::stand_in("backup").args(["stand-in", "hold", "--open"]).arg(&file))?;
    support::wait_open(holder, &file)?;
    // What the client knows of it by heart is not asked for.
    support::shell(&format!("exportfs -u '*:/srv/export' && exportfs -f && sleep 4 && ! ls {} >&2", volume.display()))?;
    held(node, spec, holder, &volume)
}

/// Mounts the export, for what is no volume of a pod.
fn export(node: &Node, name: &str, version: &str) -> anyhow::Result<std::path::PathBuf> {
    machine::answer()?;
    let media = node.layout().mnt(&format!("media-of-{name}"));
    fs::create_dir_all(&media).context("create a mount point")?;
    support::shell(&format!("mount -t nfs -o hard,vers={version} {EXPORT} {}", media.display()))?;
    Ok(media)
}

fn loop_on_nfs(node: &Node) -> anyhow::Result<Staged> {
    // Made on the server's side, so that the client has nothing of it.
    let disk = Path::new("/srv/export/loop.img");
    fs::File::create(disk).and_then(|file| file.set_len(16 << 20)).context("create the image of a disk")?;
    support::shell(&format!("mkfs.ext4 -q -O ^has_journal {}", disk.display()))?;
    let media = export(node, "vm-nfs-loop", "3,nolock")?;
    let data = node.layout().mnt("data-of-loop-on-nfs");
    fs::create_dir_all(&data).context("create a mount point")?;
    support::shell(&format!("mount -o loop,ro {} {}", media.join("loop.img").display(), data.display()))?;
    let spec = PodSpec::new("vm-nfs-loop").container(&["/bin/cat", "/data/name"]).mount(&data, "/data");
    support::shell("sync; echo 3 >/proc/sys/vm/drop_caches")?;
    machine::silence(NFS)?;
    let task = node.run(&spec)?.app()?.pid;
    process::wait_state(task, "D")?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    support::wait_killed(task)?;
    let names = vec![task.to_string(), EXPORT.to_owned(), "loop device".to_owned()];
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, CAUSE, names).by_hand(Repair::Server))
}

fn overlay_on_nfs(node: &Node) -> anyhow::Result<Staged> {
    fs::write("/srv/export/kept", "something\n").context("write on the server's side")?;
    let media = export(node, "vm-nfs-overlay", "4.2")?;
    let [upper, data] = ["upper-of-nfs", "data-of-nfs"].map(|name| node.layout().mnt(name));
    for dir in [&data, &upper] {
        fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
    }
    let layers = format!("lowerdir={}:{}", media.display(), upper.display());
    support::shell(&format!("mount -t overlay -o {layers} overlay {}", data.display()))?;
    let command = ["/bin/sh", "-c", "exec 3</data/kept; exec sleep 2147483647"];
    let spec = PodSpec::new("vm-nfs-overlay").container(&command).mount(&data, "/data");
    let task = node.run(&spec)?.app()?.pid;
    support::wait_open(task, Path::new("/data/kept"))?;
    machine::silence(NFS)?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    process::wait_state(task, "D")?;
    support::wait_stack(task, "nfs4")?;
    // The overlay is gone with the mount namespace that had it.
    let names = vec![task.to_string(), EXPORT.to_owned(), media.display().to_string()];
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, CAUSE, names).by_hand(Repair::Server))
}

fn automounted(node: &Node) -> anyhow::Result<Staged> {
    machine::answer()?;
    let media = node.layout().mnt("automounted");
    fs::create_dir_all(&media).context("create a mount point")?;
    let direct = format!("{} -fstype=nfs,nobind,hard,vers=3,nolock {EXPORT}\n", media.display());
    fs::write("/srv/auto.master", "/- /srv/auto.direct\n").context("write the automounter's settings")?;
    fs::write("/srv/auto.direct", direct).context("write the automounter's map")?;
    let flags = ["--foreground", "--dont-check-daemon", "--timeout=0", "/srv/auto.master"];
    node.launch(Launch::program("automount", "/usr/sbin/automount").args(flags))?;
    wait_for("the automounter has mounted", Duration::from_secs(10), || Ok(mounts::is_mounted(&media)?.then_some(())))?;
    // The walk through it has it mounted.
    fs::read_dir(media.join(".")).context("list what is mounted automatically")?;
    let kinds: Vec<String> = mounts::below(&media)?.into_iter().map(|mount| mount.kind).collect();
    anyhow::ensure!(["autofs", "nfs"].iter().all(|kind| kinds.iter().any(|other| other == kind)), "mounted: {kinds:?}");
    let spec = PodSpec::new("vm-autofs").container(&WRITES).mount(&media, "/data");
    silent_writer(node, spec, &media, &media)
}
