//! Which paths may be touched.

use crate::observation::{Fault, FaultKind, HostPath, Mount, way};

/// Whether `path` can be opened or listed without asking any server.
///
/// # Errors
/// The reason, when a file system on the way needs a server.
pub fn touchable(mounts: &[Mount], path: &HostPath) -> Result<(), Fault> {
    // At an autofs each walk waits, with O_PATH too, while its daemon is asked for a mount (autofs_d_manage).
    let may_wait = |mount: &&Mount| mount.needs_server() || mount.fs_type == "autofs";
    match way(mounts, path).into_iter().find(may_wait) {
        None => Ok(()),
        Some(mount) => {
            let (fs_type, point) = (findings::clean(&mount.fs_type, 40), mount.mount_point.show());
            Err(Fault::new(
                path.show(),
                (FaultKind::NotAsked, format!("lies on {point} ({fs_type}), which could block and is not touched")),
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::mountinfo::mounts;

    const TABLE: &[u8] = b"1 1 8:1 / / rw - ext4 /dev/root rw
2 1 0:21 /a /a rw - tmpfs t rw
3 2 0:22 / /a/net rw - fuse.s3fs s3 rw
";

    #[test]
    fn keeps_off_what_needs_a_server() {
        let all = mounts(TABLE, |_| true).mounts;
        assert!(touchable(&all, &"/a/b".into()).is_ok());
        let fault = touchable(&all, &"/a/net/x".into()).unwrap_err();
        assert!(fault.says.contains("/a/net (fuse.s3fs)"), "{fault}");
    }
}
