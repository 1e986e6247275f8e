//! Through whose eyes the host is seen.

use std::path::PathBuf;

use crate::observation::HostPath;

/// A prefix for the host's paths: empty when the agent stands in the kubelet's own mount
/// namespace, `/proc/<kubelet pid>/root` when it does not, or `--host-root`.
///
/// No hostPath mount is needed, so the agent holds no copy of a pod's mounts.
#[derive(Clone, Debug, Default)]
pub struct HostView {
    prefix: PathBuf,
}

impl HostView {
    /// Sees the host below `prefix`.
    pub fn new(prefix: impl Into<PathBuf>) -> Self {
        HostView { prefix: prefix.into() }
    }

    /// Whether the host's paths are the agent's own.
    pub fn is_own(&self) -> bool {
        self.prefix.as_os_str().is_empty()
    }

    /// Where the agent finds the host's `path`.
    pub fn at(&self, path: &HostPath) -> PathBuf {
        if self.is_own() {
            return path.as_path().to_owned();
        }
        self.prefix.join(path.as_path().strip_prefix("/").unwrap_or(path.as_path()))
    }
}
