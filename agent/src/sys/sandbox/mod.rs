//! What each half of the agent gives up once it has begun: an attacker who takes it over cannot do what it never does.

mod files;
mod filter;

use std::path::Path;

use anyhow::Context;
pub use filter::{Role, filter};

/// What the talker of a pod reads: its service account and who is called how.
const OF_TALKER: [&str; 3] = ["/var/run/secrets/kubernetes.io/serviceaccount", "/etc", "/proc/uptime"];

/// Confines the broker: an attacker in it has the descriptors that it has opened, and reads neither files nor other
/// processes. Before any other thread is started.
pub fn confine_broker() -> anyhow::Result<()> {
    files_of_its_own(&[])?;
    super::linux::drop_capabilities().context("giving up capabilities")?;
    filter(Role::Broker).context("giving up system calls")
}

/// Confines the talker of a pod. Before any other thread is started.
pub fn confine_talker() -> anyhow::Result<()> {
    let files = files_of_its_own(&OF_TALKER)?;
    filter(Role::Talker).context("giving up system calls")?;
    tracing::info!(landlock = ?files, "confined");
    Ok(())
}

/// Gives up all files but these and its own entry in `/proc`.
fn files_of_its_own(files: &[&str]) -> anyhow::Result<impl std::fmt::Debug + use<>> {
    // The rule is of this very entry; closed, the kernel might forget it and make another.
    std::mem::forget(landlock::PathFd::new("/proc/self"));
    let files: Vec<&Path> = files.iter().chain(&["/proc/self"]).map(Path::new).collect();
    files::files(&files).context("giving up files")
}

#[cfg(test)]
mod tests {
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::{ForkResult, fork};

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
