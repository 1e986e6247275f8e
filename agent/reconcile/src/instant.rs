//! Points in time that a set-back clock does not confuse.

use std::time::Duration;

/// When something happened: on the clock that only goes forward, by which everything is timed, and
/// on the wall, which is only ever shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant {
    /// Since boot.
    pub steady: Duration,
    /// Milliseconds since the epoch.
    pub wall_ms: u64,
}

impl Instant {
    /// How long ago `earlier` was.
    pub fn duration_since(self, earlier: Instant) -> Duration {
        self.steady.saturating_sub(earlier.steady)
    }

    /// So much later.
    pub fn later(self, by: Duration) -> Instant {
        let wall_ms = self.wall_ms.saturating_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX));
        Instant { steady: self.steady + by, wall_ms }
    }

    /// Seconds since the epoch, by the wall.
    pub fn wall_s(self) -> i64 {
        i64::try_from(self.wall_ms / 1000).unwrap_or(i64::MAX)
    }

    /// RFC 3339, UTC, whole seconds.
    pub fn stamp(self) -> String {
        jiff::Timestamp::from_second(self.wall_s()).unwrap_or_default().to_string()
    }

    /// RFC 3339, UTC, with microseconds, as `MicroTime` wants it.
    pub fn micro_stamp(self) -> String {
        let micros = i64::try_from(self.wall_ms.saturating_mul(1000)).unwrap_or(i64::MAX);
        jiff::Timestamp::from_microsecond(micros).unwrap_or_default().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
    }

    /// The moment at which the wall clock showed `wall_s`, by today's clock; never later than now.
    pub fn convert_wall(self, wall_s: i64) -> Instant {
        let ago = Duration::from_secs(u64::try_from(self.wall_s().saturating_sub(wall_s)).unwrap_or(0));
        let wall_ms = u64::try_from(wall_s).unwrap_or(0).saturating_mul(1000).min(self.wall_ms);
        Instant { steady: self.steady.saturating_sub(ago), wall_ms }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// `seconds` after the beginning of a test.
    pub fn moment(seconds: u64) -> Instant {
        Instant { steady: Duration::from_secs(100_000 + seconds), wall_ms: 1_785_578_400_000 + seconds * 1000 }
    }

    #[test]
    fn it_is_stamped_as_the_api_server_wants_it() {
        assert_eq!(moment(0).stamp(), "2026-08-01T10:00:00Z");
        assert_eq!(moment(0).micro_stamp(), "2026-08-01T10:00:00.000000Z");
    }

    #[test]
    fn what_the_wall_showed_becomes_a_moment() {
        assert_eq!(moment(60).convert_wall(moment(20).wall_s()), moment(20));
        assert_eq!(moment(60).convert_wall(moment(90).wall_s()), moment(60), "the clock was set back");
    }
}
