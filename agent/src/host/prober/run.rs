//! A copy of this process that does one of the probes, and what it says until a deadline.

use std::{
    io,
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use nix::errno::Errno;

use super::{fork, listen::listen};
use crate::sys::Running;

/// What came of a child.
pub(super) struct Outcome {
    /// What it said.
    pub output: Vec<u8>,
    /// Whether it finished by itself before the deadline.
    pub finished: bool,
    /// The child, if it could not be got rid of.
    pub abandoned: Option<Running>,
}

/// What a child does with its arguments, and says into the pipe.
pub(super) type Work = fn(&[String], &OwnedFd) -> Result<(), Errno>;

/// Has a copy of this process do `work`, and listens until it ends or until the deadline; then it is killed, with
/// whatever it started itself.
pub(super) fn run(work: Work, args: &[String], deadline: Duration) -> io::Result<Outcome> {
    let end = Instant::now() + deadline;
    let (pipe, running) = fork::start(|writer| work(args, writer))?;
    let mut output = Vec::new();
    let finished = listen(&pipe, &mut output, end);
    let gone = matches!(finished, Ok(true)) && running.ended_soon().is_some();
    let abandoned = if gone { None } else { running.get_rid_of() };
    Ok(Outcome { output, finished: finished?, abandoned })
}
