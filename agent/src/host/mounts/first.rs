//! The mount table that is needed before it is known who the kubelet is.

use std::io;

use super::TABLE_CAP;
use crate::{
    host::HostView,
    observation::HostPath,
    sys::{self, ProcDir},
};

/// The host's mount table, read for its cgroup hierarchies. The kubelet nearly always lives in the
/// same namespace, and on a crowded node each reading costs milliseconds.
#[derive(Clone, Debug, Default)]
pub struct FirstTable {
    bytes: Vec<u8>,
}

impl FirstTable {
    /// Reads pid 1's, or our own where that may not be read.
    pub fn read(view: &HostView) -> Self {
        let tables = ["proc/1/mountinfo", "proc/self/mountinfo"].map(|file| view.at(&HostPath::from("/")).join(file));
        let bytes = tables.iter().find_map(|file| sys::read_capped(file, TABLE_CAP).ok());
        FirstTable { bytes: bytes.unwrap_or_default() }
    }

    /// As the kernel wrote it; empty when it could not be read.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The table of this process: this one, handed over, if it begins as this one does. The first
    /// line names the root mount by a number that no other living mount has, and a process in a
    /// chroot does not see that mount.
    pub(super) fn read_or_take(&mut self, dir: &ProcDir) -> io::Result<Vec<u8>> {
        match dir.read_unless_begins("mountinfo", TABLE_CAP, &self.bytes)? {
            Some(bytes) => Ok(bytes),
            None => Ok(std::mem::take(&mut self.bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::mounts::staged::Namespace;

    #[test]
    fn is_taken_for_the_same_namespace_only() {
        let me = ProcDir::open(std::process::id()).unwrap();
        let own = || FirstTable { bytes: me.read("mountinfo", TABLE_CAP).unwrap() };
        let mut same = own();
        assert_eq!(same.read_or_take(&me).unwrap(), own().bytes);
        assert!(same.bytes.is_empty(), "it was read again");
        let ns = Namespace::new();
        let mut other = own();
        let theirs = ProcDir::open(ns.pid()).unwrap();
        assert_eq!(other.read_or_take(&theirs).unwrap(), theirs.read("mountinfo", TABLE_CAP).unwrap());
        assert_eq!(other.bytes, own().bytes);
        assert!(!FirstTable::default().read_or_take(&me).unwrap().is_empty());
    }
}
