//! FUSE connections and the processes that serve them.

mod servers;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::statfs::statfs;

use super::{HostRoot, fault_at, prober::Prober, process_index::ProcessIndex};
use crate::observation::{Fault, FaultKind, FuseConnection, HostPath, Mount, Reason, Seen};
use crate::sys;

/// Where a server is likely found, so that it is found soon.
#[derive(Clone, Debug, Default)]
pub struct Hints<'a> {
    /// Where it is kept who lives where; taken only when no likely process is the server.
    pub process_index: Option<&'a OnceCell<ProcessIndex>>,
    /// Names that a server may have: the subtypes of the mounts (`s3fs` of `fuse.s3fs`).
    pub names: BTreeSet<String>,
    /// The mount namespace most servers live in: the kubelet's.
    pub mount_ns: Option<u64>,
}

/// What is known of the connections `numbers` (`Mount::fuse_connection`), in their order, all
/// from the kernel. Their servers are searched among all processes unless a likely one is found;
/// with no number nothing is done.
pub fn connections(numbers: &[u32], hints: &Hints<'_>, host: &HostRoot) -> Vec<FuseConnection> {
    if numbers.is_empty() {
        return Vec::new();
    }
    let servers = servers::search(numbers, hints);
    let connection = |number: &u32| FuseConnection {
        number: *number,
        waiting: waiting(*number, host),
        servers: servers.candidates(*number),
        exact: servers.exact(),
        probe: Seen::NotAsked,
    };
    numbers.iter().map(connection).collect()
}

/// Asks the file system itself, in the disposable child. Only when the user wants it: a child
/// that waits for a server that has read its request cannot be killed.
pub fn probe(connection: &mut FuseConnection, mount: &Mount, host: &HostRoot, prober: &Prober, deadline: Duration) {
    connection.probe = prober.stat(mount.dev, &host.at(&mount.mount_point), deadline);
}

/// How many requests wait for an answer. `Missing` when there is no such connection any more.
fn waiting(number: u32, host: &HostRoot) -> Seen<u32> {
    let all = HostPath::from("/sys/fs/fuse/connections");
    let path: PathBuf = host.at(&all).join(number.to_string()).join("waiting");
    let source = format!("/sys/fs/fuse/connections/{number}/waiting");
    match sys::read_text(&path, 64) {
        Ok(text) => match text.trim().parse() {
            Ok(count) => Seen::Seen(count),
            Err(_) => Seen::failed(source, (FaultKind::Malformed, "has an unknown form")),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => without_file(source, is_fusectl(&host.at(&all))),
        Err(error) => Seen::Failed(fault_at(source, &error)),
    }
}

/// Whether fusectl is mounted there, by `FUSE_CTL_SUPER_MAGIC` of fs/fuse/control.c: the kernel's own file systems answer
/// by themselves, and on every kernel.
fn is_fusectl(at: &Path) -> io::Result<bool> {
    Ok(statfs(at)?.filesystem_type().0 == 0x6573_5543)
}

/// What it means that a connection has no file, by whether fusectl is mounted.
fn without_file(source: String, is_mounted: io::Result<bool>) -> Seen<u32> {
    Seen::Failed(match is_mounted {
        Ok(true) => return Seen::Missing,
        Ok(false) => Fault::new(source, (FaultKind::Gone, "the fusectl file system is not mounted")),
        Err(error) => {
            let Reason { kind, errno, says } = error.into();
            // The process whose root is read through may have ended.
            let kind = if kind == FaultKind::Gone { FaultKind::Failed } else { kind };
            let says = format!("is not there, and whether fusectl is mounted could not be read: {says}");
            Fault::new(source, Reason { kind, errno, says })
        }
    })
}
