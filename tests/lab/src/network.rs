//! Doing something inside another process' network.

use std::fs::File;

use anyhow::Context as _;
use nix::sched::{CloneFlags, setns};

/// Runs `work` in the network of `pid`. Only this thread goes there, and it comes back; a socket stays
/// in the network it was made in.
pub fn within<T>(pid: i32, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let open = |path: String| File::open(&path).with_context(|| format!("open {path}"));
    let own = open("/proc/thread-self/ns/net".to_owned())?;
    setns(open(format!("/proc/{pid}/ns/net"))?, CloneFlags::CLONE_NEWNET).context("enter the other network")?;
    let outcome = work();
    setns(own, CloneFlags::CLONE_NEWNET).context("return to the own network")?;
    outcome
}
