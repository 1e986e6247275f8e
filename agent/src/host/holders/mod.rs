//! Who keeps a mount from being unmounted.
//!
//! `umount` fails with "busy" when something holds the mount itself *or a copy that propagation
//! ties to it*: the kernel's `propagate_mount_busy` goes through the peers and slaves of the
//! mount it stands on, in every mount namespace, and that is why `fuser` on the host may name
//! nobody. The submodule `copies` finds them by the same rule.
//!
//! All is passive: mountinfo, links and fdinfo resolve no path, so the holders of a dead NFS or
//! FUSE mount can be found too. Only what is left when nobody was found (mapped files, detached
//! mounts) needs the disposable child.
//!
//! Cost: one link per process, each namespace's table once, and 3.2 µs per descriptor of the
//! processes in namespaces that have a copy; `fdinfo` (6 µs) only where the link fits.

mod copies;
mod deep;
mod found;
mod loops;
mod scan;
mod sockets;
mod space;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, time::Duration};

use found::Found;
pub(super) use scan::each_descriptor;

use super::{
    child::Prober,
    mounts::{MountReader, living},
};
use crate::{
    observation::{Copy, HolderSearch, Mount, MountTable, Seen},
    sys,
};

/// How to search.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Who may look for mapped files and detached mounts when nothing else holds the mount;
    /// `None` to leave that out.
    pub prober: Option<&'a Prober>,
    /// How long such a child may take.
    pub deadline: Duration,
    /// The most holders that are kept for one mount; those that block come first.
    pub at_most: usize,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options { prober: None, deadline: Duration::from_secs(2), at_most: 100 }
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
    let all = Processes::list();
    let tables = space::tables(&all.by_namespace, kubelet, reader);
    let spaces = copies::spaces(targets, kubelet.ns, &tables);
    let mut found = Found::new(targets);
    for space in &spaces {
        scan::processes(space, &spaces, &mut found);
    }
    loops::backing_files(&spaces, kubelet.ns, &mut found);
    deep::search(targets, &spaces, &tables, &all, options, &mut found);
    found.finish(all.unreadable, options.at_most)
}

/// All processes but this one, by mount namespace.
struct Processes {
    by_namespace: BTreeMap<u64, Vec<u32>>,
    unreadable: u32,
}

impl Processes {
    fn list() -> Self {
        let mut all = Processes { by_namespace: BTreeMap::new(), unreadable: 0 };
        let me = std::process::id();
        for pid in sys::pids().unwrap_or_default().into_iter().filter(|pid| *pid != me) {
            match living(pid) {
                Ok((_, ns)) => all.by_namespace.entry(ns).or_default().push(pid),
                // Gone, or a zombie that holds nothing.
                Err(error) if is_gone(&error) => {}
                Err(_) => all.unreadable += 1,
            }
        }
        all
    }
}

/// The process has gone, or has no files any more.
fn is_gone(error: &std::io::Error) -> bool {
    // Errors that carry their path have lost their number: ESRCH is known by its text.
    sys::is_gone(error)
}

/// A search in which nobody was found yet.
fn empty(target: &Mount) -> HolderSearch {
    HolderSearch {
        mount_point: target.mount_point.clone(),
        dev: target.dev,
        holders: Vec::new(),
        looked_at: 0,
        unreadable: 0,
        mappings: Seen::Missing,
    }
}

/// Whether holding such a copy makes `umount` fail.
fn blocks(copy: Copy) -> bool {
    matches!(copy, Copy::Original | Copy::Propagated)
}
