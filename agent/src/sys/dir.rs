//! Listing a directory without touching what it lists.

use std::ffi::{OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;

use super::linux::{FileType, RawDir};
use super::read::named;

/// One entry, as the directory itself describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: OsString,
    /// Its kind, from the directory and not from a `stat` of the entry.
    pub kind: EntryKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    Directory,
    Link,
    Other,
    /// The file system does not show it.
    Unknown,
}

/// All entries of `path`. Never follows a link at `path` itself.
pub fn list(path: &Path) -> io::Result<Vec<Entry>> {
    list_capped(path, usize::MAX)
}

/// The first `cap` entries of `path`.
pub fn list_capped(path: &Path, cap: usize) -> io::Result<Vec<Entry>> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let fd = open(path, flags, Mode::empty()).map_err(|error| named(path, error.into()))?;
    entries(&fd, cap).map_err(|error| named(path, error))
}

/// The entries of an open directory.
pub(super) fn entries(fd: &OwnedFd, cap: usize) -> io::Result<Vec<Entry>> {
    let mut listed = Vec::new();
    // Large enough for most directories of a node in one call.
    let mut buffer = vec![MaybeUninit::uninit(); 32 << 10];
    let mut entries = RawDir::new(fd, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        if listed.len() == cap {
            break;
        }
        let kind = match entry.file_type() {
            FileType::Directory => EntryKind::Directory,
            FileType::Symlink => EntryKind::Link,
            FileType::Unknown => EntryKind::Unknown,
            _ => EntryKind::Other,
        };
        listed.push(Entry { name: OsStr::from_bytes(name).to_owned(), kind });
    }
    Ok(listed)
}
