//! Where the broker connects: to the runtime's socket, and to sockets below the kubelet's directory. It opens both directories
//! before it gives up the rights that lead to them, and reaches each socket from there, by no link, no mount and no way up.
//!
//! A runtime that starts again has a new socket, and often a new directory: the one above that is held. The kubelet's directory
//! stays as long as there is a kubelet; after it is another, the agent starts again.

use std::{io, path::Path};

use crate::observation::HostPath;
use crate::sys::{Beneath, Socket};

/// The directories that were opened, and what lies in them.
#[derive(Debug)]
pub struct Directories {
    /// The one socket below it to which a connection is made.
    runtime: Option<(HostPath, Opened)>,
    kubelet: Opened,
}

/// A directory, or why it is not open.
#[derive(Debug)]
struct Opened {
    at: HostPath,
    directory: Option<Beneath>,
}

impl Directories {
    /// Opens them below `root`, the root directory of the host. Only where `may_open` says that no server is needed for it.
    pub fn open(
        root: &Path,
        runtime: Option<&HostPath>,
        kubelet: &HostPath,
        may_open: impl Fn(&HostPath) -> bool,
    ) -> Self {
        let open = |at: HostPath| {
            let directory = may_open(&at).then(|| Beneath::open(root, at.as_path()).ok()).flatten();
            Opened { at, directory }
        };
        let runtime = runtime.and_then(|socket| {
            let own = socket.as_path().parent()?;
            let opened = match (own.parent(), own.file_name()) {
                (Some(above), Some(name)) => {
                    let above = open(HostPath::from(above.to_owned()));
                    let is_mount = |above: &Beneath| matches!(above.is_mount_root(Path::new(name)), Ok(Some(true)));
                    if above.directory.as_ref().is_some_and(is_mount) {
                        open(HostPath::from(own.to_owned()))
                    } else {
                        above
                    }
                }
                _ => open(HostPath::from(own.to_owned())),
            };
            Some((socket.clone(), opened))
        });
        Directories { runtime, kubelet: open(kubelet.clone()) }
    }

    /// Whether these are the places that the kubelet uses now.
    pub(super) fn are(&self, runtime: Option<&HostPath>, kubelet: &HostPath) -> bool {
        let own = self.runtime.as_ref().map(|(socket, _)| socket);
        self.kubelet.at == *kubelet && (runtime.is_none() || own == runtime)
    }

    /// The socket at `path`, to connect to.
    pub(super) fn socket(&self, path: &HostPath) -> io::Result<Socket> {
        let opened = match &self.runtime {
            Some((socket, opened)) if socket == path => opened,
            _ => &self.kubelet,
        };
        let refused = || io::Error::other("lies in no directory that the broker opened when it started");
        let below = path.as_path().strip_prefix(opened.at.as_path()).map_err(|_| refused())?;
        opened.directory.as_ref().ok_or_else(refused)?.reopened()?.socket(below)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink, os::unix::net::UnixListener};

    use super::*;
    use crate::sys;

    fn directories(root: &Path) -> Directories {
        fs::create_dir_all(root.join("run/runtime")).unwrap();
        fs::create_dir_all(root.join("kubelet/plugins")).unwrap();
        let (runtime, kubelet) = (HostPath::from("/run/runtime/s.sock"), HostPath::from("/kubelet"));
        Directories::open(root, Some(&runtime), &kubelet, |_| true)
    }

    fn answers(directories: &Directories, path: &str) -> io::Result<bool> {
        let socket = directories.socket(&HostPath::from(path))?;
        sys::listener(socket.path()).map(|listener| listener.is_some())
    }

    #[test]
    fn a_runtime_that_starts_again_is_found_also_in_a_directory_that_is_new() {
        let dir = tempfile::tempdir().unwrap();
        let directories = directories(dir.path());
        let at = dir.path().join("run/runtime/s.sock");
        let socket = "/run/runtime/s.sock";
        assert_eq!(answers(&directories, socket).unwrap_err().kind(), io::ErrorKind::NotFound);
        let first = UnixListener::bind(&at).unwrap();
        assert!(answers(&directories, socket).unwrap());
        drop(first);
        assert!(!answers(&directories, socket).unwrap(), "the socket has no listener");
        fs::remove_dir_all(dir.path().join("run/runtime")).unwrap();
        fs::create_dir(dir.path().join("run/runtime")).unwrap();
        let _second = UnixListener::bind(&at).unwrap();
        assert!(answers(&directories, socket).unwrap());
    }

    #[test]
    fn no_socket_is_reached_outside_of_them() {
        let dir = tempfile::tempdir().unwrap();
        let directories = directories(dir.path());
        let _plugin = UnixListener::bind(dir.path().join("kubelet/plugins/p.sock")).unwrap();
        assert!(answers(&directories, "/kubelet/plugins/p.sock").unwrap());
        let _beside = UnixListener::bind(dir.path().join("run/runtime/other.sock")).unwrap();
        let _above = UnixListener::bind(dir.path().join("run/above.sock")).unwrap();
        symlink(dir.path().join("run"), dir.path().join("kubelet/link")).unwrap();
        symlink(dir.path().join("run/above.sock"), dir.path().join("kubelet/socket")).unwrap();
        let own = dir.path().join("run/above.sock");
        let ways = [
            "/run/runtime/other.sock",
            "/run/above.sock",
            "/kubelet/../run/above.sock",
            "/kubelet/link/above.sock",
            "/kubelet/socket",
            own.to_str().unwrap(),
            "",
        ];
        for way in ways {
            let refused = answers(&directories, way).unwrap_err();
            assert_ne!(refused.kind(), io::ErrorKind::NotFound, "{way}: {refused}");
        }
    }

    #[test]
    fn another_kubelet_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let directories = directories(dir.path());
        let path = |path: &str| HostPath::from(path);
        assert!(directories.are(Some(&path("/run/runtime/s.sock")), &path("/kubelet")));
        assert!(directories.are(None, &path("/kubelet")), "which runtime it uses is not known now");
        assert!(!directories.are(Some(&path("/run/other/s.sock")), &path("/kubelet")));
        assert!(!directories.are(None, &path("/data/kubelet")));
    }
}
