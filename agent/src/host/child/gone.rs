//! Waiting for a child without ever blocking in `wait`.

use std::time::{Duration, Instant};

use nix::{
    errno::Errno,
    sys::{
        signal::{Signal, kill, killpg},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};

/// How long a killed child may take to be gone before it is abandoned. A child in D is never
/// gone; all others are within a scheduler's tick.
const DYING: Duration = Duration::from_millis(20);

/// A child that has not been waited for, so its pid cannot have been given to another process.
#[derive(Debug)]
pub(super) struct Running(Pid);

/// How a child ended; without a status it was somebody else who waited for it.
pub(super) type Ended = Option<WaitStatus>;

impl Running {
    /// Takes over the waiting for the child `pid`, the first of its process group.
    pub(super) fn new(pid: Pid) -> Self {
        Running(pid)
    }

    /// Whether it has ended.
    pub(super) fn ended(&self) -> Option<Ended> {
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

    /// Gives it the moment it takes to end after its last word.
    pub(super) fn ended_soon(&self) -> Option<Ended> {
        self.ended_by(Instant::now())
    }

    /// Waits for its end until `end`, and a moment at least.
    pub(super) fn ended_by(&self, end: Instant) -> Option<Ended> {
        let end = end.max(Instant::now() + DYING);
        loop {
            match self.ended() {
                None if Instant::now() < end => std::thread::sleep(Duration::from_millis(1)),
                ended => return ended,
            }
        }
    }

    /// Kills it and what it started; gives it back when it does not die.
    pub(super) fn get_rid_of(self) -> Option<Self> {
        let _ = killpg(self.0, Signal::SIGKILL);
        let _ = kill(self.0, Signal::SIGKILL);
        if self.ended_soon().is_some() { None } else { Some(self) }
    }
}
