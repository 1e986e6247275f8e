//! Does what the reconciler decides: one loop that never blocks.

use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Context;
use reconcile::Settings;
use reconcile::index::WatchEvent;
use reconcile::reconciler::{Command, Input, Reconciler, WriteOutcome};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

use super::api::{self, Cluster};
use super::logs;
use super::metrics::Metrics;
use super::metrics_server::{self, Health};
use super::scanner::{self, Scanner};
use crate::clock;
use crate::host::api::Credentials;
use crate::observation::{Fault, FaultKind, Source};

/// Inputs that wait to be handled. The list of a full node is longer; its sender waits then.
const MAX_QUEUED_INPUTS: usize = 64;
/// Even if the reconciler wants to be woken at once: a mistake in it is not to cost a processor.
const MIN_WAKE_INTERVAL: Duration = Duration::from_millis(50);
/// How long the last writes may take after SIGTERM; the process is to end within two seconds.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(1400);

/// What `run` needs to know.
pub struct Options {
    pub node: String,
    /// With which credentials the API server is asked; none when it is not to be asked.
    pub credentials: Option<Credentials>,
    /// Where metrics are served; none for nowhere.
    pub listen: Option<SocketAddr>,
    pub settings: Settings,
    pub scanner: Scanner,
}

/// Runs until SIGTERM or SIGINT.
pub async fn run(options: Options) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("waiting for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("waiting for SIGINT")?;
    let metrics = Arc::new(Metrics::default());
    let (sender, mut inputs) = mpsc::channel(MAX_QUEUED_INPUTS);
    let (health, seen_health) = watch::channel(Health { not_ready: Some("no scan has ended yet".to_owned()) });
    if let Some(address) = options.listen {
        let (listener, address) = metrics_server::bind(address)
            .await
            .with_context(|| format!("listening on {address}; choose another with --listen"))?;
        tracing::info!(%address, "metrics are served");
        tokio::spawn(metrics_server::serve(listener, metrics.clone(), seen_health));
    }
    let cluster = match options.credentials {
        Some(credentials) => {
            let cluster = Cluster::new(credentials, &options.node, metrics.requests.clone());
            Some(cluster.await.context("preparing to ask the API server")?)
        }
        None => None,
    };
    if let Some(cluster) = &cluster {
        tokio::spawn(api::watch(cluster.clone(), sender.clone()));
    }
    let scans = scanner::start(options.scanner, options.node.clone(), metrics.clone(), sender.clone())
        .context("starting the thread that scans")?;
    let reconciler =
        Reconciler::new(&options.node, options.settings, cluster.is_some(), seed(&options.node), clock::now());
    tracing::info!(node = %options.node, version = env!("CARGO_PKG_VERSION"), "watching");
    let mut controller = Controller {
        reconciler,
        cluster,
        scans,
        inputs: sender,
        metrics,
        health,
        scanned: false,
        asked: logs::Asked::default(),
        silent: logs::Silent::default(),
        hangs: false,
    };
    loop {
        let sleep = controller.reconciler.next_wake(clock::now()).max(MIN_WAKE_INTERVAL);
        let input = tokio::select! {
            Some(input) = inputs.recv() => input,
            () = tokio::time::sleep(sleep) => Input::Tick,
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
        };
        controller.handle(input)?;
    }
    controller.end().await;
    Ok(())
}

/// Agents that start together must spread, and one that starts again must not fall into step. Unpredictable names of Events
/// rest on it too: the standard library's hashers have keys of the system's randomness.
fn seed(node: &str) -> u64 {
    RandomState::new().hash_one(node)
}

struct Controller {
    reconciler: Reconciler,
    cluster: Option<Cluster>,
    scans: scanner::Scans,
    inputs: mpsc::Sender<Input>,
    metrics: Arc<Metrics>,
    health: watch::Sender<Health>,
    scanned: bool,
    asked: logs::Asked,
    silent: logs::Silent,
    hangs: bool,
}

impl Controller {
    fn handle(&mut self, input: Input) -> anyhow::Result<()> {
        self.observe(&input);
        let now = clock::now();
        let commands = self.reconciler.handle(input, now);
        self.reconciler.transitions().iter().for_each(logs::transition);
        for command in commands {
            self.execute(command)?;
        }
        let hangs = self.reconciler.scan_hangs(now);
        self.metrics.stand(&self.reconciler, now);
        if std::mem::replace(&mut self.hangs, hangs) != hangs {
            logs::hangs(hangs);
        }
        let not_ready = self.not_ready().map(str::to_owned);
        self.health.send_if_modified(|health| {
            let is_news = health.not_ready != not_ready;
            health.not_ready = not_ready;
            is_news
        });
        Ok(())
    }

    fn not_ready(&self) -> Option<&'static str> {
        if self.hangs {
            return Some("a scan at the node does not end; a local disk or /proc hangs");
        }
        if self.scans.unanswered.load(Ordering::Relaxed) {
            return Some("the reader does not answer");
        }
        (!self.scanned).then_some("no scan has ended yet")
    }

    fn observe(&mut self, input: &Input) {
        match input {
            Input::Scanned(scan) => {
                self.scanned = true;
                self.silent.take(&scan.report.unknown);
            }
            Input::Wrote(wrote) => {
                if let Some(kind) = self.reconciler.writing() {
                    self.metrics.wrote(kind, wrote.as_str());
                }
            }
            Input::Listed(list) => self.asked.take("the list of pods", list.as_ref().err()),
            Input::Node(Ok(None)) => {
                let none = (FaultKind::Gone, "there is none of this name; is --node-name right?");
                self.asked.take("the Node", Some(&Fault::new(Source::ApiServer, none)));
            }
            Input::Node(node) => self.asked.take("the Node", node.as_ref().err()),
            Input::OwnEvents(own) => self.asked.take("the Events of before", own.as_ref().err()),
            Input::Existing(existing) => self.asked.take("one Event", existing.as_ref().err()),
            Input::Watch(WatchEvent::Failed(why)) => self.asked.take("the watch of pods", Some(why)),
            // The watch begins again before it is answered.
            Input::Watch(WatchEvent::Init) => {}
            Input::Watch(_) => self.asked.take("the watch of pods", None),
            _ => {}
        }
    }

    fn execute(&mut self, command: Command) -> anyhow::Result<()> {
        if let Command::Scan(facts) = command {
            return self.scans.requests.send(facts).ok().context("the thread that scans has ended");
        }
        let Some(cluster) = self.cluster.clone() else { return Ok(()) };
        let inputs = self.inputs.clone();
        tokio::spawn(async move {
            let input = match command {
                Command::Scan(_) => return,
                Command::List { consistent } => Input::Listed(cluster.pods(consistent).await),
                Command::GetNode => Input::Node(cluster.node().await),
                Command::ReadOwn => Input::OwnEvents(cluster.own_events().await),
                Command::Write(draft) => Input::Wrote(cluster.write(&draft).await),
                Command::ReadExisting(name) => Input::Existing(cluster.existing(&name).await),
            };
            // The receiver is closed when the agent ends.
            let _ = inputs.send(input).await;
        });
        Ok(())
    }

    /// Writes what is not written yet, for as long as there is time, and says what was left.
    async fn end(mut self) {
        let began = Instant::now();
        let mut written = 0;
        if let Some(cluster) = self.cluster.clone() {
            while let Some(write) = self.reconciler.last_write(clock::now()) {
                let left = SHUTDOWN_TIMEOUT.saturating_sub(began.elapsed());
                let writing = cluster.write(&write.draft);
                let Ok(wrote @ WriteOutcome::Done { .. }) = tokio::time::timeout(left, writing).await else { break };
                written += 1;
                self.reconciler.handle(Input::Wrote(wrote), clock::now());
            }
        }
        let dropped = self.reconciler.unwritten();
        tracing::info!(written, dropped, "ending; what was dropped is seen again by the next agent on this node");
    }
}
