//! One request at a time, bounded in time and size; what fails is a value.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aggregator_core::answer_budget::MaxAnswers;
use aggregator_core::bounded_list::Room;
use aggregator_core::state::Answer;
use findings::FaultKind;
use http::{Request, StatusCode, header};
use kube::Client;
use kube::client::Body;
use tokio::sync::Semaphore;

use super::pod_exec;
use crate::Fault;
use crate::request::{self, Response};

/// A scan of a node gives up before.
const EXEC: Duration = Duration::from_secs(20);

/// What is asked for at most.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How long one request may take.
    pub request_timeout: Duration,
    /// Requests at a time.
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
            rounds: 16,
            answer: 64 << 20,
            page: 4 << 20,
            room: Room { max_objects: 20_000, max_bytes: 32 << 20 },
            answers: MaxAnswers { cluster_bytes: 64 << 20, namespaces_bytes: 32 << 20 },
            count_interval: Duration::from_secs(3),
            scan: Some(ScanBudget { time: Duration::from_secs(3), bytes: 20_000_000 }),
        }
    }
}

/// The server, and how much of it may be asked for at a time. One answer may need several requests.
pub struct Server<'a> {
    client: &'a Client,
    /// What is asked for at most.
    pub bounds: Bounds,
    free: Semaphore,
    requests: AtomicU64,
}

impl<'a> Server<'a> {
    /// All that may be asked for is free.
    pub fn new(client: &'a Client, bounds: Bounds) -> Self {
        Server { client, bounds, free: Semaphore::new(bounds.in_flight), requests: AtomicU64::new(0) }
    }

    /// How many requests were made.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// What a command in a pod writes, bounded in time and size.
    pub async fn exec(&self, path: &str, most: usize) -> Answer<Vec<u8>> {
        let Ok(_one) = self.free.acquire().await else {
            return Answer::failed(FaultKind::NotAsked, "the client ends");
        };
        let ran = pod_exec::read(self.client, path, most.min(self.bounds.answer));
        tokio::time::timeout(EXEC, ran).await.unwrap_or_else(|_| Fault::timed_out(EXEC).into())
    }

    /// One GET, bounded in time and size.
    pub async fn get(&self, path: &str, accept: &str) -> Answer<Vec<u8>> {
        self.get_at_most(path, accept, self.bounds.answer).await
    }

    /// One GET, bounded in time and to so many bytes.
    pub async fn get_at_most(&self, path: &str, accept: &str, max_bytes: usize) -> Answer<Vec<u8>> {
        let Ok(_one) = self.free.acquire().await else {
            return Answer::failed(FaultKind::NotAsked, "the client ends");
        };
        self.requests.fetch_add(1, Ordering::Relaxed);
        let bounds = Bounds { answer: max_bytes, ..self.bounds };
        ask(self.client, path, accept, bounds).await.map(|response| response.body)
    }
}

/// One GET that does not wait for others.
pub async fn ask(client: &Client, path: &str, accept: &str, bounds: Bounds) -> Answer<Response> {
    let send = async || -> Result<Response, Fault> {
        let request = Request::get(path).header(header::ACCEPT, accept).body(Body::empty())?;
        request::send(client, request, bounds.request_timeout, bounds.answer).await
    };
    let mut answered = send().await;
    // Once, and only as soon as the server wants it and who waits can bear.
    if let Some(after) = answered.as_ref().ok().and_then(busy).filter(|after| *after <= bounds.request_timeout) {
        tokio::time::sleep(after).await;
        answered = send().await;
    }
    match answered {
        Ok(Response { status: StatusCode::NOT_FOUND, .. }) => Answer::Missing,
        Ok(response) => response.success().map_or_else(Answer::from, Answer::Seen),
        Err(fault) => fault.into(),
    }
}

/// When to ask again a server that has too much to do.
fn busy(response: &Response) -> Option<Duration> {
    let is_busy = matches!(response.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    response.retry_after().filter(|_| is_busy)
}
