//! The mount table that is needed before it is known who the kubelet is.

use std::io;

use super::budget::FIRST_CAP;
use crate::{
    host::HostRoot,
    observation::HostPath,
    sys::{self, ProcDir},
};

/// The host's mount table, read for its cgroup hierarchies. The kubelet nearly always lives in the
/// same namespace, and on a crowded node each reading costs milliseconds.
#[derive(Clone, Debug, Default)]
pub struct FirstTable {
    bytes: Vec<u8>,
    /// The namespace it is of, when mountinfo was not read: its options then differ from those of mountinfo.
    ns: Option<u64>,
}

impl FirstTable {
    /// Reads pid 1's, or our own where that may not be read.
    pub fn read(host: &HostRoot) -> Self {
        if let Some(ns) = on_the_host().filter(|_| host.is_own())
            && let Ok(bytes) = sys::own_mount_table(FIRST_CAP)
        {
            return FirstTable { bytes, ns: Some(ns) };
        }
        let tables = ["proc/1/mountinfo", "proc/self/mountinfo"].map(|file| host.at(&HostPath::from("/")).join(file));
        let bytes = tables.iter().find_map(|file| sys::read_capped(file, FIRST_CAP).ok());
        FirstTable { bytes: bytes.unwrap_or_default(), ns: None }
    }

    /// In the form of mountinfo; empty when it could not be read.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// This table, handed over, if it is that of this process, which is in the namespace `ns`: of the same
    /// namespace and root directory. It is if it begins as this one does: the first line names the root mount by
    /// a number that no other living mount has, and a process in a chroot does not see that mount.
    pub(super) fn take(&mut self, dir: &ProcDir, ns: u64) -> io::Result<Option<Vec<u8>>> {
        if self.bytes.is_empty() || self.ns.is_some_and(|known| known != ns) {
            return Ok(None);
        }
        let begins = dir.read_beginning("mountinfo")?;
        // The options of one that is not mountinfo differ, so only the number of its first mount is compared.
        let number = |bytes: &[u8]| bytes.split(|b| *b == b' ').next().map(<[u8]>::to_vec);
        let is_same = match self.ns {
            Some(_) => number(&begins) == number(&self.bytes),
            None => !begins.is_empty() && self.bytes.starts_with(&begins),
        };
        Ok(is_same.then(|| std::mem::take(&mut self.bytes)))
    }
}

/// Our mount namespace, when it is pid 1's, or that of the kernel's own threads where pid 1's may not be seen.
fn on_the_host() -> Option<u64> {
    let own = sys::namespace_of(std::process::id(), "mnt").ok()?;
    let host = sys::namespace_of(1, "mnt").or_else(|_| sys::namespace_of(2, "mnt")).ok()?;
    (host == own).then_some(own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::mounts::test_mounts::Namespace;

    #[test]
    fn is_taken_for_the_same_namespace_only() {
        let me = ProcDir::open(std::process::id()).unwrap();
        let namespace = me.namespace("mnt").unwrap();
        let ns = Namespace::new();
        let theirs = ProcDir::open(ns.pid()).unwrap();
        let other_namespace = theirs.namespace("mnt").unwrap();
        for told in [None, Some(namespace)] {
            let own = || FirstTable { bytes: me.mountinfo(FIRST_CAP).unwrap(), ns: told };
            let mut same = own();
            assert_eq!(same.take(&me, namespace).unwrap().unwrap(), own().bytes);
            assert_eq!(same.take(&me, namespace).unwrap(), None, "it can be taken once");
            let mut other = own();
            assert_eq!(other.take(&theirs, other_namespace).unwrap(), None);
            assert_eq!(other.bytes, own().bytes);
        }
    }

    /// However it is read, it says the same. In a container it is pid 1's, if that may be read.
    #[test]
    fn it_names_the_mounts_of_mountinfo() {
        let points = |bytes: &[u8]| {
            let mounts = crate::parse::mountinfo::mounts(bytes, |_| true).mounts;
            mounts.into_iter().map(|mount| (mount.id, mount.mount_point)).collect::<Vec<_>>()
        };
        let whose = if on_the_host().is_some() { "self" } else { "1" };
        let text = || {
            let text = std::fs::read(format!("/proc/{whose}/mountinfo"));
            text.or_else(|_| std::fs::read("/proc/self/mountinfo")).unwrap()
        };
        // Other tests mount and unmount meanwhile.
        let found = (0..50).find_map(|_| {
            let (before, table, after) = (text(), FirstTable::read(&HostRoot::default()), text());
            (before == after).then_some((points(&table.bytes), points(&after)))
        });
        let (ours, theirs) = found.expect("a moment in which nothing is mounted");
        assert_eq!(ours, theirs);
    }
}
