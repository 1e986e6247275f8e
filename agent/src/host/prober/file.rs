//! The child's side of reading one file, or what is known of it.

use std::{ffi::CStr, os::fd::OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::{Mode, fstat};
use nix::sys::statfs::fstatfs;
use nix::unistd::{read, write};

use crate::sys::linux::{AtFlags, StatxFlags, statx};

/// Who may write a program, and what it lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Executable {
    /// The user it belongs to.
    pub owner: u32,
    /// Whether its group or the world may write it.
    pub others_write: bool,
    /// The `f_type` of its file system (statfs(2)).
    pub file_system: u32,
}

/// Writes at most `cap` bytes of the file.
pub(super) fn write_content(path: &CStr, cap: usize, writer: &OwnedFd) -> Result<(), Errno> {
    let file = open(path, OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())?;
    let mut piece = [0; 4096];
    let mut left = cap;
    while left > 0 {
        let room = left.min(piece.len());
        let length = read(&file, &mut piece[..room])?;
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

/// Writes twelve bytes, which a pipe takes at once: the owner, the mode, the file system.
pub(super) fn write_facts(path: &CStr, writer: &OwnedFd) -> Result<(), Errno> {
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

impl Executable {
    /// Reads what [`write_facts`] wrote.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let number = |index: usize| Some(u32::from_ne_bytes(*bytes.get(index * 4..)?.first_chunk()?));
        let (owner, mode, file_system) = (number(0)?, number(1)?, number(2)?);
        Some(Executable { owner, others_write: mode & 0o022 != 0, file_system })
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::path::PathBuf;
    use std::time::{Duration, Instant};

    use nix::unistd::pipe2;

    use super::super::run::{Outcome, run};
    use super::*;
    use crate::sys::Running;

    const CAP: usize = 1 << 20;
    const SOON: Duration = Duration::from_secs(5);

    fn name(path: PathBuf) -> CString {
        CString::new(path.into_os_string().into_encoded_bytes()).unwrap()
    }

    fn answer(work: impl FnOnce(&OwnedFd) -> Result<(), Errno>) -> io::Result<Vec<u8>> {
        let Outcome { status, output, .. } = run(SOON, work).unwrap();
        status.unwrap().map(|()| output)
    }

    fn read_all(path: &CStr) -> io::Result<Vec<u8>> {
        answer(|writer| write_content(path, CAP, writer))
    }

    #[test]
    fn reads_what_is_there_and_reports_what_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let long: Vec<u8> = (0..200_000_u32).map(|number| number.to_le_bytes()[0]).collect();
        std::fs::write(&path, &long).unwrap();
        let path = name(path);
        assert_eq!(read_all(&path).unwrap(), long);
        assert_eq!(answer(|writer| write_content(&path, 5000, writer)).unwrap(), long[..5000]);
        assert_eq!(read_all(c"/nothing-here").unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn tells_who_may_write_a_program() {
        use std::os::unix::fs::PermissionsExt;

        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, "").unwrap();
        let name = name(path.clone());
        for (mode, others_write) in [(0o755, false), (0o775, true), (0o757, true)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let facts = answer(|writer| write_facts(&name, writer)).unwrap();
            let owner = nix::unistd::geteuid().as_raw();
            let executable = Executable { owner, others_write, file_system: 0x0102_1994 };
            assert_eq!(Executable::parse(&facts), Some(executable), "{mode:o}");
        }
        assert!(answer(|writer| write_facts(c"/nothing-here", writer)).is_err());
    }

    /// Opening a FIFO without a writer waits.
    #[test]
    fn one_that_hangs_is_killed_at_the_deadline() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fifo");
        nix::unistd::mkfifo(&path, Mode::S_IRWXU).unwrap();
        let path = name(path);
        let began = Instant::now();
        let outcome = run(Duration::from_millis(200), |writer| write_content(&path, CAP, writer)).unwrap();
        assert!(outcome.status.is_none());
        // On a busy machine the scheduler may let it die later than it is waited for.
        let is_gone = |child: Running| child.ended_by(began + Duration::from_secs(3)).is_some();
        assert!(outcome.abandoned.is_none_or(is_gone));
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    }

    /// In the copy this descriptor is closed before it is asked for.
    #[test]
    fn keeps_nothing_of_ours_open() {
        let (_reader, ours) = pipe2(OFlag::O_CLOEXEC).unwrap();
        let path = name(format!("/proc/self/fd/{}", ours.as_raw_fd()).into());
        assert_eq!(read_all(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
