//! CSI drivers on this node: who is registered with the kubelet, and what they have staged. DRA drivers register at the
//! same place.

pub(super) mod registration;
mod staging;
#[cfg(test)]
mod tests;
mod unstaged;

use std::time::Duration;

use futures::{StreamExt, stream};
use registration::Registered;
pub use staging::staging;
use tokio::time::{Instant, timeout_at};
pub use unstaged::unstaged;

use super::{HostRoot, Sockets, tree::Tree};
use crate::observation::{CsiDriver, CsiDriverInfo, Fault, FaultKind, HostPath, Mount, MountTable, Seen};
use crate::sys::EntryKind;

/// The most registration sockets that are asked.
const MAX_SOCKETS: usize = 64;
/// So many are asked at a time: each connection has buffers of its own.
const MAX_CALLS_AT_ONCE: usize = 4;
/// The most entries of one of its directories that are looked at.
const MAX_ENTRIES: usize = 1000;
/// The most folders that are looked into.
const MAX_FOLDERS: usize = 64;

/// The kubelet's directory: as a driver may call it, and without links.
#[derive(Clone, Copy)]
pub struct Root<'a> {
    /// As the kubelet's configuration names it.
    pub configured: &'a HostPath,
    pub real: &'a HostPath,
}

impl Root<'_> {
    /// Only the links on the way to the kubelet's directory, which are root's, are followed.
    fn real(self, endpoint: &HostPath) -> HostPath {
        match endpoint.as_path().strip_prefix(self.configured.as_path()) {
            Ok(below) => self.real.join(below),
            Err(_) => endpoint.clone(),
        }
    }
}

/// Asks every registration socket below `<root-dir>/plugins_registry` who it is, some at a time, and
/// tries whether anybody listens on the socket it names. Each may take `deadline`, all together twice as long.
pub async fn drivers(
    host: &HostRoot,
    sockets: &Sockets,
    root: Root<'_>,
    table: &MountTable,
    deadline: Duration,
) -> Seen<Vec<CsiDriver>> {
    let registry = root.real.join("plugins_registry");
    let found = Tree::open(host, &registry, &table.mounts);
    let found = found.and_then(|tree| registered(&tree, &registry).map(|(sockets, untold)| (tree, sockets, untold)));
    let (tree, registered, untold) = match found {
        Seen::Seen(found) => found,
        unknown => return unknown.map(|_| Vec::new()),
    };
    let tree = &tree;
    let end = Instant::now() + deadline * 2;
    let ask = |socket: HostPath| async move {
        let at = match tree.socket(&socket) {
            Seen::Seen(at) => at,
            Seen::Missing | Seen::NotAsked => return CsiDriver { socket, info: Seen::Missing },
            Seen::Failed(fault) => return CsiDriver { socket, info: Seen::Failed(fault) },
        };
        let info = timeout_at(end, registration::info(sockets, &at, &socket, deadline)).await;
        let late = |_| Seen::failed(&socket, (FaultKind::NotAsked, "was not asked: others did not answer in time"));
        let registered = info.unwrap_or_else(late);
        let listens = match registered.get() {
            Some(Registered { endpoint, .. }) => listens(host, sockets, &table.mounts, &root.real(endpoint)).await,
            None => Seen::Missing,
        };
        let info = registered.map(|Registered { name, endpoint, is_dra }| {
            let since_ms = match made_ms(host, &table.mounts, &socket) {
                Seen::Seen(registered) if listens != Seen::Missing => {
                    made_ms(host, &table.mounts, &root.real(&endpoint)).map(|made| made.max(registered))
                }
                registered => registered,
            };
            CsiDriverInfo { name, endpoint, listens, since_ms, is_dra }
        });
        CsiDriver { socket, info }
    };
    let mut drivers: Vec<CsiDriver> =
        stream::iter(registered).map(ask).buffer_unordered(MAX_CALLS_AT_ONCE).collect().await;
    drivers.extend(untold);
    drivers.sort_by(|a, b| a.socket.cmp(&b.socket));
    Seen::Seen(drivers)
}

/// The sockets in `registry` and the folders in it, as the kubelet looks for them
/// (`pkg/kubelet/pluginmanager/pluginwatcher`): any socket that is not hidden, and what could not be looked at.
fn registered(tree: &Tree<'_>, registry: &HostPath) -> Seen<(Vec<HostPath>, Vec<CsiDriver>)> {
    let (mut sockets, mut untold) = (Vec::new(), Vec::new());
    let too_many = |what: &HostPath| {
        let fault = Fault::new(what, (FaultKind::NotAsked, "was not looked at: there are too many"));
        CsiDriver { socket: what.clone(), info: Seen::Failed(fault) }
    };
    let mut folders = vec![registry.clone()];
    let mut looked_at = 0;
    while let Some(folder) = folders.pop() {
        looked_at += 1;
        if looked_at > MAX_FOLDERS {
            untold.push(too_many(&folder));
            break;
        }
        let entries = match tree.list(&folder, MAX_ENTRIES) {
            Seen::Seen(entries) => entries,
            // It has gone since.
            Seen::Missing | Seen::NotAsked if looked_at > 1 => continue,
            Seen::Missing | Seen::NotAsked => return Seen::Missing,
            Seen::Failed(fault) if looked_at > 1 => {
                untold.push(CsiDriver { socket: folder, info: Seen::Failed(fault) });
                continue;
            }
            Seen::Failed(fault) => return Seen::Failed(fault),
        };
        if entries.len() >= MAX_ENTRIES {
            untold.push(too_many(&folder));
        }
        for entry in entries.iter().filter(|entry| !entry.name.as_encoded_bytes().starts_with(b".")) {
            let path = folder.join(&entry.name);
            match entry.kind {
                EntryKind::Directory => folders.push(path),
                EntryKind::Link => {}
                EntryKind::Other | EntryKind::Unknown => {
                    if !tree.facts(&path).get().is_some_and(|facts| facts.is_file || facts.is_directory) {
                        sockets.push(path);
                    }
                }
            }
        }
    }
    sockets.sort();
    untold.extend(sockets.iter().skip(MAX_SOCKETS).take(1).map(too_many));
    sockets.truncate(MAX_SOCKETS);
    Seen::Seen((sockets, untold))
}

/// When a socket was made. One that has gone meanwhile is a failure: nothing is known of its age.
fn made_ms(host: &HostRoot, mounts: &[Mount], socket: &HostPath) -> Seen<u64> {
    let gone = || Seen::failed(socket, (FaultKind::Gone, "has gone while it was looked at"));
    let Some(parent) = socket.parent() else { return gone() };
    match Tree::open(host, &parent, mounts).and_then(|tree| tree.facts(socket)) {
        Seen::Missing => gone(),
        facts => facts.map(|facts| facts.changed_ms),
    }
}

/// The endpoint is the driver's own word: it is looked up in the mount table first, and reached without links.
async fn listens(host: &HostRoot, sockets: &Sockets, mounts: &[Mount], endpoint: &HostPath) -> Seen<bool> {
    let Some(parent) = endpoint.parent().filter(|_| endpoint.as_path().is_absolute()) else {
        return Seen::failed(endpoint, (FaultKind::Malformed, "is not the path of a socket"));
    };
    match Tree::open(host, &parent, mounts).and_then(|tree| tree.socket(endpoint)) {
        Seen::Seen(socket) => match sockets.listener(socket.path(), endpoint).await {
            Ok(listener) => Seen::Seen(listener.is_some()),
            Err(error) => Seen::failed(endpoint.show(), error),
        },
        unknown => unknown.map(|_| false),
    }
}
