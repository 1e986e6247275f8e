//! The gates of the stand-in.

use std::fmt;

/// One of the kubelet's conditions, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gate {
    /// No container of the pod runs.
    ContainersStopped,
    /// All its sandboxes are stopped, with their network.
    SandboxStopped,
    /// Nothing of it is mounted.
    VolumesUnmounted,
    /// Its cgroup is gone.
    CgroupRemoved,
}

impl Gate {
    /// Its name in the product's output.
    pub fn name(self) -> &'static str {
        match self {
            Gate::ContainersStopped => "ContainersStopped",
            Gate::SandboxStopped => "SandboxStopped",
            Gate::VolumesUnmounted => "VolumesUnmounted",
            Gate::CgroupRemoved => "CgroupRemoved",
        }
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
