//! Asks the API server what the judgement lacks, and never more than so much.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::Duration;

use aggregator_core::state::{Question, State, Subject};
use client::{self, BoundedClient, Bounds, Client, reach};
use findings::TokenBucket;
use futures::StreamExt as _;
use jiff::Timestamp;
use tokio::sync::mpsc::Receiver;
use tokio::time::Instant;

use crate::judge_thread::Input;
use crate::requests::Requests;
use crate::server_clock::ServerClock;

/// Requests that may be made at once after a rest, for the first judgement needs many; and how long each of them takes to
/// come back.
const MAX_BURST: u32 = 400;
const REFILL: Duration = Duration::from_nanos(1_000_000_000 / 3);
/// How often the time is asked for.
const CLOCK_INTERVAL: Duration = Duration::from_secs(60);

/// Asks until the sender of questions ends.
pub async fn run(
    client: Client,
    bounds: Bounds,
    mut asked: Receiver<Vec<Question>>,
    inputs: Sender<Input>,
    clock: Arc<ServerClock>,
    requests: Arc<Requests>,
) {
    let start = Instant::now();
    let mut bucket = TokenBucket::new(MAX_BURST, REFILL);
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
        let server = BoundedClient::new(&client, bounds);
        let mut paid = 0;
        let mut answers = futures::stream::FuturesUnordered::new();
        for question in questions {
            // Of a list each page is a request, and they are known only when it has come.
            let made = server.requests();
            let wait = bucket.spend(made - paid, start.elapsed());
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
        tokio::time::sleep(bucket.spend(server.requests() - paid, start.elapsed())).await;
    }
}
