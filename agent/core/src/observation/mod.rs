//! What was seen, as plain data.
//!
//! An [`Observation`] holds everything the judgement may use; it can be saved, sent and judged
//! again on another machine. It holds no command line and no environment of any process.

mod api;
mod block_stack;
mod cgroup;
mod csi;
mod fault;
mod holder;
mod kubelet_counters;
mod mount;
mod multipath;
mod node;
mod path;
mod process;
mod question;
mod runtime;
#[cfg(any(test, feature = "sample"))]
#[allow(clippy::unwrap_used, reason = "made for tests, in this crate and in the agent's")]
#[path = "../../tests/sample/mod.rs"]
pub mod sample;
mod saved;
mod seen;
mod volume;
mod walk;

use std::collections::BTreeSet;

use findings::{PodUid, ProcessId};
use serde::{Deserialize, Serialize};

pub use api::*;
pub use block_stack::*;
pub use cgroup::*;
pub use csi::*;
pub use fault::{Fault, FaultKind, Reason, Source};
pub use holder::*;
pub use kubelet_counters::*;
pub use mount::*;
pub use multipath::*;
pub use node::*;
pub use path::HostPath;
pub use process::*;
pub use question::{CALL, Cost, Depth, Hazard, Question};
pub use runtime::*;
pub use seen::Seen;
pub use volume::*;
pub use walk::{covering, is_path_within, mounted_at, way};

/// Gives processes the name that each has for good. Of the later ones an observation of an older version has no start.
macro_rules! processes {
    ($($process:ident),*; $($older:ident),*) => {
        $(impl $process {
            pub fn id(&self) -> ProcessId {
                ProcessId { pid: self.pid, start_ticks: self.start_ticks }
            }
        })*
        $(impl $older {
            pub fn id(&self) -> Option<ProcessId> {
                self.start_ticks.map(|start_ticks| ProcessId { pid: self.pid, start_ticks })
            }
        })*
    };
}

processes! { Process, Holder, Shim, SocketCandidate; KubeletFacts, RuntimeProcess, FuseServer }

/// Everything seen in one scan of the node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// The version of this format, see [`Observation::SCHEMA`].
    pub schema: u32,
    /// The version of the agent that looked.
    pub agent_version: String,
    /// Milliseconds since the epoch.
    pub at_ms: u64,
    /// Milliseconds since boot, for the age of processes.
    pub uptime_ms: u64,
    /// Whether the deletion of pods that run is assumed, to learn what would hold them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub before: bool,
    /// What the agent was allowed to see; `Missing` in observations of older agents.
    #[serde(default)]
    pub rights: Seen<Rights>,
    /// The node, its kubelet, its kernel.
    pub node: NodeFacts,
    /// What the API server says; `Missing` when it was not asked.
    pub api: Seen<ApiFacts>,
    /// What the container runtime says.
    pub runtime: Seen<RuntimeFacts>,
    /// `<root-dir>/pods/*`.
    pub pod_dirs: Seen<Vec<PodDir>>,
    pub cgroups: Seen<Vec<PodCgroup>>,
    /// The mount tables that were read, cut down to what matters.
    pub mounts: MountTables,
    /// The pods that were looked into; of others only the lists are known.
    pub looked_into: Vec<PodUid>,
    /// The processes of pods that should be gone, and those they lead to.
    pub processes: Vec<Process>,
    /// The shims of sandboxes whose containers have lost their processes.
    #[serde(default)]
    pub shims: Vec<Shim>,
    /// The multipath maps below suspects' volumes.
    #[serde(default)]
    pub multipath: Vec<MultipathMap>,
    /// On which mounts the files of loop devices and the layers of overlays lie.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path_mounts: Vec<PathMount>,
    /// The devices below mounts that tasks wait on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub block_stacks: Vec<BlockStack>,
    /// FUSE file systems that matter.
    pub fuse: Vec<FuseConnection>,
    /// One search per mount that should be gone.
    pub holders: Vec<HolderSearch>,
    /// Files that may not be removed; looked for only where the kubelet has not removed a volume's files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected_files: Vec<ProtectedFiles>,
    /// Descriptors on their way between processes; searched only where no process holds a volume.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_flight: Vec<InFlight>,
    /// What processes could go on writing to; looked for only where a forced deletion would leave them a volume.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<WritableFiles>,
    /// Mounts in other mount namespaces of what should be gone here; looked for only where such a
    /// copy matters.
    #[serde(default, alias = "elsewhere")]
    pub mount_copies: Vec<MountCopy>,
    /// The CSI drivers registered with the kubelet.
    pub csi: Seen<Vec<CsiDriver>>,
    /// The DRA drivers registered with the kubelet, known where [`Observation::csi`] is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dra_drivers: Vec<CsiDriver>,
    /// What the kubelet counts; asked only where a volume or a device is otherwise unexplained.
    #[serde(default)]
    pub kubelet_counters: Seen<KubeletCounters>,
    /// What the kernel logged of late; asked only where a task waits in the kernel, and read only where the user wants it.
    #[serde(default)]
    pub kernel_log: Seen<Vec<KernelLine>>,
    /// CSI staging mounts (`globalmount`).
    pub staging: Vec<StagingMount>,
    /// Milliseconds since the epoch when a pod's directory or a CSI volume of one last came or went; asked only where
    /// something is staged that no pod uses.
    #[serde(default)]
    pub volumes_changed_ms: Seen<u64>,
    /// Staging directories in which nothing is mounted.
    #[serde(default)]
    pub unstaged: Vec<UnstagedVolume>,
    /// Devices whose ext4 or xfs lives on without a mount in the kubelet's namespace; asked only
    /// where a staging directory is without a mount.
    #[serde(default)]
    pub unmounted_devices: Vec<Dev>,
    /// Loop devices with a backing file below the kubelet's directory.
    pub loops: Vec<LoopDevice>,
    /// What was asked of the node beyond its lists: what is not there then is not there. Empty in
    /// observations of older agents. Questions may go, see [`Observation::read`].
    #[serde(default)]
    pub asked: BTreeSet<Question>,
    /// Anything else that could not be looked at.
    pub faults: Vec<Fault>,
}

impl Observation {
    /// The version of the format.
    pub const SCHEMA: u32 = 1;
}
