//! When to try again.

use std::time::Duration;

use crate::Instant;

const FIRST: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(300);
/// An answer that is not there by then will not come: every request has a shorter deadline.
const IN_FLIGHT: Duration = Duration::from_secs(60);

/// Tries of one thing, further and further apart while they fail.
#[derive(Clone, Debug)]
pub struct Backoff {
    not_before: Duration,
    failures: u32,
    /// The server has asked for this pause.
    asked: bool,
    random: fastrand::Rng,
}

impl Backoff {
    /// It may be tried at once.
    pub fn new(seed: u64) -> Self {
        Backoff { not_before: Duration::ZERO, failures: 0, asked: false, random: fastrand::Rng::with_seed(seed) }
    }

    /// Whether it may be tried; if so, it is taken to be under way.
    pub fn try_now(&mut self, now: Instant) -> bool {
        let may = now.steady >= self.not_before;
        if may {
            self.not_before = now.steady + IN_FLIGHT;
        }
        may
    }

    /// How long until it may be tried.
    pub fn wait(&self, now: Instant) -> Duration {
        self.not_before.saturating_sub(now.steady)
    }

    /// Whether the server itself has asked not to be asked yet.
    pub fn is_asked_to_wait(&self, now: Instant) -> bool {
        self.asked && !self.wait(now).is_zero()
    }

    pub fn succeeded(&mut self) {
        self.failures = 0;
        self.asked = false;
        self.not_before = Duration::ZERO;
    }

    /// It failed; `after` is what the server asked for.
    pub fn failed(&mut self, after: Option<Duration>, now: Instant) {
        let doubled = FIRST.saturating_mul(1 << self.failures.min(9)).min(MAX_PAUSE);
        self.failures = self.failures.saturating_add(1);
        self.asked = after.is_some();
        // Spread upwards only: who asks for two seconds is not to be asked after one.
        let wait = after.unwrap_or(Duration::ZERO).max(doubled).min(MAX_PAUSE).mul_f64(1.0 + 0.3 * self.random.f64());
        self.not_before = now.steady + wait;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instant::tests::moment;

    #[test]
    fn it_waits_longer_and_longer_and_as_long_as_it_is_told() {
        let mut backoff = Backoff::new(1);
        assert!(backoff.try_now(moment(0)) && !backoff.try_now(moment(1)), "it is under way");
        backoff.failed(None, moment(0));
        assert!(backoff.wait(moment(0)) >= FIRST && backoff.wait(moment(0)) < FIRST * 2);
        (0..40).for_each(|_| backoff.failed(None, moment(0)));
        assert!(backoff.wait(moment(0)) >= MAX_PAUSE && backoff.wait(moment(0)) < MAX_PAUSE * 2);
        backoff.succeeded();
        backoff.failed(Some(Duration::from_secs(40)), moment(0));
        assert!(backoff.wait(moment(0)) >= Duration::from_secs(40));
    }
}
