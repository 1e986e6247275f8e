//! Unix sockets that are bound to a name in a target: the socket holds the mount, and its
//! descriptor's link shows only a number.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Component,
};

use super::{
    searches::{Searches, Who, facts},
    space::Space,
};
use crate::{
    host::{
        HostRoot,
        descriptors::{self, Walk},
        mounts::{Table, living},
        socket_list,
        tree::Tree,
    },
    observation::{HostPath, How, MountTable, RelativeSocket, is_path_within},
    sys::{self, ProcDir},
};

/// Notes the processes of `space` that have such a socket. One list is read per network
/// namespace; descriptors only when a name fits.
pub(super) fn bound_in(space: &Space, found: &mut Searches) {
    let mut seen = BTreeSet::new();
    let mut names: BTreeMap<u64, HostPath> = BTreeMap::new();
    for pid in &space.pids {
        let Ok(net) = ProcDir::open(*pid).and_then(|dir| dir.namespace("net")) else { continue };
        if seen.insert(net) {
            match socket_list::read(*pid) {
                Ok(list) => names.extend(
                    socket_list::bound(&list).into_iter().filter(|(_, path)| space.could_hold(path.as_bytes())),
                ),
                Err(error) if sys::is_gone(&error) => {}
                // Longer than is read, or not readable: any process in there may have one.
                Err(_) => found.walked(*pid, Walk::CutOff),
            }
        }
    }
    if names.is_empty() {
        return;
    }
    for pid in with_names(&space.pids, &names, found) {
        let Ok((dir, ns)) = living(pid) else { continue };
        let who = Who { pid, dir: &dir, ns };
        let walk = descriptors::walk(&dir, found.end(), |fd, link| {
            let Some(path) = socket_list::inode(link).and_then(|inode| names.get(&inode)) else { return };
            for copy in space.copies_at(path) {
                found.process(copy.target, &who, How::Fd { fd, path: path.clone() }, copy.kind);
            }
        });
        found.walked(pid, walk);
    }
}

/// Those that may have a socket of these.
fn with_names(pids: &[u32], names: &BTreeMap<u64, HostPath>, found: &Searches) -> Vec<u32> {
    let is_named = |link: &[u8]| socket_list::inode(link).is_some_and(|inode| names.contains_key(&inode));
    descriptors::candidates(pids, found.end(), |_, _, link| is_named(link))
}

/// Notes the sockets of `space` with relative names. One list is read per network namespace; descriptors only where there
/// are such names, which is rare. `sock_diag` reports which file a socket is bound to (`UDIAG_SHOW_VFS`), but only in the
/// caller's own network namespace, and the agent may not enter another one (`setns` needs CAP_SYS_ADMIN).
pub(super) fn relative_in(space: &Space, places: &Places<'_>, found: &mut Searches) {
    // Who holds a copy that nothing ties to the kubelet's keeps no `umount` from doing its work.
    let tied = space.copies.iter().filter(|copy| super::blocks(copy.kind));
    let targets: BTreeSet<usize> = tied.map(|copy| copy.target).collect();
    if targets.is_empty() {
        return;
    }
    let mut names: BTreeMap<u64, HostPath> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for (pid, net) in space.pids.iter().zip(sys::namespaces_of(&space.pids, "net")) {
        if net.is_ok_and(|net| seen.insert(net)) {
            names.extend(socket_list::read(*pid).map(|list| socket_list::relative(&list)).unwrap_or_default());
        }
    }
    if names.is_empty() {
        return;
    }
    let (mut bound, mut placed) = (Vec::new(), BTreeSet::new());
    for pid in with_names(&space.pids, &names, found) {
        let Ok((dir, _)) = living(pid) else { continue };
        descriptors::walk(&dir, found.end(), |fd, link| {
            let Some(inode) = socket_list::inode(link) else { return };
            let Some(name) = names.get(&inode) else { return };
            // Of two sockets with one name the file is that of either.
            let is_single = names.values().filter(|other| *other == name).count() == 1;
            if is_single && places.is_beside(&dir, name, space) {
                placed.insert(inode);
            }
            bound.push((pid, fd, inode));
        });
    }
    bound.retain(|(_, _, inode)| !placed.contains(inode));
    bound.dedup_by_key(|(pid, ..)| *pid);
    for (pid, fd, inode) in bound {
        let (Ok((dir, ns)), Some(name)) = (living(pid), names.get(&inode).cloned()) else { continue };
        let Some((stat, leader, owner)) = facts(&Who { pid, dir: &dir, ns }) else { continue };
        let (start_ticks, state) = (leader.start_ticks, stat.state);
        let socket = RelativeSocket { pid, start_ticks, comm: leader.comm, state, fd, name, owner };
        targets.iter().for_each(|target| found.relative_socket(*target, &socket));
    }
}

/// Where files of the kubelet's mount namespace may be looked at.
pub(super) struct Places<'a> {
    view: HostRoot,
    ns: u64,
    table: Option<&'a Table>,
}

impl<'a> Places<'a> {
    /// With the whole table of that namespace, if it could be read.
    pub(super) fn new(kubelet: &MountTable, table: Option<&'a Table>) -> Self {
        let table = table.filter(|table| table.fault().is_none());
        Places { view: HostRoot::new(format!("/proc/{}/root", kubelet.through_pid)), ns: kubelet.ns, table }
    }

    /// Whether there is a socket of this name in the working directory of a process, outside of the copies: most daemons
    /// that bind a relative name stay in that directory. It is no proof, as a file may be made later; but it is used only
    /// to drop a candidate, never to name a holder.
    fn is_beside(&self, dir: &ProcDir, name: &HostPath, space: &Space) -> bool {
        let Some(table) = self.table.filter(|_| self.ns == space.ns) else { return false };
        let is_plain = name.as_path().components().all(|part| matches!(part, Component::Normal(_)));
        let Some(cwd) = dir.link("cwd").ok().filter(|_| is_plain) else { return false };
        let path = HostPath::new(cwd).join(name.as_path());
        let Some(parent) = path.as_path().parent().map(|parent| HostPath::from(parent.to_owned())) else {
            return false;
        };
        if space.could_hold(path.as_bytes()) {
            return false;
        }
        let mounts = table.mounts(|mount| is_path_within(path.as_bytes(), &mount.mount_point())).mounts;
        let tree = Tree::open(&self.view, &parent, &mounts);
        let facts = tree.get().and_then(|tree| tree.facts(&path).get().cloned());
        facts.is_some_and(|facts| !facts.is_file && !facts.is_directory)
    }
}
