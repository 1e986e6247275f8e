//! What each half of the agent gives up once it has begun: an attacker who takes it over cannot do what it never does.

mod filter;

use std::path::Path;

use anyhow::Context;
pub use filter::{Role, filter};
use landlock::{
    ABI, Access, AccessFs, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
};

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
    confine_files(&files).context("giving up files")
}

/// From now on this thread, and those that it starts, only read, and only below `readable`; they signal no process outside,
/// and write nothing. Whether the kernel does all of it, a part or nothing.
fn confine_files(readable: &[&Path]) -> anyhow::Result<RulesetStatus> {
    let newest = ABI::V6;
    let rules = path_beneath_rules(readable, AccessFs::from_read(newest) & !AccessFs::Execute);
    let ruleset = Ruleset::default().handle_access(AccessFs::from_all(newest))?.scope(Scope::from_all(newest))?;
    Ok(ruleset.create()?.add_rules(rules)?.restrict_self()?.ruleset)
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

    /// In a thread of its own, which ends with what it has given up.
    #[test]
    fn nothing_else_is_read_and_nothing_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let (open, shut) = (dir.path().join("open"), dir.path().join("shut"));
        for folder in [&open, &shut] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("f"), "text").unwrap();
        }
        std::thread::spawn(move || match confine_files(&[&open]).unwrap() {
            RulesetStatus::NotEnforced => eprintln!("not tested here: the kernel has no Landlock"),
            _ => {
                assert_eq!(std::fs::read(open.join("f")).unwrap(), b"text");
                for denied in [
                    std::fs::read(shut.join("f")).map(drop),
                    std::fs::write(open.join("f"), "other"),
                    std::fs::write(open.join("new"), ""),
                    std::fs::read_dir("/proc/1").map(drop),
                ] {
                    assert_eq!(denied.unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
                }
            }
        })
        .join()
        .unwrap();
    }
}
