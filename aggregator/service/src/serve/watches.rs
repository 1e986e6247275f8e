//! Follows what a question asks for: lists, then hears of changes, and begins anew when too much was missed.

use std::sync::mpsc::Sender;
use std::time::Duration;

use aggregator::client::{self, Bounds, Server, Watch, version_to_watch_from};
use aggregator_core::state::{Answer, Facts, Fault, Question};
use findings::FaultKind;
use kube::Client;

use crate::judge::Change;
use crate::judging::Input;

/// Between the beginnings of two watches: one may be answered and ended at once, as by a proxy without a server behind.
const APART: Duration = Duration::from_secs(1);
/// After a failure, and at most after many.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// Nobody listens any more.
struct Closed;

/// Follows for ever; ends when nobody listens any more.
pub async fn follow(client: Client, question: Question, bounds: Bounds, inputs: Sender<Input>) {
    let tell = |change| inputs.send(Input::Change(change)).map_err(|_| Closed);
    let (mut version, mut wait) = (None, BACKOFF.0);
    loop {
        let begin = tokio::time::Instant::now();
        match step(&client, &question, bounds, &mut version, &tell).await {
            Err(Closed) => return,
            Ok(Ok(())) => {
                wait = BACKOFF.0;
                tokio::time::sleep_until(begin + APART).await;
            }
            Ok(Err(fault)) => {
                // Of what was not understood nobody knows what it has changed.
                if is_too_old(fault.kind) {
                    version = None;
                }
                tracing::warn!(question = %question, fault = %fault, "a watch has failed");
                if tell(Change::Failed(question.clone(), fault)).is_err() {
                    return;
                }
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(BACKOFF.1);
            }
        }
    }
}

fn is_too_old(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::Stale | FaultKind::Gone | FaultKind::TooLarge | FaultKind::Malformed)
}

/// One list if nothing is known, and one watch until it ends.
async fn step(
    client: &Client,
    question: &Question,
    bounds: Bounds,
    known: &mut Option<String>,
    tell: &impl Fn(Change) -> Result<(), Closed>,
) -> Result<Result<(), Fault>, Closed> {
    let version = match known {
        Some(version) => version.clone(),
        None => match list(client, question, bounds, tell).await? {
            Ok(version) => version,
            Err(fault) => return Ok(Err(fault)),
        },
    };
    let mut watch = match Watch::begin(client, question, &version, bounds).await {
        Ok(watch) => watch,
        Err(fault) => return Ok(Err(fault)),
    };
    *known = Some(version);
    loop {
        let change = match watch.next().await {
            Ok(Some(change)) => change,
            Ok(None) => {
                *known = Some(watch.version().to_owned());
                return Ok(Ok(()));
            }
            Err(fault) => {
                *known = Some(watch.version().to_owned());
                return Ok(Err(fault));
            }
        };
        match change {
            client::Change::Deleted { uid } => tell(Change::Deleted(question.clone(), uid))?,
            client::Change::Applied(object) => match Facts::object(question, &object) {
                Ok(facts) => tell(Change::Applied(question.clone(), facts))?,
                Err(error) => return Ok(Err(Fault::new(FaultKind::Malformed, error.to_string()))),
            },
        }
    }
}

/// Lists what there is. The version is of before the list: what happened in between is heard twice, not missed.
async fn list(
    client: &Client,
    question: &Question,
    bounds: Bounds,
    tell: &impl Fn(Change) -> Result<(), Closed>,
) -> Result<Result<String, Fault>, Closed> {
    let version = match version_to_watch_from(client, question, bounds).await {
        Answer::Seen(version) => version,
        Answer::Failed(fault) => return Ok(Err(fault)),
        Answer::Missing | Answer::Unasked => return Ok(Err(Fault::new(FaultKind::Gone, "it is not served"))),
    };
    let answered = client::answer(&Server::new(client, bounds), question.clone()).await;
    if let Answer::Failed(fault) = answered.answer {
        return Ok(Err(fault));
    }
    tell(Change::Listed(answered))?;
    Ok(Ok(version))
}
