//! The mount table that is needed before it is known who the kubelet is.

use std::{io, ops::ControlFlow, path::Path};

use super::budget::MAX_FIRST_BYTES;
use crate::host::HostRoot;
use crate::observation::HostPath;
use crate::sys::{self, ProcDir};

/// The host's mount table, read for its cgroup hierarchies. The kubelet nearly always lives in the
/// same namespace, and on a crowded node each reading costs milliseconds.
#[derive(Clone, Debug, Default)]
pub struct FirstTable {
    bytes: Vec<u8>,
    /// Of a table that is too long to be kept, only the lines of cgroups are here.
    is_cut_down: bool,
}

impl FirstTable {
    /// Reads pid 1's, or our own where that may not be read.
    pub fn read(host: &HostRoot) -> Self {
        let tables = ["proc/1/mountinfo", "proc/self/mountinfo"].map(|file| host.at(&HostPath::from("/")).join(file));
        match tables.iter().find_map(|file| sys::read_capped(file, MAX_FIRST_BYTES).ok()) {
            Some(bytes) => FirstTable { bytes, is_cut_down: false },
            None => {
                let bytes = tables.iter().find_map(|file| cgroup_lines(file).ok()).unwrap_or_default();
                FirstTable { bytes, is_cut_down: true }
            }
        }
    }

    /// In the form of mountinfo; empty when it could not be read.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// This table, handed over, if it is that of this process: of the same namespace and root directory. It is if
    /// it begins as this one does: the first line names the root mount by a number that no other living mount
    /// has, and a process in a chroot does not see that mount.
    pub(super) fn take(&mut self, dir: &ProcDir) -> io::Result<Option<Vec<u8>>> {
        if self.bytes.is_empty() || self.is_cut_down {
            return Ok(None);
        }
        let begins = dir.read_beginning("mountinfo")?;
        let is_same = !begins.is_empty() && self.bytes.starts_with(&begins);
        Ok(is_same.then(|| std::mem::take(&mut self.bytes)))
    }
}

/// What is looked for in a table before it is known who the kubelet is.
fn cgroup_lines(file: &Path) -> io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    sys::read_lines_of(file, |lines| {
        let is_one = |line: &&[u8]| memchr::memmem::find(line, b" - cgroup").is_some();
        lines.split_inclusive(|byte| *byte == b'\n').filter(is_one).for_each(|line| kept.extend_from_slice(line));
        if kept.len() > MAX_FIRST_BYTES { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::mounts::tests::namespace::Namespace;

    #[test]
    fn is_taken_for_the_same_namespace_only() {
        let me = ProcDir::open(std::process::id()).unwrap();
        let ns = Namespace::new();
        let theirs = ProcDir::open(ns.pid()).unwrap();
        let own = || FirstTable { bytes: me.mountinfo(MAX_FIRST_BYTES).unwrap(), is_cut_down: false };
        let mut same = own();
        assert_eq!(same.take(&me).unwrap().unwrap(), own().bytes);
        assert_eq!(same.take(&me).unwrap(), None, "it can be taken once");
        let mut other = own();
        assert_eq!(other.take(&theirs).unwrap(), None);
        assert_eq!(other.bytes, own().bytes);
    }

    #[test]
    fn of_a_long_table_the_cgroups_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("mountinfo");
        let line = |n: usize| format!("{n} 1 0:40 / /deep/{} rw - tmpfs t rw\n", "d".repeat(3000));
        let cgroup = "9 1 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        let text: String = (10..4000).map(line).chain([cgroup.to_owned()]).collect();
        assert!(text.len() > MAX_FIRST_BYTES);
        std::fs::write(&file, text).unwrap();
        assert_eq!(cgroup_lines(&file).unwrap(), cgroup.as_bytes());
    }
}
