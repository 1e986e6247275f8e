//! Copies of mounts in mount namespaces that are not the kubelet's.

use serde::{Deserialize, Serialize};

use super::{HostPath, Mount, Owner};

/// A mount in another mount namespace, of something that is to be unmounted or removed here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountCopy {
    /// The mount as it stands there; the way to its mount point may begin differently.
    pub mount: Mount,
    /// Inode of the namespace.
    pub ns: u64,
    /// A process that lives in it.
    pub pid: u32,
    pub comm: String,
    pub state: char,
    pub owner: Owner,
}

impl MountCopy {
    /// Whether it is a copy of what is, or was, mounted at `path`: another namespace has the directory `above` at another
    /// place, and what lies below it at the same place.
    pub fn is_copy_of(&self, path: &HostPath, above: &HostPath) -> bool {
        path.as_path()
            .strip_prefix(above.as_path())
            .is_ok_and(|below| self.mount.mount_point.as_path().ends_with(below))
    }
}
