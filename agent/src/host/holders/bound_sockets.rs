//! What is known of unix sockets that are bound to files, while holders are searched.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::{host::socket_list, observation::HostPath, parse};

/// The sockets that may hold a target, and who was seen to have one open.
#[derive(Default)]
pub(super) struct Sockets {
    /// By the mount namespace in which their names are looked at, and their inode.
    pub(super) bound: BTreeMap<u64, BTreeMap<u64, Bound>>,
    pub(super) inodes: BTreeSet<u64>,
    pub(super) seen: Vec<Seen>,
    /// All that the network namespaces of a mount namespace's processes list.
    pub(super) listed: BTreeMap<u64, BTreeSet<u64>>,
    /// Those that their process has from another network namespace.
    pub(super) strays: Vec<Seen>,
}

/// What was given to `bind`, and where that is.
pub(super) struct Bound {
    pub(super) name: HostPath,
    pub(super) place: Place,
}

pub(super) enum Place {
    /// In a target, as the name says.
    Named,
    /// In a target, by a link on the way.
    Linked(HostPath),
    Unknown,
    /// In a namespace whose links are read only for the name of a socket that a process in it has open.
    Unread,
}

/// A descriptor of one.
pub(super) struct Seen {
    pub(super) ns: u64,
    pub(super) pid: u32,
    pub(super) fd: u32,
    pub(super) inode: u64,
}

impl Sockets {
    /// Whether a descriptor with this link may hold a target. What is in no list may, if it is a unix socket.
    pub(super) fn is_one(&self, link: &[u8], fdinfo: impl FnOnce() -> io::Result<Vec<u8>>) -> bool {
        let is_unlisted = |inode| !self.listed.values().any(|list| list.contains(&inode));
        let is_one = |inode| self.inodes.contains(&inode) || (is_unlisted(inode) && is_unix(fdinfo()));
        socket_list::inode(link).is_some_and(is_one)
    }

    /// Whether a network namespace that processes of this mount namespace are in lists it.
    pub(super) fn is_listed(&self, ns: u64, inode: u64) -> bool {
        self.listed.get(&ns).is_some_and(|list| list.contains(&inode))
    }

    pub(super) fn name(&self, ns: u64, inode: u64) -> Option<&Bound> {
        self.bound.get(&ns)?.get(&inode)
    }
}

/// Whether `fdinfo` is that of a unix socket.
pub(super) fn is_unix(fdinfo: io::Result<Vec<u8>>) -> bool {
    fdinfo.is_ok_and(|info| parse::fdinfo(&info).scm_fds.is_some())
}
