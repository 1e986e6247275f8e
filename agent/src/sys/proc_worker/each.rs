//! Reads the same of each of many processes, in one copy of this process that goes from one to the next.
//!
//! The copy writes which process it is at, how many calls have returned and what it read into memory that both share. So
//! nothing is asked and answered in between, and there is no pipe to fill up. This process watches: where no call returns
//! for [`FILE_TIMEOUT`](super::FILE_TIMEOUT) that process is silent, and another copy goes on behind it.

use std::collections::BTreeSet;
use std::io;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::Mode;
use nix::sys::wait::WaitStatus;
use nix::unistd::pipe2;

use super::super::limits::MAX_FDINFO_BYTES;
use super::super::linux::{DecInt, MAX_LINK_BYTES, link_into};
use super::super::listmount::has_mount_after;
use super::super::proc_dir::has_safe_fdinfo;
use super::super::read::read_all;
use super::super::{copy, numbered_links};
use super::shared::Shared;
use super::{ProcWorker, is_late, proc, silence, worker};

/// So often in the time that a call may take this process looks whether it has returned.
const LOOKS: u32 = 4;

/// What is known of each process: nothing where there was no time.
pub type Answers = Vec<Option<io::Result<u32>>>;

/// One of the processes, in the copy. Nothing else may be read there: a `ProcDir` would wait for the copy itself.
pub struct Visit<'a> {
    proc: &'a OwnedFd,
    pid: u32,
    shared: &'a Shared,
}

/// Those of `pids` of which `is_one` says so, as far as was seen until `end`. The others may be as well.
pub fn pids_where(pids: &[u32], end: Instant, is_one: impl Fn(&Visit<'_>) -> io::Result<bool>) -> BTreeSet<u32> {
    let answers = read_each(pids, end, |visit| is_one(visit).map(u32::from)).unwrap_or_default();
    pids.iter().zip(answers).filter(|(_, answer)| matches!(answer, Some(Ok(1)))).map(|(pid, _)| *pid).collect()
}

/// What `read` gives of each of `pids`, of those that it came to until `end`.
pub(in crate::sys) fn read_each(
    pids: &[u32],
    end: Instant,
    read: impl Fn(&Visit<'_>) -> io::Result<u32>,
) -> io::Result<Answers> {
    worker().read_each(pids, end, read)
}

impl Visit<'_> {
    /// One of its files, of at most `cap` bytes.
    pub fn read(&self, file: &str, cap: usize) -> io::Result<Vec<u8>> {
        let opened = openat(self.proc, self.path(file).as_str(), OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())?;
        self.returned(read_all(&opened, cap))
    }

    /// Where one of its links points, without following it.
    pub fn link(&self, name: &str) -> io::Result<Vec<u8>> {
        let mut room = [MaybeUninit::uninit(); MAX_LINK_BYTES];
        let target = link_into(self.proc, self.path(name).as_str(), &mut room).map(<[u8]>::to_vec);
        self.returned(target)
    }

    /// Each of its descriptors and where its link points, until `see` has enough.
    pub fn descriptors(&self, see: impl FnMut(u32, &[u8]) -> ControlFlow<()>) -> io::Result<ControlFlow<()>> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let dir = openat(self.proc, self.path("fd").as_str(), flags, Mode::empty())?;
        let mut room = [MaybeUninit::uninit(); MAX_LINK_BYTES];
        let look = |numbers: &[u32], each: &mut numbered_links::Each<'_>| {
            numbers.iter().try_for_each(|number| {
                let target = link_into(&dir, DecInt::new(*number), &mut room);
                self.returned(());
                each(*number, target)
            })
        };
        numbered_links::walk(&dir, look, see)
    }

    /// What the kernel shows of a descriptor that leads to `link`, where that never waits.
    pub fn fdinfo(&self, fd: u32, link: &[u8]) -> io::Result<Vec<u8>> {
        match has_safe_fdinfo(link) {
            true => self.read(&format!("fdinfo/{fd}"), MAX_FDINFO_BYTES),
            false => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Whether its mount namespace has a mount whose unique number is larger than `after`.
    pub fn has_mount_after(&self, after: u64) -> io::Result<bool> {
        let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC;
        let namespace = openat(self.proc, self.path("ns/mnt").as_str(), flags, Mode::empty())?;
        self.returned(has_mount_after(&namespace, after))
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.pid)
    }

    fn returned<T>(&self, answer: T) -> T {
        self.shared.count_call();
        answer
    }
}

impl ProcWorker {
    pub(super) fn read_each(
        &mut self,
        pids: &[u32],
        end: Instant,
        read: impl Fn(&Visit<'_>) -> io::Result<u32>,
    ) -> io::Result<Answers> {
        let shared = Shared::new(pids.len())?;
        let mut next = 0;
        while next < pids.len() && Instant::now() < end {
            match self.read_from(next, pids, end, &shared, &read) {
                Ok(()) => break,
                Err(error) if is_late(&error) && Instant::now() >= end => break,
                Err(error) if shared.position() >= pids.len() => match next {
                    0 => return Err(error),
                    _ => break,
                },
                Err(error) => {
                    let at = shared.position();
                    if is_late(&error) {
                        self.silent.insert(pids[at], Instant::now());
                    }
                    shared.put(at, &Err(error));
                    next = at + 1;
                }
            }
        }
        Ok(shared.answers())
    }

    /// Has one copy read from `next` on. An error is that of the process that the copy was at.
    fn read_from(
        &mut self,
        next: usize,
        pids: &[u32],
        end: Instant,
        shared: &Shared,
        read: impl Fn(&Visit<'_>) -> io::Result<u32>,
    ) -> io::Result<()> {
        // No process, until the copy says at which one it is.
        shared.go_to(pids.len());
        self.make_room()?;
        self.forget_old();
        let (reader, writer) = pipe2(OFlag::O_CLOEXEC)?;
        let running = copy(&writer, || {
            let proc = proc().map_err(|error| Errno::try_from(error).unwrap_or(Errno::EIO))?;
            for (at, pid) in pids.iter().enumerate().skip(next) {
                shared.go_to(at);
                let is_silent = self.silent.contains_key(pid);
                let visit = Visit { proc: &proc, pid: *pid, shared };
                shared.put(at, &if is_silent { Err(silence()) } else { read(&visit) });
            }
            Ok(())
        })?;
        drop(writer);
        let deadline = self.deadline();
        if let Err(error) = watch(&reader, shared, deadline, end) {
            self.abandoned.extend(running.kill());
            return Err(error);
        }
        match running.ended_by(Instant::now() + deadline) {
            Some(Some(WaitStatus::Exited(_, 0)) | None) => Ok(()),
            Some(Some(WaitStatus::Exited(_, errno))) => Err(io::Error::from_raw_os_error(errno)),
            _ => Err(io::Error::other("the copy that read it was killed")),
        }
    }
}

/// Waits until the copy has ended, as long as its calls return within `deadline`.
fn watch(pipe: &OwnedFd, shared: &Shared, deadline: Duration, end: Instant) -> io::Result<()> {
    let (mut calls, mut since) = (shared.progress(), Instant::now());
    loop {
        // Rounded up: a timeout of 0 ms would spin.
        let timeout = PollTimeout::try_from(deadline / LOOKS + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)], timeout) {
            Ok(0) | Err(Errno::EINTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        let now = shared.progress();
        if now != calls {
            (calls, since) = (now, Instant::now());
        } else if since.elapsed() >= deadline {
            return Err(silence());
        }
        if Instant::now() >= end {
            return Err(silence());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn new() -> ProcWorker {
        ProcWorker { copy: None, silent: BTreeMap::new(), abandoned: Vec::new() }
    }

    fn kinds(answers: Answers) -> Vec<Option<Result<u32, io::ErrorKind>>> {
        answers.into_iter().map(|one| Some(one?.map_err(|error| error.kind()))).collect()
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    #[test]
    fn goes_on_behind_who_is_silent_and_does_not_ask_it_again() {
        let mut worker = new();
        let read = |visit: &Visit<'_>| match visit.pid {
            8 => loop {
                std::thread::park();
            },
            9 => Err(io::Error::from_raw_os_error(libc::ESRCH)),
            pid => Ok(pid),
        };
        let began = Instant::now();
        let answers = kinds(worker.read_each(&[7, 8, 9, 10], soon(), read).unwrap());
        let gone = io::Error::from_raw_os_error(libc::ESRCH).kind();
        assert_eq!(answers, [Some(Ok(7)), Some(Err(io::ErrorKind::TimedOut)), Some(Err(gone)), Some(Ok(10))]);
        assert!(began.elapsed() >= super::super::FILE_TIMEOUT && worker.abandoned.is_empty());
        let again = Instant::now();
        assert_eq!(kinds(worker.read_each(&[8, 11], soon(), read).unwrap())[1], Some(Ok(11)));
        assert!(again.elapsed() < super::super::FILE_TIMEOUT);
        assert_eq!(worker.silent.keys().copied().collect::<Vec<u32>>(), [8]);
    }

    /// As of one that has a million descriptors.
    #[test]
    fn who_takes_long_is_not_silent_as_long_as_calls_return() {
        let mut worker = new();
        let read = |visit: &Visit<'_>| {
            for _ in 0..8 {
                std::thread::sleep(super::super::FILE_TIMEOUT / 4);
                visit.link("cwd")?;
            }
            Ok(1)
        };
        let me = std::process::id();
        assert_eq!(kinds(worker.read_each(&[me], soon(), read).unwrap()), [Some(Ok(1))]);
        let soon = Instant::now() + super::super::FILE_TIMEOUT;
        assert_eq!(kinds(worker.read_each(&[me, me], soon, read).unwrap()), [None, None]);
        assert_eq!(kinds(worker.read_each(&[me], Instant::now(), read).unwrap()), [None]);
        assert!(worker.read_each(&[], soon, read).unwrap().is_empty());
    }

    /// A copy that is killed, as where memory is short, costs the one process that it was at.
    #[test]
    fn a_copy_that_dies_is_made_again() {
        use nix::sys::signal::{Signal, raise};

        let read = |visit: &Visit<'_>| match visit.pid {
            8 => raise(Signal::SIGKILL).map(|()| 0).map_err(io::Error::from),
            pid => Ok(pid),
        };
        let answers = kinds(new().read_each(&[7, 8, 9], soon(), read).unwrap());
        assert!(matches!(answers.as_slice(), [Some(Ok(7)), Some(Err(_)), Some(Ok(9))]), "{answers:?}");
    }
}
