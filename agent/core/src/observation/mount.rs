//! Mounts, as `/proc/<pid>/mountinfo` shows them.

use serde::{Deserialize, Serialize};

use super::{HostPath, Owner, Seen};
use crate::file_system;

/// What mountinfo calls an overlay.
pub const OVERLAY: &str = "overlay";

/// A device number, as in mountinfo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Dev {
    /// Major number; 0 for file systems without a block device.
    pub major: u32,
    pub minor: u32,
}

impl Dev {
    /// Reads `8:16`, as sysfs has it.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(Dev { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

impl std::fmt::Display for Dev {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// One line of mountinfo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Unique in its namespace while it exists; reused later.
    pub id: u32,
    /// The mount it is mounted on.
    pub parent: u32,
    pub dev: Dev,
    /// Which directory of the file system is mounted.
    pub root: HostPath,
    pub mount_point: HostPath,
    /// `ext4`, `fuse.s3fs`.
    pub fs_type: String,
    /// What the file system is made of; untrusted.
    pub source: HostPath,
    /// Peer group, when it is shared.
    pub shared: Option<u32>,
    /// The peer group it receives from, when it is a slave.
    pub master: Option<u32>,
    /// The mount is read-only.
    pub read_only: bool,
    /// The file system itself is read-only.
    pub super_read_only: bool,
    /// Its options that say so, as they stand there; empty in observations of older agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_only_options: Vec<String>,
    /// What it is made of, where it is an overlay.
    #[serde(default, skip_serializing_if = "Layers::is_empty")]
    pub layers: Layers,
}

/// The directories that an overlay is made of, as the mounting process called them: a relative one cannot be found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layers {
    /// Those it writes to.
    pub upper: Vec<HostPath>,
    /// Those it only reads.
    pub lower: Vec<HostPath>,
}

impl Layers {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    pub fn all(&self) -> impl Iterator<Item = &HostPath> {
        self.upper.iter().chain(&self.lower)
    }

    /// Whether one of them has a relative name.
    pub fn has_relative(&self) -> bool {
        self.all().any(|path| !path.as_bytes().starts_with(b"/"))
    }
}

/// Which mount shows a path of the kubelet's namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathMount {
    /// The path. It need not exist.
    pub path: HostPath,
    /// The mount that a walk to it would end on.
    pub mount: Option<Mount>,
}

impl Mount {
    /// The number of the FUSE connection behind it: the kernel prints its whole `dev_t`, which has the minor number
    /// in its lower 20 bits. For `fuseblk`, which lies on a block device, that is not the minor number.
    pub fn fuse_connection(&self) -> Option<u32> {
        let number = || (self.dev.major << 20) | self.dev.minor;
        file_system::is_fuse(self.fs_type.as_bytes()).then(number)
    }

    /// Whether some process or machine must answer before this file system does: no path on it
    /// may be touched.
    pub fn needs_server(&self) -> bool {
        file_system::needs_server(self.fs_type.as_bytes())
    }

    /// Whether it is the root file system the runtime made for this container.
    pub fn is_rootfs_of(&self, container: &str) -> bool {
        self.mount_point.as_bytes().ends_with(format!("/{container}/rootfs").as_bytes())
    }

    /// Whether nothing can be written through it.
    pub fn takes_no_writes(&self) -> bool {
        self.read_only || self.super_read_only
    }

    pub fn is_overlay(&self) -> bool {
        self.fs_type == OVERLAY
    }

    pub fn is_nfs(&self) -> bool {
        matches!(self.fs_type.as_str(), "nfs" | "nfs4")
    }
}

/// The mounts of one mount namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountTable {
    /// Inode of the namespace.
    pub ns: u64,
    /// Through which process it was read.
    pub through_pid: u32,
    /// How many mounts it had in all.
    pub total: usize,
    pub mounts: Vec<Mount>,
}

/// The tables that were read.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MountTables {
    /// The kubelet's namespace: its truth. Kept: everything at or below the kubelet's directory,
    /// the mounts above it, and file systems that need a server.
    pub kubelet: Seen<MountTable>,
    /// Pid 1's namespace, when it is another one; kept: at or below the kubelet's directory.
    pub init: Seen<MountTable>,
    /// Namespaces of suspects' processes and of holders. Kept: file systems that need a server
    /// and copies of mounts below the kubelet's directory.
    pub others: Vec<MountTable>,
}

impl MountTables {
    /// The same without the table of the kubelet, which may be long.
    pub(crate) fn clone_without_kubelet(&self) -> Self {
        MountTables { kubelet: Seen::Missing, init: self.init.clone(), others: self.others.clone() }
    }

    /// The table of a namespace, if it was read.
    pub fn table(&self, ns: u64) -> Option<&MountTable> {
        let all = self.kubelet.get().into_iter().chain(self.init.get()).chain(&self.others);
        all.into_iter().find(|table| table.ns == ns)
    }
}

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
