//! Where the host's root directory is found.

use std::convert::Infallible;
use std::path::{Component, PathBuf};

use crate::observation::{HostPath, is_path_within};
use crate::sys;

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
        self.followed(&path).unwrap_or(path)
    }

    /// Whether surely nothing is there: not where a link remains that would be followed below the agent's own root, and
    /// not where the root itself has gone with its process.
    pub fn is_missing(&self, path: &HostPath) -> bool {
        let is_gone = |real| sys::file_facts(&self.at(&real)).is_err_and(|error| sys::is_gone(&error));
        self.followed(path).is_some_and(is_gone) && sys::file_facts(&self.at(&HostPath::from("/"))).is_ok()
    }

    fn followed(&self, path: &HostPath) -> Option<HostPath> {
        let read_link = |part: &HostPath| Ok(sys::read_link(&self.at(part)).ok().map(HostPath::new));
        follow(path, read_link).unwrap_or_else(|error: Infallible| match error {})
    }
}

/// The path of a file with its directory's links followed; nothing where that directory is gone, or could not be looked at.
/// The file itself need not be there.
pub(super) fn real<E>(
    path: &HostPath,
    mut read_link: impl FnMut(&HostPath) -> Result<Option<HostPath>, E>,
) -> Option<HostPath> {
    let (dir, name) = (path.as_path().parent()?, path.as_path().file_name()?);
    // A link of a process leads where no path says, and is read only when its lock is free.
    let link = |part: &HostPath| {
        if is_path_within(part.as_bytes(), b"/proc") { Err(None) } else { read_link(part).map_err(Some) }
    };
    Some(follow(&HostPath::from(dir.to_owned()), link).ok()??.join(name))
}

/// `path` without links and dots, or nothing behind more than [`MAX_LINKS`]. `read_link` is asked for each directory on the
/// way, from the root on, and gives where a link points, or nothing for what is no link.
pub(super) fn follow<E>(
    path: &HostPath,
    mut read_link: impl FnMut(&HostPath) -> Result<Option<HostPath>, E>,
) -> Result<Option<HostPath>, E> {
    let (mut real, mut links) = (PathBuf::from("/"), 0);
    let mut rest = path.as_path().to_owned();
    loop {
        let mut parts = rest.components();
        let Some(part) = parts.next() else { return Ok(Some(HostPath::from(real))) };
        let after = parts.as_path().to_owned();
        rest = match part {
            Component::RootDir => {
                real = PathBuf::from("/");
                after
            }
            Component::ParentDir => {
                real.pop();
                after
            }
            Component::CurDir | Component::Prefix(_) => after,
            Component::Normal(name) => {
                let next = HostPath::from(real.join(name));
                match read_link(&next)? {
                    Some(_) if links == MAX_LINKS => return Ok(None),
                    Some(target) => {
                        links += 1;
                        target.as_path().join(after)
                    }
                    None => {
                        real.push(name);
                        after
                    }
                }
            }
        };
    }
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
        for way in ["lib/again", "lib/../data/./again", "data/kubelet/../again"] {
            assert_eq!(HostRoot::default().without_links(base.join(way)), base.join("data/kubelet"), "{way}");
        }
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
