//! What each half of the agent gives up once it has begun: what it never does, nobody who takes it over can do.

mod files;
mod filter;

use std::path::Path;

use anyhow::Context;
pub use filter::{Role, filter};

/// What the talker of a pod reads: its service account and who is called how.
const OF_TALKER: [&str; 4] = ["/var/run/secrets/kubernetes.io/serviceaccount", "/etc", "/proc/self", "/proc/uptime"];

/// Confines the broker: whoever takes it over has the descriptors that it has opened, and reads no other process. Before any
/// other thread is started.
pub fn confine_broker() -> anyhow::Result<()> {
    super::linux::drop_capabilities().context("giving up capabilities")?;
    filter(Role::Broker).context("giving up system calls")
}

/// Confines the talker of a pod. Before any other thread is started.
pub fn confine_talker() -> anyhow::Result<()> {
    // The rule is of this very entry; closed, the kernel might forget it and make another.
    std::mem::forget(landlock::PathFd::new("/proc/self"));
    let files = files::files(&OF_TALKER.map(Path::new)).context("giving up files")?;
    filter(Role::Talker).context("giving up system calls")?;
    tracing::info!(landlock = ?files, "confined");
    Ok(())
}

#[cfg(test)]
mod tests {
    use nix::{
        sys::wait::{WaitStatus, waitpid},
        unistd::{ForkResult, fork},
    };

    use super::*;
    use crate::sys::linux;

    #[test]
    fn a_broker_has_no_capability() {
        // SAFETY: the copy makes a few system calls and ends.
        #[allow(unsafe_code)]
        let status = match unsafe { fork() }.unwrap() {
            ForkResult::Child => {
                let has_none = || {
                    let sets = linux::capabilities(None).unwrap_or_else(|_| std::process::abort());
                    (sets.effective | sets.permitted | sets.inheritable).is_empty()
                };
                let is_confined = confine_broker().is_ok() && has_none();
                // SAFETY: nothing is left to be done.
                unsafe { libc::_exit(i32::from(!is_confined)) }
            }
            ForkResult::Parent { child } => waitpid(child, None).unwrap(),
        };
        assert!(matches!(status, WaitStatus::Exited(_, 0)), "{status:?}");
    }
}
