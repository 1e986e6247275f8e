//! Which mounts a path leads through, from the table alone.

use super::{HostPath, Mount};

/// Whether `path` is `parent` or lies below it, by whole components. Both are absolute.
pub fn is_path_within(path: &[u8], parent: &[u8]) -> bool {
    let parent = parent.strip_suffix(b"/").unwrap_or(parent);
    path.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// The mounts a walk to `path` passes through, from the root to the one that shows `path`.
///
/// A mount that another one hides is not among them.
pub fn way<'a>(mounts: &'a [Mount], path: &HostPath) -> Vec<&'a Mount> {
    let on_path = |mount: &&Mount| is_path_within(path.as_bytes(), mount.mount_point.as_bytes());
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

/// The mount at exactly this path, which is what `umount` of the path takes away: of several that which the walk ends on.
///
/// The last of the table may be another: where a directory was bound over itself, a volume mounted in there is propagated to
/// the same place below that bind, where no path leads to it.
pub fn mounted_at<'a>(mounts: &'a [Mount], path: &HostPath) -> Option<&'a Mount> {
    let last = mounts.iter().rfind(|mount| mount.mount_point == *path)?;
    let is_only = mounts.iter().filter(|mount| mount.mount_point == *path).count() == 1;
    let shown = || covering(mounts, path).filter(|mount| mount.mount_point == *path);
    if is_only { Some(last) } else { shown().or(Some(last)) }
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
    fn components_are_whole() {
        assert!(is_path_within(b"/a/b", b"/a") && is_path_within(b"/a", b"/a") && is_path_within(b"/a", b"/"));
        assert!(!is_path_within(b"/ab", b"/a") && !is_path_within(b"/a", b"/a/b"));
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

    /// As Linux 6.18 shows it: `/k` bound over itself on a shared mount, then a volume mounted in it.
    #[test]
    fn of_several_at_one_path_the_one_that_is_not_hidden() {
        let bound = "63 43 0:39 / / rw shared:1 - tmpfs b rw
64 63 0:39 /k /k rw shared:1 - tmpfs b rw
65 64 0:40 / /k/v rw shared:2 - tmpfs vol rw
66 63 0:40 / /k/v rw shared:2 - tmpfs vol rw
";
        let id = |table: &str| mounted_at(&mounts(table.as_bytes(), |_| true).mounts, &"/k/v".into()).map(|m| m.id);
        assert_eq!(id(bound), Some(65));
        // One over the other.
        assert_eq!(id(&format!("{bound}67 65 0:41 / /k/v rw - tmpfs over rw\n")), Some(67));
        // Of those that are all hidden, or of which the way is not known, the last.
        assert_eq!(id(&bound.replace("65 64", "65 63")), Some(66));
        assert_eq!(id("65 64 0:40 / /k/v rw - tmpfs vol rw\n"), Some(65));
        assert_eq!(id("64 63 0:39 /k /k rw - tmpfs b rw\n"), None);
    }
}
