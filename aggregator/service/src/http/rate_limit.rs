//! How often each client may ask.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use findings::TokenBucket;

use super::peer::Peer;

/// Clients that are remembered. Beyond that, those that are not known share one bucket's worth.
const MAX_CLIENTS: usize = 4096;

/// How often each may ask: those who are known, and tokens that are not yet.
pub struct CallerLimits {
    pub known: RateLimits<String>,
    pub unknown: RateLimits<Peer>,
}

impl Default for CallerLimits {
    fn default() -> Self {
        let (known, unknown) = (Duration::from_millis(100), Duration::from_millis(200));
        CallerLimits { known: RateLimits::new(60, known), unknown: RateLimits::new(60, unknown) }
    }
}

/// A bucket of tokens for each client.
pub struct RateLimits<K> {
    full: TokenBucket,
    start: Instant,
    buckets: Mutex<HashMap<K, TokenBucket>>,
}

impl<K: Hash + Eq> RateLimits<K> {
    /// So many requests at once after a rest, then one per `refill`.
    pub fn new(burst: u32, refill: Duration) -> Self {
        RateLimits { full: TokenBucket::new(burst, refill), start: Instant::now(), buckets: Mutex::default() }
    }

    /// Takes one; else says after how long there will be one.
    pub fn take(&self, client: K, now: Instant) -> Result<(), Duration> {
        let now = now.saturating_duration_since(self.start);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MAX_CLIENTS && !buckets.contains_key(&client) {
            buckets.retain(|_, bucket| !bucket.is_full(now));
            if buckets.len() >= MAX_CLIENTS {
                return Err(Duration::from_secs(1));
            }
        }
        let bucket = buckets.entry(client).or_insert_with(|| self.full.clone());
        if bucket.take(now) { Ok(()) } else { Err(bucket.wait(now)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_too_often_waits_alone() {
        let rates = RateLimits::new(3, Duration::from_millis(500));
        let start = Instant::now();
        for _ in 0..3 {
            assert_eq!(rates.take("a", start), Ok(()));
        }
        assert_eq!(rates.take("a", start), Err(Duration::from_millis(500)));
        assert_eq!(rates.take("b", start), Ok(()), "another client");
        assert_eq!(rates.take("a", start + Duration::from_millis(500)), Ok(()));
        assert!(rates.take("a", start + Duration::from_millis(500)).is_err());
    }

    #[test]
    fn clients_without_number_take_no_memory_without_bound() {
        let rates = RateLimits::new(2, Duration::from_secs(1));
        let start = Instant::now();
        for client in 0..MAX_CLIENTS {
            assert_eq!(rates.take(client, start), Ok(()));
        }
        assert!(rates.take(MAX_CLIENTS, start).is_err());
        assert!(rates.take(0, start).is_ok(), "who is known is served on");
        assert!(rates.take(MAX_CLIENTS, start + Duration::from_secs(2)).is_ok());
        assert!(rates.buckets.lock().unwrap().len() <= MAX_CLIENTS);
    }
}
