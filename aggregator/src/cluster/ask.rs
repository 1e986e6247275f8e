//! Asks what the judgement needs, until it needs nothing more.

use std::time::Duration;

use futures::StreamExt as _;
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use tokio::sync::Semaphore;

use super::{discovery, objects};
use crate::graph::next_questions;
use crate::state::{Answer, Answered, Facts, Question, State};

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
    /// Objects of one list that are kept.
    pub objects: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds { request_timeout: Duration::from_secs(10), in_flight: 8, rounds: 16, answer: 64 << 20, objects: 20_000 }
    }
}

/// Asks until the judgement has all it needs. `progress` hears how many questions each round has.
pub async fn gather(client: &Client, state: &mut State, bounds: Bounds, progress: impl Fn(usize, usize)) {
    let server = Server::new(client, bounds);
    for round in 0..bounds.rounds {
        let questions = next_questions(state);
        if questions.is_empty() {
            return;
        }
        progress(round, questions.len());
        let mut answers = futures::stream::iter(questions)
            .map(|question| answer(&server, question))
            .buffer_unordered(bounds.in_flight);
        while let Some(answered) = answers.next().await {
            state.add(answered);
        }
    }
}

async fn answer(server: &Server<'_>, question: Question) -> Answered {
    let (answer, cut) = match &question {
        Question::Version => (version(server).await, false),
        Question::Discovery => (discovery::ask(server).await, false),
        Question::Objects { .. } => objects::ask(server, &question).await,
    };
    Answered { question, answer, cut }
}

async fn version(server: &Server<'_>) -> Answer<Facts> {
    server.get("/version", "application/json").await.and_then(|body| read_version(&body))
}

fn read_version(body: &[u8]) -> Answer<Facts> {
    match serde_json::from_slice(body) {
        Ok(version) => Answer::Seen(Facts::Version(version)),
        Err(error) => Answer::Failed(format!("/version cannot be read: {error}")),
    }
}

/// What came back with 200.
struct Response {
    headers: HeaderMap,
    body: Vec<u8>,
}

/// The server, and how much of it may be asked for at a time. One answer may need several requests.
pub(super) struct Server<'a> {
    client: &'a Client,
    pub(super) bounds: Bounds,
    free: Semaphore,
}

impl<'a> Server<'a> {
    fn new(client: &'a Client, bounds: Bounds) -> Self {
        Server { client, bounds, free: Semaphore::new(bounds.in_flight) }
    }

    /// One GET, bounded in time and size.
    pub(super) async fn get(&self, path: &str, accept: &str) -> Answer<Vec<u8>> {
        let Ok(_one) = self.free.acquire().await else { return Answer::Failed("nothing is asked any more".to_owned()) };
        ask(self.client, path, accept, self.bounds).await.map(|response| response.body)
    }
}

async fn ask(client: &Client, path: &str, accept: &str, bounds: Bounds) -> Answer<Response> {
    let request = match Request::get(path).header(header::ACCEPT, accept).body(Body::empty()) {
        Ok(request) => request,
        Err(error) => return Answer::Failed(format!("{path}: {error}")),
    };
    match tokio::time::timeout(bounds.request_timeout, send(client, request, bounds.answer)).await {
        Ok(answer) => answer,
        Err(_) => Answer::Failed(format!("no answer within {:?}", bounds.request_timeout)),
    }
}

async fn send(client: &Client, request: Request<Body>, most: usize) -> Answer<Response> {
    let response = match client.send(request).await {
        Ok(response) => response,
        Err(error) => return Answer::Failed(words(&error)),
    };
    let (head, body) = response.into_parts();
    let length = head.headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let body = match whole(Limited::new(body, most), length.unwrap_or(0).min(most)).await {
        Ok(body) => body,
        Err(error) => return Answer::Failed(format!("the answer cannot be read: {error}")),
    };
    match head.status {
        StatusCode::OK => Answer::Seen(Response { headers: head.headers, body }),
        StatusCode::NOT_FOUND => Answer::Missing,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Answer::Forbidden(said(head.status, &body)),
        other => Answer::Failed(said(other, &body)),
    }
}

/// Each byte is copied once: there may be hundreds of megabytes.
async fn whole(mut body: Limited<Body>, length: usize) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
    let mut bytes = Vec::with_capacity(length);
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes)
}

/// The server's own words: the message of a `Status`, or plain text.
fn said(status: StatusCode, body: &[u8]) -> String {
    let text = match serde_json::from_slice::<serde_json::Value>(body) {
        Ok(value) => value.get("message").and_then(|message| message.as_str()).unwrap_or_default().to_owned(),
        Err(_) => String::from_utf8_lossy(body).trim().chars().take(300).collect(),
    };
    format!("{} {text}", status.as_u16())
}

/// An error with its causes, each said once: many of them repeat what is below.
pub fn words(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let inner_words = inner.to_string();
        if !words.contains(&inner_words) {
            words.push_str(&format!(": {inner_words}"));
        }
        source = inner.source();
    }
    words
}

/// The server does not answer at all.
#[derive(Debug, thiserror::Error)]
#[error("the API server cannot be reached: {0}; see whether `kubectl version` gets an answer")]
pub struct Unreachable(String);

/// Asks the one question that needs no right, so that a server that is away is told once. The state
/// takes the server's time: by a clock that is minutes off, a living controller would seem silent.
pub async fn reach(client: &Client, state: &mut State, bounds: Bounds) -> Result<(), Unreachable> {
    let asked = ask(client, "/version", "application/json", bounds).await;
    if let Some(time) = asked.as_ref().seen().and_then(|answered| server_time(&answered.headers)) {
        state.at = time;
    }
    let answer = asked.and_then(|answered| read_version(&answered.body));
    if let Answer::Failed(why) = answer {
        return Err(Unreachable(why));
    }
    state.add(Answered { question: Question::Version, answer, cut: false });
    Ok(())
}

fn server_time(headers: &HeaderMap) -> Option<Timestamp> {
    let date = headers.get(header::DATE)?.to_str().ok()?;
    Some(jiff::fmt::rfc2822::parse(date).ok()?.timestamp())
}
