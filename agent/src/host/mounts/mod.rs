//! Mount tables of the namespaces that matter, cut down to what matters.
//!
//! A table is read through a process that lives in the namespace (`/proc/<pid>/mountinfo`); that touches no file
//! system. 1.85 µs per mount were measured, nearly all of it in the kernel, so each namespace is read once per
//! scan.

mod budget;
mod first;
mod table;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::sync::Arc;

use budget::Budget;
pub use first::FirstTable;
pub(super) use table::Table;
use table::{Source as Anew, Text, is_too_long};

use crate::observation::{
    Dev, Fault, FaultKind, HostPath, Mount, MountTable, OVERLAY, Seen, Source, covering, is_path_within, way,
};
use crate::parse::mountinfo::{Parsed, RawMount};
use crate::sys::ProcDir;

/// Reads mount tables, each namespace once. Lives for one look at the node.
pub struct MountReader {
    kubelet_root: HostPath,
    tables: BTreeMap<u64, Arc<Table>>,
    budget: Budget,
    first: FirstTable,
    faults: Vec<Fault>,
}

impl MountReader {
    /// A reader for a node whose kubelet keeps its pods below `kubelet_root`.
    pub fn new(kubelet_root: HostPath) -> Self {
        let first = FirstTable::default();
        MountReader { kubelet_root, tables: BTreeMap::new(), budget: Budget::new(), first, faults: Vec::new() }
    }

    /// With a table that need not be read again.
    pub fn knowing(mut self, first: FirstTable) -> Self {
        self.budget.spend(first.bytes().len());
        MountReader { first, ..self }
    }

    /// The table of the kubelet's namespace: mounts at, below and above its directory, and file
    /// systems that need a server, each with all mounts it stands on.
    pub fn kubelet(&mut self, pid: u32) -> Seen<MountTable> {
        let root = self.kubelet_root.clone();
        self.filtered(pid, true, |mount| {
            let point = mount.mount_point();
            is_path_within(&point, root.as_bytes()) || is_path_within(root.as_bytes(), &point) || mount.needs_server()
        })
    }

    /// Of another namespace (pid 1's) the mounts at or below the kubelet's directory, with those
    /// they stand on.
    pub fn root_mounts(&mut self, pid: u32) -> Seen<MountTable> {
        let root = self.kubelet_root.clone();
        self.filtered(pid, true, |mount| is_path_within(&mount.mount_point(), root.as_bytes()))
    }

    /// Of any namespace the file systems that need a server and those of `devs`, with the mounts
    /// they stand on.
    pub fn other(&mut self, pid: u32, devs: &[Dev]) -> Seen<MountTable> {
        self.filtered(pid, false, |mount| devs.contains(&mount.dev) || mount.needs_server())
    }

    /// Of the namespace of a task that waits: what [`MountReader::other`] keeps, the file systems on block devices,
    /// overlays, and the mounts of these ids.
    pub fn task_table(&mut self, tid: u32, ids: &[u32]) -> Seen<MountTable> {
        self.filtered(tid, false, |mount| {
            mount.needs_server()
                || mount.dev.major != 0
                || mount.fs_type() == OVERLAY.as_bytes()
                || ids.contains(&mount.id)
        })
    }

    /// The mount that a walk to `path` ends on, in the namespace of `pid`.
    pub fn path_mount(&mut self, pid: u32, path: &HostPath) -> Seen<Mount> {
        super::seen(self.table(pid)).and_then(|table| {
            let mounts = table.mounts(|mount| is_path_within(path.as_bytes(), &mount.mount_point())).mounts;
            match (covering(&mounts, path), table.fault()) {
                (_, Some(fault)) => Seen::Failed(fault),
                (Some(mount), None) => Seen::Seen(mount.clone()),
                (None, None) => Seen::Missing,
            }
        })
    }

    /// The root file systems of these containers, as the runtime mounts them.
    pub fn rootfs(&mut self, pid: u32, containers: &[String]) -> Seen<Vec<Mount>> {
        let ends: Vec<String> = containers.iter().map(|id| format!("/{id}/rootfs")).collect();
        let is_one = |mount: &RawMount<'_>| ends.iter().any(|end| mount.mount_point().ends_with(end.as_bytes()));
        super::seen(self.table(pid)).and_then(|table| {
            let mounts = table.mounts(is_one).mounts;
            table.fault().map_or(Seen::Seen(mounts), Seen::Failed)
        })
    }

    /// What was odd in the tables, and which of them were not read to the end.
    pub fn faults(&self) -> Vec<Fault> {
        self.faults.iter().cloned().chain(self.tables.values().filter_map(|table| table.fault())).collect()
    }

    /// The table of the namespace that `pid` is in, read or from before.
    pub(super) fn table(&mut self, pid: u32) -> io::Result<Arc<Table>> {
        self.read(pid, false)
    }

    fn read(&mut self, pid: u32, of_node: bool) -> io::Result<Arc<Table>> {
        let (dir, ns) = living(pid)?;
        if let Some(table) = self.tables.get(&ns) {
            return Ok(Arc::clone(table));
        }
        let root = dir.link("root").unwrap_or_else(|_| b"/".to_vec());
        let text = match self.first.take(&dir)? {
            Some(bytes) => Text::Kept(bytes),
            None => self.text(dir, self.budget.share(of_node))?,
        };
        let table = Arc::new(Table { ns, through_pid: pid, root, text });
        self.tables.insert(ns, Arc::clone(&table));
        Ok(table)
    }

    fn text(&mut self, dir: ProcDir, share: usize) -> io::Result<Text> {
        match dir.mountinfo(share) {
            Ok(bytes) => {
                self.budget.spend(bytes.len());
                Ok(Text::Kept(bytes))
            }
            Err(error) if is_too_long(&error) => Ok(Text::ReadAnew(Anew::new(dir, Arc::clone(&self.budget.anew)))),
            Err(error) => Err(error),
        }
    }

    fn filtered(&mut self, pid: u32, of_node: bool, keep: impl Fn(&RawMount<'_>) -> bool) -> Seen<MountTable> {
        let source = Source::from(format!("/proc/{pid}/mountinfo"));
        super::seen_at(source.clone(), self.read(pid, of_node)).and_then(|table| {
            let Parsed { mounts, total, odd } = keep_with_parents(&table, keep);
            if let Some(fault) = table.fault() {
                return Seen::Failed(Fault { source, ..fault });
            }
            if odd > 0 && self.faults.iter().all(|fault| fault.source != source) {
                let why = format!("{odd} lines of an unknown form were left out");
                self.faults.push(Fault::new(source, (FaultKind::Malformed, why)));
            }
            Seen::Seen(MountTable { ns: table.ns, through_pid: table.through_pid, total, mounts })
        })
    }
}

/// Keeps what `keep` wants and every mount that such a one stands on, in the kernel's order.
fn keep_with_parents(table: &Table, keep: impl Fn(&RawMount<'_>) -> bool) -> Parsed {
    let mut parents = Vec::new();
    let first = table.mounts(|mount| {
        parents.push((mount.id, mount.parent));
        keep(mount)
    });
    let missing = missing_parents(&first.mounts, parents);
    if missing.is_empty() {
        return first;
    }
    table.mounts(|mount| missing.contains(&mount.id) || keep(mount))
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

/// The directory through which a process's files and mounts can be seen, and the inode of its
/// mount namespace.
///
/// A zombie shows neither. A process whose leader is a zombie may still have threads that live,
/// and those hold its files.
pub(in crate::host) fn living(pid: u32) -> io::Result<(ProcDir, u64)> {
    let leader = ProcDir::open(pid)?;
    match leader.namespace("mnt") {
        Ok(ns) => Ok((leader, ns)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => living_thread(pid, &leader, error),
        Err(error) => Err(error),
    }
}

fn living_thread(pid: u32, leader: &ProcDir, error: io::Error) -> io::Result<(ProcDir, u64)> {
    let threads = leader.list("task")?;
    let tids = threads.iter().filter_map(|entry| entry.name.to_str()?.parse().ok());
    for tid in tids.filter(|tid| *tid != pid) {
        if let Ok(thread) = ProcDir::open_thread(pid, tid)
            && let Ok(ns) = thread.namespace("mnt")
        {
            return Ok((thread, ns));
        }
    }
    Err(error)
}

/// Whether `path` can be opened or listed without asking any server.
///
/// # Errors
/// The reason, when a file system on the way needs a server.
pub fn touchable(mounts: &[Mount], path: &HostPath) -> Result<(), Fault> {
    // At an autofs each walk waits, with O_PATH too, while its daemon is asked for a mount (autofs_d_manage).
    let may_wait = |mount: &&Mount| mount.needs_server() || mount.fs_type == "autofs";
    match way(mounts, path).into_iter().find(may_wait) {
        None => Ok(()),
        Some(mount) => {
            let (fs_type, point) = (findings::clean(&mount.fs_type, 40), mount.mount_point.show());
            Err(Fault::new(
                path.show(),
                (FaultKind::NotAsked, format!("lies on {point} ({fs_type}), which could block and is not touched")),
            ))
        }
    }
}
