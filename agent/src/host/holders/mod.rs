//! Who keeps a mount from being unmounted.
//!
//! `umount` fails with "busy" when something holds the mount itself *or a copy that propagation
//! ties to it*: the kernel's `propagate_mount_busy` goes through the peers and slaves of the
//! mount it stands on, in every mount namespace. The submodule `copies` finds them by the same rule.
//!
//! All is passive: mountinfo, links and fdinfo resolve no path, so the holders of a dead NFS or FUSE mount can be found too.
//! Only what is left without a found holder (mapped files, detached mounts) needs the disposable child.
//!
//! Cost: one link per process, each namespace's table once, and 3.2 µs per descriptor of the
//! processes in namespaces that have a copy; `fdinfo` (6 µs) only where the link fits.

mod bound_sockets;
mod copies;
mod deep;
mod loops;
mod places;
mod scan;
mod searches;
mod sockets;
mod space;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use places::Places;
use searches::Searches;

use super::{mounts::MountReader, prober::Prober, process_index::ProcessIndex};
use crate::observation::{CopyKind, HolderSearch, Mount, MountTable, Seen};

#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Who may look for mapped files and detached mounts when nothing else holds the mount;
    /// `None` to leave that out.
    pub prober: Option<&'a Prober>,
    /// Who lives where, if it is known already.
    pub process_index: Option<&'a ProcessIndex>,
    /// How long such a child may take.
    pub deadline: Duration,
    /// How long the descriptors of all processes together may take. Whose were not reached counts as unreadable.
    pub walk: Duration,
    /// The most holders that are kept for one mount; those that block come first.
    pub at_most: usize,
}

/// Three million descriptors.
const WALK_TIMEOUT: Duration = Duration::from_secs(10);

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            prober: None,
            process_index: None,
            deadline: Duration::from_secs(2),
            walk: WALK_TIMEOUT,
            at_most: 100,
        }
    }
}

/// Searches the holders of several mounts of the kubelet's namespace in one go; the answers are
/// in the order of `targets`.
///
/// Mounts that stand on a target keep it as well, but are no holders: the table shows them.
pub fn search(
    targets: &[Mount],
    kubelet: &MountTable,
    reader: &mut MountReader,
    options: &Options<'_>,
) -> Vec<HolderSearch> {
    if targets.is_empty() {
        return Vec::new();
    }
    let all = ProcessIndex::known_or_read(options.process_index);
    let (mut tables, mut unread) = (Vec::new(), 0);
    let mut spaces = Vec::new();
    let mut searches = Searches::new(targets, Instant::now() + options.walk, options.at_most);
    // First only namespaces that have a mount as young as a target: a copy is made with its original or later. What has an
    // older original elsewhere is searched when no other holder is found.
    for floor in [space::floor(targets, kubelet, all.group_by_mount_ns().pids.len()), None] {
        let known: Vec<u64> = spaces.iter().map(|space: &space::Space| space.ns).collect();
        (tables, unread) = space::tables(&all.group_by_mount_ns().pids, kubelet, floor, reader);
        spaces = copies::spaces(targets, kubelet.ns, &tables);
        let new = || spaces.iter().filter(|space| !known.contains(&space.ns));
        let mut places = kubelet_places(kubelet, &tables);
        new().for_each(|space| sockets::read(space, &mut places, &mut searches));
        let pids: Vec<u32> = new().flat_map(|space| &space.pids).copied().collect();
        let clear = scan::clear(&pids, &spaces, searches.end(), Some(&searches.sockets));
        new().for_each(|space| scan::processes(space, &spaces, &clear, &mut searches));
        sockets::follow_strays(&spaces, &all, &mut places, &mut searches);
        let all_explained = (0..targets.len()).all(|target| searches.explains(target));
        if floor.is_none() || all_explained {
            break;
        }
    }
    let is_partial = |namespace: &&space::Namespace| namespace.table.fault().is_some();
    let behind: usize = tables.iter().filter(is_partial).map(|namespace| namespace.pids.len()).sum();
    unread += u32::try_from(behind).unwrap_or(u32::MAX);
    loops::backing_files(&spaces, kubelet.ns, &mut searches);
    deep::search(targets, &spaces, &tables, &all, options, &mut searches);
    sockets::candidates(&spaces, &mut kubelet_places(kubelet, &tables), options, &mut searches);
    let kept = kept_namespaces(&tables, &searches.kept_namespaces, &all);
    let mut found = searches.finish(all.group_by_mount_ns().unreadable, unread);
    found.iter_mut().for_each(|search| search.unsearched_namespaces = kept);
    found
}

fn kubelet_places<'a>(kubelet: &'a MountTable, tables: &'a [space::Namespace]) -> Places<'a> {
    Places::new(kubelet, tables.iter().map(|namespace| &*namespace.table).find(|table| table.ns == kubelet.ns))
}

/// How many mount namespaces without a process are kept by a bind mount of them, or by a descriptor of a process that was
/// looked at.
fn kept_namespaces(tables: &[space::Namespace], by_descriptor: &BTreeSet<u64>, all: &ProcessIndex) -> u32 {
    let mut kept = by_descriptor.clone();
    for namespace in tables {
        namespace.table.mounts(|mount| {
            if mount.fs_type() == b"nsfs" {
                kept.extend(scan::mount_namespace(&mount.root()));
            }
            false
        });
    }
    kept.retain(|inode| !all.group_by_mount_ns().pids.contains_key(inode));
    u32::try_from(kept.len()).unwrap_or(u32::MAX)
}

/// A search without a holder so far.
fn empty(target: &Mount) -> HolderSearch {
    HolderSearch {
        mount_point: target.mount_point.clone(),
        dev: target.dev,
        holders: Vec::new(),
        looked_at: 0,
        unreadable: 0,
        behind_unread_tables: 0,
        unsearched_namespaces: 0,
        socket_candidates: Vec::new(),
        mappings: Seen::Missing,
    }
}

/// Whether holding such a copy makes `umount` fail.
fn blocks(copy: CopyKind) -> bool {
    matches!(copy, CopyKind::Original | CopyKind::Propagated)
}
