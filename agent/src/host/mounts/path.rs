//! Which mounts a path leads through, from the table alone.

use crate::observation::{Fault, FaultKind, HostPath, Mount};

/// Whether `path` is `parent` or lies below it, by whole components. Both are absolute.
pub(in crate::host) fn within(path: &[u8], parent: &[u8]) -> bool {
    let parent = parent.strip_suffix(b"/").unwrap_or(parent);
    path.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// The mounts a walk to `path` passes through, from the root to the one that shows `path`.
///
/// A mount that another one hides is not among them.
pub fn way<'a>(mounts: &'a [Mount], path: &HostPath) -> Vec<&'a Mount> {
    let on_path = |mount: &&Mount| within(path.as_bytes(), mount.mount_point.as_bytes());
    let candidates: Vec<&Mount> = mounts.iter().filter(on_path).collect();
    // The first mount is the one that stands on none of the others. In a table that was cut down
    // there may be several; the shortest is nearest to the root.
    let stands_on_another = |mount: &Mount| candidates.iter().any(|m| m.id == mount.parent && m.id != mount.id);
    let firsts = candidates.iter().filter(|mount| !stands_on_another(mount));
    let mut passed: Vec<&Mount> = Vec::new();
    let mut next = firsts.min_by_key(|mount| mount.mount_point.as_bytes().len()).copied();
    while let Some(mount) = next {
        passed.push(mount);
        // The next mount on the walk is the highest one that stands on this one.
        let children = candidates.iter().filter(|m| m.parent == mount.id && passed.iter().all(|seen| seen.id != m.id));
        next = children.min_by_key(|mount| mount.mount_point.as_bytes().len()).copied();
    }
    passed
}

/// The mount that shows `path`.
pub fn covering<'a>(mounts: &'a [Mount], path: &HostPath) -> Option<&'a Mount> {
    way(mounts, path).pop()
}

/// Whether `path` can be opened or listed without asking any server.
///
/// # Errors
/// The reason, when a file system on the way needs a server.
pub fn touchable(mounts: &[Mount], path: &HostPath) -> Result<(), Fault> {
    match way(mounts, path).into_iter().find(|mount| mount.needs_server()) {
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

    /// `/a/b` was mounted first and is hidden by the mount on `/a`, on which stands a FUSE mount.
    const TABLE: &[u8] = b"1 1 8:1 / / rw - ext4 /dev/root rw
2 1 0:20 / /a/b rw - tmpfs hidden rw
3 1 0:21 / /a rw - tmpfs t rw
4 3 0:22 / /a/net rw - fuse.s3fs s3 rw
5 4 0:23 / /a/net rw - tmpfs over rw
6 3 0:24 / /ab rw - tmpfs t rw
";

    fn ids(path: &str) -> Vec<u32> {
        way(&mounts(TABLE, |_| true).mounts, &path.into()).iter().map(|mount| mount.id).collect()
    }

    #[test]
    fn walks_as_the_kernel_does() {
        assert_eq!(ids("/etc"), [1]);
        assert_eq!(ids("/a/b/c"), [1, 3]);
        assert_eq!(ids("/a/net/x"), [1, 3, 4, 5]);
        assert_eq!(ids("/abc"), [1]);
    }

    #[test]
    fn keeps_off_what_needs_a_server() {
        let all = mounts(TABLE, |_| true).mounts;
        assert!(touchable(&all, &"/a/b".into()).is_ok());
        let fault = touchable(&all, &"/a/net/x".into()).unwrap_err();
        assert!(fault.says.contains("/a/net (fuse.s3fs)"), "{fault}");
    }

    #[test]
    fn components_are_whole() {
        assert!(within(b"/a/b", b"/a") && within(b"/a", b"/a") && within(b"/a", b"/"));
        assert!(!within(b"/ab", b"/a") && !within(b"/a", b"/a/b"));
    }

    #[test]
    fn a_mount_that_stands_on_itself_ends_the_walk() {
        let all =
            mounts(b"1 1 8:1 / / rw - ext4 x rw\n2 3 0:1 / /a rw - tmpfs t rw\n3 2 0:1 / /a rw - tmpfs t rw\n", |_| {
                true
            });
        assert_eq!(covering(&all.mounts, &"/a".into()).unwrap().id, 1);
        assert!(way(&[], &"/a".into()).is_empty());
    }
}
