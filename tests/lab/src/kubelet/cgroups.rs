//! Gate CgroupRemoved: kill what is in the pod's cgroup, then remove it leaf first.

use anyhow::Context as _;
use nix::sys::signal::Signal;

use crate::{cgroup, process};

/// A task that cannot die accepts the signal, so only the removal shows that it is there.
pub fn destroy(path: &str) -> anyhow::Result<()> {
    let dirs = cgroup::directories(path)?;
    for pid in cgroup::processes(&dirs) {
        process::signal(pid, Signal::SIGKILL)?;
    }
    for dir in &dirs {
        cgroup::remove_tree(dir)
            .with_context(|| format!("failed to delete cgroup paths for [{path}] : unable to destroy cgroup paths"))?;
    }
    Ok(())
}
