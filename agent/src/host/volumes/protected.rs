//! Files that may not be removed, below a directory that the kubelet deletes.

use std::time::{Duration, Instant};

use crate::host::HostRoot;
use crate::host::tree::Tree;
use crate::observation::{HostPath, MountTable, ProtectedFile, ProtectedFiles, Seen};
use crate::sys::{EntryKind, FileFacts};

/// A tenant decides how many files there are.
const MAX_FILES: usize = 50_000;
const TIMEOUT: Duration = Duration::from_millis(400);
/// More of them are not named.
const MAX_FOUND: usize = 4;

/// Looks at each file below `dir`, the directories first; none is opened.
pub fn search(host: &HostRoot, dir: &HostPath, table: &MountTable) -> ProtectedFiles {
    let mut search = ProtectedFiles { dir: dir.clone(), found: Vec::new(), is_whole: false };
    let mounts = super::mounts_near(table, dir);
    let Seen::Seen(tree) = Tree::open(host, dir, &mounts) else { return search };
    let (mut directories, mut looked_at, end) = (vec![dir.clone()], 0, Instant::now() + TIMEOUT);
    // What is gone by now is no file that stays.
    let mut has_failed = false;
    let mut look = |path: &HostPath| {
        let facts = tree.facts(path);
        has_failed |= facts.fault().is_some();
        protected(facts.get()?, path)
    };
    let mut lists_failed = false;
    while let Some(at) = directories.pop() {
        search.found.extend(look(&at));
        let entries = tree.list(&at, MAX_FILES - looked_at);
        lists_failed |= entries.fault().is_some();
        for entry in entries.get().into_iter().flatten() {
            let path = at.join(&entry.name);
            match entry.kind {
                EntryKind::Directory => directories.push(path),
                EntryKind::Link => {}
                EntryKind::Other | EntryKind::Unknown => search.found.extend(look(&path)),
            }
            looked_at += 1;
            if search.found.len() >= MAX_FOUND || looked_at >= MAX_FILES || Instant::now() > end {
                search.found.truncate(MAX_FOUND);
                return search;
            }
        }
    }
    search.is_whole = !has_failed && !lists_failed;
    search
}

fn protected(facts: &FileFacts, path: &HostPath) -> Option<ProtectedFile> {
    let is_one = facts.is_immutable || facts.is_append_only;
    is_one.then(|| ProtectedFile { path: path.clone(), is_immutable: facts.is_immutable })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::mounts::tests::namespace::{Namespace, skip};
    use std::{fs, process::Command};

    #[test]
    fn a_marked_file_is_found_wherever_it_lies() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b");
        fs::create_dir_all(&deep).unwrap();
        let file = deep.join("conf");
        fs::write(&file, "").unwrap();
        fs::write(deep.join("other"), "").unwrap();
        let mark = |how: &str| Command::new("chattr").env("LC_ALL", "C").arg(how).arg(&file).output().unwrap();
        let root = HostPath::from(dir.path().to_owned());
        let look = || search(&HostRoot::default(), &root, &MountTable::default());
        assert_eq!(look(), ProtectedFiles { dir: root.clone(), found: Vec::new(), is_whole: true });
        let marked = mark("+i");
        let why = String::from_utf8_lossy(&marked.stderr).into_owned();
        let is_refused = ["Operation not permitted", "Operation not supported", "Inappropriate ioctl"];
        if is_refused.iter().any(|refusal| why.contains(refusal)) {
            return skip(&format!("no file can be made immutable here: {}", why.trim()));
        }
        assert!(marked.status.success(), "{why}");
        let found = look().found;
        assert!(mark("-i").status.success());
        assert_eq!(found, [ProtectedFile { path: HostPath::from(file), is_immutable: true }]);
    }

    /// A mount that is not in the table, as one that was made after it was read.
    #[test]
    fn a_directory_that_could_not_be_listed_is_said_to_be_unread() {
        let mut ns = Namespace::new();
        let dir = tempfile::tempdir().unwrap();
        let root = HostPath::from(dir.path().to_owned());
        ns.run(&format!("mkdir {0}/below && mount -t tmpfs t {0}/below", root.show()));
        let host = HostRoot::new(format!("/proc/{}/root", ns.pid()));
        let look = || search(&host, &root, &MountTable::default());
        assert_eq!(look(), ProtectedFiles { dir: root.clone(), found: Vec::new(), is_whole: false });
        ns.run(&format!("umount {}/below", root.show()));
        assert!(look().is_whole);
    }
}
