//! The shims of sandboxes whose containers have lost their processes.

use findings::ProcessId;
use serde::{Deserialize, Serialize};

use super::{HostPath, Owner, Seen};

/// A shim that lives, known by its working directory: containerd starts it in the bundle of its
/// sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shim {
    pub sandbox: String,
    pub pid: u32,
    /// Clock ticks after boot; with the pid it names the process for good.
    pub start_ticks: u64,
    /// Its name, cut to 15 bytes: it does not distinguish one runtime's shim from another's.
    pub comm: String,
    pub state: char,
    /// The program it runs: `/usr/bin/containerd-shim-runc-v2`.
    pub program: Seen<HostPath>,
    /// In whose cgroup it is.
    #[serde(default)]
    pub owner: Owner,
    /// How many children it has; `Missing` where the kernel does not show them.
    pub children: Seen<u32>,
}

impl Shim {
    pub fn id(&self) -> ProcessId {
        ProcessId { pid: self.pid, start_ticks: self.start_ticks }
    }

    /// The file name of its program, also after an upgrade has replaced the file.
    pub fn program_name(&self) -> Option<&str> {
        let name = self.program.get()?.as_path().file_name()?.to_str()?;
        Some(name.strip_suffix(" (deleted)").unwrap_or(name))
    }
}
