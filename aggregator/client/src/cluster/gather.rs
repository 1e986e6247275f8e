//! Asks what the judgement needs, until it needs nothing more.

use aggregator_core::answer_budget::AnswerBudget;
use aggregator_core::engine::next_questions;
use aggregator_core::state::{Answer, Answered, Facts, Fault, Question, State};
use findings::FaultKind;
use futures::StreamExt as _;
use futures::future::join;
use http::{HeaderMap, header};
use jiff::Timestamp;
use kube::Client;

use super::bounded_client::BoundedClient;
use super::bounds::Bounds;
use super::kind_scan::scan_kinds;
use super::list::readable;
use super::retry_after::ask;
use super::{counts, discovery, kubelet_log, live, objects};

/// Asks until the judgement has all it needs, or the rounds are used up: the state says so. `progress` hears how many questions each round has.
pub async fn gather(client: &Client, state: &mut State, bounds: Bounds, progress: impl Fn(usize, usize)) {
    let server = BoundedClient::new(client, bounds);
    let mut budget = AnswerBudget::new(bounds.answers);
    for round in 0..bounds.rounds {
        let questions = next_questions(state);
        if questions.is_empty() {
            return;
        }
        progress(round, questions.len());
        let (scans, others): (Vec<Question>, Vec<Question>) =
            questions.into_iter().partition(|question| bounds.scan.is_some() && question.is_scan());
        let scans = async {
            match bounds.scan {
                Some(budget) => scan_kinds(&server, scans, budget).await,
                None => Vec::new(),
            }
        };
        let others = futures::stream::iter(others).map(|question| answer(&server, question));
        let (scans, others) = join(scans, others.buffer_unordered(bounds.in_flight).collect::<Vec<Answered>>()).await;
        scans.into_iter().chain(others).for_each(|answered| drop(budget.add(state, answered)));
    }
    state.rounds_used_up = Some(bounds.rounds);
}

/// Asks one question, which may take several requests.
pub async fn answer(server: &BoundedClient<'_>, question: Question) -> Answered {
    let answer = match &question {
        Question::Version => version(server).await,
        Question::Discovery => discovery::ask(server).await,
        Question::Health => failed_checks(server).await,
        Question::KubeletLog { node, uid } => kubelet_log::ask(server, node, uid).await,
        Question::Live { agent, pod, before } => live::ask(server, both(agent), both(pod), *before).await,
        Question::Counts { resource, namespace } => counts::ask(server, &question, resource, namespace).await,
        Question::Objects { .. } => return objects::ask(server, question).await,
    };
    Answered::whole(question, answer)
}

fn both((namespace, name): &(String, String)) -> (&str, &str) {
    (namespace, name)
}

async fn version(server: &BoundedClient<'_>) -> Answer<Facts> {
    server.get("/version", "application/json").await.and_then(|body| read_version(&body))
}

/// A server that fails one answers 500 with the list of all (apiserver: pkg/server/healthz, `handleRootHealth`). Each of its
/// users may read it: `/livez/etcd` is for administrators.
async fn failed_checks(server: &BoundedClient<'_>) -> Answer<Facts> {
    match server.get("/livez?verbose", "text/plain").await {
        Answer::Failed(Fault { status: Some(500), message, .. }) => {
            let name =
                |line: &str| line.strip_prefix("[-]").map(|rest| rest.split(' ').next().unwrap_or(rest).to_owned());
            Answer::Seen(Facts::FailedChecks(message.to_string().lines().filter_map(name).collect()))
        }
        answer => answer.map(|_| Facts::FailedChecks(Vec::new())),
    }
}

fn read_version(body: &[u8]) -> Answer<Facts> {
    readable(serde_json::from_slice(body)).map(Facts::Version)
}

/// Nothing can be asked.
#[derive(Debug, thiserror::Error)]
pub enum Unreachable {
    /// The server does not answer at all.
    #[error("the API server cannot be reached: {0}; see whether `kubectl version` gets an answer")]
    Away(Fault),
    /// It does not know who asks.
    #[error("the API server does not accept your credentials (401 {0}): log in again, then try `kubectl auth whoami`")]
    NotLoggedIn(String),
}

/// Asks the one question that needs no right, so that an unreachable server is reported once. The state takes the server's
/// time: by a clock that is minutes off, a living controller would seem silent.
pub async fn reach(client: &Client, state: &mut State, bounds: Bounds) -> Result<(), Unreachable> {
    let asked = ask(client, "/version", "application/json", bounds).await;
    if let Some(time) = asked.as_ref().seen().and_then(|answered| server_time(&answered.headers)) {
        state.at = time;
    }
    let answer = asked.and_then(|answered| read_version(&answered.body));
    match answer {
        Answer::Failed(fault) if fault.status == Some(401) => {
            return Err(Unreachable::NotLoggedIn(fault.message.to_string()));
        }
        Answer::Failed(fault) if fault.kind != FaultKind::Denied => return Err(Unreachable::Away(fault)),
        _ => {}
    }
    state.add(Answered::whole(Question::Version, answer));
    Ok(())
}

fn server_time(headers: &HeaderMap) -> Option<Timestamp> {
    let date = headers.get(header::DATE)?.to_str().ok()?;
    Some(jiff::fmt::rfc2822::parse(date).ok()?.timestamp())
}
