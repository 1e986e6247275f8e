//! Whether this replica may write Events, for all tasks in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// Whether this replica may write now.
#[derive(Clone, Debug)]
pub struct Leader(Arc<AtomicU64>);

impl Leader {
    /// The only replica there is.
    pub fn alone() -> Self {
        Leader(Arc::new(AtomicU64::new(u64::MAX)))
    }

    /// No task may write before the Lease is held.
    pub fn waiting() -> Self {
        Leader(Arc::default())
    }

    /// It may until then, by [`since_start`].
    pub fn extend_to(&self, until: Duration) {
        self.0.store(u64::try_from(until.as_millis()).unwrap_or(u64::MAX), Ordering::SeqCst);
    }

    /// For how long from now it may; none when it may not. It is asked right before each write, because a process may
    /// be paused anywhere.
    pub fn remaining(&self) -> Option<Duration> {
        let until = Duration::from_millis(self.0.load(Ordering::SeqCst));
        until.checked_sub(since_start()).filter(|left| !left.is_zero())
    }
}

/// Since the machine was started: a clock that cannot be set, and that goes on while the process is paused.
pub fn since_start() -> Duration {
    clock_gettime(ClockId::CLOCK_BOOTTIME).map(Duration::from).unwrap_or(Duration::MAX)
}
