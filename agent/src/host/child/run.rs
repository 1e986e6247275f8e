//! Starting a program as a child, listening to it until a deadline, and letting go of it.

use std::{
    ffi::OsString,
    io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use nix::unistd::Pid;

use super::{gone::Running, listen::listen};

/// What came of a child.
pub(super) struct Outcome {
    /// What it said.
    pub output: Vec<u8>,
    /// Whether it finished by itself before the deadline.
    pub finished: bool,
    /// The child, if it could not be got rid of.
    pub abandoned: Option<Running>,
}

/// Starts `program args…`, with no environment, and listens until it ends or until the deadline;
/// then it is killed, with whatever it started itself.
pub(super) fn run(program: &Path, args: &[OsString], deadline: Duration) -> io::Result<Outcome> {
    let end = Instant::now() + deadline;
    let mut command = Command::new(program);
    command.args(args).env_clear().current_dir("/").process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let running = Running::new(Pid::from_raw(child.id().cast_signed()));
    let mut output = Vec::new();
    let finished = match child.stdout.take() {
        Some(pipe) => listen(&pipe, &mut output, end),
        None => Ok(false),
    };
    let gone = matches!(finished, Ok(true)) && running.ended_soon().is_some();
    let abandoned = if gone { None } else { running.get_rid_of() };
    Ok(Outcome { output, finished: finished?, abandoned })
}
