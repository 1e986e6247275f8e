//! One mount namespace, as far as it matters for the search.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::host::HostRoot;
use crate::host::mounts::{MountReader, Table};
use crate::host::tree::Tree;
use crate::observation::{CopyKind, HostPath, Mount, MountTable, covering, is_path_within};
use crate::sys::{self, ProcDir};

/// A namespace in which at least one target has a copy.
pub(super) struct Space {
    /// Inode of the namespace.
    pub ns: u64,
    pub pids: Vec<u32>,
    /// The copies of targets in it.
    pub copies: Vec<MountCopy>,
    /// The copies, what they stand on and what stands on or below them; mount points as the links
    /// of `/proc` show them.
    pub mounts: Vec<Mount>,
}

/// A copy of a target.
#[derive(Clone, Debug)]
pub(super) struct MountCopy {
    pub target: usize,
    /// The mount, unique in the system.
    pub id: u32,
    /// Where, as the links of `/proc` show it.
    pub mount_point: HostPath,
    /// What it is to the target.
    pub kind: CopyKind,
}

impl Space {
    /// Whether `path` could lie on one of the copies: cheap, and true for more than do.
    pub(super) fn could_hold(&self, path: &[u8]) -> bool {
        self.copies.iter().any(|copy| is_path_within(path, copy.mount_point.as_bytes()))
    }

    /// The copies that show `path`: the deepest mount on the way decides.
    pub(super) fn copies_at(&self, path: &HostPath) -> impl Iterator<Item = &MountCopy> {
        let shown_by = self.could_hold(path.as_bytes()).then(|| covering(&self.mounts, path)).flatten();
        let id = shown_by.map(|mount| mount.id);
        self.copies.iter().filter(move |copy| Some(copy.id) == id)
    }
}

/// A namespace's table and its processes.
pub(super) struct Namespace {
    pub pids: Vec<u32>,
    pub table: Arc<Table>,
}

/// So many mounts may have been made by others while one was propagated.
const MAX_CONCURRENT_MOUNTS: u64 = 64;
/// It is asked for so long whether namespaces have a younger mount.
const LISTMOUNT_TIMEOUT: Duration = Duration::from_secs(2);

/// The unique number from which on mounts may be copies of one of `targets`; `None` where this kernel does not show it, or
/// where the call could wait for a server.
///
/// Copies that a mount propagates to are numbered with it, one of them in each of at most `namespaces`. Those of a
/// target that is a copy itself may have been made before it, and so was what it was propagated from.
pub(super) fn floor(targets: &[Mount], kubelet: &MountTable, namespaces: usize) -> Option<u64> {
    let view = HostRoot::new(format!("/proc/{}/root", kubelet.through_pid));
    let number = |target: &Mount| {
        let above = target.mount_point.parent()?;
        let is_safe = !target.needs_server() || target.fuse_connection().is_some();
        let tree = is_safe.then(|| Tree::open(&view, &above, &kubelet.mounts))?;
        tree.get()?.unique_mount_id(&target.mount_point)
    };
    let numbers: Option<Vec<u64>> = targets.iter().map(number).collect();
    let before = u64::try_from(namespaces).unwrap_or(u64::MAX).saturating_add(MAX_CONCURRENT_MOUNTS);
    numbers?.into_iter().min().map(|oldest| oldest.saturating_sub(before))
}

/// The table of every namespace that has processes and, if `floor` is given, a mount above it; the
/// kubelet's first; and how many processes live in namespaces whose table could not be read.
pub(super) fn tables(
    by_namespace: &BTreeMap<u64, Vec<u32>>,
    kubelet: &MountTable,
    floor: Option<u64>,
    reader: &mut MountReader,
) -> (Vec<Namespace>, u32) {
    let (mut tables, mut unread) = (Vec::new(), 0);
    let kubelets = by_namespace.get(&kubelet.ns).cloned().unwrap_or_default();
    if let Ok(table) = reader.table(kubelet.through_pid) {
        tables.push(Namespace { pids: kubelets, table });
    }
    let others = || by_namespace.iter().filter(|(ns, _)| **ns != kubelet.ns).map(|(_, pids)| pids);
    let firsts: Vec<u32> = others().filter_map(|pids| pids.first().copied()).collect();
    let end = Instant::now() + LISTMOUNT_TIMEOUT;
    // A namespace whose age is unknown is not left out.
    let older = floor.map(|floor| sys::pids_where(&firsts, end, |first| Ok(!first.has_mount_after(floor)?)));
    for pids in others() {
        if older.as_ref().is_some_and(|older| pids.first().is_some_and(|first| older.contains(first))) {
            continue;
        }
        let mut is_gone = true;
        let read = preferred(pids)
            .into_iter()
            .find_map(|pid| reader.table(pid).inspect_err(|error| is_gone = is_gone && sys::is_gone(error)).ok());
        match read {
            Some(table) => tables.push(Namespace { pids: pids.clone(), table }),
            None if is_gone => {}
            None => unread += u32::try_from(pids.len()).unwrap_or(u32::MAX),
        }
    }
    (tables, unread)
}

/// A few processes to read the namespace through. One that lives in a chroot sees only the mounts
/// in there, so it comes last.
fn preferred(pids: &[u32]) -> Vec<u32> {
    let in_chroot = |pid: &u32| ProcDir::open(*pid).and_then(|dir| dir.link("root")).is_ok_and(|root| root != b"/");
    let mut few: Vec<u32> = pids.iter().copied().take(8).collect();
    if let Some(free) = few.iter().position(|pid| !in_chroot(pid)) {
        few.swap(0, free);
    }
    few
}
