//! Whether the kubelet takes a path for a mount point (`IsLikelyNotMountPoint` of mount-utils,
//! `mount_linux.go`).

use super::PodDirReader;
use crate::host::mounts::touchable;
use crate::observation::{HostPath, Seen, covering};

/// The first kubelet that asks `statx` for `STATX_ATTR_MOUNT_ROOT`. Older ones compare the
/// devices of the path and of its parent, and so do not see a bind mount within one file system.
const FIRST_MINOR_WITH_STATX: u32 = 30;

impl PodDirReader<'_> {
    /// Whether `path` is a mount point in the kubelet's eyes. The kernel is asked where that is
    /// safe, else the mount table.
    pub(super) fn is_mounted(&self, path: &HostPath) -> Seen<bool> {
        if self.kubelet_minor != 0 && self.kubelet_minor < FIRST_MINOR_WITH_STATX {
            return Seen::Seen(self.is_other_device(path));
        }
        if touchable(self.mounts, path).is_err() {
            return Seen::Seen(self.is_in_table(path));
        }
        // A kernel that does not show it (< 5.8): the kubelet compares devices then.
        let root = self.tree.is_mount_root(path);
        root.map(|root| root.unwrap_or_else(|| self.is_other_device(path)))
    }

    fn is_in_table(&self, path: &HostPath) -> bool {
        self.mounts.iter().any(|mount| mount.mount_point == *path)
    }

    /// What comparing `st_dev` of a path and of its parent would say, without `stat`.
    fn is_other_device(&self, path: &HostPath) -> bool {
        let Some(parent) = path.as_path().parent().map(|parent| HostPath::from(parent.to_owned())) else {
            return false;
        };
        let dev = |path: &HostPath| covering(self.mounts, path).map(|mount| mount.dev);
        dev(path) != dev(&parent)
    }
}
