//! The pods' cgroups.

use findings::PodUid;
use serde::{Deserialize, Serialize};

use super::{HostPath, Seen};

/// All directories of one pod's cgroup, one per hierarchy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PodCgroup {
    pub uid: PodUid,
    /// One per hierarchy in which it exists.
    pub dirs: Vec<CgroupDir>,
}

/// A pod's directory in one hierarchy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CgroupDir {
    pub path: HostPath,
    /// `v2`, or the v1 controllers: `cpu,cpuacct`.
    pub hierarchy: String,
    /// Whether runc (and so the kubelet) knows this v1 hierarchy; it removes no other.
    pub known_to_runtime: bool,
    /// `cpu.weight` 1 or `cpu.shares` 2: the kubelet has begun to clean the pod up
    /// (`ReduceCPULimits`). A pod that asks for little or nothing has that all its life ([`ApiPod::asks_for_cpu`]).
    ///
    /// [`ApiPod::asks_for_cpu`]: super::ApiPod::asks_for_cpu
    pub cpu_at_minimum: Option<bool>,
    /// What its tasks have written to files and is not on disk yet (`file_dirty`; `total_dirty` of v1), where this hierarchy
    /// shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty_bytes: Option<u64>,
    /// Itself and everything below it.
    pub tree: Seen<Vec<CgroupNode>>,
}

/// One cgroup of a pod's tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CgroupNode {
    /// Below the pod's directory; empty for that itself.
    pub below: HostPath,
    /// `cgroup.procs`.
    pub procs: Vec<u32>,
    pub freezer: Freezer,
}

/// Whether a cgroup is frozen, as it is and not as it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Freezer {
    /// Not frozen, or no freezer in this hierarchy.
    #[default]
    Thawed,
    /// v1 `FREEZING`; v2 asked and not yet done.
    Freezing,
    /// v1 `FROZEN`; v2 `frozen 1` in `cgroup.events`.
    Frozen,
    /// Frozen, because a cgroup above it is: it cannot be thawed here.
    FrozenAbove,
}
