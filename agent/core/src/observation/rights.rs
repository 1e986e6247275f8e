//! What the agent was allowed to see.

use serde::{Deserialize, Serialize};

/// The rights that decide which sources answer; what each is for stands in `docs/security.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    /// Whether it runs as root: the sockets of runtimes and drivers are root's.
    pub root: bool,
    /// `CAP_SYS_PTRACE`.
    pub sys_ptrace: bool,
    /// `CAP_DAC_READ_SEARCH`, or `CAP_DAC_OVERRIDE`, which is more.
    pub dac_read_search: bool,
    /// `CAP_SYS_ADMIN`: kernel stacks.
    pub sys_admin: bool,
    /// Whether `/proc` shows the processes of the host (`hostPID`).
    pub host_pids: bool,
    /// Whether the kernel lets it look into the kubelet; `None` when there is no kubelet to try it on.
    pub sees_kubelet: Option<bool>,
}

impl Rights {
    /// Whether it can see into other processes: their working directory, their mounts, what they wait for.
    pub fn sees_into_processes(&self) -> bool {
        self.host_pids && self.sees_kubelet.unwrap_or(self.sys_ptrace)
    }

    /// Whether no process of whatever user can hold something unseen.
    pub fn sees_every_holder(&self) -> bool {
        self.sees_into_processes() && self.dac_read_search
    }
}
