//! Follows what a question asks for: lists, then hears of changes, and begins anew when too much was missed.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use aggregator::client::{self, Bounds, Server, Watch, version_to_watch_from};
use aggregator_core::state::{Answer, Facts, Fault, Question};
use findings::FaultKind;
use kube::Client;
use tokio::sync::Semaphore;

use crate::judge::Change;
use crate::judging::Input;

/// Between the beginnings of two watches: one may be answered and ended at once, as by a proxy without a server behind.
const APART: Duration = Duration::from_secs(1);
/// One that ends sooner without a word has told nothing.
const SHORT: Duration = Duration::from_secs(5);
/// After so many that told nothing, what they hide is listed.
const FRUITLESS: u32 = 3;
/// At most so long is waited where nothing can be listed, and where lists do what watches should.
const LONGEST: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(300));

/// Changes of all watches that wait to be taken in.
pub const MOST_WAITING: usize = 2000;

/// Nobody listens any more.
struct Closed;

/// Tells the judge, no faster than it listens.
pub struct Tell {
    /// What it hears.
    pub inputs: Sender<Input>,
    /// Room for what it has not taken in.
    pub places: Arc<Semaphore>,
}

impl Tell {
    async fn tell(&self, change: Change) -> Result<(), Closed> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| Closed)?;
        self.inputs.send(Input::Change(change, place)).map_err(|_| Closed)
    }
}

/// Follows for ever; ends when nobody listens any more.
pub async fn follow(client: Client, question: Question, bounds: Bounds, tell: Tell) {
    let (mut version, mut fruitless) = (None, 0_u32);
    loop {
        let begin = tokio::time::Instant::now();
        match step(&client, &question, bounds, &mut version, &tell).await {
            Err(Closed) => return,
            Ok(Ok(heard)) if heard || begin.elapsed() >= SHORT => {
                fruitless = 0;
                tokio::time::sleep_until(begin + APART).await;
                continue;
            }
            Ok(Ok(_)) => {}
            Ok(Err(fault)) => {
                tracing::warn!(question = %question, fault = %fault, "a watch has failed");
                // Of what was not understood nobody knows what it has changed.
                if is_too_old(fault.kind) {
                    version = None;
                }
                if tell.tell(Change::Failed(question.clone(), fault)).await.is_err() {
                    return;
                }
                // What breaks after a while is begun again at once, however often that happens.
                if begin.elapsed() >= SHORT {
                    fruitless = 0;
                }
            }
        }
        let longest = if version.is_none() { LONGEST.0 } else { LONGEST.1 };
        tokio::time::sleep((APART * 2_u32.pow(fruitless.min(10))).min(longest)).await;
        fruitless = fruitless.saturating_add(1);
        if fruitless >= FRUITLESS {
            version = None;
        }
    }
}

fn is_too_old(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::Stale | FaultKind::Gone | FaultKind::TooLarge | FaultKind::Malformed)
}

/// One list if nothing is known, and one watch until it ends. Returns whether that told anything.
async fn step(
    client: &Client,
    question: &Question,
    bounds: Bounds,
    known: &mut Option<String>,
    tell: &Tell,
) -> Result<Result<bool, Fault>, Closed> {
    let version = match known {
        Some(version) => version.clone(),
        None => match list(client, question, bounds, tell).await? {
            Ok(version) => known.insert(version).clone(),
            Err(fault) => return Ok(Err(fault)),
        },
    };
    let mut watch = match Watch::begin(client, question, &version, bounds).await {
        Ok(watch) => watch,
        Err(fault) => return Ok(Err(fault)),
    };
    loop {
        let change = match watch.next().await {
            Ok(Some(change)) => change,
            Ok(None) => {
                let heard = watch.version() != version;
                *known = Some(watch.version().to_owned());
                return Ok(Ok(heard));
            }
            Err(fault) => {
                *known = Some(watch.version().to_owned());
                return Ok(Err(fault));
            }
        };
        match change {
            client::Change::Deleted { uid } => tell.tell(Change::Deleted(question.clone(), uid)).await?,
            client::Change::Applied(object) => match Facts::object(question, &object) {
                Ok(facts) => tell.tell(Change::Applied(question.clone(), facts)).await?,
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
    tell: &Tell,
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
    tell.tell(Change::Listed(answered)).await?;
    Ok(Ok(version))
}
