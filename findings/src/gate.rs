//! The conditions the kubelet waits for before it lets a pod go.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

named! {
    /// One of the kubelet's conditions, in its order (`SyncTerminatingPod`, `SyncTerminatedPod` and
    /// `canBeDeleted` in kubelet ≥ 1.27; before that the tests of `PodResourcesAreReclaimed`).
    ///
    /// Since 1.27 the kubelet goes through them one after the other, so only the first gate that is
    /// not met is the cause; the later ones are merely not reached.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum Gate {
        /// Every container has ended: `StopContainer` returned and none is RUNNING in the CRI.
        ContainersStopped = "ContainersStopped",
        /// Every sandbox has ended and its network is gone: `StopPodSandbox` returned.
        SandboxStopped = "SandboxStopped",
        /// DRA drivers have released what the pod claimed.
        DevicesUnprepared = "DevicesUnprepared",
        /// Nothing below `pods/<uid>/volumes` is mounted and the kubelet remembers no volume.
        VolumesUnmounted = "VolumesUnmounted",
        /// The pod's cgroup is removed.
        CgroupRemoved = "CgroupRemoved",
        /// The API server has taken the final status.
        StatusReported = "StatusReported",
        /// The API object is gone: no finalizer, no webhook in the way.
        ObjectRemoved = "ObjectRemoved",
    }
}

impl Gate {
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
