//! What this process is allowed to see: asked of the kernel, and tried.

use std::io::ErrorKind;

use crate::{
    observation::{Rights, Seen},
    parse,
    sys::{ProcDir, limits::LINES},
};

/// Bits of the effective set (`linux/capability.h`).
const DAC_OVERRIDE: u32 = 1;
const DAC_READ_SEARCH: u32 = 2;
const SYS_PTRACE: u32 = 19;
const SYS_ADMIN: u32 = 21;

/// Our rights. The kubelet is the process on which the right to look is tried: a security module may
/// refuse what the capability grants.
pub fn rights(kubelet: Option<u32>) -> Seen<Rights> {
    let own = ProcDir::open(std::process::id()).and_then(|dir| dir.read("status", LINES));
    super::seen(own.map(|bytes| {
        let capabilities = parse::status(&bytes).capabilities;
        let has = |bit: u32| capabilities & (1 << bit) != 0;
        Rights {
            root: nix::unistd::geteuid().is_root(),
            sys_ptrace: has(SYS_PTRACE),
            dac_read_search: has(DAC_READ_SEARCH) || has(DAC_OVERRIDE),
            sys_admin: has(SYS_ADMIN),
            host_pids: super::kubelet::sees_the_host(),
            sees_kubelet: kubelet.and_then(sees_into),
        }
    }))
}

/// Whether we may look into a process; `None` when it has gone.
fn sees_into(pid: u32) -> Option<bool> {
    match ProcDir::open(pid).and_then(|dir| dir.namespace("mnt")) {
        Ok(_) => Some(true),
        Err(error) => (error.kind() == ErrorKind::PermissionDenied).then_some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::linux;

    /// The same bits as `capget(2)` tells; the tests may run with any rights.
    #[test]
    fn agrees_with_the_kernel() {
        let own = linux::capabilities(None).unwrap().effective;
        let told = rights(Some(std::process::id())).get().copied().unwrap();
        assert_eq!(told.sys_ptrace, own.contains(linux::CapabilitySet::SYS_PTRACE));
        assert_eq!(told.sys_admin, own.contains(linux::CapabilitySet::SYS_ADMIN));
        assert_eq!(told.sees_kubelet, Some(true), "everybody may look into himself");
    }

    #[test]
    fn a_process_that_has_gone_tells_nothing() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert_eq!(sees_into(child.id()), None);
    }
}
