//! Asks the API server what the judgement lacks, and never more than so much.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::Duration;

use aggregator::client::{self, Bounds, Server, reach};
use aggregator_core::state::{Question, State, Subject};
use futures::StreamExt as _;
use jiff::Timestamp;
use kube::Client;
use tokio::sync::mpsc::Receiver;
use tokio::time::Instant;

use crate::clock::Clock;
use crate::judging::Input;
use crate::requests::Requests;

/// Questions per second that may be asked for ever, and at once after a rest: the first judgement needs many.
const PER_SECOND: f64 = 4.0;
const BURST: f64 = 200.0;
/// How often the time is asked for.
const TIME: Duration = Duration::from_secs(60);

/// A bucket that fills as time passes.
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Bucket {
    /// Waits until one more question may be asked.
    async fn take(&mut self, requests: &Requests) {
        let now = Instant::now();
        self.tokens = (self.tokens + (now - self.at).as_secs_f64() * PER_SECOND).min(BURST);
        self.at = now;
        self.tokens -= 1.0;
        if self.tokens < 0.0 {
            requests.throttled.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_secs_f64(-self.tokens / PER_SECOND)).await;
        }
    }
}

/// Asks until nobody has questions any more.
pub async fn ask(
    client: Client,
    bounds: Bounds,
    mut asked: Receiver<Vec<Question>>,
    inputs: Sender<Input>,
    clock: Arc<Clock>,
    requests: Arc<Requests>,
) {
    let mut bucket = Bucket { tokens: BURST, at: Instant::now() };
    let mut time = None::<Instant>;
    while let Some(questions) = asked.recv().await {
        if time.is_none_or(|time| time.elapsed() >= TIME) {
            let mut state =
                State::new(Subject::Everything { namespace: None, all_kinds: false }, Timestamp::UNIX_EPOCH);
            if reach(&client, &mut state, bounds).await.is_ok() && state.at != Timestamp::UNIX_EPOCH {
                clock.heard(state.at);
                time = Some(Instant::now());
            }
        }
        let server = Server::new(&client, bounds);
        let mut allowed = Vec::new();
        let mut answers = futures::stream::FuturesUnordered::new();
        for question in questions {
            bucket.take(&requests).await;
            requests.asked.fetch_add(1, Ordering::Relaxed);
            answers.push(client::answer(&server, question));
            if answers.len() >= bounds.in_flight {
                allowed.extend(answers.next().await);
            }
            for answered in allowed.drain(..) {
                if inputs.send(Input::Answered(answered)).is_err() {
                    return;
                }
            }
        }
        while let Some(answered) = answers.next().await {
            if inputs.send(Input::Answered(answered)).is_err() {
                return;
            }
        }
    }
}
