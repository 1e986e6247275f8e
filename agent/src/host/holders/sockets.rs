//! Unix sockets that are bound to a name in a target: the socket holds the mount, and its
//! descriptor's link shows only a number.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    searches::{Searches, Who, facts},
    space::Space,
};
use crate::{
    host::{
        descriptors::{self, Walk},
        mounts::living,
        socket_list,
    },
    observation::{HostPath, How, RelativeSocket},
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
                // Longer than is read, or not to be seen: whoever is in there may have one.
                Err(_) => found.walked(*pid, Walk::CutOff),
            }
        }
    }
    if names.is_empty() {
        return;
    }
    for pid in &space.pids {
        let Ok((dir, ns)) = living(*pid) else { continue };
        let who = Who { pid: *pid, dir: &dir, ns };
        let walk = descriptors::walk(&dir, found.end(), |fd, link| {
            let Some(path) = socket_list::inode(link).and_then(|inode| names.get(&inode)) else { return };
            for copy in space.copies_at(path) {
                found.process(copy.target, &who, How::Fd { fd, path: path.clone() }, copy.kind);
            }
        });
        found.walked(*pid, walk);
    }
}

/// Notes the sockets of `space` with relative names. One list is read per network namespace; descriptors only where there
/// are such names, which is rare.
pub(super) fn relative_in(space: &Space, found: &mut Searches) {
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
    for pid in &space.pids {
        let Ok((dir, ns)) = living(*pid) else { continue };
        let mut bound = Vec::new();
        descriptors::walk(&dir, found.end(), |fd, link| {
            let name = socket_list::inode(link).and_then(|inode| names.get(&inode));
            bound.extend(name.map(|name| (fd, name.clone())));
        });
        let Some((fd, name)) = bound.into_iter().next() else { continue };
        let Some((stat, leader, owner)) = facts(&Who { pid: *pid, dir: &dir, ns }) else { continue };
        let (start_ticks, state) = (leader.start_ticks, stat.state);
        let socket = RelativeSocket { pid: *pid, start_ticks, comm: leader.comm, state, fd, name, owner };
        targets.iter().for_each(|target| found.relative_socket(*target, &socket));
    }
}
