//! What can be set, with its defaults in one place: the flags.

use std::time::Duration;

use super::{schedule::Intervals, tracker::Rules};

/// Everything the agent's timing and its writes depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    pub intervals: Intervals,
    pub rules: Rules,
    /// Number of Events that can be written at once.
    pub burst: u32,
    /// Interval for each further Event.
    pub refill: Duration,
    /// News wait for a random part of this, so that a file server that hangs under five thousand
    /// nodes is not reported by all of them in the same second.
    pub spread: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Settings {
            intervals: Intervals { first: seconds(15), next: seconds(30), longest: seconds(300), sweep: seconds(600) },
            rules: Rules {
                fan_in: 5,
                scans: 2,
                d_state_scans: 3,
                renewal: seconds(1800),
                update: seconds(300),
                capacity: 1000,
            },
            burst: 10,
            refill: seconds(30),
            spread: seconds(30),
        }
    }
}
