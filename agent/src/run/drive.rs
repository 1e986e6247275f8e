//! Does what the brain decides: one loop that never blocks.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::{mpsc, watch},
};

use super::{
    Settings,
    api::{self, Cluster},
    brain::{Answer, Brain, Command, Wrote},
    clock,
    index::Told,
    ledger::Turn,
    logs,
    metrics::Metrics,
    serve::{self, Health},
    worker,
};
use crate::host::{api::Credentials, scan};

/// Answers that wait to be taken in. The list of a full node is longer; whoever tells waits then.
const WAITING: usize = 64;
/// Even if the brain wants to be woken at once: a mistake in it is not to cost a processor.
const SHORTEST_SLEEP: Duration = Duration::from_millis(50);
/// How long the last writes may take after SIGTERM; the process is to end within two seconds.
const LAST_WRITES: Duration = Duration::from_millis(1400);

/// What `run` needs to know.
#[derive(Clone, Debug)]
pub struct Options {
    /// The node's name.
    pub node: String,
    /// With which credentials the API server is asked; none when it is not to be asked.
    pub credentials: Option<Credentials>,
    /// Where metrics are served; none for nowhere.
    pub listen: Option<SocketAddr>,
    /// Timing.
    pub settings: Settings,
    /// How the node is looked at.
    pub look: scan::Options,
}

/// Runs until SIGTERM or SIGINT.
pub async fn run(options: Options) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("waiting for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("waiting for SIGINT")?;
    let metrics = Arc::new(Metrics::new());
    let (tell, mut answers) = mpsc::channel(WAITING);
    let (health, seen_health) = watch::channel(Health { not_ready: Some("no look has ended yet".to_owned()) });
    if let Some(address) = options.listen {
        let (listener, address) = serve::bind(address)
            .await
            .with_context(|| format!("listening on {address}; choose another with --listen"))?;
        tracing::info!(%address, "metrics are served");
        tokio::spawn(serve::serve(listener, metrics.clone(), seen_health));
    }
    let cluster = match options.credentials {
        Some(credentials) => {
            let cluster = Cluster::new(credentials, &options.node, metrics.requests.clone());
            Some(cluster.await.context("preparing to ask the API server")?)
        }
        None => None,
    };
    if let Some(cluster) = &cluster {
        tokio::spawn(api::watch(cluster.clone(), tell.clone()));
    }
    let jobs = worker::start(options.look, metrics.clone(), tell.clone()).context("starting the thread that looks")?;
    let brain = Brain::new(&options.node, options.settings, cluster.is_some(), seed(&options.node), clock::now());
    tracing::info!(node = %options.node, version = env!("CARGO_PKG_VERSION"), "watching");
    let mut agent = Agent {
        brain,
        cluster,
        jobs,
        tell,
        metrics,
        health,
        looked: false,
        asked: logs::Asked::default(),
        silent: logs::Silent::default(),
        hangs: false,
    };
    loop {
        let sleep = agent.brain.wake(clock::now()).max(SHORTEST_SLEEP);
        let answer = tokio::select! {
            Some(answer) = answers.recv() => answer,
            () = tokio::time::sleep(sleep) => Answer::Time,
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
        };
        agent.take(answer)?;
    }
    agent.end().await;
    Ok(())
}

/// Agents that start together are to spread, and one that starts again is not to fall into step.
fn seed(node: &str) -> u64 {
    let mut hash = DefaultHasher::new();
    (node, std::process::id(), clock::now().wall_ms).hash(&mut hash);
    hash.finish()
}

struct Agent {
    brain: Brain,
    cluster: Option<Cluster>,
    jobs: std::sync::mpsc::Sender<worker::Job>,
    tell: mpsc::Sender<Answer>,
    metrics: Arc<Metrics>,
    health: watch::Sender<Health>,
    looked: bool,
    asked: logs::Asked,
    silent: logs::Silent,
    hangs: bool,
}

impl Agent {
    fn take(&mut self, answer: Answer) -> anyhow::Result<()> {
        self.notice(&answer);
        let now = clock::now();
        let commands = self.brain.take(answer, now);
        self.tell_turns();
        for command in commands {
            self.execute(command)?;
        }
        let hangs = self.brain.look_hangs(now);
        self.metrics.stand(&self.brain, now);
        if std::mem::replace(&mut self.hangs, hangs) != hangs {
            logs::hangs(hangs);
        }
        let not_ready = match () {
            () if hangs => Some("a look at the node does not end; a local disk or /proc hangs".to_owned()),
            () if !self.looked => Some("no look has ended yet".to_owned()),
            () => None,
        };
        self.health.send_if_modified(|health| {
            let is_news = health.not_ready != not_ready;
            health.not_ready = not_ready;
            is_news
        });
        Ok(())
    }

    fn tell_turns(&mut self) {
        let turns: Vec<Turn> = self.brain.turns();
        turns.iter().for_each(logs::turn);
    }

    fn notice(&mut self, answer: &Answer) {
        match answer {
            Answer::Looked(looked) => {
                self.looked = true;
                self.silent.take(&looked.report.unknown);
            }
            Answer::Wrote(wrote) => {
                if let Some(kind) = self.brain.writing() {
                    self.metrics.wrote(kind, wrote.as_str());
                }
            }
            Answer::Listed(list) => self.asked.take("the list of pods", list.as_ref().err()),
            Answer::Node(Ok(None)) => {
                self.asked.take("the Node", Some(&"there is none of this name; is --node-name right?".to_owned()));
            }
            Answer::Node(node) => self.asked.take("the Node", node.as_ref().err()),
            Answer::Own(own) => self.asked.take("the Events of before", own.as_ref().err()),
            Answer::Existing(existing) => self.asked.take("one Event", existing.as_ref().err()),
            Answer::Told(Told::Broken(why)) => self.asked.take("the watch of pods", Some(why)),
            // The watch begins again before it is answered.
            Answer::Told(Told::Begin) => {}
            Answer::Told(_) => self.asked.take("the watch of pods", None),
            _ => {}
        }
    }

    fn execute(&mut self, command: Command) -> anyhow::Result<()> {
        if let Command::Look(facts) = command {
            return self.jobs.send(facts).ok().context("the thread that looks has ended");
        }
        let Some(cluster) = self.cluster.clone() else { return Ok(()) };
        let tell = self.tell.clone();
        tokio::spawn(async move {
            let answer = match command {
                Command::Look(_) => return,
                Command::List { consistent } => Answer::Listed(cluster.pods(consistent).await),
                Command::GetNode => Answer::Node(cluster.node().await),
                Command::ReadOwn => Answer::Own(cluster.own_events().await),
                Command::Write(draft) => Answer::Wrote(cluster.write(&draft).await),
                Command::ReadExisting(name) => Answer::Existing(cluster.existing(&name).await),
            };
            // Nobody listens any more when the agent ends.
            let _ = tell.send(answer).await;
        });
        Ok(())
    }

    /// Writes what is not written yet, for as long as there is time, and says what was left.
    async fn end(mut self) {
        let began = Instant::now();
        let mut written = 0;
        if let Some(cluster) = self.cluster.clone() {
            while let Some(write) = self.brain.last_write(clock::now()) {
                let left = LAST_WRITES.saturating_sub(began.elapsed());
                let writing = cluster.write(&write.draft);
                let Ok(wrote @ Wrote::Done { .. }) = tokio::time::timeout(left, writing).await else { break };
                written += 1;
                self.brain.take(Answer::Wrote(wrote), clock::now());
            }
        }
        let dropped = self.brain.unwritten();
        tracing::info!(written, dropped, "ending; what was dropped is seen again by the next agent on this node");
    }
}
