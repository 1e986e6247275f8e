//! The ways in which a pod gets stuck.

mod cgroups;
mod csi;
mod damaged;
mod device;
mod frozen;
mod fuse;
mod holders;
mod leftovers;
mod lifecycle;
pub(crate) mod machine;
mod mapper;
mod namespaces;
mod nested;
mod network;
mod nfs;
mod note;
mod odd;
pub mod pair;
mod pid_namespace;
mod remote;
mod repair;
mod repeated;
mod runtime;
mod sockets;
mod support;
mod swap;
mod xfs;

pub use note::Note;
pub use odd::ODD;
pub use repair::Repair;
pub use repeated::{REPEATED, Repeated, provide};

pub(crate) use network::provide_network;
pub(crate) use support::shell;

use crate::{Gate, Node, PodRef, cgroup, node};

/// One way to get stuck (or, to be compared with, not to).
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Its name on the command line.
    pub name: &'static str,
    /// What is staged, in one line.
    pub about: &'static str,
    /// Makes it so, and returns only when it is so.
    pub stage: fn(&Node) -> anyhow::Result<Staged>,
}

/// On version 2 SIGKILL reaches a frozen task, so there they do not hold a pod.
const WITH_V1_FREEZER: [&str; 2] = [frozen::FROZEN_V1.name, cgroups::NESTED_CGROUP.name];

impl Scenario {
    /// Why this machine cannot stage it, if it cannot.
    pub fn obstacle(&self) -> Option<&'static str> {
        if self.name.starts_with("vm-") && !has_own_machine() {
            return Some("it needs a machine of its own, since its tasks may never end: `make test-vm`");
        }
        let needs_v1 = WITH_V1_FREEZER.contains(&self.name);
        if needs_v1 && cgroup::is_unified() {
            return Some("it needs the freezer of cgroup v1, and this machine has v2 only");
        }
        if self.name == holders::REGISTERED_FILE.name && !has_io_uring() {
            return Some("io_uring is switched off on this machine, or its kernel is older than 6.6");
        }
        let is_given = self.name == fuse::FUSE_WITHOUT_FUSECTL.name && node::fusectl_is_mounted();
        is_given.then_some("fusectl is mounted on this machine, and the lab does not unmount what is not its own")
    }
}

/// What was staged.
#[derive(Debug)]
pub struct Staged {
    /// The pods it is about.
    pub pods: Vec<PodRef>,
    /// What a right diagnosis says; empty when there is nothing to say.
    pub expect: Vec<Expect>,
    /// What makes it go on.
    pub cure: Cure,
    /// Command lines that the lab knows to be a cure, whatever a diagnosis prints: with them the
    /// lab tests itself.
    pub known_good: Vec<String>,
    /// Whether the pods go away, after the cure or without one.
    pub ends: bool,
}

/// What a right diagnosis says about one pod, or about the node.
#[derive(Clone, Debug)]
pub struct Expect {
    /// The pod; nothing for a finding about the node.
    pub pod_uid: Option<String>,
    /// `Stuck`, `Progressing` or `CannotTell`.
    pub verdict: &'static str,
    /// The gate that is not passed.
    pub gate: Option<&'static str>,
    /// The cause's id.
    pub cause: Option<&'static str>,
    /// Pids, paths, devices and cgroups that the finding must name.
    pub names: Vec<String>,
}

/// What makes the kubelet go on.
#[derive(Clone, Copy, Debug)]
pub enum Cure {
    /// The command lines that the diagnosis prints.
    Printed,
    /// Something that is no command line.
    ByHand(Repair),
    /// Nothing is stuck.
    None,
}

impl Staged {
    /// A pod that is stuck at `gate` because of `cause`.
    pub(crate) fn stuck(pod: PodRef, gate: Gate, cause: &'static str, names: Vec<String>) -> Self {
        let expect = Expect {
            pod_uid: Some(pod.uid.clone()),
            verdict: "Stuck",
            gate: Some(gate.name()),
            cause: Some(cause),
            names,
        };
        Self { pods: vec![pod], expect: vec![expect], cure: Cure::Printed, known_good: Vec::new(), ends: true }
    }

    /// Pods of which nothing is to be said.
    pub(crate) fn fine(pods: Vec<PodRef>) -> Self {
        Self { pods, expect: Vec::new(), cure: Cure::None, known_good: Vec::new(), ends: false }
    }

    /// Something of the node.
    pub(crate) fn node(cause: &'static str, names: Vec<String>) -> Self {
        let expect = Expect { pod_uid: None, verdict: "Stuck", gate: None, cause: Some(cause), names };
        Self { pods: Vec::new(), expect: vec![expect], cure: Cure::Printed, known_good: Vec::new(), ends: true }
    }

    /// Adds a command line that is known to be a cure.
    pub(crate) fn cured_by(mut self, command: impl Into<String>) -> Self {
        self.known_good.push(command.into());
        self
    }

    /// No command line is the cure, but this is.
    pub(crate) fn by_hand(mut self, repair: Repair) -> Self {
        self.cure = Cure::ByHand(repair);
        self
    }
}

/// All scenarios.
pub const ALL: &[Scenario] = &[
    lifecycle::HEALTHY,
    lifecycle::GRACE,
    lifecycle::PRE_STOP_HOOK,
    fuse::DSTATE_FUSE,
    fuse::DSTATE_FUSEBLK,
    fuse::DSTATE_WRITER,
    fuse::PIDNS_INIT,
    pid_namespace::ZOMBIE_FOREIGN_PARENT,
    pid_namespace::ZOMBIE_SHARED_NAMESPACE,
    pid_namespace::TRACED_ZOMBIE,
    fuse::ZOMBIE_LEADER,
    fuse::EXITING_FLUSH,
    fuse::EXEC_FLUSH,
    fuse::EXEC_UNKILLED,
    fuse::FUSE_LOOKUP,
    fuse::FUSE_WITHOUT_FUSECTL,
    fuse::LOOP_ON_FUSE,
    fuse::OVERLAY_ON_FUSE,
    device::FROZEN_FILE_SYSTEM,
    device::FROZEN_BY_PATH,
    runtime::SHIM_STOPPED,
    runtime::SHIM_KILLED,
    runtime::CONTAINERD_STOPPED,
    runtime::KUBELET_STOPPED,
    frozen::FROZEN_V1,
    frozen::FROZEN_V2,
    network::CNI_DEL,
    network::CNI_CONFIG_GONE,
    lifecycle::FORCE_DELETED,
    runtime::ROOTFS_BUSY,
    holders::CWD,
    holders::OPEN_FD,
    holders::MAPPED_FILE,
    holders::FD_IN_FLIGHT,
    holders::REGISTERED_FILE,
    sockets::SOCKET_RELATIVE,
    sockets::SOCKET_LINKED,
    sockets::SOCKET_ELSEWHERE,
    sockets::SOCKET_LINKED_ELSEWHERE,
    swap::SWAP_ON_VOLUME,
    holders::SEVERAL_HOLDERS,
    holders::COMPLETED_POD,
    nested::NESTED_MOUNT,
    namespaces::PROPAGATED_COPY,
    namespaces::HELD_TWICE,
    namespaces::PRIVATE_COPY,
    namespaces::NAMESPACE_WITHOUT_PROCESS,
    namespaces::DEVICE_PINNED,
    csi::FUSE_DEAD,
    csi::FUSE_HUNG_VOLUME,
    csi::VOL_DATA_MISSING,
    csi::VOL_DATA_EMPTY,
    csi::CSI_SOCKET_MISSING,
    csi::CSI_BLOCK_DRIVER_GONE,
    csi::CSI_LEFT_MOUNTED,
    csi::CSI_DRIVER_BACK,
    csi::MOUNTED_TWICE,
    leftovers::GLOBALMOUNT_LEFT,
    leftovers::KUBELET_NAMESPACE_GLOBALMOUNT,
    leftovers::LOOP_LEFT,
    holders::SUBPATH_BUSY,
    nested::STRAY_FILE,
    nested::IMMUTABLE_FILE,
    nested::HIDDEN_VOLUME,
    damaged::EXT4_ERROR,
    damaged::XFS_SHUT_DOWN,
    damaged::XFS_HELD,
    damaged::XFS_LOOKED_AT,
    damaged::FULL_DISK,
    leftovers::ORPHAN_DIR,
    leftovers::ORPHAN_REMEMBERED,
    leftovers::ORPHAN_REMEMBERED_MOVED,
    nested::KUBELET_NAMESPACE,
    cgroups::CGROUP_DSTATE,
    cgroups::CGROUP_DSTATE_BY_PATH,
    cgroups::NESTED_CGROUP,
    nfs::NFS4_WRITER,
    nfs::NFS3_WRITER,
    nfs::NFS4_READER,
    nfs::NFS_BACK,
    nfs::NFS_SUB_PATH,
    nfs::NFS_BUSY,
    nfs::NFS_STALE,
    nfs::LOOP_ON_NFS,
    nfs::OVERLAY_ON_NFS,
    mapper::SUSPENDED,
    mapper::SUSPENDED_BELOW,
    xfs::FROZEN,
    remote::NBD_SILENT,
    remote::ISCSI_SILENT,
    remote::CIFS_SILENT,
];

/// Whether this is the virtual machine of `make test-vm`, which ends with the tests.
pub fn has_own_machine() -> bool {
    std::env::var_os("WHY_TERMINATING_LAB_VM").is_some()
}

fn has_io_uring() -> bool {
    std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").is_ok_and(|mode| mode.trim() == "0")
}

/// The scenario of that name.
pub fn find(name: &str) -> Option<&'static Scenario> {
    ALL.iter().chain(ODD).find(|scenario| scenario.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = ALL.iter().chain(ODD).map(|scenario| scenario.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len() + ODD.len());
    }
}
