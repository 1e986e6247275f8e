//! Taking a node away, whatever state it is in.
//!
//! Nothing here trusts the memory of the process that made the node: processes are found by their
//! cgroups, mounts by the mount table, loop devices by their backing files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use nix::sys::signal::Signal;

use super::{Layout, fusectl};
use crate::scenario::{self, machine};
use crate::{cgroup, mounts, process, wait_for};

/// Removes everything; goes on after a failure, so that one leftover does not cause more.
pub fn remove(layout: &Layout) -> anyhow::Result<()> {
    let shim_sockets = shim_sockets(layout);
    let mut failures = Vec::new();
    let mut attempt = |what: &str, outcome: anyhow::Result<()>| {
        if let Err(error) = outcome {
            failures.push(format!("{what}: {error:#}"));
        }
    };
    if scenario::has_own_machine() {
        attempt("let servers answer", machine::answer());
        attempt("resume devices", machine::resume());
    }
    attempt("abort FUSE connections", abort_fuse(layout));
    attempt("thaw file systems", thaw_file_systems(layout));
    attempt("thaw cgroups", cgroup::thaw(cgroup::PODS));
    attempt("end processes", end_processes(layout));
    attempt("switch swap off", switch_swap_off(layout));
    attempt("detach loop devices", detach_loops(layout));
    attempt("remove network namespaces", remove_network_namespaces(layout));
    attempt("unmount", mounts::unmount_all(layout.dir()));
    if scenario::has_own_machine() {
        attempt("remove disks", machine::remove_disks());
    }
    attempt("unmount fusectl", fusectl::withdraw(layout));
    attempt("remove cgroups", cgroup::remove_all(&units(layout)));
    for socket in shim_sockets {
        let _ = fs::remove_file(socket);
    }
    attempt("let files be removed", clear_attributes(layout));
    attempt("remove the directory", remove_dir(layout));
    anyhow::ensure!(failures.is_empty(), "the lab could not remove everything:\n  {}", failures.join("\n  "));
    Ok(())
}

/// Ends every wait for a FUSE server of the lab, so that processes can die.
fn abort_fuse(layout: &Layout) -> anyhow::Result<()> {
    // A mount may exist only in the namespace of one process of the lab.
    let mut seen = mounts::below(layout.dir())?;
    for pid in cgroup::all_processes()? {
        let foreign = mounts::seen_by(pid).unwrap_or_default();
        seen.extend(foreign.into_iter().filter(|mount| mount.target.starts_with(layout.dir())));
    }
    let connections: BTreeSet<u32> = seen.iter().filter_map(mounts::Mount::fuse_connection).collect();
    if !connections.is_empty() {
        fusectl::provide(layout)?;
    }
    for connection in connections {
        fusectl::abort(&connection.to_string());
    }
    Ok(())
}

/// Ends every wait for a frozen file system of the lab. Of one that is not frozen `fsfreeze` says so, and fails.
fn thaw_file_systems(layout: &Layout) -> anyhow::Result<()> {
    for mount in mounts::below(layout.dir())?.into_iter().filter(|mount| ["ext4", "xfs"].contains(&&*mount.kind)) {
        let mut thaw = Command::new("fsfreeze");
        thaw.arg("-u").arg(&mount.target).stdin(Stdio::null()).stderr(Stdio::null());
        let _ = thaw.status().context("run fsfreeze (util-linux)")?;
    }
    Ok(())
}

/// An immutable file, or one that may only grow, cannot be removed. `chattr` fails for each socket and link as well.
fn clear_attributes(layout: &Layout) -> anyhow::Result<()> {
    let mut chattr = Command::new("chattr");
    chattr.args(["-R", "-f", "-ia"]).arg(layout.dir()).stdin(Stdio::null()).stderr(Stdio::null());
    chattr.status().context("run chattr (e2fsprogs)").map(|_| ())
}

fn end_processes(layout: &Layout) -> anyhow::Result<()> {
    // First those that would start others again.
    for pid in recorded_pids(layout) {
        end(pid)?;
    }
    wait_for("all processes of the lab end", Duration::from_secs(20), || {
        let left = cgroup::all_processes()?;
        for &pid in &left {
            end(pid)?;
        }
        Ok(left.is_empty().then_some(()))
    })
    .with_context(|| {
        let left = cgroup::all_processes().unwrap_or_default();
        let states: Vec<String> =
            left.iter().map(|&pid| format!("{pid} {:?} {}", process::state(pid), process::wait_channel(pid))).collect();
        format!("still there: {}", states.join(", "))
    })
}

fn end(pid: i32) -> anyhow::Result<()> {
    process::signal(pid, Signal::SIGKILL)?;
    process::signal(pid, Signal::SIGCONT)
}

/// The kubelet stand-ins, if the recorded pids are still processes of the lab.
fn recorded_pids(layout: &Layout) -> Vec<i32> {
    let own = cgroup::all_processes().unwrap_or_default();
    let texts = kubelets(layout).map(|of| fs::read_to_string(of.kubelet_pid()).unwrap_or_default());
    texts.iter().filter_map(|text| text.trim().parse().ok()).filter(|pid| own.contains(pid)).collect()
}

/// Shims listen outside of containerd's state directory; each bundle says where.
fn shim_sockets(layout: &Layout) -> Vec<PathBuf> {
    let bundles = kubelets(layout).into_iter().filter_map(|of| fs::read_dir(of.bundles()).ok()).flatten().flatten();
    bundles
        .filter_map(|bundle| fs::read_to_string(bundle.path().join("address")).ok())
        .filter_map(|address| address.trim().strip_prefix("unix://").map(PathBuf::from))
        .collect()
}

/// A pinned network namespace is an empty file in /run/netns with a mount on it.
fn remove_network_namespaces(layout: &Layout) -> anyhow::Result<()> {
    let text = fs::read_to_string(layout.network_namespaces()).unwrap_or_default();
    for path in text.lines().map(Path::new) {
        // The mount table knows it by its real path, CNI perhaps by one through /var/run.
        let Ok(path) = path.canonicalize() else { continue };
        if mounts::is_mounted(&path)? {
            mounts::unmount(&path).with_context(|| format!("unmount {}", path.display()))?;
        }
        fs::remove_file(&path).with_context(|| format!("remove {}", path.display()))?;
        // Only if it is empty.
        let _ = path.parent().map(fs::remove_dir);
    }
    Ok(())
}

/// It is the whole machine's.
fn switch_swap_off(layout: &Layout) -> anyhow::Result<()> {
    let swaps = fs::read_to_string("/proc/swaps").context("read /proc/swaps")?;
    let files = swaps.lines().filter_map(|line| line.split_whitespace().next()).map(Path::new);
    for file in files.filter(|file| file.starts_with(layout.dir())) {
        let status = Command::new("swapoff").arg(file).stdin(Stdio::null()).status().context("run swapoff")?;
        anyhow::ensure!(status.success(), "swapoff of {} failed", file.display());
    }
    Ok(())
}

/// Detaches loop devices whose file is below the node's directory.
fn detach_loops(layout: &Layout) -> anyhow::Result<()> {
    for device in loop_devices(layout.dir()) {
        let status = Command::new("losetup")
            .arg("--detach")
            .arg(&device)
            .stdin(Stdio::null())
            .status()
            .context("run losetup")?;
        anyhow::ensure!(status.success(), "losetup could not detach {}", device.display());
    }
    Ok(())
}

/// The loop devices whose file is at or below `dir`.
pub fn loop_devices(dir: &Path) -> Vec<PathBuf> {
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    devices
        .filter(|device| {
            let file = fs::read_to_string(device.path().join("loop/backing_file")).unwrap_or_default();
            Path::new(file.trim_end()).starts_with(dir)
        })
        .map(|device| Path::new("/dev").join(device.file_name()))
        .collect()
}

/// The first kubelet's and those of a second, if there was one.
fn kubelets(layout: &Layout) -> [Layout; 2] {
    [layout.clone(), layout.second()]
}

/// The services that were started: each has a log.
fn units(layout: &Layout) -> Vec<String> {
    let dirs = kubelets(layout).map(|of| of.dir().join("log"));
    let logs = dirs.iter().filter_map(|dir| fs::read_dir(dir).ok()).flatten().flatten();
    logs.filter_map(|log| Some(log.path().file_stem()?.to_str()?.to_owned())).collect()
}

/// Deletes the directory, and refuses while anything is mounted below it: deleting would then
/// delete what is mounted.
fn remove_dir(layout: &Layout) -> anyhow::Result<()> {
    let dir = layout.dir();
    if !dir.exists() {
        return Ok(());
    }
    let left = mounts::below(dir)?;
    anyhow::ensure!(left.is_empty(), "something is still mounted below {}: {left:?}", dir.display());
    fs::remove_dir_all(dir).with_context(|| format!("delete {}", dir.display()))
}
