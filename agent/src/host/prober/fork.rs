//! A child that is a copy of this process and runs no program of its own. Starting a program costs eight times
//! as much, and is what the reader may not do.

use std::{
    ffi::CStr,
    io,
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    fcntl::{OFlag, open},
    sys::{
        stat::{Mode, fstat},
        statfs::fstatfs,
        wait::WaitStatus,
    },
    unistd::{pipe2, read as read_piece, write},
};

use super::listen::listen;
use crate::sys::{
    self, Running,
    linux::{AtFlags, StatxFlags, statx},
};

/// What came of a child.
pub(super) struct Outcome<T> {
    /// What it found; `None` for too late.
    pub answer: Option<io::Result<T>>,
    /// The child, if it could not be got rid of.
    pub abandoned: Option<Running>,
}

/// Who may write a program, and what it lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Executable {
    /// The user it belongs to.
    pub owner: u32,
    /// Whether its group or everybody may write it.
    pub others_write: bool,
    /// The `f_type` of its file system (statfs(2)).
    pub file_system: u32,
}

/// Reads at most `cap` bytes of `path` in a child, until the deadline; then it is killed.
pub(super) fn read(path: &CStr, cap: usize, deadline: Duration) -> io::Result<Outcome<Vec<u8>>> {
    run(deadline, |writer| pass_on(path, cap, writer))
}

/// Looks at the file that `path` leads to in a child, until the deadline; then it is killed.
pub(super) fn executable(path: &CStr, deadline: Duration) -> io::Result<Outcome<Executable>> {
    let Outcome { answer, abandoned } = run(deadline, |writer| write_facts(path, writer))?;
    let answer = answer.map(|told| told.and_then(|bytes| facts(&bytes).ok_or(io::ErrorKind::UnexpectedEof.into())));
    Ok(Outcome { answer, abandoned })
}

/// Has a child do `work`, which writes what it finds.
fn run(deadline: Duration, work: impl FnOnce(&OwnedFd) -> Result<(), Errno>) -> io::Result<Outcome<Vec<u8>>> {
    let end = Instant::now() + deadline;
    let (reader, running) = start(work)?;
    let mut output = Vec::new();
    let said_all = listen(&reader, &mut output, end);
    // Its status says whether that was all. On a throttled processor it may end late.
    let ended = if matches!(said_all, Ok(true)) { running.ended_by(end) } else { None };
    let answer = ended.map(|ended| match ended {
        Some(WaitStatus::Exited(_, 0)) => Ok(output),
        Some(WaitStatus::Exited(_, errno)) => Err(io::Error::from_raw_os_error(errno)),
        _ => Err(io::Error::other("the child was killed")),
    });
    let abandoned = if answer.is_some() { None } else { running.get_rid_of() };
    said_all.map(|_| Outcome { answer, abandoned })
}

/// Starts a copy of this process, and gives the pipe that `work` writes to.
pub(super) fn start(work: impl FnOnce(&OwnedFd) -> Result<(), Errno>) -> io::Result<(OwnedFd, Running)> {
    let (reader, writer) = pipe2(OFlag::O_CLOEXEC)?;
    let running = sys::copy(&writer, || work(&writer))?;
    Ok((reader, running))
}

fn pass_on(path: &CStr, cap: usize, writer: &OwnedFd) -> Result<(), Errno> {
    let file = open(path, OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())?;
    let mut piece = [0; 4096];
    let mut left = cap;
    while left > 0 {
        let room = left.min(piece.len());
        let length = read_piece(&file, &mut piece[..room])?;
        if length == 0 {
            break;
        }
        left -= length;
        let mut rest = &piece[..length];
        while !rest.is_empty() {
            rest = &rest[write(writer, rest)?..];
        }
    }
    Ok(())
}

/// Twelve bytes, which a pipe takes at once: the owner, the mode, the file system.
fn write_facts(path: &CStr, writer: &OwnedFd) -> Result<(), Errno> {
    let file = open(path, OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty())?;
    let file_system = u32::try_from(fstatfs(&file)?.filesystem_type().0 & 0xffff_ffff).unwrap_or(0);
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    let (owner, mode) = match statx(&file, c"", flags, StatxFlags::UID | StatxFlags::MODE) {
        Ok(facts) => (facts.stx_uid, u32::from(facts.stx_mode)),
        // Linux < 4.11.
        Err(Errno::ENOSYS) => fstat(&file).map(|facts| (facts.st_uid, facts.st_mode))?,
        Err(error) => return Err(error),
    };
    for number in [owner, mode, file_system] {
        write(writer, &number.to_ne_bytes())?;
    }
    Ok(())
}

fn facts(bytes: &[u8]) -> Option<Executable> {
    let number = |index: usize| Some(u32::from_ne_bytes(*bytes.get(index * 4..)?.first_chunk()?));
    let (owner, mode, file_system) = (number(0)?, number(1)?, number(2)?);
    Some(Executable { owner, others_write: mode & 0o022 != 0, file_system })
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    const CAP: usize = 1 << 20;
    const SOON: Duration = Duration::from_secs(5);

    fn read_all(path: &CStr) -> io::Result<Vec<u8>> {
        super::read(path, CAP, SOON).unwrap().answer.unwrap()
    }

    #[test]
    fn reads_what_is_there_and_tells_what_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let long: Vec<u8> = (0..200_000_u32).map(|number| number.to_le_bytes()[0]).collect();
        std::fs::write(&path, &long).unwrap();
        let path = std::ffi::CString::new(path.into_os_string().into_encoded_bytes()).unwrap();
        assert_eq!(read_all(&path).unwrap(), long);
        assert_eq!(super::read(&path, 5000, SOON).unwrap().answer.unwrap().unwrap(), long[..5000]);
        assert_eq!(read_all(c"/nothing-here").unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn tells_who_may_write_a_program() {
        use std::os::unix::fs::PermissionsExt;

        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, "").unwrap();
        let name = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
        for (mode, others_write) in [(0o755, false), (0o775, true), (0o757, true)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let told = executable(&name, SOON).unwrap().answer.unwrap().unwrap();
            let owner = nix::unistd::geteuid().as_raw();
            assert_eq!(told, Executable { owner, others_write, file_system: 0x0102_1994 }, "{mode:o}");
        }
        assert!(executable(c"/nothing-here", SOON).unwrap().answer.unwrap().is_err());
    }

    /// Whoever opens a FIFO that nobody writes to waits.
    #[test]
    fn one_that_hangs_is_killed_at_the_deadline() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fifo");
        nix::unistd::mkfifo(&path, Mode::S_IRWXU).unwrap();
        let path = std::ffi::CString::new(path.into_os_string().into_encoded_bytes()).unwrap();
        let began = Instant::now();
        let outcome = super::read(&path, CAP, Duration::from_millis(200)).unwrap();
        assert!(outcome.answer.is_none());
        // On a busy machine the scheduler may let it die later than it is waited for.
        let is_gone = |child: Running| child.ended_by(began + Duration::from_secs(3)).is_some();
        assert!(outcome.abandoned.is_none_or(is_gone));
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    }

    /// In the copy this descriptor is closed before it is asked for.
    #[test]
    fn keeps_nothing_of_ours_open() {
        let (_reader, ours) = pipe2(OFlag::O_CLOEXEC).unwrap();
        let path = std::ffi::CString::new(format!("/proc/self/fd/{}", ours.as_raw_fd())).unwrap();
        assert_eq!(read_all(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
