//! What several scenarios use.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;

use crate::{Launch, Node, mounts, process, wait_for};

/// How long staging waits for the kernel.
const LIMIT: Duration = Duration::from_secs(10);

/// A FUSE mount and its server.
pub struct FuseMount {
    /// The server's pid.
    pub server: i32,
    /// The connection's number in `/sys/fs/fuse/connections`.
    pub connection: u32,
}

impl FuseMount {
    /// The command that ends all waiting for the server.
    pub fn abort_command(&self) -> String {
        format!("echo 1 > /sys/fs/fuse/connections/{}/abort", self.connection)
    }
}

/// Starts a FUSE server, called `name` in `comm` and in the mount table.
pub fn fuse_mount(node: &Node, name: &str, target: &Path) -> anyhow::Result<FuseMount> {
    launch_fuse(node, Launch::stand_in(name).args(["stand-in", "hangfs", "--source", name]), target)
}

/// Starts one that serves a file system on a block device, as ntfs-3g does.
pub fn fuse_block_mount(node: &Node, name: &str, device: &str, target: &Path) -> anyhow::Result<FuseMount> {
    let launch = Launch::stand_in(name).args(["stand-in", "hangfs", "--source", name, "--device", device]);
    launch_fuse(node, launch, target)
}

/// Starts one that serves this image of a disk, until it is to be silent.
pub fn fuse_of_disk(node: &Node, name: &str, disk: &Path, target: &Path) -> anyhow::Result<FuseMount> {
    let launch = Launch::stand_in(name).args(["stand-in", "hangfs", "--source", name, "--disk"]);
    launch_fuse(node, launch.arg(disk), target)
}

fn launch_fuse(node: &Node, launch: Launch, target: &Path) -> anyhow::Result<FuseMount> {
    fs::create_dir_all(target).with_context(|| format!("create {}", target.display()))?;
    let server = node.launch(launch.arg(target))?;
    let connection = wait_for("the FUSE server has mounted", LIMIT, || {
        let mounted = mounts::below(target)?;
        Ok(mounted.into_iter().find(|mount| mount.target == target).and_then(|mount| mount.fuse_connection()))
    })?;
    Ok(FuseMount { server, connection })
}

/// Waits until a task waits for a FUSE server that has taken its request.
pub fn wait_fuse_wait(pid: i32) -> anyhow::Result<()> {
    wait_for(&format!("process {pid} waits for its FUSE server"), LIMIT, || {
        Ok((process::wait_channel(pid) == "request_wait_answer").then_some(()))
    })
}

/// Waits until a request to a FUSE server is pending. A process in the middle of `exec` shows that nowhere.
pub fn wait_requests(fuse: &FuseMount) -> anyhow::Result<()> {
    let waiting = format!("/sys/fs/fuse/connections/{}/waiting", fuse.connection);
    wait_for("a request waits for the FUSE server", LIMIT, || {
        Ok((fs::read_to_string(&waiting)?.trim() != "0").then_some(()))
    })
}

/// Waits until a link of `/proc` points to `target`.
pub fn wait_link(link: &str, target: &Path) -> anyhow::Result<()> {
    wait_for(&format!("{link} points to {}", target.display()), LIMIT, || {
        Ok(fs::read_link(link).ok().filter(|found| found == target).map(|_| ()))
    })
}

/// Waits until a process has a file open.
pub fn wait_open(pid: i32, file: &Path) -> anyhow::Result<()> {
    wait_for(&format!("process {pid} has {} open", file.display()), LIMIT, || {
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let mut targets = descriptors.filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
        Ok(targets.any(|target| target == file).then_some(()))
    })
}

/// Waits until a socket of a process has descriptors that were not received.
pub fn wait_in_flight(pid: i32) -> anyhow::Result<()> {
    wait_for(&format!("descriptors are on their way to process {pid}"), LIMIT, || {
        let infos = fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten().flatten();
        let mut texts = infos.filter_map(|info| fs::read_to_string(info.path()).ok());
        Ok(texts.any(|text| text.contains("scm_fds: 1")).then_some(()))
    })
}

/// Waits until a process has a file mapped and not open.
pub fn wait_mapped(pid: i32, file: &Path) -> anyhow::Result<()> {
    let path = file.display().to_string();
    wait_for(&format!("process {pid} has {path} mapped"), LIMIT, || {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        Ok(maps.lines().any(|line| line.ends_with(&path)).then_some(()))
    })?;
    wait_closed(pid, file)
}

/// Waits until a process has a file registered with an io_uring and not open.
pub fn wait_registered(pid: i32, file: &Path) -> anyhow::Result<()> {
    let path = file.display().to_string();
    wait_for(&format!("process {pid} has {path} registered"), LIMIT, || {
        let infos = fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten().flatten();
        let mut texts = infos.filter_map(|info| fs::read_to_string(info.path()).ok());
        Ok(texts.any(|text| text.contains("UserFiles") && text.contains(&path)).then_some(()))
    })?;
    wait_closed(pid, file)
}

fn wait_closed(pid: i32, file: &Path) -> anyhow::Result<()> {
    wait_for(&format!("process {pid} has closed {}", file.display()), LIMIT, || {
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let mut targets = descriptors.filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
        Ok((!targets.any(|target| target == file)).then_some(()))
    })
}

/// Waits until a task sleeps somewhere below this kernel function. The wait channel alone would
/// not do: an init that waits for a child of its own shows `do_wait` there.
pub fn wait_stack(pid: i32, function: &str) -> anyhow::Result<()> {
    wait_for(&format!("process {pid} sleeps in {function}"), LIMIT, || {
        let stack = fs::read_to_string(format!("/proc/{pid}/stack")).unwrap_or_default();
        Ok(stack.contains(function).then_some(()))
    })
}

/// Waits until a process has been killed, and cannot die: SIGKILL is bit 8 of what is pending for all of it.
pub fn wait_killed(pid: i32) -> anyhow::Result<()> {
    wait_for(&format!("a SIGKILL is pending for process {pid}"), LIMIT, || {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:"));
        let pending = pending.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        Ok(pending.is_some_and(|mask| mask & 1 << 8 != 0).then_some(()))
    })
}

/// Waits until a file exists.
pub fn wait_exists(path: &Path) -> anyhow::Result<()> {
    wait_for(&format!("{} exists", path.display()), LIMIT, || Ok(path.exists().then_some(())))
}

/// Says so when a process shares the lab's mount namespace.
pub fn ensure_own_mount_namespace(pid: i32) -> anyhow::Result<()> {
    let inode =
        |path: String| fs::metadata(&path).map(|namespace| namespace.ino()).with_context(|| format!("look at {path}"));
    let (its, ours) = (inode(format!("/proc/{pid}/ns/mnt"))?, inode("/proc/self/ns/mnt".to_owned())?);
    anyhow::ensure!(its != ours, "process {pid} is in the lab's own mount namespace");
    Ok(())
}

/// Runs a command line.
pub fn shell(command: &str) -> anyhow::Result<()> {
    let output = Command::new("sh").args(["-c", command]).stdin(Stdio::null()).output().context("run sh")?;
    let why = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "`{command}` failed: {why}");
    Ok(())
}

/// Makes something look untouched for a day: the kubelet may not have come to a directory that was left a moment ago.
pub fn age(path: &Path) -> anyhow::Result<()> {
    // A socket cannot be opened.
    shell(&format!("touch --no-create --no-dereference --date='1 day ago' '{}'", path.display()))
}
