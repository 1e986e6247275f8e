//! Which processes serve which connection: those that hold `/dev/fuse` open.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::Hints;
use crate::host::descriptors::{self, Walk};
use crate::host::mounts::living;
use crate::host::process_index::ProcessIndex;
use crate::host::processes::{children, owner, wchan};
use crate::observation::FuseServer;
use crate::parse;
use crate::sys::{self, ProcDir};

/// The descriptors of all processes are looked at for so long: a million and a half.
const WALK_TIMEOUT: Duration = Duration::from_secs(5);

/// All servers of the node.
pub(super) struct Servers {
    /// A server and the connection of one of its descriptors; `None` when the kernel does not show it.
    found: Vec<(Option<u32>, FuseServer)>,
    /// How many processes could not be looked at.
    unreadable: usize,
}

impl Servers {
    /// Whether every process could be read and the kernel showed the connection of every descriptor.
    pub(super) fn exact(&self) -> bool {
        self.unreadable == 0 && self.found.iter().all(|(number, _)| number.is_some())
    }

    /// The servers of one connection; when the kernel does not show it, all that could be.
    pub(super) fn candidates(&self, number: u32) -> Vec<FuseServer> {
        let could_be = |known: &Option<u32>| known.is_none_or(|known| known == number);
        let mut servers: Vec<FuseServer> = Vec::new();
        for (_, server) in self.found.iter().filter(|(known, _)| could_be(known)) {
            if servers.iter().all(|known| known.pid != server.pid) {
                servers.push(server.clone());
            }
        }
        servers
    }

    /// Looks at these processes in turn. Whether every wanted connection has a server by then.
    fn search(&mut self, pids: impl IntoIterator<Item = u32>, wanted: &[u32], end: Instant) -> bool {
        for pid in pids {
            // A zombie holds nothing; others that may not be seen are no servers we could name.
            let Ok((dir, _)) = living(pid) else { continue };
            let (numbers, walk) = connections_of(&dir, end);
            if walk != Walk::Whole {
                self.unreadable += 1;
            }
            if let (false, Some(server)) = (numbers.is_empty(), server(pid, &dir)) {
                self.found.extend(numbers.into_iter().map(|number| (number, server.clone())));
                if wanted.iter().all(|number| self.found.iter().any(|(known, _)| *known == Some(*number))) {
                    return true;
                }
            }
        }
        false
    }
}

/// Scans the processes, the likely ones first, until every wanted connection has a server that the kernel ties to it. Where
/// the kernel does not show that, it scans them all.
pub(super) fn search(wanted: &[u32], hints: &Hints<'_>) -> Servers {
    let mut servers = Servers { found: Vec::new(), unreadable: 0 };
    // A service and what has put itself into the background are children of init. The latest first: most
    // of the others, the shims, have been there when the volume was mounted.
    let daemons = children(1).into_iter().rev().filter(|pid| is_called(*pid, &hints.names));
    if servers.search(daemons, wanted, Instant::now() + WALK_TIMEOUT) {
        return servers;
    }
    servers = Servers { found: Vec::new(), unreadable: 0 };
    let process_index = match hints.process_index {
        Some(cell) => Cow::Borrowed(cell.get_or_init(ProcessIndex::read)),
        None => Cow::Owned(ProcessIndex::read()),
    };
    // A process that could not be read may be the server.
    servers.unreadable =
        process_index.group_by_mount_ns().unreadable as usize + usize::from(process_index.fault.is_some());
    let (named, others) = rank(&process_index, hints);
    let end = Instant::now() + WALK_TIMEOUT;
    if !servers.search(named, wanted, end) {
        servers.search(descriptors::candidates(&others, end, |_, _, link| is_fuse(link)), wanted, end);
    }
    servers
}

/// By how likely they serve: those of the namespace of the right name, and the others, those of the namespace first.
fn rank(process_index: &ProcessIndex, hints: &Hints<'_>) -> (Vec<u32>, Vec<u32>) {
    let by_ns = &process_index.group_by_mount_ns().pids;
    let there = hints.mount_ns.and_then(|ns| by_ns.get(&ns)).cloned().unwrap_or_default();
    let (named, others): (Vec<u32>, Vec<u32>) = there.into_iter().partition(|pid| is_called(*pid, &hints.names));
    let elsewhere = by_ns.iter().filter(|(ns, _)| Some(**ns) != hints.mount_ns);
    (named, others.into_iter().chain(elsewhere.flat_map(|(_, pids)| pids.iter().copied())).collect())
}

/// The device node may have been made in another place, `/dev/fuse` is only its usual one.
fn is_fuse(link: &[u8]) -> bool {
    link.ends_with(b"/fuse")
}

fn is_called(pid: u32, names: &BTreeSet<String>) -> bool {
    sys::comm_of(pid).is_ok_and(|comm| names.iter().any(|name| comm == name.as_bytes()))
}

/// The connections a process has descriptors of, and whether all were looked at.
fn connections_of(dir: &ProcDir, end: Instant) -> (BTreeSet<Option<u32>>, Walk) {
    let mut numbers = BTreeSet::new();
    let walk = descriptors::walk(dir, end, |fd, link| {
        if !is_fuse(link) {
            return;
        }
        let number = dir.fdinfo(fd, link).ok().and_then(|bytes| parse::fdinfo(&bytes).fuse_connection);
        if number.is_some() || link == b"/dev/fuse" {
            numbers.insert(number);
        }
    });
    (numbers, walk)
}

fn server(pid: u32, dir: &ProcDir) -> Option<FuseServer> {
    let stat = parse::stat(&dir.read("stat", sys::limits::MAX_LINE_BYTES).ok()?)?;
    let started_ms = stat.start_ticks.saturating_mul(1000) / sys::ticks_per_second();
    Some(FuseServer {
        pid,
        start_ticks: Some(stat.start_ticks),
        state: stat.state,
        wchan: wchan(dir),
        age_ms: sys::uptime_ms().saturating_sub(started_ms),
        owner: owner(dir, stat.exiting()),
        comm: stat.comm,
    })
}
