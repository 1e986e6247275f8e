//! `statx` that asks no server: the call the kubelet itself uses since 1.30.

use std::{io, os::fd::OwnedFd, path::Path};

use nix::sys::stat::SFlag;

use super::linux::{AtFlags, CWD, Statx, StatxAttributes, StatxFlags, statx};
use super::read::named;

/// Whether the kernel says that `path` is the root of a mount (`STATX_ATTR_MOUNT_ROOT`, Linux ≥ 5.8). `None` when this
/// kernel does not show it.
///
/// Answers at once on a hung FUSE mount and succeeds on a dead one. Not to be used on NFS or 9p,
/// whose path walk may ask the server.
pub fn is_mount_root(path: &Path) -> io::Result<Option<bool>> {
    let flags = AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT | AtFlags::SYMLINK_NOFOLLOW;
    let answer = statx(CWD, path, flags, StatxFlags::empty());
    let answer = answer.map_err(|error| named(path, error.into()))?;
    if !answer.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT) {
        return Ok(None);
    }
    Ok(Some(answer.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)))
}

/// Whether the directory at `path` may have others in it: the count of its links shows for most file systems, cgroups among
/// them, that it has none.
pub fn may_have_subdirectories(path: &Path) -> bool {
    let flags = AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT | AtFlags::SYMLINK_NOFOLLOW;
    // Its own name and its `.`; each directory in it adds a `..`.
    const NONE: u32 = 2;
    !statx(CWD, path, flags, StatxFlags::NLINK).is_ok_and(|facts| facts.stx_nlink == NONE)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileFacts {
    pub is_directory: bool,
    /// Whether it is a regular file.
    pub is_file: bool,
    /// Its length in bytes.
    pub length: u64,
    /// Milliseconds since the epoch of its last change.
    pub changed_ms: u64,
    /// It cannot be changed or removed (`FS_IMMUTABLE_FL`).
    pub is_immutable: bool,
    /// Neither it nor what is in it can be removed; it may grow (`FS_APPEND_FL`).
    pub is_append_only: bool,
}

impl FileFacts {
    const WANTED: StatxFlags = StatxFlags::TYPE.union(StatxFlags::SIZE).union(StatxFlags::MTIME);

    /// Of an open file, or one that is only found.
    pub(super) fn read(file: &OwnedFd) -> io::Result<Self> {
        let flags = AtFlags::STATX_DONT_SYNC | AtFlags::EMPTY_PATH;
        Ok(FileFacts::from(statx(file, "", flags, FileFacts::WANTED)?))
    }
}

impl From<Statx> for FileFacts {
    fn from(answer: Statx) -> Self {
        let kind = u32::from(answer.stx_mode) & SFlag::S_IFMT.bits();
        let changed = answer.stx_mtime;
        FileFacts {
            is_directory: kind == SFlag::S_IFDIR.bits(),
            is_file: kind == SFlag::S_IFREG.bits(),
            length: answer.stx_size,
            changed_ms: u64::try_from(changed.tv_sec).unwrap_or(0) * 1000 + u64::from(changed.tv_nsec) / 1_000_000,
            is_immutable: answer.stx_attributes.contains(StatxAttributes::IMMUTABLE),
            is_append_only: answer.stx_attributes.contains(StatxAttributes::APPEND),
        }
    }
}

/// What the file at `path` is, from what the kernel has in its cache. Only for local file systems.
pub fn file_facts(path: &Path) -> io::Result<FileFacts> {
    let flags = AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT | AtFlags::SYMLINK_NOFOLLOW;
    let answer = statx(CWD, path, flags, FileFacts::WANTED);
    answer.map(FileFacts::from).map_err(|error| named(path, error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_is_a_mount_and_etc_passwd_is_not() {
        assert_eq!(is_mount_root(Path::new("/proc")).unwrap(), Some(true));
        assert_eq!(is_mount_root(Path::new("/etc/passwd")).unwrap(), Some(false));
    }

    #[test]
    fn a_directory_without_others_is_told() {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        std::fs::write(dir.path().join("file"), "").unwrap();
        assert!(!may_have_subdirectories(dir.path()));
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        assert!(may_have_subdirectories(dir.path()));
        assert!(may_have_subdirectories(Path::new("/nothing-here")));
    }
}
