//! What each half of the agent gives up once it has begun: what it never does, nobody who takes it over can do.

mod files;
mod filter;

use std::path::Path;

use anyhow::Context;
pub use filter::{Role, filter};

/// What the talker of a pod reads: its service account and who is called how.
const OF_TALKER: [&str; 4] = ["/var/run/secrets/kubernetes.io/serviceaccount", "/etc", "/proc/self", "/proc/uptime"];

/// Confines the talker of a pod. Before any other thread is started.
pub fn confine_talker() -> anyhow::Result<()> {
    // The rule is of this very entry; closed, the kernel might forget it and make another.
    std::mem::forget(landlock::PathFd::new("/proc/self"));
    let files = files::files(&OF_TALKER.map(Path::new)).context("giving up files")?;
    filter(Role::Talker).context("giving up system calls")?;
    tracing::info!(landlock = ?files, "confined");
    Ok(())
}
