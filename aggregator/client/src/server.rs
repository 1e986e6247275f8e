//! One request at a time, bounded in time and size; what fails is a value.

use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aggregator_core::state::{Answer, Fault};
use findings::FaultKind;
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use kube::Client;
use kube::client::Body;
use tokio::sync::Semaphore;

use super::channel;
use super::fault::{kind, said, words};

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
    /// Objects of one list that are kept.
    pub objects: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            request_timeout: Duration::from_secs(10),
            in_flight: 8,
            rounds: 16,
            answer: 64 << 20,
            page: 4 << 20,
            objects: 20_000,
        }
    }
}

/// What came back with 200.
pub struct Response {
    /// Its head.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Vec<u8>,
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
        let ran = channel::read(self.client, path, most.min(self.bounds.answer));
        let late = |_| Answer::failed(FaultKind::TimedOut, format!("waited {EXEC:?}"));
        tokio::time::timeout(EXEC, ran).await.unwrap_or_else(late)
    }

    /// One GET, bounded in time and size.
    pub async fn get(&self, path: &str, accept: &str) -> Answer<Vec<u8>> {
        let Ok(_one) = self.free.acquire().await else {
            return Answer::failed(FaultKind::NotAsked, "the client ends");
        };
        self.requests.fetch_add(1, Ordering::Relaxed);
        ask(self.client, path, accept, self.bounds).await.map(|response| response.body)
    }
}

/// One GET that does not wait for others.
pub async fn ask(client: &Client, path: &str, accept: &str, bounds: Bounds) -> Answer<Response> {
    let request = match Request::get(path).header(header::ACCEPT, accept).body(Body::empty()) {
        Ok(request) => request,
        Err(error) => return Answer::failed(FaultKind::NotAsked, format!("{path}: {error}")),
    };
    let answered = timeout(bounds, send(client, request, bounds.answer)).await;
    let Answered::AskAgain { after, .. } = answered else { return answered.into() };
    // Once, and only as soon as the server wants it and who waits can bear.
    if after > bounds.request_timeout {
        return answered.into();
    }
    tokio::time::sleep(after).await;
    match Request::get(path).header(header::ACCEPT, accept).body(Body::empty()) {
        Ok(request) => timeout(bounds, send(client, request, bounds.answer)).await.into(),
        Err(_) => answered.into(),
    }
}

/// What came of one request.
enum Answered {
    /// This.
    With(Answer<Response>),
    /// The server has too much to do (429, 503) and says when to ask again.
    AskAgain { fault: Fault, after: Duration },
}

impl From<Answered> for Answer<Response> {
    fn from(answered: Answered) -> Self {
        match answered {
            Answered::With(answer) => answer,
            Answered::AskAgain { fault, .. } => Answer::Failed(fault),
        }
    }
}

async fn timeout(bounds: Bounds, sent: impl Future<Output = Answered>) -> Answered {
    tokio::time::timeout(bounds.request_timeout, sent).await.unwrap_or_else(|_| {
        Answered::With(Answer::failed(FaultKind::TimedOut, format!("waited {:?}", bounds.request_timeout)))
    })
}

async fn send(client: &Client, request: Request<Body>, most: usize) -> Answered {
    let response = match client.send(request).await {
        Ok(response) => response,
        Err(error) => return Answered::With(Answer::Failed(Fault::new(kind(&error), words(&error)))),
    };
    let (head, body) = response.into_parts();
    let length = head.headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let body = match whole(Limited::new(body, most), length.unwrap_or(0).min(most)).await {
        Ok(body) => body,
        Err(error) => {
            let kind = if error.is::<LengthLimitError>() { FaultKind::TooLarge } else { kind(error.as_ref()) };
            return Answered::With(Answer::failed(kind, error));
        }
    };
    Answered::With(match head.status {
        StatusCode::OK => Answer::Seen(Response { headers: head.headers, body }),
        StatusCode::NOT_FOUND => Answer::Missing,
        other => {
            let fault = Fault::answered(other.as_u16(), said(&body));
            let is_busy = matches!(other, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
            match retry_after(&head.headers).filter(|_| is_busy) {
                Some(after) => return Answered::AskAgain { fault, after },
                None => Answer::Failed(fault),
            }
        }
    })
}

/// In seconds, as the API server has it.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok().map(Duration::from_secs)
}

/// Each byte is copied once: there may be hundreds of megabytes.
async fn whole(mut body: Limited<Body>, length: usize) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
    let mut bytes = Vec::with_capacity(length);
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes)
}
