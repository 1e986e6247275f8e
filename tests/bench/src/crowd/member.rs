//! One process of the crowd and what it has open.

use std::convert::Infallible;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

use anyhow::Context as _;
use nix::sys::epoll::{Epoll, EpollCreateFlags};
use nix::sys::eventfd::EventFd;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::unistd::{dup2_stderr, dup2_stdin, dup2_stdout, pause, pipe, write};

use super::namespace::Files;

/// How many files a process has open as long as nothing else is asked for: /dev/null three times, regular files, four
/// sockets, four ends of pipes, an eventfd and an epoll instance.
pub const DESCRIPTORS: usize = 25;
/// All but the regular files.
const OTHERS: usize = 13;

/// A process with everything open.
pub struct Member {
    _open: Vec<OwnedFd>,
    _epoll: Option<Epoll>,
    _event: Option<EventFd>,
}

impl Member {
    /// Opens `descriptors` and says so; `number` decides which files.
    pub fn new(files: &Files, descriptors: usize, number: usize, ready: &OwnedFd) -> anyhow::Result<Self> {
        // What has fewer than most has nothing but the first three.
        let is_small = descriptors < OTHERS;
        let regular = if is_small { 0 } else { descriptors - OTHERS };
        let null = File::options().read(true).write(true).open("/dev/null").context("open /dev/null")?;
        dup2_stdin(&null)?;
        dup2_stdout(&null)?;
        let mut open = Vec::new();
        for at in 0..regular {
            open.push(files.open(number * regular + at)?.into());
        }
        for _ in 0..if is_small { 0 } else { 2 } {
            let (one, other) =
                socketpair(AddressFamily::Unix, SockType::Stream, None, SockFlag::empty()).context("make sockets")?;
            open.extend([one, other]);
            let (one, other) = pipe().context("make a pipe")?;
            open.extend([one, other]);
        }
        let epoll = || Epoll::new(EpollCreateFlags::empty()).context("make an epoll instance");
        let epoll = (!is_small).then(epoll).transpose()?;
        let event = (!is_small).then(|| EventFd::new().context("make an eventfd")).transpose()?;
        // Errors go to the log until here.
        dup2_stderr(&null)?;
        write(ready.as_fd(), b".").context("say that all is open")?;
        nix::unistd::close(std::os::fd::AsRawFd::as_raw_fd(ready)).context("close the pipe")?;
        Ok(Self { _open: open, _epoll: epoll, _event: event })
    }

    /// Sleeps until it is killed.
    pub fn live(self) -> anyhow::Result<Infallible> {
        loop {
            pause();
        }
    }
}
