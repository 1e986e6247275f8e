//! Starting one child, listening to it until a deadline, and letting go of it.

use std::{
    ffi::OsString,
    io::{self, Read},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::process::{Pid, Signal, kill_process_group};
use std::os::fd::AsFd;

/// More than this no probe has to say, in bytes.
const OUTPUT_CAP: usize = 4 << 20;
/// How long a killed child may take to be gone before it is abandoned. A child in D is never
/// gone; all others are within a scheduler's tick.
const DYING: Duration = Duration::from_millis(20);

/// What came of a child.
pub(super) struct Outcome {
    /// What it said.
    pub output: Vec<u8>,
    /// Whether it finished by itself before the deadline.
    pub finished: bool,
    /// The child, if it could not be got rid of.
    pub abandoned: Option<Child>,
}

/// Starts `program args…`, with no environment, and listens until it ends or until the deadline;
/// then it is killed, with whatever it started itself.
pub(super) fn run(program: &Path, args: &[OsString], deadline: Duration) -> io::Result<Outcome> {
    let end = Instant::now() + deadline;
    let mut command = Command::new(program);
    command.args(args).env_clear().current_dir("/").process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let mut output = Vec::new();
    let finished = match child.stdout.take() {
        Some(mut pipe) => listen(&mut pipe, &mut output, end),
        None => Ok(false),
    };
    let gone = matches!(finished, Ok(true)) && is_gone_within(&mut child, DYING);
    let abandoned = if gone { None } else { get_rid_of(child) };
    Ok(Outcome { output, finished: finished?, abandoned })
}

/// Reads until the end of the pipe (`true`), or until the deadline or the cap (`false`).
fn listen(pipe: &mut ChildStdout, output: &mut Vec<u8>, end: Instant) -> io::Result<bool> {
    let mut piece = [0; 4096];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || output.len() > OUTPUT_CAP {
            return Ok(false);
        }
        // Rounded up: a timeout of 0 ms would spin.
        let timeout = PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
        let mut fds = [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, timeout) {
            Ok(0) | Err(nix::Error::EINTR) => continue,
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        match pipe.read(&mut piece) {
            Ok(0) => return Ok(true),
            Ok(length) => output.extend_from_slice(&piece[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Kills a child and what it started; gives it back when it does not die.
fn get_rid_of(mut child: Child) -> Option<Child> {
    // It has not been waited for, so its pid cannot have been given to another process.
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
    if is_gone_within(&mut child, DYING) { None } else { Some(child) }
}

/// Waits for its end without ever blocking in `wait`.
fn is_gone_within(child: &mut Child, limit: Duration) -> bool {
    let end = Instant::now() + limit;
    loop {
        match child.try_wait() {
            Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(1)),
            Ok(None) => return false,
            // An error means that it is no child of ours any more.
            Ok(Some(_)) | Err(_) => return true,
        }
    }
}
