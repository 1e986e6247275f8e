//! One node at a time: all nodes of a machine share the lab's cgroups.

use std::fs::{File, TryLockError};

use anyhow::Context as _;

use crate::cgroup;

/// The right to make and remove nodes, until it goes out of scope. It ends with the process, so a crashed lab blocks no
/// other.
pub struct Turn {
    _lock: File,
}

impl Turn {
    /// Waits until no other lab has it.
    pub fn take() -> anyhow::Result<Self> {
        // A directory that is always there, so that no lock file is left behind.
        let place = cgroup::tagging();
        let lock = File::open(place).with_context(|| {
            format!("open {}: the lab needs cgroup v2 or the pids controller of v1", place.display())
        })?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                eprintln!("lab: another lab is at work, waiting for it");
                lock.lock().context("wait for the other lab")?;
            }
            Err(TryLockError::Error(error)) => return Err(error).context("keep other labs away"),
        }
        Ok(Self { _lock: lock })
    }
}
