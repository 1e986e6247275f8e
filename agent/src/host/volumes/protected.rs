//! Files that may not be removed, below a directory that the kubelet deletes.

use std::time::{Duration, Instant};

use crate::{
    host::{HostRoot, tree::Tree},
    observation::{HostPath, MountTable, ProtectedFile, ProtectedFiles, Seen},
    sys::EntryKind,
};

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
    while let Some(at) = directories.pop() {
        search.found.extend(protected(&tree, &at));
        let entries = tree.list(&at, MAX_FILES - looked_at);
        for entry in entries.get().into_iter().flatten() {
            let path = at.join(&entry.name);
            match entry.kind {
                EntryKind::Directory => directories.push(path),
                EntryKind::Link => {}
                EntryKind::Other | EntryKind::Unknown => search.found.extend(protected(&tree, &path)),
            }
            looked_at += 1;
            if search.found.len() >= MAX_FOUND || looked_at >= MAX_FILES || Instant::now() > end {
                search.found.truncate(MAX_FOUND);
                return search;
            }
        }
    }
    search.is_whole = true;
    search
}

fn protected(tree: &Tree<'_>, path: &HostPath) -> Option<ProtectedFile> {
    let facts = *tree.facts(path).get()?;
    let is_one = facts.is_immutable || facts.is_append_only;
    is_one.then(|| ProtectedFile { path: path.clone(), is_immutable: facts.is_immutable })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, process::Command};

    #[test]
    fn a_marked_file_is_found_wherever_it_lies() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b");
        fs::create_dir_all(&deep).unwrap();
        let file = deep.join("conf");
        fs::write(&file, "").unwrap();
        fs::write(deep.join("other"), "").unwrap();
        let mark = |how: &str| Command::new("chattr").arg(how).arg(&file).status().is_ok_and(|status| status.success());
        let root = HostPath::from(dir.path().to_owned());
        let look = || search(&HostRoot::default(), &root, &MountTable::default());
        assert_eq!(look(), ProtectedFiles { dir: root.clone(), found: Vec::new(), is_whole: true });
        if !mark("+i") {
            return;
        }
        let found = look().found;
        assert!(mark("-i"));
        assert_eq!(found, [ProtectedFile { path: HostPath::from(file), is_immutable: true }]);
    }
}
