//! A short name for a path that is too long for a socket's address.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::socket::sockopt::PeerCredentials;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, getsockopt, socket};
use nix::sys::stat::Mode;

use super::read::named;

/// The longest path in a unix socket's address, without the final zero (`sockaddr_un`).
const MAX_PATH_BYTES: usize = 107;

/// A path to a socket that fits into an address. Holds the socket's directory open when the path
/// itself is too long, so it must not outlive the question and is not for pods' volumes.
#[derive(Debug)]
pub struct SocketPath {
    path: PathBuf,
    _directory: Option<OwnedFd>,
}

impl SocketPath {
    /// Prepares the path; the directory of a long one must exist and be local.
    pub fn new(path: &Path) -> io::Result<Self> {
        if path.as_os_str().len() <= MAX_PATH_BYTES {
            return Ok(SocketPath { path: path.to_owned(), _directory: None });
        }
        let parent = path.parent().unwrap_or(Path::new("/"));
        let name = path.file_name().unwrap_or(OsStr::new("."));
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let fd = open(parent, flags, Mode::empty()).map_err(|error| named(parent, error.into()))?;
        let short = PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd())).join(name);
        Ok(SocketPath { path: short, _directory: Some(fd) })
    }

    /// The path to connect to, as long as this lives.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Which process listens on the unix socket at `path`, `None` without one; never waits. The pid is that of the process that
/// called `listen`, 0 when its queue is full and the kernel does not report it.
pub fn listener(path: &Path) -> io::Result<Option<u32>> {
    let short = SocketPath::new(path)?;
    let error = |error: Errno| named(path, error.into());
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None).map_err(error)?;
    let address = UnixAddr::new(short.path()).map_err(error)?;
    match connect(socket.as_raw_fd(), &address) {
        Ok(()) => {
            let peer = getsockopt(&socket, PeerCredentials).map_err(error)?;
            Ok(Some(u32::try_from(peer.pid()).unwrap_or(0)))
        }
        // A full queue: it listens, and does not accept.
        Err(Errno::EAGAIN) => Ok(Some(0)),
        Err(Errno::ECONNREFUSED) => Ok(None),
        Err(other) => Err(error(other)),
    }
}

/// Listens at `path` for every process that `mode` admits; a socket that stands there is taken away first.
pub fn bind(path: &Path, mode: u32) -> io::Result<UnixListener> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(named(path, error)),
        _ => {}
    }
    let listener = UnixListener::bind(path).map_err(|error| named(path, error))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(|error| named(path, error))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::{Backlog, bind, listen};

    #[test]
    fn a_long_path_is_shortened_and_works() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("d".repeat(120));
        std::fs::create_dir(&deep).unwrap();
        let path = deep.join("s");
        let short = SocketPath::new(&path).unwrap();
        let bound = UnixListener::bind(short.path()).unwrap();
        assert!(listener(&path).unwrap().is_some());
        drop(bound);
        // A copy of this process that another test has just made has it open for a moment.
        let until = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while listener(&path).unwrap().is_some() && std::time::Instant::now() < until {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(listener(&path).unwrap().is_none());
        std::fs::remove_file(&path).unwrap();
        assert_eq!(listener(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_full_queue_does_not_block() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let socket = socket(AddressFamily::Unix, SockType::Stream, SockFlag::empty(), None).unwrap();
        bind(socket.as_raw_fd(), &UnixAddr::new(&path).unwrap()).unwrap();
        listen(&socket, Backlog::new(0).unwrap()).unwrap();
        let _first = std::os::unix::net::UnixStream::connect(&path).unwrap();
        assert!(listener(&path).unwrap().is_some());
    }
}
