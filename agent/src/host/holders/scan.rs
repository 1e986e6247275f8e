//! The first pass: working directory, root, program and descriptors of every process in a
//! namespace that has a copy.

use std::{collections::BTreeSet, io, ops::ControlFlow, time::Instant};

use super::bound_sockets::Sockets;
use super::searches::{ProcessVisit, Searches};
use super::sockets;
use super::space::{MountCopy, Space};
use crate::host::descriptors::{self, Walk};
use crate::host::mounts::living;
use crate::host::socket_list;
use crate::observation::{HeldBy, HostPath};
use crate::parse;
use crate::sys::{self, ProcDir, Visit};

/// How the link of a descriptor of a mount namespace begins, and the root of one that is mounted.
const NAMESPACE: &[u8] = b"mnt:[";

/// Looks at every process of `space` that is not `clear`. Descriptors may lead into any of `spaces`: they stay where
/// they were opened when a process changes its namespace.
pub(super) fn processes(space: &Space, spaces: &[Space], clear: &BTreeSet<u32>, found: &mut Searches) {
    let (mut looked_at, mut denied) = (0, 0);
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
        let who = ProcessVisit { pid: *pid, dir: &dir, ns };
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
pub(super) fn clear(pids: &[u32], spaces: &[Space], end: Instant, sockets: Option<&Sockets>) -> BTreeSet<u32> {
    let places = spaces.iter().flat_map(|space| &space.copies).map(|copy| copy.mount_point.as_bytes());
    let places = beginnings(places.chain([NAMESPACE]).collect());
    sys::pids_where(pids, end, |visit| has_nothing(visit, &places, sockets))
}

/// A zombie's threads may live, and one that ends needs a second look too: their links cannot be read.
fn has_nothing(visit: &Visit<'_>, places: &[&[u8]], sockets: Option<&Sockets>) -> io::Result<bool> {
    if begins_with_one(&visit.link("cwd")?, places) || begins_with_one(&visit.link("root")?, places) {
        return Ok(false);
    }
    match visit.link("exe") {
        Ok(program) if begins_with_one(&program, places) => return Ok(false),
        // A thread of the kernel has none.
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // Files may be registered with an io_uring that have no descriptor.
    let is_meant = |fd: u32, link: &[u8]| {
        begins_with_one(link, places)
            || link == sys::IO_URING
            || sockets.is_some_and(|sockets| sockets.is_one(link, || visit.fdinfo(fd, link)))
    };
    let walk = visit.descriptors(|fd, link| match is_meant(fd, link) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    })?;
    Ok(walk.is_continue())
}

/// Those of `places` that begin with no other one, in their order.
fn beginnings(places: BTreeSet<&[u8]>) -> Vec<&[u8]> {
    let mut left: Vec<&[u8]> = Vec::new();
    for place in places {
        if left.last().is_none_or(|last| !place.starts_with(last)) {
            left.push(place);
        }
    }
    left
}

/// As none of `places` begins with another one, only the last before `link` can be its beginning.
fn begins_with_one(link: &[u8], places: &[&[u8]]) -> bool {
    let after = places.partition_point(|place| *place <= link);
    after.checked_sub(1).and_then(|last| places.get(last)).is_some_and(|place| link.starts_with(place))
}

/// By `cwd`, `root` and `exe`. They show no mount id, so the path must decide.
pub(super) fn directories(who: &ProcessVisit<'_>, space: &Space, found: &mut Searches) {
    let names = ["cwd", "root", "exe"];
    for (link, path) in names.into_iter().zip(who.dir.links(names)) {
        let Some(path) = path else { continue };
        if !space.could_hold(&path) {
            continue;
        }
        let path = HostPath::new(path);
        let how = match link {
            "cwd" => HeldBy::Cwd(path.clone()),
            "root" => HeldBy::Root(path.clone()),
            _ => HeldBy::Exe(path.clone()),
        };
        for copy in space.copies_at(&path) {
            found.process(copy.target, who, how.clone(), copy.kind);
        }
    }
}

/// By open descriptors: exact, because `fdinfo` names the mount.
pub(super) fn walk(who: &ProcessVisit<'_>, spaces: &[Space], found: &mut Searches) -> Walk {
    let walk = descriptors::walk(who.dir, found.end(), |fd, path| {
        if path == sys::IO_URING {
            return registered(who, fd, path, spaces, found);
        }
        if let Some(namespace) = mount_namespace(path) {
            found.kept_namespaces.insert(namespace);
            return;
        }
        if let Some(inode) = socket_list::inode(path) {
            return sockets::see(who, fd, inode, spaces, found);
        }
        if !path.starts_with(b"/") || !spaces.iter().any(|space| space.could_hold(path)) {
            return;
        }
        let Some(mount_id) = mount_id(who.dir, fd, path) else { return };
        for copy in copies_with_id(spaces, mount_id) {
            let how = HeldBy::Fd { fd, path: HostPath::new(path) };
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
fn registered(who: &ProcessVisit<'_>, fd: u32, link: &[u8], spaces: &[Space], found: &mut Searches) {
    let Ok(info) = who.dir.fdinfo(fd, link) else { return };
    for path in parse::registered_files(&info) {
        for space in spaces.iter().filter(|space| space.ns == who.ns) {
            for copy in space.copies_at(&path) {
                found.process(copy.target, who, HeldBy::Ring { fd, path: path.clone() }, copy.kind);
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

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;
    use std::process::{Child, Command};
    use std::time::Duration;

    use super::*;

    fn sleeper(script: &str) -> Child {
        Command::new("sh").args(["-c", &format!("{script}; exec sleep 60")]).spawn().unwrap()
    }

    #[test]
    fn clears_only_who_has_nothing_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        let shown = path.display();
        std::fs::create_dir(path.join("inside")).unwrap();
        let mut children = [
            "cd /".to_owned(),
            format!("cd {shown}/inside"),
            format!("cd /; exec 9>{shown}/file; rm {shown}/file"),
            // Beyond the numbers that are tried without a listing.
            format!("cd /; exec 9</; exec bash -c 'exec 300>{shown}/far; exec sleep 60'"),
        ]
        .map(|script| sleeper(&script));
        let pids: Vec<u32> = children.iter().map(Child::id).collect();
        let asked = |path: &[u8], in_time| {
            sys::pids_where(&pids, Instant::now() + in_time, |visit| has_nothing(visit, &[path], None))
        };
        let (soon, here) = (Duration::from_secs(5), path.as_os_str().as_bytes());
        // Until each is where it goes.
        let until = Instant::now() + soon;
        while asked(here, soon).len() != 1 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        let (clear, elsewhere, late) = (asked(here, soon), asked(b"/nowhere", soon), asked(here, Duration::ZERO));
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(clear, [pids[0]].into());
        assert_eq!(elsewhere, pids.iter().copied().collect());
        assert!(late.is_empty());
        assert!(asked(here, soon).is_empty(), "no process is left to search");
    }

    #[test]
    fn a_place_is_found_among_many() {
        let places: Vec<&[u8]> = vec![b"/a", b"/a/b", b"/k/pods/1", b"/k/pods/3", b"mnt:["];
        let places = beginnings(places.into_iter().collect());
        assert_eq!(places.len(), 4, "/a/b begins with /a");
        for link in ["/a", "/a/b", "/ab", "/a/z", "/k/pods/1", "/k/pods/1/x", "/k/pods/3 (deleted)", "mnt:[1]"] {
            assert!(begins_with_one(link.as_bytes(), &places), "{link}");
        }
        for link in ["/", "/k", "/k/pods/2/x", "/0", "pipe:[1]", "/z"] {
            assert!(!begins_with_one(link.as_bytes(), &places), "{link}");
        }
    }
}
