//! Asks the API server what the judgement lacks, and never more than so much.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::Duration;

use aggregator_core::state::{Question, State, Subject};
use client::{self, Bounds, Client, Server, reach};
use futures::StreamExt as _;
use jiff::Timestamp;
use tokio::sync::mpsc::Receiver;
use tokio::time::Instant;

use crate::judge_thread::Input;
use crate::requests::Requests;
use crate::server_clock::ServerClock;

/// Requests per second that may be made for ever, and at once after a rest: the first judgement needs many.
const PER_SECOND: f64 = 3.0;
const BURST: f64 = 400.0;
/// How often the time is asked for.
const CLOCK_INTERVAL: Duration = Duration::from_secs(60);

/// A bucket that fills as time passes.
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Bucket {
    fn full(at: Instant) -> Self {
        Bucket { tokens: BURST, at }
    }

    /// Takes out what so many requests cost. Returns how long to wait before the next one.
    fn take(&mut self, requests: u64, now: Instant) -> Duration {
        self.tokens = (self.tokens + (now - self.at).as_secs_f64() * PER_SECOND).min(BURST);
        self.at = now;
        self.tokens -= requests as f64;
        Duration::from_secs_f64((-self.tokens).max(0.0) / PER_SECOND)
    }
}

/// Asks until nobody has questions any more.
pub async fn run(
    client: Client,
    bounds: Bounds,
    mut asked: Receiver<Vec<Question>>,
    inputs: Sender<Input>,
    clock: Arc<ServerClock>,
    requests: Arc<Requests>,
) {
    let mut bucket = Bucket::full(Instant::now());
    let mut time = None::<Instant>;
    while let Some(questions) = asked.recv().await {
        if time.is_none_or(|time| time.elapsed() >= CLOCK_INTERVAL) {
            let mut state =
                State::new(Subject::Everything { namespace: None, all_kinds: false }, Timestamp::UNIX_EPOCH);
            if reach(&client, &mut state, bounds).await.is_ok() && state.at != Timestamp::UNIX_EPOCH {
                clock.synchronize(state.at);
                time = Some(Instant::now());
            }
        }
        let server = Server::new(&client, bounds);
        let mut paid = 0;
        let mut answers = futures::stream::FuturesUnordered::new();
        for question in questions {
            // Of a list each page is a request, and they are known only when it has come.
            let made = server.requests();
            let wait = bucket.take(made - paid, Instant::now());
            paid = made;
            if !wait.is_zero() {
                requests.throttled.fetch_add(1, Ordering::Relaxed);
            }
            requests.asked.fetch_add(1, Ordering::Relaxed);
            let until = Instant::now() + wait;
            // What was sent is heard meanwhile: its own time runs.
            while let Ok(Some(answered)) = tokio::time::timeout_at(until, answers.next()).await {
                if inputs.send(Input::Answered(answered)).is_err() {
                    return;
                }
            }
            tokio::time::sleep_until(until).await;
            answers.push(client::answer(&server, question));
            if answers.len() >= bounds.in_flight
                && let Some(answered) = answers.next().await
                && inputs.send(Input::Answered(answered)).is_err()
            {
                return;
            }
        }
        while let Some(answered) = answers.next().await {
            if inputs.send(Input::Answered(answered)).is_err() {
                return;
            }
        }
        tokio::time::sleep(bucket.take(server.requests() - paid, Instant::now())).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_requests_as_were_made_are_waited_for() {
        let start = Instant::now();
        let mut bucket = Bucket::full(start);
        assert_eq!(bucket.take(400, start), Duration::ZERO);
        assert_eq!(bucket.take(6, start), Duration::from_secs(2));
        assert_eq!(bucket.take(0, start + Duration::from_secs(2)), Duration::ZERO);
        assert_eq!(bucket.take(3, start + Duration::from_secs(2)), Duration::from_secs(1));
    }
}
