//! Where the host's root directory is found.

use std::path::{Component, Path, PathBuf};

use crate::{observation::HostPath, sys};

/// A path behind more links than this is not followed.
const MAX_LINKS: usize = 8;

/// A prefix for the host's paths: empty when the agent stands in the kubelet's own mount
/// namespace, `/proc/<kubelet pid>/root` when it does not, or `--host-root`.
///
/// No hostPath mount is needed, so the agent holds no copy of a pod's mounts.
#[derive(Clone, Debug, Default)]
pub struct HostRoot {
    prefix: PathBuf,
}

impl HostRoot {
    /// The host's root directory is at `prefix`.
    pub fn new(prefix: impl Into<PathBuf>) -> Self {
        HostRoot { prefix: prefix.into() }
    }

    /// Whether the host's paths are the agent's own.
    pub fn is_own(&self) -> bool {
        self.prefix.as_os_str().is_empty()
    }

    /// Where the agent finds the host's `path`.
    pub fn at(&self, path: &HostPath) -> PathBuf {
        if self.is_own() {
            return path.as_path().to_owned();
        }
        self.prefix.join(path.as_path().strip_prefix("/").unwrap_or(path.as_path()))
    }

    /// The same place without links in its path: those of the host would lead into the agent's own files.
    /// Each is read and none opened.
    pub fn without_links(&self, path: HostPath) -> HostPath {
        let mut path = path;
        for _ in 0..MAX_LINKS {
            let Some((link, target)) = self.first_link(&path) else { return without_dots(&path) };
            let rest = path.as_path().strip_prefix(link.as_path()).unwrap_or(Path::new("")).to_owned();
            let parent = link.as_path().parent().unwrap_or(Path::new("/"));
            let real = parent.join(target.as_path());
            path = HostPath::from(if rest.as_os_str().is_empty() { real } else { real.join(rest) });
        }
        path
    }

    /// Whether surely nothing is there: not where a link remains that would be followed below the agent's own root, and
    /// not where the root itself has gone with its process.
    pub fn is_missing(&self, path: &HostPath) -> bool {
        let real = self.without_links(path.clone());
        self.first_link(&real).is_none()
            && sys::file_facts(&self.at(&real)).is_err_and(|error| sys::is_gone(&error))
            && sys::file_facts(&self.at(&HostPath::from("/"))).is_ok()
    }

    /// The first component of `path` that is a link, and where it points.
    fn first_link(&self, path: &HostPath) -> Option<(HostPath, HostPath)> {
        let mut ancestors: Vec<_> = path.as_path().ancestors().map(Path::to_owned).collect();
        ancestors.reverse();
        ancestors.into_iter().skip(1).map(HostPath::from).find_map(|part| {
            let target = sys::read_link(&self.at(&part)).ok()?;
            Some((part, HostPath::new(target)))
        })
    }
}

/// Of a path without links: on many hosts `/var/run` leads to `../run`.
fn without_dots(path: &HostPath) -> HostPath {
    let mut real = PathBuf::new();
    for part in path.as_path().components() {
        match part {
            Component::ParentDir => _ = real.pop(),
            part => real.push(part),
        }
    }
    HostPath::from(real)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linked_root_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("data/kubelet")).unwrap();
        std::os::unix::fs::symlink("data", dir.path().join("lib")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("data/kubelet"), dir.path().join("data/again")).unwrap();
        let base = HostPath::from(std::fs::canonicalize(dir.path()).unwrap());
        let linked = base.join("lib").join("again");
        assert_eq!(HostRoot::default().without_links(linked), base.join("data").join("kubelet"));
    }

    #[test]
    fn a_circle_of_links_ends() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("b", dir.path().join("a")).unwrap();
        std::os::unix::fs::symlink("a", dir.path().join("b")).unwrap();
        let base = HostPath::from(std::fs::canonicalize(dir.path()).unwrap());
        let circle = base.join("a");
        HostRoot::default().without_links(circle.clone());
        assert!(!HostRoot::default().is_missing(&circle), "where it leads is not known");
    }

    #[test]
    fn nothing_is_missing_below_a_root_that_has_gone() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("run")).unwrap();
        std::os::unix::fs::symlink("/run", dir.path().join("var")).unwrap();
        let socket = HostPath::from("/var/s.sock");
        assert!(HostRoot::new(dir.path()).is_missing(&socket));
        std::fs::write(dir.path().join("run/s.sock"), "").unwrap();
        assert!(!HostRoot::new(dir.path()).is_missing(&socket));
        assert!(!HostRoot::new("/proc/0/root").is_missing(&socket));
    }
}
