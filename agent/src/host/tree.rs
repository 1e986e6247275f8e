//! The kubelet's directories into which tenants and CSI drivers may write: a pod's volumes, the plugins, their sockets. They
//! may put a link where a directory is expected, to a file system that never answers.

use std::{io, path::Path};

use super::{HostRoot, mounts::touchable};
use crate::observation::{FaultKind, HostPath, Mount, Seen};
use crate::sys::{self, Beneath, Entry, FileFacts, Socket};

/// Such a directory, held open for a look. What lies below it is reached by no link and on no other mount, and only
/// where the mount table has none on the way that needs a server.
pub(super) struct Tree<'a> {
    root: Beneath,
    at: &'a HostPath,
    mounts: &'a [Mount],
}

impl<'a> Tree<'a> {
    /// Opens the directory `at`; `mounts` is the table of whom the host is seen through.
    pub(super) fn open(host: &HostRoot, at: &'a HostPath, mounts: &'a [Mount]) -> Seen<Self> {
        if let Err(fault) = touchable(mounts, at) {
            return Seen::Failed(fault);
        }
        let root = Beneath::open(&host.at(&HostPath::from("/")), at.as_path());
        seen(at, root).map(|root| Tree { root, at, mounts })
    }

    /// The first `cap` entries of a directory.
    pub(super) fn list(&self, path: &HostPath, cap: usize) -> Seen<Vec<Entry>> {
        self.ask(path, |root, below| root.list_capped(below, cap))
    }

    pub(super) fn facts(&self, path: &HostPath) -> Seen<FileFacts> {
        self.ask(path, Beneath::file_facts)
    }

    /// A regular file of at most `cap` bytes.
    pub(super) fn read(&self, path: &HostPath, cap: usize) -> Seen<Vec<u8>> {
        self.ask(path, |root, below| root.read_capped(below, cap))
    }

    /// Where a link points, without following it; nothing of what is no link. Mounts on the way are entered.
    pub(super) fn link(&self, path: &HostPath) -> Seen<Option<Vec<u8>>> {
        self.ask(path, Beneath::link)
    }

    /// Whether something is mounted right there; none where the kernel does not show it.
    pub(super) fn is_mount_root(&self, path: &HostPath) -> Seen<Option<bool>> {
        self.ask(path, Beneath::is_mount_root)
    }

    /// The number that the mount right there has for good; none where the kernel does not show it.
    pub(super) fn unique_mount_id(&self, path: &HostPath) -> Option<u64> {
        self.root.unique_mount_id(path.as_path().strip_prefix(self.at.as_path()).ok()?).ok()
    }

    pub(super) fn socket(&self, path: &HostPath) -> Seen<Socket> {
        self.ask(path, Beneath::socket)
    }

    fn ask<T>(&self, path: &HostPath, question: impl FnOnce(&Beneath, &Path) -> io::Result<T>) -> Seen<T> {
        if let Err(fault) = touchable(self.mounts, path) {
            return Seen::Failed(fault);
        }
        match path.as_path().strip_prefix(self.at.as_path()) {
            Ok(below) => seen(path, question(&self.root, below)),
            Err(_) => Seen::failed(path, (FaultKind::NotAsked, format!("is not below {}", self.at.show()))),
        }
    }
}

fn seen<T>(path: &HostPath, result: io::Result<T>) -> Seen<T> {
    match result {
        Ok(value) => Seen::Seen(value),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Seen::Missing,
        Err(error) => match sys::refusal(&error) {
            Some(why) => Seen::failed(path.show(), (FaultKind::NotAsked, why)),
            None => Seen::failed(path.show(), error),
        },
    }
}
