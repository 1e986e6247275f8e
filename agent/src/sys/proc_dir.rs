//! One process's directory in `/proc`, held open: a pid that is reused in between cannot mix two
//! processes into one fact.

use std::{
    io,
    mem::MaybeUninit,
    ops::ControlFlow,
    os::{fd::OwnedFd, unix::ffi::OsStringExt},
    path::{Path, PathBuf},
};

use nix::{
    fcntl::{OFlag, open, openat, readlinkat},
    sys::stat::Mode,
    unistd::read,
};

use super::{
    dir::{Entry, entries},
    limits::FDINFO,
    linux::{CWD, readlink_into},
    proc_list::ProcList,
    read::{named, read_all, read_lines, read_pieces},
};

/// An open `/proc/<pid>` or `/proc/<pid>/task/<tid>`.
pub struct ProcDir {
    fd: OwnedFd,
    path: PathBuf,
}

impl ProcDir {
    /// Opens the directory of `pid`.
    pub fn open(pid: u32) -> io::Result<Self> {
        Self::at(PathBuf::from(format!("/proc/{pid}")))
    }

    /// Opens the directory of one thread.
    pub fn open_thread(pid: u32, tid: u32) -> io::Result<Self> {
        Self::at(PathBuf::from(format!("/proc/{pid}/task/{tid}")))
    }

    fn at(path: PathBuf) -> io::Result<Self> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let fd = open(&path, flags, Mode::empty()).map_err(|error| named(&path, error.into()))?;
        Ok(ProcDir { fd, path })
    }

    /// Its path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads one of its files. Only those that cannot block are allowed: the others
    /// (`cmdline`, `maps`, …) wait for the process's memory lock, which a task in D may hold.
    pub fn read(&self, file: &str, cap: usize) -> io::Result<Vec<u8>> {
        debug_assert!(may_be_read(file), "{file} can block for ever");
        self.read_file(file, cap)
    }

    fn read_file(&self, file: &str, cap: usize) -> io::Result<Vec<u8>> {
        let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC;
        let opened = openat(&self.fd, file, flags, Mode::empty());
        let opened = opened.map_err(|error| named(&self.path.join(file), error.into()))?;
        read_all(&opened, cap).map_err(|error| named(&self.path.join(file), error))
    }

    /// The first line of one of its files and perhaps some more, as far as 256 bytes go.
    pub fn read_beginning(&self, file: &str) -> io::Result<Vec<u8>> {
        debug_assert!(may_be_read(file), "{file} can block for ever");
        let opened = openat(&self.fd, file, OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty());
        let opened = opened.map_err(|error| named(&self.path.join(file), error.into()))?;
        let mut first = vec![0; 256];
        let length = read(&opened, &mut first)?;
        first.truncate(length);
        Ok(first)
    }

    /// What the kernel tells of the descriptor `fd`, which leads to `link`: only of a file with a path and of a socket.
    /// Of others it may wait for a lock that a task in D holds (`ep_show_fdinfo`, fs/eventpoll.c, while an `ioctl` reads
    /// its argument from memory behind a FUSE server).
    pub fn fdinfo(&self, fd: u32, link: &[u8]) -> io::Result<Vec<u8>> {
        let file = format!("fdinfo/{fd}");
        if !link.starts_with(b"/") && !link.starts_with(b"socket:") {
            return Err(named(&self.path.join(file), io::Error::other("can block for ever")));
        }
        self.read_file(&file, FDINFO)
    }

    /// Its mount table, of at most `cap` bytes.
    pub fn mountinfo(&self, cap: usize) -> io::Result<Vec<u8>> {
        let named = |error| named(&self.path.join("mountinfo"), error);
        let opened = openat(&self.fd, "mountinfo", OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty());
        read_lines(&opened.map_err(|error| named(error.into()))?, cap).map_err(named)
    }

    /// Its mount table, however long, in pieces of whole lines, until `each` has enough.
    pub fn mountinfo_pieces(&self, each: impl FnMut(&[u8]) -> ControlFlow<()>) -> io::Result<()> {
        let opened = openat(&self.fd, "mountinfo", OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty());
        let read = opened.map_err(io::Error::from).and_then(|file| read_pieces(&file, each));
        read.map_err(|error| named(&self.path.join("mountinfo"), error))
    }

    /// Where one of its links points (`cwd`, `fd/3`, `ns/mnt`), without following it.
    pub fn link(&self, name: &str) -> io::Result<Vec<u8>> {
        let target = readlinkat(&self.fd, name);
        target.map(OsStringExt::into_vec).map_err(|error| named(&self.path.join(name), error.into()))
    }

    /// Opens one of its directories, to read several links in it without walking the path again.
    pub fn open_list(&self, name: &str) -> io::Result<ProcList> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let fd = openat(&self.fd, name, flags, Mode::empty());
        fd.map(ProcList::new).map_err(|error| named(&self.path.join(name), error.into()))
    }

    /// Lists one of its directories (`fd`, `fdinfo`, `task`).
    pub fn list(&self, name: &str) -> io::Result<Vec<Entry>> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let fd = openat(&self.fd, name, flags, Mode::empty());
        let fd = fd.map_err(|error| named(&self.path.join(name), error.into()))?;
        entries(&fd, usize::MAX).map_err(|error| named(&self.path.join(name), error))
    }

    /// The inode of one of its namespaces (`mnt`, `pid`).
    pub fn namespace(&self, kind: &str) -> io::Result<u64> {
        namespace_number(&self.link(&format!("ns/{kind}"))?).ok_or_else(|| named(&self.path, odd_namespace()))
    }
}

/// The inode of one of a process's namespaces, with a single call: for questions to all processes.
pub fn namespace_of(pid: u32, kind: &str) -> io::Result<u64> {
    let path = format!("/proc/{pid}/ns/{kind}");
    let mut target = [MaybeUninit::uninit(); 64];
    // The bare error: most that fail are gone, and nobody reads a path of them.
    let link = readlink_into(CWD, path.as_str(), &mut target)?;
    namespace_number(link).ok_or_else(odd_namespace)
}

/// The name of a process, with as few calls as can be: for questions to many processes.
pub fn comm_of(pid: u32) -> io::Result<Vec<u8>> {
    let path = format!("/proc/{pid}/comm");
    let file = open(path.as_str(), OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())?;
    // The kernel gives all of it, 16 bytes at most, at once.
    let mut comm = vec![0; 64];
    let length = read(&file, &mut comm)?;
    comm.truncate(length);
    comm.truncate(comm.trim_ascii_end().len());
    Ok(comm)
}

/// `mnt:[4026531841]`
fn namespace_number(link: &[u8]) -> Option<u64> {
    let digits = link.split(|b| *b == b'[').nth(1)?.strip_suffix(b"]")?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn odd_namespace() -> io::Error {
    io::Error::other("the namespace link has an unknown form")
}

/// What was measured to answer at once even when the process's memory lock is held for ever.
fn may_be_read(file: &str) -> bool {
    const SAFE: [&str; 12] = [
        "children",
        "stat",
        "status",
        "statm",
        "comm",
        "wchan",
        "stack",
        "syscall",
        "mountinfo",
        "cgroup",
        "limits",
        "io",
    ];
    let of_thread = || Some(file.strip_prefix("task/")?.split_once('/')?.1);
    SAFE.contains(&of_thread().unwrap_or(file))
}

/// All process ids.
pub fn pids() -> io::Result<Vec<u32>> {
    let entries = super::list(Path::new("/proc"))?;
    Ok(entries.iter().filter_map(|entry| entry.name.to_str()?.parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use std::os::{
        fd::{AsFd as _, AsRawFd},
        unix::net::UnixStream,
    };

    use nix::sys::inotify::{InitFlags, Inotify};

    use super::*;

    #[test]
    fn reads_this_process() {
        let me = ProcDir::open(std::process::id()).unwrap();
        assert!(me.read("stat", 4096).unwrap().starts_with(std::process::id().to_string().as_bytes()));
        assert!(me.namespace("mnt").unwrap() > 0);
        assert!(!me.list("fd").unwrap().is_empty());
    }

    #[test]
    fn tells_of_descriptors_that_lead_to_a_file_or_a_socket() {
        let me = ProcDir::open(std::process::id()).unwrap();
        let told = |fd: &dyn AsRawFd| {
            let fd = u32::try_from(fd.as_raw_fd()).unwrap();
            me.fdinfo(fd, &me.link(&format!("fd/{fd}")).unwrap()).is_ok()
        };
        assert!(told(&std::fs::File::open("/proc/self/stat").unwrap()));
        assert!(told(&UnixStream::pair().unwrap().0));
        assert!(!told(&Inotify::init(InitFlags::empty()).unwrap().as_fd()));
    }

    #[test]
    fn keeps_off_what_can_block() {
        for file in
            ["fdinfo/3", "cmdline", "environ", "maps", "smaps", "smaps_rollup", "numa_maps", "pagemap", "map_files"]
        {
            assert!(!may_be_read(file), "{file}");
            assert!(!may_be_read(&format!("task/1/{file}")), "{file}");
        }
    }
}
