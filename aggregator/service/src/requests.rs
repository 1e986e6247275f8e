//! What the API server was asked, counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use client::{Client, counted};
use http::StatusCode;

/// What was asked of the API server, and how it took that.
#[derive(Debug, Default)]
pub struct Requests {
    /// Questions beside the watches.
    pub asked: AtomicU64,
    /// Questions that had to wait.
    pub throttled: AtomicU64,
    /// Requests of all kinds by what came of them.
    sent: [AtomicU64; Outcome::ALL.len()],
}

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Answered,
    /// The server has too much to do: 429.
    TooMany,
    /// Another refusal, which may be the answer: 404 is one.
    Refused,
    /// The server could not: 5xx.
    Failed,
    /// No answer came.
    Unanswered,
}

impl Outcome {
    /// All of them, each at its own place.
    pub const ALL: [Outcome; 5] =
        [Outcome::Answered, Outcome::TooMany, Outcome::Refused, Outcome::Failed, Outcome::Unanswered];

    /// As a label.
    pub fn code(self) -> &'static str {
        match self {
            Outcome::Answered => "2xx",
            Outcome::TooMany => "429",
            Outcome::Refused => "4xx",
            Outcome::Failed => "5xx",
            Outcome::Unanswered => "none",
        }
    }

    fn from_status(status: StatusCode) -> Outcome {
        match status.as_u16() {
            429 => Outcome::TooMany,
            400..=499 => Outcome::Refused,
            500.. => Outcome::Failed,
            _ => Outcome::Answered,
        }
    }
}

impl Requests {
    /// The same client, each of whose requests is counted.
    pub fn counted(self: &Arc<Self>, client: Client) -> Client {
        let requests = Arc::clone(self);
        counted(client, move |_, status| {
            let outcome = status.map_or(Outcome::Unanswered, Outcome::from_status);
            requests.sent[outcome as usize].fetch_add(1, Ordering::Relaxed);
        })
    }

    /// How many requests came to this.
    pub fn sent(&self, outcome: Outcome) -> u64 {
        self.sent[outcome as usize].load(Ordering::Relaxed)
    }
}
