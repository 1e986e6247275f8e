//! How often something may be done.

use std::time::Duration;

/// A burst, then once per `refill`. `now` is always the time since the same moment, by a clock that is never set back.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    refill: Duration,
    /// How long the empty bucket takes until it is full.
    capacity: Duration,
    full_at: Duration,
}

impl TokenBucket {
    /// A full bucket, of at least one token.
    pub fn new(burst: u32, refill: Duration) -> Self {
        TokenBucket { refill, capacity: refill.saturating_mul(burst.max(1)), full_at: Duration::ZERO }
    }

    /// Takes a token, if there is one.
    pub fn take(&mut self, now: Duration) -> bool {
        let has_token = self.wait(now).is_zero();
        if has_token {
            self.spend(1, now);
        }
        has_token
    }

    /// Takes so many, also those that are not there yet. Returns how long until all of them are.
    pub fn spend(&mut self, tokens: u64, now: Duration) -> Duration {
        let tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
        self.full_at = self.full_at.max(now).saturating_add(self.refill.saturating_mul(tokens));
        (self.full_at - now).saturating_sub(self.capacity)
    }

    /// How long until there is a token; zero when there is one.
    pub fn wait(&self, now: Duration) -> Duration {
        self.full_at.saturating_sub(now).saturating_sub(self.capacity - self.refill)
    }

    /// Whether it is as good as a new one.
    pub fn is_full(&self, now: Duration) -> bool {
        self.full_at <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(100_000 + seconds)
    }

    #[test]
    fn a_burst_and_then_one_by_one() {
        let mut bucket = TokenBucket::new(3, Duration::from_secs(30));
        assert_eq!((0..5).filter(|_| bucket.take(at(0))).count(), 3);
        assert_eq!(bucket.wait(at(10)), Duration::from_secs(20));
        assert!(bucket.take(at(30)) && !bucket.take(at(31)));
        assert!(!bucket.is_full(at(119)) && bucket.is_full(at(120)));
        assert_eq!((0..9).filter(|_| bucket.take(at(100_000))).count(), 3, "it never holds more than the burst");
    }

    #[test]
    fn what_is_spent_too_early_is_waited_for() {
        let mut bucket = TokenBucket::new(400, Duration::from_secs(1));
        assert_eq!(bucket.spend(400, at(0)), Duration::ZERO);
        assert_eq!(bucket.spend(6, at(0)), Duration::from_secs(6));
        assert_eq!(bucket.spend(0, at(6)), Duration::ZERO);
        assert_eq!(bucket.spend(3, at(6)), Duration::from_secs(3));
    }

    #[test]
    fn an_hour_of_trying_does_what_was_allowed() {
        let mut bucket = TokenBucket::new(10, Duration::from_secs(30));
        assert_eq!((0..3600).filter(|second| bucket.take(at(*second))).count(), 10 + 119);
    }

    #[test]
    fn none_at_once_is_one_and_no_time_is_no_bound() {
        let mut bucket = TokenBucket::new(0, Duration::from_secs(30));
        assert!(bucket.take(at(0)) && !bucket.take(at(29)) && bucket.take(at(30)));
        let mut bucket = TokenBucket::new(1, Duration::ZERO);
        assert!((0..1000).all(|_| bucket.take(at(0))));
    }
}
