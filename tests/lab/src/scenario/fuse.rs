//! A task of the pod waits for a FUSE server that never answers.

use std::path::{Path, PathBuf};
use std::{fs, time::Duration};

use anyhow::Context as _;
use nix::sys::signal::Signal;

use super::{Cure, Repair, Staged, csi, leftovers::losetup, support};
use crate::{Gate, Launch, Node, PodSpec, process, standin::csi::Manner, wait_for};

scenarios! {
    "dstate-fuse", "the container's process waits for a FUSE server that never answers, and cannot be killed",
        |node| dstate_fuse(node, "dstate-fuse");
    "dstate-fuseblk", "the container's process waits for a FUSE server whose file system is on a block device",
        dstate_fuseblk;
    "dstate-writer", "the container's process cannot be killed, and has a file of the pod's CSI volume open for writing",
        dstate_writer;
    "pidns-init", "the container's init is dead and waits for a child that waits for a FUSE server", pidns_init;
    "zombie-leader", "the container's process is a zombie whose second thread waits for a FUSE server", zombie_leader;
    "exiting-flush", "the container's process exits by itself and waits in the flush of a file for a FUSE server",
        exiting_flush;
    "slow-exit", "the container's process has been killed, and closes file after file of a slow FUSE server", slow_exit;
    "pipe-lock", "the container's process waits for the lock of a pipe, which a task that waits for a FUSE server keeps",
        pipe_lock;
    "exec-flush", "the container's process runs another program and waits in the flush of a file for a FUSE server", |node| {
        let (staged, task) = exec_flush(node, "exec-flush")?;
        // runc does not come to kill it: it asks first when it started.
        process::signal(task, Signal::SIGKILL)?;
        process::wait_state(task, "D")?;
        Ok(staged)
    };
    "exec-unkilled", "runc cannot kill the container's process, which runs another program and waits for a FUSE server",
        |node| exec_flush(node, "exec-unkilled").map(|(staged, _)| staged);
    "fuse-lookup",
        "the container's process looks for a file that another process looks for, which waits for a FUSE server",
        fuse_lookup;
    "fuse-without-fusectl", "the container's process waits for a FUSE server on a node where fusectl is not mounted", |node| {
        let staged = dstate_fuse(node, "dstate-fuse")?;
        node.withdraw_fusectl()?;
        Ok(staged)
    };
    "loop-on-fuse",
        "the container's process waits for a loop device, whose file lies on a FUSE server that never answers",
        loop_on_fuse;
    "overlay-on-fuse",
        "the container's process reads from an overlay, a layer of which lies on a FUSE server that never answers",
        overlay_on_fuse;
}

const CAUSE: &str = "FuseServerNotResponding";

pub(super) fn dstate_fuse(node: &Node, name: &str) -> anyhow::Result<Staged> {
    let media = node.layout().mnt(&format!("media-of-{name}"));
    let fuse = support::fuse_mount(node, "s3fs", &media)?;
    let spec = PodSpec::new(name).container(&["/bin/cat", "/media/hang"]).mount(&media, "/media");
    let task = node.run(&spec)?.app()?.pid;
    support::wait_fuse_wait(task)?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    process::wait_state(task, "D")?;
    let names = vec![task.to_string(), fuse.server.to_string()];
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, CAUSE, names).cured_by(fuse.abort_command()))
}

fn dstate_writer(node: &Node) -> anyhow::Result<Staged> {
    csi::start_driver(node, Manner::Proper)?;
    let media = node.layout().mnt("media-of-dstate-writer");
    let fuse = support::fuse_mount(node, "s3fs", &media)?;
    let command = ["/bin/sh", "-c", "exec 3>>/data/journal; echo on >&3; exec cat /media/hang"];
    let mut spec = PodSpec::new("dstate-writer").container(&command).mount(&media, "/media");
    let volume = node.csi_volume(&mut spec, "pvc-journal")?;
    let spec = spec.mount(&volume.target, "/data");
    let task = node.run(&spec)?.app()?.pid;
    support::wait_fuse_wait(task)?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    process::wait_state(task, "D")?;
    let names = vec![task.to_string(), fuse.server.to_string()];
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, CAUSE, names).cured_by(fuse.abort_command()))
}

fn dstate_fuseblk(node: &Node) -> anyhow::Result<Staged> {
    let (media, disk) = (node.layout().mnt("media-of-dstate-fuseblk"), node.layout().mnt("disk.img"));
    fs::File::create(&disk).and_then(|file| file.set_len(4 << 20)).context("create the image of a disk")?;
    let fuse = support::fuse_block_mount(node, "ntfs", &losetup(&disk)?, &media)?;
    let spec = PodSpec::new("dstate-fuseblk").container(&["/bin/cat", "/media/hang"]).mount(&media, "/media");
    let task = node.run(&spec)?.app()?.pid;
    support::wait_fuse_wait(task)?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    process::wait_state(task, "D")?;
    let names = vec![task.to_string(), fuse.server.to_string(), format!("connections/{}/abort", fuse.connection)];
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, CAUSE, names).cured_by(fuse.abort_command()))
}

fn fuse_lookup(node: &Node) -> anyhow::Result<Staged> {
    let media = node.layout().mnt("media-of-fuse-lookup");
    let fuse = support::fuse_mount(node, "s3fs", &media)?;
    // Of the host, and not killed: what it waits for is nothing that the pod's own tasks show.
    let first = node.launch(Launch::stand_in("reader").args(["stand-in", "hold", "--read"]).arg(media.join("lost")))?;
    support::wait_fuse_wait(first)?;
    let spec = PodSpec::new("fuse-lookup").container(&["/bin/cat", "/media/lost"]).mount(&media, "/media");
    let task = node.run(&spec)?.app()?.pid;
    process::wait_state(task, "D")?;
    support::wait_stack(task, "d_alloc_parallel")?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    support::wait_killed(task)?;
    let names = vec![task.to_string(), fuse.server.to_string()];
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, CAUSE, names).cured_by(fuse.abort_command()))
}

fn loop_on_fuse(node: &Node) -> anyhow::Result<Staged> {
    let [media, disk, data] =
        ["media-of-loop-on-fuse", "loop-on-fuse.img", "data-of-loop-on-fuse"].map(|name| node.layout().mnt(name));
    fs::File::create(&disk).and_then(|file| file.set_len(16 << 20)).context("create the image of a disk")?;
    support::shell(&format!("mkfs.ext4 -q -O ^has_journal {}", disk.display()))?;
    let fuse = support::fuse_of_disk(node, "s3fs", &disk, &media)?;
    fs::create_dir_all(&data).context("create a mount point")?;
    support::shell(&format!("mount -o loop,ro {} {}", media.join("disk").display(), data.display()))?;
    fs::write(disk.with_extension("silent"), "").context("silence the server")?;
    let spec = PodSpec::new("loop-on-fuse").container(&["/bin/cat", "/data/name"]).mount(&data, "/data");
    let task = node.run(&spec)?.app()?.pid;
    process::wait_state(task, "D")?;
    support::wait_requests(&fuse)?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    support::wait_killed(task)?;
    let names = vec![task.to_string(), fuse.server.to_string(), "loop device".to_owned()];
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, CAUSE, names).cured_by(fuse.abort_command()))
}

fn overlay_on_fuse(node: &Node) -> anyhow::Result<Staged> {
    let [media, upper, data] =
        ["media-of-overlay", "upper-of-overlay", "data-of-overlay"].map(|name| node.layout().mnt(name));
    let fuse = support::fuse_mount(node, "s3fs", &media)?;
    for dir in [&data, &upper] {
        fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
    }
    let layers = format!("lowerdir={}:{}", media.display(), upper.display());
    support::shell(&format!("mount -t overlay -o {layers} overlay {}", data.display()))?;
    let spec = PodSpec::new("overlay-on-fuse").container(&["/bin/cat", "/data/hang"]).mount(&data, "/data");
    let task = node.run(&spec)?.app()?.pid;
    support::wait_fuse_wait(task)?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    process::wait_state(task, "D")?;
    let names = vec![task.to_string(), fuse.server.to_string(), "overlay".to_owned()];
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, CAUSE, names).cured_by(fuse.abort_command()))
}

fn pidns_init(node: &Node) -> anyhow::Result<Staged> {
    let media = node.layout().mnt("media-of-pidns-init");
    let fuse = support::fuse_mount(node, "s3fs", &media)?;
    let command = ["/bin/sh", "-c", "cat /media/hang & wait"];
    let spec = PodSpec::new("pidns-init").container(&command).mount(&media, "/media");
    let init = node.run(&spec)?.app()?.pid;
    let child = wait_for("the container's init has a child", Duration::from_secs(5), || {
        Ok(process::children(init).first().copied())
    })?;
    support::wait_fuse_wait(child)?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    process::wait_state(child, "D")?;
    support::wait_stack(init, "zap_pid_ns_processes")?;
    let names = vec![child.to_string(), fuse.server.to_string()];
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, CAUSE, names).cured_by(fuse.abort_command()))
}

fn exiting_flush(node: &Node) -> anyhow::Result<Staged> {
    let media = node.layout().mnt("media-of-exiting-flush");
    let fuse = support::fuse_mount(node, "s3fs", &media)?;
    // What sleeps has not the file, so it can be killed.
    let command = ["/bin/sh", "-c", "trap 'exit 0' TERM; exec 3</media/flush; sleep 2147483647 3<&- & wait"];
    let spec = PodSpec::new("exiting-flush").container(&command).mount(&media, "/media");
    let task = node.run(&spec)?.app()?.pid;
    support::wait_open(task, Path::new("/media/flush"))?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    support::wait_fuse_wait(task)?;
    let names = vec![task.to_string(), fuse.server.to_string()];
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, CAUSE, names).cured_by(fuse.abort_command()))
}

/// Each descriptor that is closed asks the server once.
fn slow_exit(node: &Node) -> anyhow::Result<Staged> {
    let media = node.layout().mnt("media-of-slow-exit");
    fs::create_dir_all(&media).context("create a mount point")?;
    let server = Launch::stand_in("s3fs").args(["stand-in", "hangfs", "--source", "s3fs", "--delay", "40"]);
    node.launch(server.arg(&media))?;
    support::wait_exists(&media.join("ok"))?;
    let hold = ["hold", "--open", "/media/ok", "--copies", "300"];
    let spec = with_lab(node, PodSpec::new("slow-exit"), &hold).mount(&media, "/media");
    let task = node.run(&spec)?.app()?.pid;
    let last = PathBuf::from(format!("/proc/{task}/fd/300"));
    support::wait_exists(&last)?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    wait_for("the process exits", Duration::from_secs(10), || Ok((!last.exists()).then_some(())))?;
    let mut staged = Staged::stuck(spec.pod, Gate::ContainersStopped, "ExitNotFinished", vec![task.to_string()]);
    staged.expect.iter_mut().for_each(|expect| expect.verdict = "CannotTell");
    staged.cure = Cure::None;
    Ok(staged)
}

fn pipe_lock(node: &Node) -> anyhow::Result<Staged> {
    let (media, pipes) = (node.layout().mnt("media-of-pipe-lock"), node.layout().mnt("pipes"));
    let fuse = support::fuse_mount(node, "s3fs", &media)?;
    fs::create_dir_all(&pipes).context("create a directory")?;
    support::shell(&format!("mkfifo {}/log", pipes.display()))?;
    let spec = PodSpec::new("pipe-lock").container(&["/bin/cat", "/pipes/log"]).mount(&pipes, "/pipes");
    let task = node.run(&spec)?.app()?.pid;
    // It splices, and keeps the lock while it waits.
    let copy = format!("exec busybox cat {}/hang > {}/log", media.display(), pipes.display());
    support::wait_fuse_wait(node.launch(Launch::program("copier", "/bin/sh").args(["-c", &copy]))?)?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    process::wait_state(task, "D")?;
    let names = vec![task.to_string(), "does not return".to_owned()];
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, "UninterruptibleTask", names)
        .by_hand(Repair::Holder(fuse.server)))
}

/// The lab's binary is not in the image; it is shown to the container with its libraries.
fn with_lab(node: &Node, spec: PodSpec, part: &[&str]) -> PodSpec {
    let command: Vec<&str> = ["/lab/lab", "stand-in"].iter().chain(part).copied().collect();
    let spec = spec.container(&command).mount(&node.layout().binary().with_file_name(""), "/lab");
    spec.mount("/lib".as_ref(), "/lib").mount("/lib64".as_ref(), "/lib64")
}

fn exec_flush(node: &Node, name: &str) -> anyhow::Result<(Staged, i32)> {
    let media = node.layout().mnt(&format!("media-of-{name}"));
    let fuse = support::fuse_mount(node, "s3fs", &media)?;
    let spec = with_lab(node, PodSpec::new(name), &["runner", "/media/flush"]).mount(&media, "/media");
    let task = node.run(&spec)?.app()?.pid;
    support::wait_requests(&fuse)?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    let names = vec![task.to_string(), fuse.server.to_string()];
    let staged = Staged::stuck(spec.pod, Gate::ContainersStopped, CAUSE, names).cured_by(fuse.abort_command());
    Ok((staged, task))
}

fn zombie_leader(node: &Node) -> anyhow::Result<Staged> {
    let media = node.layout().mnt("media-of-zombie-leader");
    let fuse = support::fuse_mount(node, "s3fs", &media)?;
    let spec = with_lab(node, PodSpec::new("zombie-leader"), &["reader", "/media/hang"]).mount(&media, "/media");
    let leader = node.run(&spec)?.app()?.pid;
    let thread = wait_for("the reader has a second thread", Duration::from_secs(5), || {
        Ok(process::threads(leader).into_iter().find(|&tid| tid != leader))
    })?;
    support::wait_fuse_wait(thread)?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    process::wait_state(leader, "Z")?;
    anyhow::ensure!(process::thread_state(leader, thread) == Some('D'), "thread {thread} is not in state D");
    let names = vec![thread.to_string(), fuse.server.to_string()];
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, CAUSE, names).cured_by(fuse.abort_command()))
}
