//! One process's directory in `/proc`, held open: a pid that is reused in between cannot mix two
//! processes into one fact.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::Mode;
use nix::unistd::read;

use super::dir::{Entry, entries};
use super::limits::MAX_FDINFO_BYTES;
use super::linux::IO_URING;
use super::proc_list::ProcList;
use super::proc_worker::{self, Kind, Question, Visit, silence};
use super::read::{named, read_all, read_lines, read_pieces};

/// An open `/proc/<pid>` or `/proc/<pid>/task/<tid>`.
pub struct ProcDir {
    fd: OwnedFd,
    path: PathBuf,
    pid: u32,
}

impl ProcDir {
    /// Opens the directory of `pid`.
    pub fn open(pid: u32) -> io::Result<Self> {
        Self::open_at(pid, PathBuf::from(format!("/proc/{pid}")))
    }

    /// Opens the directory of one thread.
    pub fn open_thread(pid: u32, tid: u32) -> io::Result<Self> {
        Self::open_at(pid, PathBuf::from(format!("/proc/{pid}/task/{tid}")))
    }

    fn open_at(pid: u32, path: PathBuf) -> io::Result<Self> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let fd = open(&path, flags, Mode::empty()).map_err(|error| named(&path, error.into()))?;
        Ok(ProcDir { fd, path, pid })
    }

    /// The process that it is of.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads one of its files. Only those that cannot block are allowed: the others
    /// (`cmdline`, `maps`, …) wait for the process's memory lock, which a task in D may hold. Those that wait while it
    /// runs another program are `TimedOut` then.
    pub fn read(&self, file: &str, cap: usize) -> io::Result<Vec<u8>> {
        debug_assert!(may_be_read(file), "{file} can block for ever");
        if !waits_for_exec(file) {
            return self.read_file(file, cap);
        }
        let kind = Kind::File { cap: u32::try_from(cap).unwrap_or(u32::MAX) };
        self.ask(kind, file)
    }

    /// Reads one of its files that can block for ever: only for the disposable child.
    pub fn read_blocking(&self, file: &str, cap: usize) -> io::Result<Vec<u8>> {
        self.read_file(file, cap)
    }

    fn ask(&self, kind: Kind, name: &str) -> io::Result<Vec<u8>> {
        let question = Question { kind, name: name.into() };
        let answer = proc_worker::query_one(&self.fd, self.pid, &question);
        answer.map_err(|error| named(&self.path.join(name), error))
    }

    fn read_file(&self, file: &str, cap: usize) -> io::Result<Vec<u8>> {
        let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC;
        let opened = openat(&self.fd, file, flags, Mode::empty());
        let opened = opened.map_err(|error| named(&self.path.join(file), error.into()))?;
        read_all(&opened, cap).map_err(|error| named(&self.path.join(file), error))
    }

    /// The first line of one of its files and perhaps some more, as far as 256 bytes go.
    pub fn read_beginning(&self, file: &str) -> io::Result<Vec<u8>> {
        debug_assert!(may_be_read(file) && !waits_for_exec(file), "{file} can block for ever");
        let opened = openat(&self.fd, file, OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty());
        let opened = opened.map_err(|error| named(&self.path.join(file), error.into()))?;
        let mut first = vec![0; 256];
        let length = read(&opened, &mut first)?;
        first.truncate(length);
        Ok(first)
    }

    /// What the kernel shows of the descriptor `fd`, which leads to `link`, where that never waits.
    pub fn fdinfo(&self, fd: u32, link: &[u8]) -> io::Result<Vec<u8>> {
        let file = format!("fdinfo/{fd}");
        if !has_safe_fdinfo(link) {
            return Err(named(&self.path.join(file), io::Error::other("can block for ever")));
        }
        self.read_file(&file, MAX_FDINFO_BYTES)
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
        self.ask(Kind::Link, name)
    }

    /// Where several of its links point, each or nothing, asked at once.
    pub fn links<const N: usize>(&self, names: [&str; N]) -> [Option<Vec<u8>>; N] {
        let questions = names.map(|name| Question { kind: Kind::Link, name: name.into() });
        let mut answers = proc_worker::query(&self.fd, self.pid, &questions).into_iter();
        names.map(|_| answers.next().and_then(Result::ok))
    }

    /// Opens one of its directories, to read several links in it without walking the path again.
    pub fn open_list(&self, name: &str) -> io::Result<ProcList> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let fd = openat(&self.fd, name, flags, Mode::empty());
        fd.map(|fd| ProcList::new(fd, self.pid)).map_err(|error| named(&self.path.join(name), error.into()))
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
        let link = self.link(&format!("ns/{kind}"));
        number_or_own(self.pid, kind, link.and_then(|link| namespace_number(&link).ok_or_else(odd_namespace)))
    }
}

impl AsFd for ProcDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The inode of one of a process's namespaces.
pub fn namespace_of(pid: u32, kind: &str) -> io::Result<u64> {
    ProcDir::open(pid)?.namespace(kind)
}

/// The same of each of these processes.
pub fn namespaces_of(pids: &[u32], kind: &str) -> Vec<io::Result<u64>> {
    let link = format!("ns/{kind}");
    // The kernel's numbers of namespaces have 32 bits.
    let number = |link: &[u8]| namespace_number(link).and_then(|number| u32::try_from(number).ok());
    let read = |visit: &Visit<'_>| number(&visit.link(&link)?).ok_or_else(odd_namespace);
    match proc_worker::read_each(pids, Instant::now() + NAMESPACES_TIMEOUT, read) {
        // The bare error: most that fail are gone, and no caller reads a path of them.
        Ok(numbers) => {
            let numbers = numbers.into_iter().map(|number| number.unwrap_or_else(|| Err(silence())));
            pids.iter().zip(numbers).map(|(pid, number)| number_or_own(*pid, kind, number.map(u64::from))).collect()
        }
        Err(error) => pids.iter().map(|_| Err(io::Error::from(error.kind()))).collect(),
    }
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

/// The namespaces of all processes are read for so long: of a million.
const NAMESPACES_TIMEOUT: Duration = Duration::from_secs(10);

/// The kernel's numbers of namespaces have 32 bits.
const OWN: u64 = 1 << 32;

/// Whether this is no number of the kernel's: the process was silent when it was asked.
pub fn is_untold(namespace: u64) -> bool {
    namespace >= OWN
}

/// Who is silent counts as alone in a mount namespace: its mount table can be read all the same.
fn number_or_own(pid: u32, kind: &str, told: io::Result<u64>) -> io::Result<u64> {
    match told {
        Err(error) if kind == "mnt" && error.kind() == io::ErrorKind::TimedOut => Ok(OWN | u64::from(pid)),
        told => told,
    }
}

/// `mnt:[4026531841]`
fn namespace_number(link: &[u8]) -> Option<u64> {
    let digits = link.split(|b| *b == b'[').nth(1)?.strip_suffix(b"]")?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn odd_namespace() -> io::Error {
    io::Error::other("the namespace link has an unknown form")
}

/// Whether `fdinfo` of a descriptor that leads to `link` can be read: only of a file with a path, of a socket, and of an
/// io_uring, whose lock is only tried (`io_uring_show_fdinfo`, io_uring/fdinfo.c). Of others it may wait for a lock that a
/// task in D holds (`ep_show_fdinfo`, fs/eventpoll.c, while an `ioctl` reads its argument from memory behind a FUSE server).
pub(super) fn has_safe_fdinfo(link: &[u8]) -> bool {
    link.starts_with(b"/") || link.starts_with(b"socket:") || link == IO_URING
}

/// What was measured to answer at once even when the process's memory lock is held for ever.
fn may_be_read(file: &str) -> bool {
    const SAFE: [&str; 12] = [
        "children", "stat", "status", "statm", "comm", "wchan", "stack", "syscall", "mountinfo", "cgroup", "limits",
        "io",
    ];
    let of_thread = || Some(file.strip_prefix("task/")?.split_once('/')?.1);
    SAFE.contains(&of_thread().unwrap_or(file))
}

/// Whether the kernel refuses every read of it while the process runs another program.
fn waits_for_exec(file: &str) -> bool {
    ["stat", "wchan", "stack", "syscall", "io"].contains(&file.rsplit('/').next().unwrap_or(file))
}

pub fn pids() -> io::Result<Vec<u32>> {
    let entries = super::list(Path::new("/proc"))?;
    Ok(entries.iter().filter_map(|entry| entry.name.to_str()?.parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd as _, AsRawFd};
    use std::os::unix::net::UnixStream;

    use nix::sys::inotify::{InitFlags, Inotify};

    use super::*;

    #[test]
    fn reads_this_process() {
        let me = ProcDir::open(std::process::id()).unwrap();
        assert!(me.read("stat", 4096).unwrap().starts_with(std::process::id().to_string().as_bytes()));
        assert!(me.namespace("mnt").unwrap() > 0);
        assert!(!me.list("fd").unwrap().is_empty());
    }

    /// Which right is missing is read off the number of the error.
    #[test]
    fn an_error_keeps_its_number() {
        let me = ProcDir::open(std::process::id()).unwrap();
        for error in [me.link("ns/nothing").unwrap_err(), me.namespace("nothing").unwrap_err()] {
            assert_eq!(findings::errno(&error), Some(libc::ENOENT), "{error}");
        }
    }

    #[test]
    fn tells_of_descriptors_that_lead_to_a_file_or_a_socket() {
        let me = ProcDir::open(std::process::id()).unwrap();
        let is_readable = |fd: &dyn AsRawFd| {
            let fd = u32::try_from(fd.as_raw_fd()).unwrap();
            me.fdinfo(fd, &me.link(&format!("fd/{fd}")).unwrap()).is_ok()
        };
        assert!(is_readable(&std::fs::File::open("/proc/self/stat").unwrap()));
        assert!(is_readable(&UnixStream::pair().unwrap().0));
        assert!(!is_readable(&Inotify::init(InitFlags::empty()).unwrap().as_fd()));
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
