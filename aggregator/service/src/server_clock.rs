//! The API server's clock: by one that is minutes off, a living controller would seem silent.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::Timestamp;

use crate::leader::since_start;

/// What the API server's clock said, in milliseconds, less the time since our machine was started: between two reads of that
/// clock a clock that cannot be set carries it on.
#[derive(Debug)]
pub struct ServerClock(AtomicI64);

/// In its place before the API server was heard.
const UNHEARD: i64 = i64::MIN;

impl Default for ServerClock {
    fn default() -> Self {
        ServerClock(AtomicI64::new(UNHEARD))
    }
}

impl ServerClock {
    /// The API server's time; ours as long as it has not been heard.
    pub fn now(&self) -> Timestamp {
        self.server_time(since_start()).unwrap_or_else(Timestamp::now)
    }

    /// Takes in what the API server says the time is.
    pub fn synchronize(&self, server: Timestamp) {
        self.synchronize_at(server, since_start());
    }

    fn server_time(&self, since_start: Duration) -> Option<Timestamp> {
        let ahead = Some(self.0.load(Ordering::Relaxed)).filter(|ahead| *ahead != UNHEARD)?;
        Timestamp::from_millisecond(ahead.checked_add(milliseconds(since_start)?)?).ok()
    }

    fn synchronize_at(&self, server: Timestamp, since_start: Duration) {
        let ahead = milliseconds(since_start).and_then(|passed| server.as_millisecond().checked_sub(passed));
        self.0.store(ahead.unwrap_or(UNHEARD), Ordering::Relaxed);
    }
}

fn milliseconds(time: Duration) -> Option<i64> {
    i64::try_from(time.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// Our own clock is not used, whatever it is set to.
    #[test]
    fn the_api_servers_time_goes_on_between_two_looks() {
        let clock = ServerClock::default();
        assert_eq!(clock.server_time(s(100)), None);
        clock.synchronize_at(at(5000), s(100));
        assert_eq!(clock.server_time(s(100)), Some(at(5000)));
        assert_eq!(clock.server_time(s(160)), Some(at(5060)));
        clock.synchronize_at(at(1000), s(160));
        assert_eq!(clock.server_time(s(161)), Some(at(1001)), "the server's own clock was set back");
    }

    #[test]
    fn without_a_clock_that_nobody_sets_ours_is_believed() {
        let clock = ServerClock::default();
        clock.synchronize_at(at(5000), Duration::MAX);
        assert_eq!(clock.server_time(s(1)), None);
    }
}
