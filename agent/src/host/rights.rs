//! What this process is allowed to see: asked of the kernel, and tried.

use std::io::ErrorKind;

use crate::observation::{Rights, Seen};
use crate::parse;
use crate::sys::ProcDir;
use crate::sys::limits::MAX_LINES_BYTES;

/// Bits of the effective set (`linux/capability.h`).
const DAC_OVERRIDE: u32 = 1;
const DAC_READ_SEARCH: u32 = 2;
const SYS_PTRACE: u32 = 19;
const SYS_ADMIN: u32 = 21;

/// Our rights. The kubelet is the process on which the right to look is tried: a security module may
/// refuse what the capability grants.
///
/// Where the node is itself a container (kind, k3d, LXC), no pid namespace that its pods can have shows kernel threads;
/// one that shows its kubelet, which is `believed`, shows the processes of that node.
pub fn rights(kubelet: Option<u32>, believed: bool) -> Seen<Rights> {
    let own = ProcDir::open(std::process::id()).and_then(|dir| dir.read("status", MAX_LINES_BYTES));
    super::seen(own.map(|bytes| {
        let capabilities = parse::status(&bytes).capabilities;
        let has = |bit: u32| capabilities & (1 << bit) != 0;
        Rights {
            root: nix::unistd::geteuid().is_root(),
            sys_ptrace: has(SYS_PTRACE),
            dac_read_search: has(DAC_READ_SEARCH) || has(DAC_OVERRIDE),
            sys_admin: has(SYS_ADMIN),
            host_pids: believed || super::kubelet::sees_the_host(),
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

    /// The same bits as from `capget(2)`; the tests may run with any rights.
    #[test]
    fn agrees_with_the_kernel() {
        let own = linux::capabilities(None).unwrap().effective;
        let seen = rights(Some(std::process::id()), true).get().copied().unwrap();
        assert_eq!(seen.sys_ptrace, own.contains(linux::CapabilitySet::SYS_PTRACE));
        assert_eq!(seen.sys_admin, own.contains(linux::CapabilitySet::SYS_ADMIN));
        assert_eq!(seen.sees_kubelet, Some(true), "each process can read its own");
    }

    #[test]
    fn a_node_that_is_a_container_is_known_by_its_kubelet() {
        let host_pids = |believed| rights(Some(std::process::id()), believed).get().map(|rights| rights.host_pids);
        assert_eq!(host_pids(true), Some(true));
        assert_eq!(host_pids(false), Some(crate::host::kubelet::sees_the_host()), "of one that is not believed");
    }

    #[test]
    fn a_process_that_has_gone_tells_nothing() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert_eq!(sees_into(child.id()), None);
    }
}
