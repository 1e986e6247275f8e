//! What was found so far.

use std::{collections::BTreeSet, time::Instant};

use super::{blocks, bound_sockets::Sockets, empty};
use crate::host::descriptors::Walk;
use crate::host::processes::owner;
use crate::observation::{CopyKind, Dev, Fault, HeldBy, Holder, HolderSearch, Mount, Owner, Seen, SocketCandidate};
use crate::parse::{self, Stat};
use crate::sys::ProcDir;
use crate::sys::limits::MAX_LINE_BYTES;

/// The most descriptors that are noted of one process for one mount.
const MAX_DESCRIPTORS: usize = 4;

/// More sockets of which it is not sure where they are bound are not named.
const MAX_SOCKET_CANDIDATES: usize = 8;

/// The answers, while they grow.
pub(super) struct Searches {
    searches: Vec<HolderSearch>,
    end: Instant,
    at_most: usize,
    /// The processes that were not looked at in time, or have more than is noted.
    cut_off: BTreeSet<u32>,
    /// The mount namespaces that a process has a descriptor of.
    pub(super) kept_namespaces: BTreeSet<u64>,
    /// The sockets that may hold a target.
    pub(super) sockets: Sockets,
}

/// A process that was seen to hold something.
pub(super) struct ProcessVisit<'a> {
    pub pid: u32,
    /// Its directory, or that of a thread of it that lives.
    pub dir: &'a ProcDir,
    /// Inode of its mount namespace.
    pub ns: u64,
}

impl Searches {
    /// Nothing is found yet. No descriptor is looked at after `end`, and `at_most` so many holders of a target are kept.
    pub(super) fn new(targets: &[Mount], end: Instant, at_most: usize) -> Self {
        let searches = targets.iter().map(empty).collect();
        let (cut_off, kept_namespaces) = (BTreeSet::new(), BTreeSet::new());
        Searches { searches, end, at_most, cut_off, kept_namespaces, sockets: Sockets::default() }
    }

    /// Until when descriptors are looked at.
    pub(super) fn end(&self) -> Instant {
        self.end
    }

    /// Notes how far the descriptors of a process were looked at.
    pub(super) fn walked(&mut self, pid: u32, walk: Walk) {
        if walk == Walk::CutOff {
            self.cut_off(pid);
        }
    }

    /// Notes that a process may hold something that was not seen.
    pub(super) fn cut_off(&mut self, pid: u32) {
        self.cut_off.insert(pid);
    }

    /// Notes how many processes were looked at on behalf of a target, and how many could not be.
    pub(super) fn add_counts(&mut self, target: usize, count: u32, unreadable: u32) {
        if let Some(search) = self.searches.get_mut(target) {
            search.looked_at += count;
            search.unreadable += unreadable;
        }
    }

    /// Notes how the search for mappings went.
    pub(super) fn mappings(&mut self, target: usize, looked_at: u32, fault: Option<Fault>) {
        if let Some(search) = self.searches.get_mut(target) {
            search.mappings = fault.map_or(Seen::Seen(looked_at), Seen::Failed);
        }
    }

    /// Whether a holder was found that makes `umount` of this target fail.
    pub(super) fn explains(&self, target: usize) -> bool {
        self.searches.get(target).is_some_and(|search| search.holders.iter().any(|holder| blocks(holder.copy)))
    }

    /// The file system of a target.
    pub(super) fn dev(&self, target: usize) -> Option<Dev> {
        self.searches.get(target).map(|search| search.dev)
    }

    /// Notes a process. One that has gone in the meantime is left out, and of many one that blocks less surely.
    pub(super) fn process(&mut self, target: usize, who: &ProcessVisit<'_>, how: HeldBy, copy: CopyKind) {
        let Some(search) = self.searches.get_mut(target) else { return };
        let same = search.holders.iter().filter(|holder| holder.pid == who.pid && holder.mount_ns == who.ns);
        let fds = same.clone().filter(|holder| matches!(holder.how, HeldBy::Fd { .. })).count();
        if same.clone().any(|holder| holder.how == how) || (fds >= MAX_DESCRIPTORS && matches!(how, HeldBy::Fd { .. }))
        {
            return;
        }
        let known = same.clone().next().cloned();
        let least = || (0..search.holders.len()).max_by_key(|at| search.holders.get(*at).map(|one| rank(one.copy)));
        let displaced = (search.holders.len() >= self.at_most).then(least).flatten();
        if displaced.is_some_and(|at| rank(search.holders[at].copy) <= rank(copy)) {
            return;
        }
        let holder = match known {
            Some(known) => Holder { how, copy, ..known },
            None => match facts(who) {
                Some((stat, leader, owner)) => Holder {
                    pid: who.pid,
                    start_ticks: leader.start_ticks,
                    comm: leader.comm,
                    state: stat.state,
                    how,
                    copy,
                    mount_ns: who.ns,
                    owner,
                },
                None => return,
            },
        };
        match displaced {
            Some(at) => search.holders[at] = holder,
            None => search.holders.push(holder),
        }
    }

    /// Notes a socket that may be bound in a target.
    pub(super) fn socket_candidate(&mut self, target: usize, socket: &SocketCandidate) {
        let Some(search) = self.searches.get_mut(target) else { return };
        let is_known = search.socket_candidates.iter().any(|known| known.pid == socket.pid);
        if !is_known && search.socket_candidates.len() < MAX_SOCKET_CANDIDATES {
            search.socket_candidates.push(socket.clone());
        }
    }

    /// Notes the kernel itself, for a loop device.
    pub(super) fn kernel(&mut self, target: usize, comm: String, how: HeldBy, copy: CopyKind, ns: u64) {
        let Some(search) = self.searches.get_mut(target) else { return };
        let owner = Owner::Host;
        search.holders.push(Holder { pid: 0, start_ticks: 0, comm, state: '-', how, copy, mount_ns: ns, owner });
    }

    /// The answers, those that block first.
    pub(super) fn finish(mut self, unreadable: u32, behind_unread_tables: u32) -> Vec<HolderSearch> {
        let cut_off = u32::try_from(self.cut_off.len()).unwrap_or(u32::MAX);
        for search in &mut self.searches {
            search.unreadable += unreadable + behind_unread_tables + cut_off;
            search.behind_unread_tables = behind_unread_tables;
            search.holders.sort_by_key(|holder| (rank(holder.copy), holder.pid));
            search.holders.truncate(self.at_most);
        }
        self.searches
    }

    /// The pids that hold a target already, by whatever copy.
    pub(super) fn pids(&self, target: usize) -> BTreeSet<u32> {
        self.searches.get(target).into_iter().flat_map(|search| &search.holders).map(|holder| holder.pid).collect()
    }
}

/// The state of the thread it was seen through, the leader's facts, and the owner.
pub(super) fn facts(who: &ProcessVisit<'_>) -> Option<(Stat, Stat, Owner)> {
    let read = |dir: &ProcDir| parse::stat(&dir.read("stat", MAX_LINE_BYTES).ok()?);
    let leader = read(&ProcDir::open(who.pid).ok()?)?;
    // Read last: while a thread is there, no other process has the pid.
    let stat = read(who.dir)?;
    let owner = owner(who.dir, stat.exiting());
    Some((stat, leader, owner))
}

fn rank(copy: CopyKind) -> u8 {
    match copy {
        CopyKind::Original => 0,
        CopyKind::Propagated => 1,
        CopyKind::Detached => 2,
        CopyKind::Private => 3,
    }
}
