//! The process that the crowd descends from.

use std::convert::Infallible;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};

use anyhow::Context as _;
use nix::unistd::{getpid, getppid, pause, pipe};

use super::{Plan, UNIT, member::Member, namespace};
use crate::fork::{die_with, fork};

/// What the master says when the crowd is complete.
pub const READY: &str = "ready";

/// At most so many children of one process, as a service with workers has.
const WORKERS: usize = 50;

/// Becomes the master of the crowd that standard input describes.
pub fn run() -> anyhow::Result<()> {
    die_with(getppid())?;
    let mut text = Vec::new();
    std::io::stdin().read_to_end(&mut text).context("read the plan")?;
    let plan: Plan = serde_json::from_slice(&text).context("read the plan")?;
    lab::cgroup::enter_unit(UNIT)?;
    let (reader, ready) = pipe().context("make a pipe")?;
    let files = namespace::Files::make(&plan.dir, plan.mounts)?;
    let mut left = plan.on_host;
    while left > 0 {
        let workers = left.min(WORKERS);
        left -= workers;
        let (plan, files, ready) = (&plan, &files, &ready);
        fork(move || {
            close_others(ready)?;
            lead(workers, plan.descriptors, files, ready)
        })?;
    }
    for cgroup in &plan.cgroups {
        let (plan, ready) = (&plan, &ready);
        fork(move || {
            close_others(ready)?;
            enter(cgroup)?;
            let files = namespace::enter(&plan.dir, plan.mounts)?;
            lead(plan.in_each, plan.descriptors, &files, ready)
        })?;
    }
    drop(ready);
    wait(reader, plan.processes())?;
    println!("{READY}");
    std::io::stdout().flush()?;
    loop {
        pause();
    }
}

/// Each process writes one byte when it is complete; one that fails never does, and when all
/// others are gone the pipe ends.
fn wait(reader: OwnedFd, processes: usize) -> anyhow::Result<()> {
    let mut bytes = vec![0; processes];
    fs::File::from(reader).read_exact(&mut bytes).context("a process of the crowd failed")
}

/// The first process of a group makes the others.
fn lead(size: usize, descriptors: usize, files: &namespace::Files, ready: &OwnedFd) -> anyhow::Result<Infallible> {
    let first = usize::try_from(getpid().as_raw())?;
    for number in 1..size {
        fork(move || Member::new(files, descriptors, first + number, ready)?.live())?;
    }
    Member::new(files, descriptors, first, ready)?.live()
}

/// Enters a pod's cgroup in every hierarchy, as a container's process does.
fn enter(cgroup: &str) -> anyhow::Result<()> {
    lab::cgroup::create(cgroup)?;
    for dir in lab::cgroup::directories(cgroup)? {
        lab::cgroup::join(&dir, getpid().as_raw())?;
    }
    Ok(())
}

/// Closes what the parent had open, so that every process has only what it opens itself.
fn close_others(kept: &OwnedFd) -> anyhow::Result<()> {
    let open: Vec<RawFd> = fs::read_dir("/proc/self/fd")
        .context("list the open files")?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    for fd in open.into_iter().filter(|&fd| fd > 2 && fd != kept.as_raw_fd()) {
        // The descriptor of the listing itself is closed already.
        let _ = nix::unistd::close(fd);
    }
    Ok(())
}
