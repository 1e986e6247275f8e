//! A child that is a copy of this process and runs no program of its own. Starting a program costs eight times
//! as much, and is what the reader may not do.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use nix::{errno::Errno, fcntl::OFlag, sys::wait::WaitStatus, unistd::pipe2};

use super::listen::listen;
use crate::sys::{self, Running};

/// What came of a child.
pub(super) struct Outcome {
    pub output: Vec<u8>,
    /// Whether that is all, by its own end of the pipe.
    pub finished: bool,
    /// The error it ended with, if it ended in time.
    pub status: Option<io::Result<()>>,
    /// The child, if it could not be killed.
    pub abandoned: Option<Running>,
}

/// Has a child do `work`, which writes what it finds, until the deadline; then it is killed, with whatever it started
/// itself.
pub(super) fn run(deadline: Duration, work: impl FnOnce(&OwnedFd) -> Result<(), Errno>) -> io::Result<Outcome> {
    let end = Instant::now() + deadline;
    let (reader, writer) = pipe2(OFlag::O_CLOEXEC)?;
    let running = sys::copy(&writer, || work(&writer))?;
    drop(writer);
    let mut output = Vec::new();
    let finished = listen(&reader, &mut output, end);
    // On a throttled processor it may end late.
    let ended = if matches!(finished, Ok(true)) { running.ended_by(end) } else { None };
    let status = ended.map(|ended| match ended {
        Some(WaitStatus::Exited(_, 0)) => Ok(()),
        Some(WaitStatus::Exited(_, errno)) => Err(io::Error::from_raw_os_error(errno)),
        _ => Err(io::Error::other("the child was killed")),
    });
    let abandoned = if status.is_some() { None } else { running.kill() };
    Ok(Outcome { output, finished: finished?, status, abandoned })
}
