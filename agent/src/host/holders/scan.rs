//! The first pass: working directory, root, program and descriptors of every process in a
//! namespace that has a copy.

use std::collections::BTreeSet;

use super::{
    searches::{Searches, Who},
    space::{MountCopy, Space},
};
use crate::{
    host::{
        descriptors::{self, Walk},
        mounts::living,
    },
    observation::{HostPath, How},
    parse,
    sys::{self, ProcDir},
};

/// How the link of a descriptor of a mount namespace begins, and the root of one that is mounted.
const NAMESPACE: &[u8] = b"mnt:[";

/// Looks at every process of `space`. Descriptors may lead into any of `spaces`: they stay where
/// they were opened when a process changes its namespace.
pub(super) fn processes(space: &Space, spaces: &[Space], found: &mut Searches) {
    let (mut looked_at, mut denied) = (0, 0);
    let clear = clear(&space.pids, spaces, found);
    for pid in &space.pids {
        if clear.contains(pid) {
            looked_at += 1;
            continue;
        }
        let Ok((dir, ns)) = living(*pid) else { continue };
        // It has moved, or the pid is another process's by now.
        if ns != space.ns {
            denied += u32::from(sys::is_untold(ns));
            continue;
        }
        let who = Who { pid: *pid, dir: &dir, ns };
        directories(&who, space, found);
        match walk(&who, spaces, found) {
            Walk::Whole => looked_at += 1,
            Walk::Denied => denied += 1,
            Walk::CutOff => {}
        }
    }
    let targets: BTreeSet<usize> = space.copies.iter().map(|copy| copy.target).collect();
    targets.into_iter().for_each(|target| found.add_counts(target, looked_at, denied));
}

/// Those that hold nothing, wherever they live by now, at a fraction of what a close look costs.
pub(super) fn clear(pids: &[u32], spaces: &[Space], found: &Searches) -> BTreeSet<u32> {
    let places = spaces.iter().flat_map(|space| &space.copies).map(|copy| copy.mount_point.as_bytes());
    sys::unrelated_pids(pids, &places.chain([NAMESPACE]).collect(), found.end())
}

/// By `cwd`, `root` and `exe`. They tell no mount id, so the path must decide.
pub(super) fn directories(who: &Who<'_>, space: &Space, found: &mut Searches) {
    let names = ["cwd", "root", "exe"];
    for (link, path) in names.into_iter().zip(who.dir.links(names)) {
        let Some(path) = path else { continue };
        if !space.could_hold(&path) {
            continue;
        }
        let path = HostPath::new(path);
        let how = match link {
            "cwd" => How::Cwd(path.clone()),
            "root" => How::Root(path.clone()),
            _ => How::Exe(path.clone()),
        };
        for copy in space.copies_at(&path) {
            found.process(copy.target, who, how.clone(), copy.kind);
        }
    }
}

/// By open descriptors: exact, because `fdinfo` names the mount.
pub(super) fn walk(who: &Who<'_>, spaces: &[Space], found: &mut Searches) -> Walk {
    let walk = descriptors::walk(who.dir, found.end(), |fd, path| {
        if path == sys::IO_URING {
            return registered(who, fd, path, spaces, found);
        }
        if let Some(namespace) = mount_namespace(path) {
            return found.kept_namespace(namespace);
        }
        if !path.starts_with(b"/") || !spaces.iter().any(|space| space.could_hold(path)) {
            return;
        }
        let Some(mount_id) = mount_id(who.dir, fd, path) else { return };
        for copy in copies_with_id(spaces, mount_id) {
            let how = How::Fd { fd, path: HostPath::new(path) };
            found.process(copy.target, who, how, copy.kind);
        }
    });
    found.walked(who.pid, walk);
    walk
}

/// The inode in the name of a mount namespace.
pub(super) fn mount_namespace(name: &[u8]) -> Option<u64> {
    std::str::from_utf8(name.strip_prefix(NAMESPACE)?.strip_suffix(b"]")?).ok()?.parse().ok()
}

/// Files that are registered with an io_uring stay open when their descriptors are closed.
fn registered(who: &Who<'_>, fd: u32, link: &[u8], spaces: &[Space], found: &mut Searches) {
    let Ok(info) = who.dir.fdinfo(fd, link) else { return };
    for path in parse::registered_files(&info) {
        for space in spaces.iter().filter(|space| space.ns == who.ns) {
            for copy in space.copies_at(&path) {
                found.process(copy.target, who, How::Ring { fd, path: path.clone() }, copy.kind);
            }
        }
    }
}

/// The mount a descriptor was opened through.
pub(super) fn mount_id(dir: &ProcDir, fd: u32, link: &[u8]) -> Option<u32> {
    parse::fdinfo(&dir.fdinfo(fd, link).ok()?).mount_id
}

/// The copies that are the mount `id`; ids are unique in the whole system.
pub(super) fn copies_with_id(spaces: &[Space], id: u32) -> impl Iterator<Item = &MountCopy> {
    spaces.iter().flat_map(|space| &space.copies).filter(move |copy| copy.id == id)
}
