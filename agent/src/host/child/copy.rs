//! A child that is a copy of this process and runs no program of its own: it reads one file. Starting a
//! program costs eight times as much, and the kubelet's command line is read with every look.

use std::{
    ffi::CStr,
    io,
    os::fd::{AsRawFd, OwnedFd},
    time::{Duration, Instant},
};

use rustix::{
    fs::{CWD, Mode, OFlags},
    io::Errno,
    pipe::{PipeFlags, pipe_with},
    process::{Pid, Signal, set_parent_process_death_signal, setpgid},
};

use super::{gone::Running, listen::listen};
use crate::sys;

/// What came of a child.
pub(super) struct Outcome {
    /// What the file holds, as far as the child came before the deadline; `None` for too late.
    pub read: Option<io::Result<Vec<u8>>>,
    /// The child, if it could not be got rid of.
    pub abandoned: Option<Running>,
}

/// Reads at most `cap` bytes of `path` in a child, until the deadline; then it is killed.
pub(super) fn read(path: &CStr, cap: usize, deadline: Duration) -> io::Result<Outcome> {
    let end = Instant::now() + deadline;
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    // SAFETY: other threads may hold locks that are never released in the copy. `be_the_child` takes
    // none: it allocates nothing, calls nothing but the kernel, and ends without running anything else.
    #[allow(unsafe_code)]
    let forked = match unsafe { libc::fork() } {
        0 => unsafe { libc::_exit(be_the_child(path, cap, &writer)) },
        pid => pid,
    };
    let Some(pid) = Pid::from_raw(forked).filter(|_| forked > 0) else { return Err(io::Error::last_os_error()) };
    drop(writer);
    let running = Running::new(pid);
    let mut output = Vec::new();
    let said_all = listen(&reader, &mut output, end);
    // Its status says whether that was all of the file. On a throttled processor it may end late.
    let ended = if matches!(said_all, Ok(true)) { running.ended_by(end) } else { None };
    let read = ended.map(|ended| match ended.and_then(|status| status.exit_status()) {
        Some(0) => Ok(output),
        Some(errno) => Err(io::Error::from_raw_os_error(errno)),
        None => Err(io::Error::other("the child was killed")),
    });
    let abandoned = if read.is_some() { None } else { running.get_rid_of() };
    said_all.map(|_| Outcome { read, abandoned })
}

/// The copy's whole life; the number it ends with is that of the error.
fn be_the_child(path: &CStr, cap: usize, writer: &OwnedFd) -> i32 {
    // A group of its own, as the terminal's signals are not for it, and it is not to outlive the agent.
    let _ = setpgid(None, None);
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    // A copy that hangs must not keep open what the agent closes: a pipe to a pager, a connection.
    let kept = writer.as_raw_fd();
    sys::close_range(0, kept - 1);
    sys::close_range(kept + 1, i32::MAX);
    match pass_on(path, cap, writer) {
        Ok(()) => 0,
        Err(error) => error.raw_os_error(),
    }
}

fn pass_on(path: &CStr, cap: usize, writer: &OwnedFd) -> Result<(), Errno> {
    let file = rustix::fs::openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut piece = [0; 4096];
    let mut left = cap;
    while left > 0 {
        let room = left.min(piece.len());
        let length = rustix::io::read(&file, &mut piece[..room])?;
        if length == 0 {
            break;
        }
        left -= length;
        let mut rest = &piece[..length];
        while !rest.is_empty() {
            rest = &rest[rustix::io::write(writer, rest)?..];
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAP: usize = 1 << 20;
    const SOON: Duration = Duration::from_secs(5);

    fn read_all(path: &CStr) -> io::Result<Vec<u8>> {
        super::read(path, CAP, SOON).unwrap().read.unwrap()
    }

    #[test]
    fn reads_what_is_there_and_tells_what_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let long: Vec<u8> = (0..200_000_u32).map(|number| number.to_le_bytes()[0]).collect();
        std::fs::write(&path, &long).unwrap();
        let path = std::ffi::CString::new(path.into_os_string().into_encoded_bytes()).unwrap();
        assert_eq!(read_all(&path).unwrap(), long);
        assert_eq!(super::read(&path, 5000, SOON).unwrap().read.unwrap().unwrap(), long[..5000]);
        assert_eq!(read_all(c"/nothing-here").unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    /// Whoever opens a FIFO that nobody writes to waits.
    #[test]
    fn one_that_hangs_is_killed_at_the_deadline() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fifo");
        rustix::fs::mknodat(CWD, &path, rustix::fs::FileType::Fifo, Mode::from(0o600), 0).unwrap();
        let path = std::ffi::CString::new(path.into_os_string().into_encoded_bytes()).unwrap();
        let began = Instant::now();
        let outcome = super::read(&path, CAP, Duration::from_millis(200)).unwrap();
        assert!(outcome.read.is_none() && outcome.abandoned.is_none());
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    }

    /// In the copy this descriptor is closed before it is asked for.
    #[test]
    fn keeps_nothing_of_ours_open() {
        let (_reader, ours) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let path = std::ffi::CString::new(format!("/proc/self/fd/{}", ours.as_raw_fd())).unwrap();
        assert_eq!(read_all(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
