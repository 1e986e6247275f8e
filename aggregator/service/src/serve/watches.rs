//! Follows what a question asks for: lists, then hears of changes, and begins anew when too much was missed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use aggregator_core::bounded_list::Gathered;
use aggregator_core::state::{Answer, Answered, Detail, Facts, Fault, Question, Select};
use client::{self, BoundedClient, Bounds, Client, Connection, Watch, connect, version_to_watch_from, watch};
use findings::FaultKind;
use tokio::runtime;
use tokio::sync::{Notify, Semaphore, oneshot};
use tokio::task::JoinSet;

use crate::judge::{Change, ROOM, watched};
use crate::judge_thread::Input;
use crate::requests::Requests;

/// So long what changes is left to come together. In a large cluster something does every few milliseconds, most of it to
/// be passed over, and to be woken costs more than to read it.
const GATHER_INTERVAL: Duration = Duration::from_millis(50);

/// Between the beginnings of two watches: one may be answered and ended at once, as by a proxy without a server behind.
const MIN_WATCH_INTERVAL: Duration = Duration::from_secs(1);
/// One that ends sooner without a word has sent nothing.
const MIN_WATCH_DURATION: Duration = Duration::from_secs(5);
/// After so many that sent nothing, what they hide is listed.
const MAX_FRUITLESS: u32 = 3;
/// At most so long is waited where nothing can be listed, and where lists do what watches should.
const MAX_BACKOFF: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(300));

/// What a stream begins with takes no longer: who knows no such streams may say nothing for ever.
const STREAM_TIMEOUT: Duration = Duration::from_secs(60);

/// Changes of all watches that wait to be taken in.
const MAX_QUEUED_CHANGES: usize = 2000;

/// What ends a step of a watch before its time.
enum Interrupted {
    Closed,
    /// It is begun again.
    Failed(Fault),
}

impl From<Fault> for Interrupted {
    fn from(fault: Fault) -> Self {
        Interrupted::Failed(fault)
    }
}

impl From<client::Fault> for Interrupted {
    fn from(fault: client::Fault) -> Self {
        Interrupted::Failed(fault.into())
    }
}

/// Which lists are to be read anew, because the judge has left out something of them.
#[derive(Clone, Debug)]
pub struct Relists(Arc<BTreeMap<Question, Notify>>);

impl Default for Relists {
    fn default() -> Self {
        Relists(Arc::new(watched().into_iter().map(|question| (question, Notify::new())).collect()))
    }
}

impl Relists {
    /// Has the watch of this question list what there is.
    pub fn request(&self, question: &Question) {
        if let Some(notify) = self.0.get(question) {
            notify.notify_one();
        }
    }

    async fn requested(&self, question: &Question) {
        match self.0.get(question) {
            Some(notify) => notify.notified().await,
            None => std::future::pending().await,
        }
    }
}

/// What a thread needs that hears all watches.
pub struct Watches {
    /// How to reach the API server.
    pub connection: Connection,
    /// Where its requests are counted.
    pub requests: Arc<Requests>,
    /// For lists and the beginning of watches.
    pub bounds: Bounds,
    pub inputs: Sender<Input>,
    /// What is to be listed anew.
    pub relists: Relists,
}

impl Watches {
    /// Hears them until `stopped`. Nothing else can be done on that thread, which sleeps while more may come.
    pub fn hear(self, stopped: oneshot::Receiver<()>) -> anyhow::Result<()> {
        let beginning = Beginning::default();
        let gather = {
            let beginning = beginning.clone();
            move || {
                if beginning.0.load(Ordering::Relaxed) == 0 {
                    std::thread::sleep(GATHER_INTERVAL)
                }
            }
        };
        let runtime = runtime::Builder::new_current_thread().enable_all().on_thread_park(gather).build()?;
        runtime.block_on(async move {
            // A client of its own: who makes a connection reads it.
            let (client, _) = connect(&self.connection).await?;
            let client = self.requests.counted(client);
            let places = Arc::new(Semaphore::new(MAX_QUEUED_CHANGES));
            let mut tasks = JoinSet::new();
            for question in watched() {
                let changes = ChangeSender {
                    inputs: self.inputs.clone(),
                    places: Arc::clone(&places),
                    beginning: beginning.clone(),
                    relists: self.relists.clone(),
                };
                tasks.spawn(follow(client.clone(), question, self.bounds, changes));
            }
            tokio::select! {
                _ = stopped => Ok(()),
                ended = tasks.join_next() => anyhow::bail!("a watch has ended: {ended:?}"),
            }
        })
    }
}

/// How many watches are sending what there is, for which none is to wait longer than it must.
#[derive(Clone, Default)]
struct Beginning(Arc<AtomicUsize>);

impl Beginning {
    async fn track<T>(&self, begin: impl Future<Output = T>) -> T {
        self.0.fetch_add(1, Ordering::Relaxed);
        let begun = begin.await;
        self.0.fetch_sub(1, Ordering::Relaxed);
        begun
    }
}

/// Sends changes to the judge, no faster than it receives.
struct ChangeSender {
    inputs: Sender<Input>,
    /// Room for what it has not taken in.
    places: Arc<Semaphore>,
    beginning: Beginning,
    relists: Relists,
}

impl ChangeSender {
    async fn send(&self, change: Change) -> Result<(), Interrupted> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| Interrupted::Closed)?;
        self.inputs.send(Input::Change(change, place)).map_err(|_| Interrupted::Closed)
    }
}

/// Follows for ever; ends with the receiver.
async fn follow(client: Client, question: Question, bounds: Bounds, changes: ChangeSender) {
    let (mut known, mut fruitless) = (WatchState { version: None, streams: is_streamed(&question) }, 0_u32);
    loop {
        let begin = tokio::time::Instant::now();
        match step(&client, &question, bounds, &mut known, &changes).await {
            Err(Interrupted::Closed) => return,
            Ok(heard) if heard || begin.elapsed() >= MIN_WATCH_DURATION => {
                fruitless = 0;
                tokio::time::sleep_until(begin + MIN_WATCH_INTERVAL).await;
                continue;
            }
            Ok(_) => {}
            Err(Interrupted::Failed(fault)) => {
                tracing::warn!(question = %question, fault = %fault, "a watch has failed");
                // What an unreadable event changed is unknown.
                if fault.kind.needs_relist() {
                    known.version = None;
                }
                if changes.send(Change::Failed(question.clone(), fault)).await.is_err() {
                    return;
                }
                // What breaks after a while is begun again at once, however often that happens.
                if begin.elapsed() >= MIN_WATCH_DURATION {
                    fruitless = 0;
                }
            }
        }
        let longest = if known.version.is_none() { MAX_BACKOFF.0 } else { MAX_BACKOFF.1 };
        tokio::time::sleep((MIN_WATCH_INTERVAL * 2_u32.pow(fruitless.min(10))).min(longest)).await;
        fruitless = fruitless.saturating_add(1);
        if fruitless >= MAX_FRUITLESS {
            known.version = None;
        }
    }
}

/// How a watch begins.
struct WatchState {
    /// From there; from the beginning without.
    version: Option<String>,
    /// Whether the server is to stream what there is.
    streams: bool,
}

/// Of pods, claims and nodes the few that go are found with a part of the bytes that all of them have (see
/// `client::terminating`); all else comes whole either way.
fn is_streamed(question: &Question) -> bool {
    !matches!(question, Question::Objects { select: Select::Terminating, detail: Detail::Full, .. })
}

/// All there is if nothing is known, and one watch until it ends. Returns whether that sent anything.
async fn step(
    client: &Client,
    question: &Question,
    bounds: Bounds,
    known: &mut WatchState,
    changes: &ChangeSender,
) -> Result<bool, Interrupted> {
    let mut watch = changes.beginning.track(begin(client, question, bounds, known, changes)).await?;
    let version = watch.version().to_owned();
    loop {
        let change = tokio::select! {
            change = watch.next() => change,
            () = changes.relists.requested(question) => {
                known.version = None;
                return Ok(true);
            }
        };
        if !matches!(change, Ok(Some(_))) {
            known.version = Some(watch.version().to_owned());
        }
        match change? {
            Some(client::Change::Deleted { uid, .. }) => changes.send(Change::Deleted(question.clone(), uid)).await?,
            Some(client::Change::Applied(object)) => {
                changes.send(Change::Applied(question.clone(), read(question, &object)?)).await?;
            }
            Some(client::Change::Listed) => {}
            None => return Ok(watch.version() != version),
        }
    }
}

fn read(question: &Question, object: &[u8]) -> Result<Facts, Fault> {
    Facts::object(question, object).map_err(malformed)
}

fn malformed(error: serde_json::Error) -> Fault {
    Fault::new(FaultKind::Malformed, error.to_string())
}

async fn begin(
    client: &Client,
    question: &Question,
    bounds: Bounds,
    known: &mut WatchState,
    changes: &ChangeSender,
) -> Result<Watch, Interrupted> {
    if known.version.is_none() && known.streams {
        let streamed = tokio::time::timeout(STREAM_TIMEOUT, stream(client, question, bounds)).await;
        match streamed.unwrap_or_else(|_| Err(Fault::new(FaultKind::TimedOut, format!("waited {STREAM_TIMEOUT:?}")))) {
            Ok((answered, mut watch)) => {
                known.version = Some(watch.version().to_owned());
                changes.send(Change::Listed(answered)).await?;
                return Ok(watch);
            }
            // A right that is missing is missing for a list as well.
            Err(fault) if matches!(fault.kind, FaultKind::Denied | FaultKind::Refused) => return Err(fault.into()),
            Err(_) => known.streams = false,
        }
    }
    if known.version.is_none() {
        known.version = Some(list(client, question, bounds, changes).await?);
    }
    Ok(watch(client, question, known.version.as_deref(), bounds).await?)
}

/// All there is, from a watch that goes on after it.
async fn stream(client: &Client, question: &Question, bounds: Bounds) -> Result<(Answered, Watch), Fault> {
    let mut watch = watch(client, question, None, bounds).await?;
    let mut whole = Gathered::new(Facts::none(question).map_err(malformed)?, ROOM);
    while let Some(change) = watch.next().await? {
        match change {
            client::Change::Applied(object) => whole.add(read(question, &object)?),
            client::Change::Deleted { uid, .. } => whole.remove(&uid),
            client::Change::Listed => {
                let cut = whole.is_cut();
                let answer = Answer::Seen(whole.into_facts());
                return Ok((
                    Answered { question: question.clone(), answer, cut, not_read: None, is_short_and_held: false },
                    watch,
                ));
            }
        }
    }
    Err(Fault::new(FaultKind::Failed, "the stream ended before it was complete"))
}

/// Lists what there is. The version is of before the list: what happened in between is heard twice, not missed.
async fn list(
    client: &Client,
    question: &Question,
    bounds: Bounds,
    changes: &ChangeSender,
) -> Result<String, Interrupted> {
    let version = match version_to_watch_from(client, question, bounds).await {
        Answer::Seen(version) => version,
        Answer::Failed(fault) => return Err(fault.into()),
        Answer::Missing | Answer::Unasked => return Err(Fault::new(FaultKind::Gone, "it is not served").into()),
    };
    let answered = client::answer(&BoundedClient::new(client, bounds), question.clone()).await;
    if let Answer::Failed(fault) = answered.answer {
        return Err(fault.into());
    }
    changes.send(Change::Listed(answered)).await?;
    Ok(version)
}
