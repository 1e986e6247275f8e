//! Mount tables of the namespaces that matter, cut down to what matters.
//!
//! A table is read through a process that lives in the namespace (`/proc/<pid>/mountinfo`), the host's
//! also by `statmount`; that touches no file system. 1.85 µs per mount were measured, nearly all of it in the kernel, so
//! each namespace is read once per look.

mod first;
mod living;
mod path;
#[cfg(test)]
pub(crate) mod staged;
#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, HashSet},
    io,
    sync::Arc,
};

pub use first::FirstTable;
pub(super) use living::living;
pub(super) use path::within;
pub use path::{covering, touchable, way};

use crate::{
    observation::{Dev, Fault, HostPath, Mount, MountTable, Seen},
    parse::mountinfo::{Parsed, RawMount, mounts},
};

/// The longest table that is read, in bytes; 100,000 mounts (the kernel's default limit) have
/// about 20 MB.
const TABLE_CAP: usize = 64 << 20;
/// How many bytes of tables are kept for another question in the same look.
const KEEP_CAP: usize = 16 << 20;

/// Reads mount tables, each namespace once. Lives for one look at the node.
pub struct MountReader {
    kubelet_root: HostPath,
    tables: HashMap<u64, Arc<Table>>,
    kept_bytes: usize,
    first: FirstTable,
    faults: Vec<Fault>,
}

/// A table in the form of mountinfo.
pub(in crate::host) struct Table {
    /// Inode of the namespace.
    pub ns: u64,
    /// Through which process it was read.
    pub through_pid: u32,
    /// The root directory of that process. Its mount points are relative to it, and mounts
    /// outside are not in the table; the links of `/proc` are relative to the namespace's root.
    pub root: Vec<u8>,
    /// The text.
    pub bytes: Vec<u8>,
}

impl MountReader {
    /// A reader for a node whose kubelet keeps its pods below `kubelet_root`.
    pub fn new(kubelet_root: HostPath) -> Self {
        let first = FirstTable::default();
        MountReader { kubelet_root, tables: HashMap::new(), kept_bytes: 0, first, faults: Vec::new() }
    }

    /// With a table that need not be read again.
    pub fn knowing(self, first: FirstTable) -> Self {
        MountReader { first, ..self }
    }

    /// The table of the kubelet's namespace: mounts at, below and above its directory, and file
    /// systems that need a server, each with all mounts it stands on.
    pub fn kubelet(&mut self, pid: u32) -> Seen<MountTable> {
        let root = self.kubelet_root.clone();
        self.filtered(pid, |mount| {
            let point = mount.mount_point();
            path::within(&point, root.as_bytes()) || path::within(root.as_bytes(), &point) || mount.needs_server()
        })
    }

    /// Of another namespace (pid 1's) the mounts at or below the kubelet's directory, with those
    /// they stand on.
    pub fn below_root(&mut self, pid: u32) -> Seen<MountTable> {
        let root = self.kubelet_root.clone();
        self.filtered(pid, |mount| path::within(&mount.mount_point(), root.as_bytes()))
    }

    /// Of any namespace the file systems that need a server and those of `devs`, with the mounts
    /// they stand on.
    pub fn other(&mut self, pid: u32, devs: &[Dev]) -> Seen<MountTable> {
        self.filtered(pid, |mount| devs.contains(&mount.dev) || mount.needs_server())
    }

    /// The root file systems of these containers, as the runtime mounts them.
    pub fn rootfs(&mut self, pid: u32, containers: &[String]) -> Seen<Vec<Mount>> {
        let ends: Vec<String> = containers.iter().map(|id| format!("/{id}/rootfs")).collect();
        let is_one = |mount: &RawMount<'_>| ends.iter().any(|end| mount.mount_point().ends_with(end.as_bytes()));
        let table = super::seen(self.table(pid));
        table.map(|table| mounts(&table.bytes, is_one).mounts)
    }

    /// What was odd in the tables.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// The table of the namespace that `pid` is in, read or from before.
    pub(super) fn table(&mut self, pid: u32) -> io::Result<Arc<Table>> {
        let (dir, ns) = living(pid)?;
        if let Some(table) = self.tables.get(&ns) {
            return Ok(Arc::clone(table));
        }
        let bytes = self.first.read_or_take(&dir, ns)?;
        let root = dir.link("root").unwrap_or_else(|_| b"/".to_vec());
        let table = Arc::new(Table { ns, through_pid: pid, root, bytes });
        if self.kept_bytes + table.bytes.len() <= KEEP_CAP {
            self.kept_bytes += table.bytes.len();
            self.tables.insert(ns, Arc::clone(&table));
        }
        Ok(table)
    }

    fn filtered(&mut self, pid: u32, keep: impl Fn(&RawMount<'_>) -> bool) -> Seen<MountTable> {
        let source = format!("/proc/{pid}/mountinfo");
        let table = match super::seen(self.table(pid)) {
            Seen::Seen(table) => table,
            Seen::Missing | Seen::NotAsked => return Seen::Missing,
            Seen::Failed(fault) => return Seen::Failed(Fault::new(source, fault.why)),
        };
        let Parsed { mounts, total, odd } = with_parents(&table.bytes, keep);
        if odd > 0 && self.faults.iter().all(|fault| fault.source != source) {
            self.faults.push(Fault::new(source, format!("{odd} lines of an unknown form were left out")));
        }
        Seen::Seen(MountTable { ns: table.ns, through_pid: table.through_pid, total, mounts })
    }
}

/// Keeps what `keep` wants and every mount that such a one stands on, in the kernel's order.
fn with_parents(bytes: &[u8], keep: impl Fn(&RawMount<'_>) -> bool) -> Parsed {
    let mut parents = Vec::new();
    let first = mounts(bytes, |mount| {
        parents.push((mount.id, mount.parent));
        keep(mount)
    });
    let missing = missing_parents(&first.mounts, parents);
    if missing.is_empty() {
        return first;
    }
    mounts(bytes, |mount| missing.contains(&mount.id) || keep(mount))
}

/// The mounts that `kept` stand on and that are not among them.
fn missing_parents(kept: &[Mount], mut parents: Vec<(u32, u32)>) -> HashSet<u32> {
    parents.sort_unstable();
    let parent_of = |id: u32| {
        let at = parents.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(parents[at].1)
    };
    let mut known: HashSet<u32> = kept.iter().map(|mount| mount.id).collect();
    let mut missing = HashSet::new();
    for mount in kept {
        let mut next = mount.parent;
        while let Some(above) = parent_of(next) {
            if !known.insert(next) {
                break;
            }
            missing.insert(next);
            next = above;
        }
    }
    missing
}
