//! The first pass: working directory, root, program and descriptors of every process in a
//! namespace that has a copy.

use std::collections::BTreeSet;

use super::{
    searches::{Searches, Who},
    space::{MountCopy, Space},
};
use crate::{
    host::mounts::living,
    observation::{HostPath, How},
    parse,
    sys::{self, ProcDir},
};

/// Looks at every process of `space`. Descriptors may lead into any of `spaces`: they stay where
/// they were opened when a process changes its namespace.
pub(super) fn processes(space: &Space, spaces: &[Space], found: &mut Searches) {
    let (mut looked_at, mut unreadable) = (0, 0);
    for pid in &space.pids {
        let Ok((dir, ns)) = living(*pid) else { continue };
        // It has moved, or the pid is another process's by now.
        if ns != space.ns {
            continue;
        }
        let who = Who { pid: *pid, dir: &dir, ns };
        directories(&who, space, found);
        if descriptors(&who, spaces, found) {
            looked_at += 1;
        } else {
            unreadable += 1;
        }
    }
    let targets: BTreeSet<usize> = space.copies.iter().map(|copy| copy.target).collect();
    targets.into_iter().for_each(|target| found.looked_at(target, looked_at, unreadable));
}

/// By `cwd`, `root` and `exe`. They tell no mount id, so the path must decide.
pub(super) fn directories(who: &Who<'_>, space: &Space, found: &mut Searches) {
    for link in ["cwd", "root", "exe"] {
        let Ok(path) = who.dir.link(link) else { continue };
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

/// By open descriptors: exact, because `fdinfo` names the mount. `false` when they may not be seen.
pub(super) fn descriptors(who: &Who<'_>, spaces: &[Space], found: &mut Searches) -> bool {
    each_descriptor(who.dir, |fd, path| {
        if !path.starts_with(b"/") || !spaces.iter().any(|space| space.could_hold(path)) {
            return;
        }
        let Some(mount_id) = mount_id(who.dir, fd, path) else { return };
        for copy in copies_with_id(spaces, mount_id) {
            let how = How::Fd { fd, path: HostPath::new(path) };
            found.process(copy.target, who, how, copy.kind);
        }
    })
}

/// Every descriptor of a process and where its link points; `false` when they may not be seen.
pub(in crate::host) fn each_descriptor(dir: &ProcDir, mut see: impl FnMut(u32, &[u8])) -> bool {
    match dir.open_list("fd") {
        Ok(list) => {
            // A list that breaks off is that of a process that ends.
            let _ = list.each_link(&mut see);
            true
        }
        Err(error) => sys::is_gone(&error),
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
