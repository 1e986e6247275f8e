//! How often each client may ask.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Clients that are remembered. Beyond that, those that are not known share one bucket's worth.
const MAX_CLIENTS: usize = 4096;

/// A bucket of tokens for each client.
pub struct Rates<K> {
    per_second: f64,
    burst: f64,
    buckets: Mutex<HashMap<K, (f64, Instant)>>,
}

impl<K: Hash + Eq> Rates<K> {
    /// So many requests a second for ever, and so many at once after a rest.
    pub fn new(per_second: f64, burst: f64) -> Self {
        Rates { per_second, burst, buckets: Mutex::new(HashMap::new()) }
    }

    /// Takes one; else says after how long there will be one.
    pub fn take(&self, client: K, now: Instant) -> Result<(), Duration> {
        let filled = |(tokens, at): (f64, Instant)| {
            (tokens + now.saturating_duration_since(at).as_secs_f64() * self.per_second).min(self.burst)
        };
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MAX_CLIENTS && !buckets.contains_key(&client) {
            // Who has rested long enough is as good as new.
            buckets.retain(|_, bucket| filled(*bucket) < self.burst);
            if buckets.len() >= MAX_CLIENTS {
                return Err(Duration::from_secs(1));
            }
        }
        let bucket = buckets.entry(client).or_insert((self.burst, now));
        let tokens = filled(*bucket);
        let (left, answer) = if tokens >= 1.0 {
            (tokens - 1.0, Ok(()))
        } else {
            (tokens, Err(Duration::from_secs_f64((1.0 - tokens) / self.per_second)))
        };
        *bucket = (left, now);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_too_often_waits_alone() {
        let rates = Rates::new(2.0, 3.0);
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
        let rates = Rates::new(1.0, 2.0);
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
