//! Listening to a child until a deadline.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::read;

/// More than this no child has to say, in bytes.
const MAX_OUTPUT_BYTES: usize = 4 << 20;

/// Reads until the end of the pipe (`true`), or until the deadline or the cap (`false`).
pub(super) fn listen(pipe: &impl AsFd, output: &mut Vec<u8>, end: Instant) -> io::Result<bool> {
    let mut piece = [0; 4096];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || output.len() > MAX_OUTPUT_BYTES {
            return Ok(false);
        }
        // Rounded up: a timeout of 0 ms would spin.
        let timeout = PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
        let mut fds = [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, timeout) {
            Ok(0) | Err(Errno::EINTR) => continue,
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        match read(pipe, &mut piece) {
            Ok(0) => return Ok(true),
            Ok(length) => output.extend_from_slice(&piece[..length]),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
