//! What one answer may cost: time, bytes, requests at a time.

use std::time::Duration;

use aggregator_core::answer_budget::MaxAnswers;
use aggregator_core::bounded_list::Room;

/// What is asked for at most.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How long one request may take.
    pub request_timeout: Duration,
    pub in_flight: usize,
    /// Rounds of questions: each may bring up new ones.
    pub rounds: usize,
    /// Bytes of one answer.
    pub answer: usize,
    /// Bytes of a later page of a list, about: a slow line has it within the time that one request may take.
    pub page: usize,
    /// What is kept of one list.
    pub room: Room,
    /// What all answers of a state may take.
    pub answers: MaxAnswers,
    /// How long after the first count of objects the second is made.
    pub count_interval: Duration,
    /// What the scan of all kinds may take; without it each kind is read to its end.
    pub scan: Option<ScanBudget>,
}

/// What the scan of all kinds may take together.
#[derive(Clone, Copy, Debug)]
pub struct ScanBudget {
    /// How long.
    pub time: Duration,
    /// How many bytes of answers.
    pub bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            request_timeout: Duration::from_secs(10),
            in_flight: 8,
            // A link of a chain takes about six.
            rounds: 48,
            answer: 64 << 20,
            page: 4 << 20,
            room: Room { max_objects: 20_000, max_bytes: 32 << 20 },
            answers: MaxAnswers { cluster_bytes: 64 << 20, namespaces_bytes: 32 << 20 },
            count_interval: Duration::from_secs(3),
            scan: Some(ScanBudget { time: Duration::from_secs(3), bytes: 20_000_000 }),
        }
    }
}
