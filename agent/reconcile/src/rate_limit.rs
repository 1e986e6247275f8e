//! How often the agent may write.

use std::time::Duration;

use super::Instant;

/// A token bucket: a burst, then one token per `refill`.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    burst: u32,
    refill: Duration,
    tokens: u32,
    /// Since when the next token fills.
    filling: Instant,
}

impl TokenBucket {
    /// A full bucket.
    pub fn new(burst: u32, refill: Duration, now: Instant) -> Self {
        TokenBucket { burst: burst.max(1), refill, tokens: burst.max(1), filling: now }
    }

    /// Takes a token, if there is one.
    pub fn take(&mut self, now: Instant) -> bool {
        self.fill(now);
        if self.tokens == 0 {
            return false;
        }
        self.tokens -= 1;
        true
    }

    /// How long until there is a token; zero when there is one.
    pub fn wait(&mut self, now: Instant) -> Duration {
        self.fill(now);
        if self.tokens > 0 { Duration::ZERO } else { self.refill.saturating_sub(now.since(self.filling)) }
    }

    fn fill(&mut self, now: Instant) {
        while self.tokens < self.burst && (self.refill.is_zero() || now.since(self.filling) >= self.refill) {
            self.tokens += 1;
            self.filling.steady += self.refill;
        }
        if self.tokens >= self.burst {
            self.filling = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instant::tests::at;

    #[test]
    fn a_burst_and_then_one_by_one() {
        let mut bucket = TokenBucket::new(3, Duration::from_secs(30), at(0));
        assert_eq!((0..5).filter(|_| bucket.take(at(0))).count(), 3);
        assert_eq!(bucket.wait(at(10)), Duration::from_secs(20));
        assert!(bucket.take(at(30)) && !bucket.take(at(31)));
        assert_eq!((0..9).filter(|_| bucket.take(at(100_000))).count(), 3, "it never holds more than the burst");
    }

    #[test]
    fn an_hour_of_trying_writes_what_was_allowed() {
        let mut bucket = TokenBucket::new(10, Duration::from_secs(30), at(0));
        assert_eq!((0..3600).filter(|second| bucket.take(at(*second))).count(), 10 + 119);
    }
}
