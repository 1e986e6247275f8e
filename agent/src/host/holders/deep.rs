//! The second pass, only for targets that nothing found so far explains: rarer ways to hold a
//! mount, at a higher price.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::Options;
use super::scan::{clear, directories, mount_id, walk};
use super::searches::{ProcessVisit, Searches, facts};
use super::space::{Namespace, Space};
use crate::host::descriptors::{self, Walk};
use crate::host::mounts::living;
use crate::host::prober::{Mapping, Prober};
use crate::host::process_index::ProcessIndex;
use crate::observation::{CopyKind, HeldBy, HostPath, Mount};
use crate::sys::ProcDir;

/// The most links that one child is asked about.
const MAX_PLACES: usize = 2000;

/// Looks for what the first pass cannot see.
pub(super) fn search(
    targets: &[Mount],
    spaces: &[Space],
    tables: &[Namespace],
    all: &ProcessIndex,
    options: &Options<'_>,
    found: &mut Searches,
) {
    let open: Vec<usize> = (0..targets.len()).filter(|target| !found.explains(*target)).collect();
    if open.is_empty() {
        return;
    }
    for space in spaces {
        threads(space, spaces, found);
    }
    elsewhere(spaces, all, found);
    let Some(prober) = options.prober else { return };
    for target in open {
        if !found.explains(target) {
            mappings(target, spaces, prober, options, found);
        }
        if !found.explains(target) {
            detached(target, spaces, tables, prober, options, found);
        }
    }
}

/// Threads may have a working directory or descriptors of their own (`unshare(CLONE_FS)`), even a
/// mount namespace of their own, as the helper threads of Go runtimes do.
fn threads(space: &Space, spaces: &[Space], found: &mut Searches) {
    for pid in &space.pids {
        let Ok(leader) = ProcDir::open(*pid) else { continue };
        let tids = leader.list("task").unwrap_or_default();
        for tid in tids.iter().filter_map(|entry| entry.name.to_str()?.parse::<u32>().ok()).filter(|tid| tid != pid) {
            let Ok(dir) = ProcDir::open_thread(*pid, tid) else { continue };
            let Ok(ns) = dir.namespace("mnt") else { continue };
            let who = ProcessVisit { pid: *pid, dir: &dir, ns };
            if ns == space.ns {
                directories(&who, space, found);
            } else {
                spaces.iter().filter(|other| other.ns == ns).for_each(|other| directories(&who, other, found));
                walk(&who, spaces, found);
            }
        }
    }
}

/// Processes in namespaces without a copy: a descriptor stays on its mount when its process moves
/// to another namespace.
fn elsewhere(spaces: &[Space], all: &ProcessIndex, found: &mut Searches) {
    let known: BTreeSet<u64> = spaces.iter().map(|space| space.ns).collect();
    let others = all.group_by_mount_ns().pids.iter().filter(|(ns, _)| !known.contains(ns));
    let others: Vec<u32> = others.flat_map(|(_, pids)| pids).copied().collect();
    let clear = clear(&others, spaces, found.end(), None);
    for pid in others.into_iter().filter(|pid| !clear.contains(pid)) {
        if let Ok((dir, ns)) = living(pid) {
            walk(&ProcessVisit { pid, dir: &dir, ns }, spaces, found);
        }
    }
}

/// The process that the child saw, unless another one has its pid by now.
fn same_process(pid: u32, start_ticks: u64) -> Option<(ProcDir, u64)> {
    let (dir, ns) = living(pid).ok()?;
    let (_, leader, _) = facts(&ProcessVisit { pid, dir: &dir, ns })?;
    (leader.start_ticks == start_ticks).then_some((dir, ns))
}

/// Files that are mapped and whose descriptor is closed.
fn mappings(target: usize, spaces: &[Space], prober: &Prober, options: &Options<'_>, found: &mut Searches) {
    let Some(dev) = found.dev(target) else { return };
    let with_copy = || spaces.iter().filter(|space| space.copies.iter().any(|copy| copy.target == target));
    let pids: Vec<u32> = with_copy().flat_map(|space| space.pids.iter().copied()).collect();
    let seen = prober.mappings(dev, &pids, options.deadline);
    for Mapping { pid, start_ticks, path, .. } in seen.found {
        let Some((dir, ns)) = same_process(pid, start_ticks) else { continue };
        let who = ProcessVisit { pid, dir: &dir, ns };
        for space in with_copy().filter(|space| space.ns == ns) {
            for copy in space.copies_at(&path).filter(|copy| copy.target == target) {
                found.process(target, &who, HeldBy::Mapping(path.clone()), copy.kind);
            }
        }
    }
    found.mappings(target, u32::try_from(seen.looked_at.len()).unwrap_or(u32::MAX), seen.fault);
}

/// Mounts of the same file system that stand in no table any more (`umount -l`): the links of their holders have lost their
/// beginning, so only the child can identify them: it asks the kernel where a link leads.
fn detached(
    target: usize,
    spaces: &[Space],
    tables: &[Namespace],
    prober: &Prober,
    options: &Options<'_>,
    found: &mut Searches,
) {
    let Some(dev) = found.dev(target) else { return };
    let holders = found.pids(target);
    let known = mount_ids(tables);
    let mut asked: BTreeMap<(u32, String), (u64, HeldBy)> = BTreeMap::new();
    let with_copy = spaces.iter().filter(|space| space.copies.iter().any(|copy| copy.target == target));
    for pid in with_copy.flat_map(|space| &space.pids).filter(|pid| !holders.contains(pid)) {
        let Ok((dir, ns)) = living(*pid) else { continue };
        if let Ok(path) = dir.link("cwd") {
            asked.insert((*pid, "cwd".to_owned()), (ns, HeldBy::Cwd(HostPath::new(path))));
        }
        let mut has_more = false;
        let walk = descriptors::walk(&dir, found.end(), |fd, path| {
            let on_file_system = path.starts_with(b"/") && !path.starts_with(b"/dev/") && !path.starts_with(b"/memfd:");
            if has_more || !on_file_system || mount_id(&dir, fd, path).is_none_or(|id| known.contains(&id)) {
                return;
            }
            has_more = asked.len() >= MAX_PLACES;
            if !has_more {
                asked.insert((*pid, format!("fd/{fd}")), (ns, HeldBy::Fd { fd, path: HostPath::new(path) }));
            }
        });
        found.walked(*pid, if has_more { Walk::CutOff } else { walk });
    }
    let links: Vec<(u32, String)> = asked.keys().cloned().collect();
    for place in prober.places(&links, options.deadline) {
        if place.dev != dev || place.mount_id.is_none_or(|id| known.contains(&id)) {
            continue;
        }
        let Some((ns, how)) = asked.remove(&(place.pid, place.link)) else { continue };
        if let Some((dir, _)) = same_process(place.pid, place.start_ticks) {
            found.process(target, &ProcessVisit { pid: place.pid, dir: &dir, ns }, how, CopyKind::Detached);
        }
    }
}

/// Every mount that stands in a table.
fn mount_ids(tables: &[Namespace]) -> HashSet<u32> {
    let mut ids = HashSet::new();
    for namespace in tables {
        namespace.table.mounts(|mount| {
            ids.insert(mount.id);
            false
        });
    }
    ids
}
