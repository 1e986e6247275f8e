//! Unix sockets that are bound to a file in a target: the socket holds the mount, and its descriptor's link shows only a
//! number.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Component,
    time::Instant,
};

use super::bound_sockets::{Bound, Place, Seen, Sockets, is_unix};
use super::places::Places;
use super::searches::{ProcessVisit, Searches, facts};
use super::space::Space;
use super::{Options, blocks};
use crate::host::mounts::living;
use crate::host::process_index::ProcessIndex;
use crate::host::socket_list;
use crate::observation::{HeldBy, HostPath, SocketCandidate};
use crate::sys;

/// More sockets of other network namespaces are not followed.
const MAX_STRAYS: usize = 1000;

/// Reads which sockets may hold a target that is in `space`. One list is read per network namespace. `sock_diag` reports
/// which file a socket is bound to (`UDIAG_SHOW_VFS`), but only in the caller's own network namespace, and the agent may not
/// enter another one (`setns` needs CAP_SYS_ADMIN).
pub(super) fn read(space: &Space, places: &mut Places<'_>, found: &mut Searches) {
    let mut seen = BTreeSet::new();
    for (pid, net) in space.pids.iter().zip(sys::namespaces_of(&space.pids, "net")) {
        if !net.is_ok_and(|net| seen.insert(net)) {
            continue;
        }
        match socket_list::read(*pid) {
            Ok(list) => {
                let list = socket_list::names(&list);
                found.sockets.listed.entry(space.ns).or_default().extend(list.keys());
                for (inode, name) in list.into_iter().filter_map(|(inode, name)| Some((inode, name?))) {
                    if let Some(place) = place(&name, space, places) {
                        found.sockets.inodes.insert(inode);
                        found.sockets.bound.entry(space.ns).or_default().insert(inode, Bound { name, place });
                    }
                }
            }
            Err(error) if sys::is_gone(&error) => {}
            // Longer than is read, or not readable: any process in there may have one.
            Err(_) => found.cut_off(*pid),
        }
    }
}

/// Where a socket of this name may be in `space`; nothing when it is elsewhere.
fn place(name: &HostPath, space: &Space, places: &mut Places<'_>) -> Option<Place> {
    if space.could_hold(name.as_bytes()) {
        return Some(Place::Named);
    }
    // Who holds a copy that nothing ties to the kubelet's keeps no `umount` from doing its work.
    if !space.copies.iter().any(|copy| blocks(copy.kind)) {
        return None;
    }
    if !name.as_bytes().starts_with(b"/") {
        return Some(Place::Unknown);
    }
    // Another namespace is a tenant's, who may mount what never answers while it is looked at.
    let Some(places) = places.of(space) else { return Some(Place::Unread) };
    // On a root file system that needs a server no name can be followed, not even to a local mount: the walk there asks it.
    match places.real(name) {
        Some(real) => space.could_hold(real.as_bytes()).then_some(Place::Linked(real)),
        None => Some(Place::Unknown),
    }
}

/// Notes that a process has a socket open.
pub(super) fn see(who: &ProcessVisit<'_>, fd: u32, inode: u64, spaces: &[Space], found: &mut Searches) {
    let seen = Seen { ns: who.ns, pid: who.pid, fd, inode };
    let Some(bound) = found.sockets.name(who.ns, inode) else { return stray(who, seen, spaces, found) };
    if !matches!(bound.place, Place::Named) {
        return found.sockets.seen.push(seen);
    }
    let path = bound.name.clone();
    for space in spaces.iter().filter(|space| space.ns == who.ns) {
        for copy in space.copies_at(&path) {
            found.process(copy.target, who, HeldBy::Fd { fd, path: path.clone() }, copy.kind);
        }
    }
}

/// Notes a unix socket of another network namespace than its process is in: that one has left it, or was sent the socket.
fn stray(who: &ProcessVisit<'_>, seen: Seen, spaces: &[Space], found: &mut Searches) {
    let is_in_sight = spaces.iter().any(|space| space.ns == who.ns);
    if !is_in_sight || found.sockets.is_listed(who.ns, seen.inode) || !is_unix(who.dir.fdinfo(seen.fd, b"socket:")) {
        return;
    }
    match found.sockets.strays.len() {
        ..MAX_STRAYS => found.sockets.strays.push(seen),
        _ => found.cut_off(who.pid),
    }
}

/// Looks for the names of such sockets in the network namespaces of `all` processes. What is in none of them is of one that
/// no process is in, and remains without a name.
pub(super) fn follow_strays(spaces: &[Space], all: &ProcessIndex, places: &mut Places<'_>, found: &mut Searches) {
    let strays = std::mem::take(&mut found.sockets.strays);
    if strays.is_empty() {
        return;
    }
    let (mut networks, mut names) = (BTreeSet::new(), BTreeMap::new());
    let all: Vec<u32> = all.group_by_mount_ns().pids.values().flatten().copied().collect();
    for (pid, net) in all.iter().zip(sys::namespaces_of(&all, "net")) {
        // Anybody may have thousands of network namespaces.
        if Instant::now() >= found.end() {
            return strays.iter().for_each(|stray| found.cut_off(stray.pid));
        }
        let Some(net) = net.ok().filter(|net| !networks.contains(net)) else { continue };
        let Ok(list) = socket_list::read(*pid) else { continue };
        networks.insert(net);
        let mut list = socket_list::names(&list);
        names.extend(strays.iter().filter_map(|stray| list.remove_entry(&stray.inode)));
    }
    for stray in strays {
        let Some(space) = spaces.iter().find(|space| space.ns == stray.ns) else { continue };
        let Ok((dir, ns)) = living(stray.pid) else { continue };
        let link = dir.link(&format!("fd/{}", stray.fd));
        if !link.is_ok_and(|link| socket_list::inode(&link) == Some(stray.inode)) {
            continue;
        }
        match names.get(&stray.inode) {
            None => found.sockets.seen.push(stray),
            // It is bound to no file.
            Some(None) => {}
            Some(Some(name)) => {
                let Some(place) = place(name, space, places) else { continue };
                let bound = Bound { name: name.clone(), place };
                found.sockets.bound.entry(ns).or_default().insert(stray.inode, bound);
                see(&ProcessVisit { pid: stray.pid, dir: &dir, ns }, stray.fd, stray.inode, spaces, found);
            }
        }
    }
}

/// Notes the sockets that may be bound in a target, and have not that name.
pub(super) fn candidates(spaces: &[Space], places: &mut Places<'_>, options: &Options<'_>, found: &mut Searches) {
    follow_elsewhere(spaces, options, &mut found.sockets);
    let mut seen = std::mem::take(&mut found.sockets.seen);
    let beside: BTreeSet<u64> =
        seen.iter().filter(|one| is_beside(one, spaces, places, &found.sockets)).map(|one| one.inode).collect();
    seen.retain(|one| !beside.contains(&one.inode));
    seen.sort_by_key(|one| one.pid);
    for Seen { ns, pid, fd, inode } in seen {
        let Some(space) = spaces.iter().find(|space| space.ns == ns) else { continue };
        let (name, leads_to) = match found.sockets.name(ns, inode) {
            Some(Bound { place: Place::Unread, .. }) => continue,
            Some(Bound { name, place: Place::Linked(path) }) => (Some(name.clone()), Some(path.clone())),
            bound => (bound.map(|bound| bound.name.clone()), None),
        };
        let left_network = !found.sockets.is_listed(ns, inode);
        let Ok((dir, ns)) = living(pid) else { continue };
        let Some((stat, leader, owner)) = facts(&ProcessVisit { pid, dir: &dir, ns }) else { continue };
        let (start_ticks, state) = (leader.start_ticks, stat.state);
        let comm = leader.comm;
        let socket = SocketCandidate { pid, start_ticks, comm, state, fd, name, left_network, leads_to, owner };
        let copies: BTreeSet<u32> = match &socket.leads_to {
            Some(path) => space.copies_at(path).map(|copy| copy.id).collect(),
            None => space.copies.iter().map(|copy| copy.id).collect(),
        };
        let tied = space.copies.iter().filter(|copy| blocks(copy.kind) && copies.contains(&copy.id));
        let targets: BTreeSet<usize> = tied.map(|copy| copy.target).collect();
        targets.into_iter().for_each(|target| found.socket_candidate(target, &socket));
    }
}

/// Follows the names of sockets that processes in other namespaces than the kubelet's have open, in a child. What it does
/// not come to may be anywhere.
fn follow_elsewhere(spaces: &[Space], options: &Options<'_>, sockets: &mut Sockets) {
    let Some(prober) = options.prober else { return };
    let Sockets { bound, seen, .. } = sockets;
    let unread: Vec<(u64, u64, u32, String)> = seen
        .iter()
        .filter_map(|Seen { ns, inode, pid, .. }| {
            let bound = bound.get(ns)?.get(inode).filter(|bound| matches!(bound.place, Place::Unread))?;
            Some((*ns, *inode, *pid, bound.name.as_str()?.to_owned()))
        })
        .collect();
    if unread.is_empty() {
        return;
    }
    let asked: Vec<(u32, &str)> = unread.iter().map(|(_, _, pid, name)| (*pid, name.as_str())).collect();
    let followed = prober.real_paths(&asked, options.deadline).into_iter();
    // A tenant may have thousands.
    let followed: BTreeMap<(u32, HostPath), Option<HostPath>> =
        followed.map(|one| ((one.pid, one.path), one.real)).collect();
    for (ns, inode, pid, name) in &unread {
        let real = followed.get(&(*pid, HostPath::from(name.as_str()))).cloned().flatten();
        let is_elsewhere =
            |real: &HostPath| spaces.iter().all(|space| space.ns != *ns || !space.could_hold(real.as_bytes()));
        let Some(names) = bound.get_mut(ns) else { continue };
        match real {
            Some(real) if is_elsewhere(&real) => _ = names.remove(inode),
            real => {
                if let Some(bound) = names.get_mut(inode) {
                    bound.place = real.map_or(Place::Unknown, Place::Linked);
                }
            }
        }
    }
}

/// Whether there is a socket of this name in the working directory of its process, outside of the copies: most daemons
/// that bind a relative name stay in that directory. It is no proof, as a file may be made later; but it is used only
/// to drop a candidate, never to name a holder.
fn is_beside(one: &Seen, spaces: &[Space], places: &mut Places<'_>, sockets: &Sockets) -> bool {
    let Some(space) = spaces.iter().find(|space| space.ns == one.ns) else { return false };
    let (Some(names), Some(Bound { name, place: Place::Unknown })) =
        (sockets.bound.get(&one.ns), sockets.name(one.ns, one.inode))
    else {
        return false;
    };
    // Of two sockets with one name the file is that of either.
    let is_single = names.values().filter(|other| other.name == *name).count() == 1;
    let is_plain = name.as_path().components().all(|part| matches!(part, Component::Normal(_)));
    if !is_single || !is_plain {
        return false;
    }
    let cwd = living(one.pid).and_then(|(dir, _)| dir.link("cwd"));
    let Ok(path) = cwd.map(|cwd| HostPath::new(cwd).join(name.as_path())) else { return false };
    !space.could_hold(path.as_bytes()) && places.of(space).is_some_and(|places| places.has_socket(&path))
}
