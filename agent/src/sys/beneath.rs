//! What lies below a directory into which tenants and drivers may write: it is reached from a descriptor of that
//! directory, through no link and onto no other mount, so that the thread that looks cannot be led to a file system
//! whose server may never answer.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, open, openat, openat2};
use nix::sys::stat::{Mode, SFlag, fstat};

use super::dir::{Entry, entries};
use super::linux::{AtFlags, StatxAttributes, StatxFlags, link, statx};
use super::read::{named, read_all, read_text};
use super::statx::FileFacts;

/// Another process renames while we walk: then the kernel asks to try again.
const MAX_TRIES: usize = 8;
/// An `fdinfo` has three lines.
const MAX_FDINFO_BYTES: usize = 4 << 10;

/// A directory that is held open.
#[derive(Debug)]
pub struct Beneath {
    fd: OwnedFd,
    path: PathBuf,
    walk: Walk,
}

/// Who sees to it that the walk meets no link and no mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Walk {
    /// The kernel (`openat2`, Linux ≥ 5.6).
    Kernel,
    /// We, component by component, where it does not know how or may not be asked.
    Own,
}

impl Walk {
    fn from(base: &OwnedFd) -> Self {
        match openat2(base, ".", open_how(ResolveFlag::empty())) {
            // A seccomp filter cannot look at its arguments, so some refuse it altogether.
            Err(Errno::ENOSYS | Errno::EPERM) => Walk::Own,
            _ => Walk::Kernel,
        }
    }
}

/// Whether mounts on the way are entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mounts {
    Entered,
    Refused,
}

/// Why a way is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// A component of it is a link, which may lead anywhere.
    #[error("a symbolic link is on the way, which is not followed")]
    Link,
    /// A component of it is on another mount.
    #[error("another file system is mounted on the way, which is not entered")]
    Mount,
    /// It leads upwards, or is absolute.
    #[error("is no plain path: it has \"..\" in it")]
    Upwards,
}

impl Beneath {
    /// Opens `dir`, a path below `base`. Links on the way are refused. Mounts are entered: the caller answers for it
    /// that the mount table has none on this way that needs a server.
    pub fn open(base: &Path, dir: &Path) -> io::Result<Self> {
        Beneath::open_by(Walk::from, base, dir)
    }

    fn open_by(walk: impl FnOnce(&OwnedFd) -> Walk, base: &Path, dir: &Path) -> io::Result<Self> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let fd = open(base, flags, Mode::empty()).map_err(|error| named(base, error.into()))?;
        let walk = walk(&fd);
        let base = Beneath { fd, path: base.to_owned(), walk };
        let dir = dir.strip_prefix("/").unwrap_or(dir);
        let fd = base.directory(dir, Mounts::Entered)?;
        Ok(Beneath { fd, path: base.path.join(dir), walk })
    }

    /// The same directory, walked as this process may walk now: it may have given up calls since.
    pub fn reopened(&self) -> io::Result<Self> {
        Beneath::open(&descriptor_path(&self.fd), Path::new(""))
    }

    /// The first `cap` entries of the directory at `below`.
    pub fn list_capped(&self, below: &Path, cap: usize) -> io::Result<Vec<Entry>> {
        let list = || {
            let dir = self.directory(below, Mounts::Refused)?;
            let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
            entries(&openat(&dir, ".", flags, Mode::empty())?, cap)
        };
        list().map_err(|error| self.named(below, error))
    }

    /// What the file at `below` is; a link is a link.
    pub fn file_facts(&self, below: &Path) -> io::Result<FileFacts> {
        self.reach(below, Mounts::Refused).and_then(|fd| FileFacts::read(&fd)).map_err(|error| self.named(below, error))
    }

    /// Reads at most `cap` bytes of the regular file at `below`; of anything else nothing is opened.
    pub fn read_capped(&self, below: &Path, cap: usize) -> io::Result<Vec<u8>> {
        let read = || {
            let file = self.reach(below, Mounts::Refused)?;
            if !FileFacts::read(&file)?.is_file {
                return Err(io::Error::other("is not a regular file"));
            }
            let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
            read_all(&open(&descriptor_path(&file), flags, Mode::empty())?, cap)
        };
        read().map_err(|error| self.named(below, error))
    }

    /// Where the link at `below` points; nothing of what is no link. Mounts on the way are entered as by [`Beneath::open`],
    /// links on the way are refused.
    pub fn link(&self, below: &Path) -> io::Result<Option<Vec<u8>>> {
        let look = || {
            let fd = self.reach(below, Mounts::Entered)?;
            if is_link(&fd)? { link(&fd, b"").map(Some) } else { Ok(None) }
        };
        look().map_err(|error| self.named(below, error))
    }

    /// Whether something is mounted right at `below`, which is not entered to see it. `None` on a kernel that would not show
    /// it to a kubelet either (< 5.8).
    pub fn is_mount_root(&self, below: &Path) -> io::Result<Option<bool>> {
        let look = || {
            let (Some(parent), Some(name)) = (below.parent(), below.file_name()) else { return Ok(None) };
            let parent = self.directory(parent, Mounts::Refused)?;
            let facts = statx(&parent, "", AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC, StatxFlags::empty())?;
            if !facts.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT) {
                return Ok(None);
            }
            let parent = Beneath { fd: parent, path: PathBuf::new(), walk: self.walk };
            match parent.reach(Path::new(name), Mounts::Refused) {
                // Who follows it sees what it leads to.
                Ok(found) if is_link(&found)? => Err(refused(Refused::Link)),
                Ok(_) => Ok(Some(false)),
                Err(error) if refusal(&error) == Some(Refused::Mount) => Ok(Some(true)),
                Err(error) => Err(error),
            }
        };
        look().map_err(|error| self.named(below, error))
    }

    /// The number of the mount at `below` that is never used again (`STATX_MNT_ID_UNIQUE`). Asks no server, but
    /// reaches the root of that mount: not for NFS and its like.
    pub fn unique_mount_id(&self, below: &Path) -> io::Result<u64> {
        let look = || {
            let (Some(parent), Some(name)) = (below.parent(), below.file_name()) else {
                return Err(refused(Refused::Upwards));
            };
            super::listmount::unique_mount_id(&self.directory(parent, Mounts::Refused)?, Path::new(name))
        };
        look().map_err(|error| self.named(below, error))
    }

    /// The unix socket at `below`, to connect to; nothing is connected yet.
    pub fn socket(&self, below: &Path) -> io::Result<Socket> {
        let find = || {
            let fd = self.reach(below, Mounts::Refused)?;
            if is_link(&fd)? {
                return Err(refused(Refused::Link));
            }
            Ok(Socket { path: descriptor_path(&fd), _fd: fd })
        };
        find().map_err(|error| self.named(below, error))
    }

    fn named(&self, below: &Path, error: io::Error) -> io::Error {
        named(&self.path.join(below), error)
    }

    /// Like [`Beneath::reach`], of what is to be gone through.
    fn directory(&self, below: &Path, mounts: Mounts) -> io::Result<OwnedFd> {
        let fd = self.reach(below, mounts)?;
        if is_link(&fd)? { Err(refused(Refused::Link)) } else { Ok(fd) }
    }

    /// A descriptor of what is at `below` that opens nothing (`O_PATH`); a link at its end is the link itself.
    fn reach(&self, below: &Path, mounts: Mounts) -> io::Result<OwnedFd> {
        if !below.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(refused(Refused::Upwards));
        }
        if self.walk == Walk::Own {
            return self.reach_by_components(below, mounts);
        }
        match self.reach_by_kernel(below, mounts) {
            Err(Errno::ELOOP) => Err(refused(Refused::Link)),
            Err(Errno::EXDEV) => Err(refused(Refused::Mount)),
            other => Ok(other?),
        }
    }

    fn reach_by_kernel(&self, below: &Path, mounts: Mounts) -> nix::Result<OwnedFd> {
        let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        let no_mounts = if mounts == Mounts::Refused { ResolveFlag::RESOLVE_NO_XDEV } else { ResolveFlag::empty() };
        let resolve = ResolveFlag::RESOLVE_BENEATH
            | ResolveFlag::RESOLVE_NO_SYMLINKS
            | ResolveFlag::RESOLVE_NO_MAGICLINKS
            | no_mounts;
        let how = open_how(resolve);
        let mut tried = Err(Errno::EAGAIN);
        for _ in 0..MAX_TRIES {
            tried = openat2(&self.fd, below, how);
            if !matches!(tried, Err(Errno::EAGAIN | Errno::EINTR)) {
                break;
            }
        }
        tried
    }

    /// As the kernel does it, with one difference: a mount is noticed when its root has been reached. That asks no
    /// FUSE server, and the mount table has no other on this way.
    fn reach_by_components(&self, below: &Path, mounts: Mounts) -> io::Result<OwnedFd> {
        let mut at = self.fd.try_clone()?;
        let mount = if mounts == Mounts::Refused { mount_of(&at)? } else { None };
        let mut at_link = false;
        for part in below.components() {
            if at_link {
                return Err(refused(Refused::Link));
            }
            at = openat(&at, part.as_os_str(), OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC, Mode::empty())?;
            // Before anything is asked of the file: that could be a question to a server.
            if mounts == Mounts::Refused && mount_of(&at)? != mount {
                return Err(refused(Refused::Mount));
            }
            at_link = is_link(&at)?;
        }
        Ok(at)
    }
}

fn open_how(resolve: ResolveFlag) -> OpenHow {
    OpenHow::new().flags(OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC).resolve(resolve)
}

/// A unix socket that was found, held so that its name cannot come to mean another.
#[derive(Debug)]
pub struct Socket {
    path: PathBuf,
    _fd: OwnedFd,
}

impl Socket {
    /// The path to connect to, as long as this lives; it is short enough for an address.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// What `error` refuses, if it is that.
pub fn refusal(error: &io::Error) -> Option<Refused> {
    let error = super::place(error).map_or(error, |(_, error)| error);
    error.get_ref()?.downcast_ref().copied()
}

fn refused(why: Refused) -> io::Error {
    io::Error::other(why)
}

/// Only of what is on a mount that may be touched.
fn is_link(fd: &OwnedFd) -> nix::Result<bool> {
    Ok(fstat(fd)?.st_mode & SFlag::S_IFMT.bits() == SFlag::S_IFLNK.bits())
}

fn descriptor_path(fd: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd()))
}

/// The number of the mount that a descriptor is on, which asks nothing of the file.
fn mount_of(fd: &OwnedFd) -> io::Result<Option<u32>> {
    let info = read_text(Path::new(&format!("/proc/self/fdinfo/{}", fd.as_raw_fd())), MAX_FDINFO_BYTES)?;
    let number = info.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok());
    number.map(Some).ok_or_else(|| io::Error::other("the kernel does not show the mount of a descriptor"))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink, os::unix::net::UnixListener};

    use super::*;
    use crate::host::mounts::tests::namespace::Namespace;

    fn both(base: &Path, dir: &str) -> [Beneath; 2] {
        [Walk::Kernel, Walk::Own].map(|walk| Beneath::open_by(|_| walk, base, Path::new(dir)).unwrap())
    }

    fn kind<T: std::fmt::Debug>(result: io::Result<T>) -> Refused {
        let error = result.unwrap_err();
        refusal(&error).unwrap_or_else(|| panic!("{error}"))
    }

    #[test]
    fn what_is_there_is_found() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("pods/a/b")).unwrap();
        fs::write(dir.path().join("pods/a/b/file"), "text").unwrap();
        let _listener = UnixListener::bind(dir.path().join("pods/a/sock")).unwrap();
        for root in both(dir.path(), "/pods") {
            let names = root.list_capped(Path::new("a"), 9).unwrap();
            assert_eq!(names.len(), 2, "{root:?}");
            assert_eq!(root.list_capped(Path::new(""), 9).unwrap()[0].name, "a");
            assert_eq!(root.read_capped(Path::new("a/b/file"), 4).unwrap(), b"text");
            assert!(root.read_capped(Path::new("a/b/file"), 3).is_err());
            let facts = root.file_facts(Path::new("a/b/file")).unwrap();
            assert!(facts.is_file && facts.length == 4 && facts.changed_ms > 0);
            assert!(root.file_facts(Path::new("a/b")).unwrap().is_directory);
            assert_eq!(root.file_facts(Path::new("a/c")).unwrap_err().kind(), io::ErrorKind::NotFound);
            assert!(std::os::unix::net::UnixStream::connect(root.socket(Path::new("a/sock")).unwrap().path()).is_ok());
            let file = root.socket(Path::new("a/b/file")).unwrap();
            assert!(std::os::unix::net::UnixStream::connect(file.path()).is_err());
        }
    }

    #[test]
    fn no_link_is_followed_wherever_it_stands() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("pods/real")).unwrap();
        fs::write(dir.path().join("pods/real/file"), "text").unwrap();
        symlink("real", dir.path().join("pods/link")).unwrap();
        symlink("file", dir.path().join("pods/real/again")).unwrap();
        symlink("/proc/self/root", dir.path().join("pods/magic")).unwrap();
        symlink("pods", dir.path().join("alias")).unwrap();
        for root in both(dir.path(), "pods") {
            for way in ["link/file", "magic/etc/passwd"] {
                assert_eq!(kind(root.read_capped(Path::new(way), 99)), Refused::Link, "{way}");
                assert_eq!(kind(root.file_facts(Path::new(way))), Refused::Link, "{way}");
                assert_eq!(kind(root.is_mount_root(Path::new(way))), Refused::Link, "{way}");
                assert_eq!(kind(root.socket(Path::new(way))), Refused::Link, "{way}");
            }
            // At its end it is a link, and nothing more.
            assert_eq!(kind(root.list_capped(Path::new("link"), 9)), Refused::Link);
            assert_eq!(kind(root.socket(Path::new("link"))), Refused::Link);
            assert!(root.read_capped(Path::new("real/again"), 9).is_err());
            assert_eq!(root.link(Path::new("link")).unwrap().as_deref(), Some(&b"real"[..]));
            assert_eq!(root.link(Path::new("real/file")).unwrap(), None);
            assert_eq!(kind(root.link(Path::new("link/again"))), Refused::Link);
            let facts = root.file_facts(Path::new("link")).unwrap();
            assert!(!facts.is_directory && !facts.is_file);
            for way in ["../pods/real", "real/../real", "/etc"] {
                assert_eq!(kind(root.list_capped(Path::new(way), 9)), Refused::Upwards, "{way}");
            }
        }
        for walk in [Walk::Kernel, Walk::Own] {
            assert_eq!(kind(Beneath::open_by(|_| walk, dir.path(), Path::new("alias/real"))), Refused::Link);
        }
    }

    /// Seen through the root of another namespace, as the agent does on a node.
    #[test]
    fn no_other_mount_is_entered() {
        let mut ns = Namespace::new();
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("pods/bind")).unwrap();
        fs::create_dir_all(dir.path().join("pods/tmpfs")).unwrap();
        fs::create_dir_all(dir.path().join("pods/plain/x")).unwrap();
        fs::write(dir.path().join("pods/file"), "").unwrap();
        let base = dir.path().to_str().unwrap();
        ns.run(&format!(
            "cd {base} && mount -t tmpfs t pods/tmpfs && mkdir pods/tmpfs/x && mount --bind pods/plain pods/bind \
             && mount --bind /etc/hostname pods/file; cd /"
        ));
        for root in both(Path::new(&format!("/proc/{}/root", ns.pid())), &format!("{base}/pods")) {
            for way in ["bind/x", "tmpfs/x"] {
                assert_eq!(kind(root.list_capped(Path::new(way), 9)), Refused::Mount, "{way}");
                assert_eq!(kind(root.is_mount_root(Path::new(way))), Refused::Mount, "{way}");
            }
            assert_eq!(kind(root.list_capped(Path::new("tmpfs"), 9)), Refused::Mount);
            assert_eq!(kind(root.read_capped(Path::new("file"), 99)), Refused::Mount);
            for (way, is_mount) in
                [("bind", true), ("tmpfs", true), ("file", true), ("plain", false), ("plain/x", false)]
            {
                let known = root.is_mount_root(Path::new(way)).unwrap();
                assert!(known.is_none_or(|known| known == is_mount), "{way}");
            }
            assert_eq!(root.is_mount_root(Path::new("no")).unwrap_err().kind(), io::ErrorKind::NotFound);
        }
    }
}
