//! A copy of this process that does one thing and ends, and waiting for it without ever blocking in `wait`.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, setpgid};

use super::close_range;

/// Starts a copy of this process that does `work`, with no other descriptor than `kept`, and ends; the number it ends
/// with is that of the error.
pub fn copy(kept: &impl AsFd, work: impl FnOnce() -> Result<(), Errno>) -> io::Result<Running> {
    // SAFETY: other threads may hold locks that are never released in the copy. `be_the_copy` and each
    // `work` take none that another thread could hold: the allocator's are free in the copy (glibc and musl
    // take them for the fork), no other is used, and the copy ends without running anything else.
    #[allow(unsafe_code)]
    match unsafe { fork() }? {
        // SAFETY: it ends at once, and runs nothing that was registered for the end of the agent.
        ForkResult::Child => unsafe { libc::_exit(be_the_copy(kept, work)) },
        ForkResult::Parent { child } => Ok(Running(child)),
    }
}

fn be_the_copy(kept: &impl AsFd, work: impl FnOnce() -> Result<(), Errno>) -> i32 {
    // A group of its own, as the terminal's signals are not for it, and it is not to outlive the agent.
    let _ = setpgid(Pid::from_raw(0), Pid::from_raw(0));
    let _ = set_pdeathsig(Signal::SIGKILL);
    // A copy that hangs must not keep open what the agent closes: a pipe to a pager, a connection.
    let kept = kept.as_fd().as_raw_fd();
    close_range(0, kept - 1);
    close_range(kept + 1, i32::MAX);
    match work() {
        Ok(()) => 0,
        Err(error) => error as i32,
    }
}

/// How long a killed child may take to be gone before it is abandoned. A child in D is never
/// gone; all others are within a scheduler's tick.
const KILL_TIMEOUT: Duration = Duration::from_millis(20);

/// A child that has not been waited for, so its pid cannot have been given to another process.
#[derive(Debug)]
pub struct Running(Pid);

/// How a child ended; without a status another thread has waited for it.
pub type Ended = Option<WaitStatus>;

impl Running {
    pub fn ended(&self) -> Option<Ended> {
        loop {
            match waitpid(self.0, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => return None,
                Ok(status) => return Some(Some(status)),
                Err(Errno::EINTR) => {}
                // It is no child of ours any more.
                Err(_) => return Some(None),
            }
        }
    }

    /// Waits for its end until `end`, and a moment at least.
    pub fn ended_by(&self, end: Instant) -> Option<Ended> {
        let end = end.max(Instant::now() + KILL_TIMEOUT);
        loop {
            match self.ended() {
                None if Instant::now() < end => std::thread::sleep(Duration::from_millis(1)),
                ended => return ended,
            }
        }
    }

    /// Kills it and what it started; gives it back when it does not die.
    pub fn kill(self) -> Option<Self> {
        let _ = killpg(self.0, Signal::SIGKILL);
        let _ = kill(self.0, Signal::SIGKILL);
        if self.ended_by(Instant::now()).is_some() { None } else { Some(self) }
    }
}
