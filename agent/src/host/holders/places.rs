//! Files of the kubelet's mount namespace, as far as they can be looked at without asking any server.

use std::collections::BTreeMap;

use super::space::Space;
use crate::host::HostRoot;
use crate::host::mounts::Table;
use crate::host::root::real;
use crate::host::tree::Tree;
use crate::observation::{HostPath, MountTable, is_path_within};

/// That namespace, and where its links were seen to point.
pub(super) struct Places<'a> {
    kubelet: &'a MountTable,
    view: HostRoot,
    table: Option<&'a Table>,
    links: BTreeMap<HostPath, Result<Option<HostPath>, Unseen>>,
}

/// It is not there, or could not be looked at.
#[derive(Clone, Copy)]
struct Unseen;

impl<'a> Places<'a> {
    /// With the whole table of that namespace, if it could be read.
    pub(super) fn new(kubelet: &'a MountTable, table: Option<&'a Table>) -> Self {
        let table = table.filter(|table| table.fault().is_none());
        let view = HostRoot::new(format!("/proc/{}/root", kubelet.through_pid));
        Places { kubelet, view, table, links: BTreeMap::new() }
    }

    /// The places of a space, if it is this namespace.
    pub(super) fn of(&mut self, space: &Space) -> Option<&mut Self> {
        (space.ns == self.kubelet.ns).then_some(self)
    }

    /// As [`root::real`](crate::host::root::real).
    pub(super) fn real(&mut self, path: &HostPath) -> Option<HostPath> {
        real(path, |part| self.link(part))
    }

    fn link(&mut self, part: &HostPath) -> Result<Option<HostPath>, Unseen> {
        if let Some(known) = self.links.get(part) {
            return known.clone();
        }
        let link = self.read_link(part);
        self.links.insert(part.clone(), link.clone());
        link
    }

    fn read_link(&mut self, part: &HostPath) -> Result<Option<HostPath>, Unseen> {
        let root = HostPath::from("/");
        let tree = Tree::open(&self.view, &root, &self.kubelet.mounts);
        let link = tree.get().and_then(|tree| tree.link(part).get().cloned()).ok_or(Unseen)?;
        Ok(link.map(HostPath::new))
    }

    pub(super) fn has_socket(&self, path: &HostPath) -> bool {
        let Some(table) = self.table else { return false };
        let Some(parent) = path.parent() else {
            return false;
        };
        let mounts = table.mounts(|mount| is_path_within(path.as_bytes(), &mount.mount_point())).mounts;
        let tree = Tree::open(&self.view, &parent, &mounts);
        let facts = tree.get().and_then(|tree| tree.facts(path).get().cloned());
        facts.is_some_and(|facts| !facts.is_file && !facts.is_directory)
    }
}
