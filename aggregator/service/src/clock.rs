//! The API server's clock: by one that is minutes off, a living controller would seem silent.

use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};

/// How far the API server's clock is ahead of ours, in seconds.
#[derive(Debug, Default)]
pub struct Clock(AtomicI64);

impl Clock {
    /// The API server's time, as far as it has been heard.
    pub fn now(&self) -> Timestamp {
        let ahead = SignedDuration::from_secs(self.0.load(Ordering::Relaxed));
        Timestamp::now().saturating_add(ahead).unwrap_or_else(|_| Timestamp::now())
    }

    /// Takes in what the API server says the time is.
    pub fn heard(&self, server: Timestamp) {
        self.0.store(server.as_second() - Timestamp::now().as_second(), Ordering::Relaxed);
    }
}
