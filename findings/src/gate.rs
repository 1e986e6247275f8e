//! The conditions the kubelet waits for before it lets a pod go.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of the kubelet's conditions, in its order (`SyncTerminatingPod`, `SyncTerminatedPod` and
/// `canBeDeleted` in kubelet ≥ 1.27; before that the tests of `PodResourcesAreReclaimed`).
///
/// Since 1.27 the kubelet goes through them one after the other, so only the first gate that is
/// not met is the cause; the later ones are merely not reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Gate {
    /// Every container has ended: `StopContainer` returned and none is RUNNING in the CRI.
    ContainersStopped,
    /// Every sandbox has ended and its network is gone: `StopPodSandbox` returned.
    SandboxStopped,
    /// DRA drivers have released what the pod claimed.
    DevicesUnprepared,
    /// Nothing below `pods/<uid>/volumes` is mounted and the kubelet remembers no volume.
    VolumesUnmounted,
    /// The pod's cgroup is removed.
    CgroupRemoved,
    /// The API server has taken the final status.
    StatusReported,
    /// The API object is gone: no finalizer, no webhook in the way.
    ObjectRemoved,
}

impl Gate {
    /// All gates, in the kubelet's order.
    pub const ALL: [Gate; 7] = [
        Gate::ContainersStopped,
        Gate::SandboxStopped,
        Gate::DevicesUnprepared,
        Gate::VolumesUnmounted,
        Gate::CgroupRemoved,
        Gate::StatusReported,
        Gate::ObjectRemoved,
    ];

    /// The stable name, as in JSON, metric labels and documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Gate::ContainersStopped => "ContainersStopped",
            Gate::SandboxStopped => "SandboxStopped",
            Gate::DevicesUnprepared => "DevicesUnprepared",
            Gate::VolumesUnmounted => "VolumesUnmounted",
            Gate::CgroupRemoved => "CgroupRemoved",
            Gate::StatusReported => "StatusReported",
            Gate::ObjectRemoved => "ObjectRemoved",
        }
    }

    /// What of a pod it is about, as a reader calls it.
    pub fn noun(self) -> &'static str {
        match self {
            Gate::ContainersStopped => "containers",
            Gate::SandboxStopped => "sandbox",
            Gate::DevicesUnprepared => "devices",
            Gate::VolumesUnmounted => "volumes",
            Gate::CgroupRemoved => "cgroup",
            Gate::StatusReported => "status",
            Gate::ObjectRemoved => "API object",
        }
    }
}

impl std::fmt::Display for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
