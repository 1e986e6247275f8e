//! Which processes serve which connection: those that hold `/dev/fuse` open.

use std::collections::BTreeSet;

use super::Hints;
use crate::{
    host::{
        census::Census,
        holders::each_descriptor,
        mounts::living,
        processes::{owner, wchan},
    },
    observation::FuseServer,
    parse,
    sys::{self, ProcDir},
};

/// All servers of the node.
pub(super) struct Servers {
    /// A server and the connection of one of its descriptors; `None` when the kernel does not
    /// tell.
    found: Vec<(Option<u32>, FuseServer)>,
    /// How many processes could not be looked at.
    unreadable: usize,
}

impl Servers {
    /// Whether every process was looked at and the kernel told the connection of every descriptor.
    pub(super) fn exact(&self) -> bool {
        self.unreadable == 0 && self.found.iter().all(|(number, _)| number.is_some())
    }

    /// The servers of one connection; when the kernel does not tell, all that could be.
    pub(super) fn of(&self, number: u32) -> Vec<FuseServer> {
        let could_be = |told: &Option<u32>| told.is_none_or(|told| told == number);
        let mut servers: Vec<FuseServer> = Vec::new();
        for (_, server) in self.found.iter().filter(|(told, _)| could_be(told)) {
            if servers.iter().all(|known| known.pid != server.pid) {
                servers.push(server.clone());
            }
        }
        servers
    }
}

/// Looks at the processes, the likely ones first, until every wanted connection has a server that
/// the kernel ties to it; where it does not tell, at all of them.
pub(super) fn search(wanted: &[u32], hints: &Hints<'_>) -> Servers {
    let census = Census::known_or_taken(hints.census);
    // Whoever could not be looked at may be the server.
    let unseen = census.unreadable as usize + usize::from(census.fault.is_some());
    let mut servers = Servers { found: Vec::new(), unreadable: unseen };
    for pid in in_order(&census, hints) {
        let is_found = |number: &u32| servers.found.iter().any(|(told, _)| *told == Some(*number));
        if wanted.iter().all(is_found) {
            break;
        }
        // A zombie holds nothing; others that may not be seen are no servers we could name.
        let Ok((dir, _)) = living(pid) else { continue };
        // `living` has read its namespace, which needs the same right as its descriptors.
        if dir.list("fd").is_err_and(|error| !sys::is_gone(&error)) {
            servers.unreadable += 1;
            continue;
        }
        let numbers = connections_of(&dir);
        if let (false, Some(server)) = (numbers.is_empty(), server(pid, &dir)) {
            servers.found.extend(numbers.into_iter().map(|number| (number, server.clone())));
        }
    }
    servers
}

/// By how likely they serve: those of the namespace, of the right name first, then the rest.
fn in_order(census: &Census, hints: &Hints<'_>) -> Vec<u32> {
    let is_called_so = |pid: &u32| {
        let comm = ProcDir::open(*pid).and_then(|dir| dir.read("comm", 64)).unwrap_or_default();
        hints.names.iter().any(|name| comm.trim_ascii_end() == name.as_bytes())
    };
    let there = hints.mount_ns.and_then(|ns| census.by_mount_ns.get(&ns)).cloned().unwrap_or_default();
    let (named, others): (Vec<u32>, Vec<u32>) = there.into_iter().partition(is_called_so);
    let elsewhere = census.by_mount_ns.iter().filter(|(ns, _)| Some(**ns) != hints.mount_ns);
    named.into_iter().chain(others).chain(elsewhere.flat_map(|(_, pids)| pids.iter().copied())).collect()
}

/// The connections a process has descriptors of.
fn connections_of(dir: &ProcDir) -> BTreeSet<Option<u32>> {
    let mut numbers = BTreeSet::new();
    each_descriptor(dir, |fd, link| {
        // The device node may have been made in another place, `/dev/fuse` is only its usual one.
        if !link.ends_with(b"/fuse") {
            return;
        }
        let told = dir.read(&format!("fdinfo/{fd}"), 64 << 10).ok();
        let told = told.and_then(|bytes| parse::fdinfo(&bytes).fuse_connection);
        if told.is_some() || link == b"/dev/fuse" {
            numbers.insert(told);
        }
    });
    numbers
}

fn server(pid: u32, dir: &ProcDir) -> Option<FuseServer> {
    let stat = parse::stat(&dir.read("stat", 4096).ok()?)?;
    let started_ms = stat.start_ticks.saturating_mul(1000) / sys::ticks_per_second();
    Some(FuseServer {
        pid,
        state: stat.state,
        wchan: wchan(dir),
        age_ms: sys::uptime_ms().saturating_sub(started_ms),
        owner: owner(dir, stat.exiting()),
        comm: stat.comm,
    })
}
