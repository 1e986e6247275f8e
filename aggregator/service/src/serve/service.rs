//! The tasks of the service, and their channels.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use client::{Bounds, Connection, ScanBudget, connect};
use tokio::sync::{mpsc, oneshot, watch};

use super::{Relists, Settings, ended_by_signal, events, incident_store, lease, queries, watches};
use crate::http;
use crate::incidents::{Limits, Recorder};
use crate::judge::ROOM;
use crate::judge_thread::JudgeThread;
use crate::leader::Leader;
use crate::published::Published;
use crate::requests::Requests;
use crate::server_clock::ServerClock;

const USER_AGENT: &str = concat!("why-terminating-aggregator/", env!("CARGO_PKG_VERSION"));

/// Bytes of a page: what several of them take while they are read stays in the heap.
const PAGE_BYTES: usize = 512 << 10;

/// What the scan of one kind may take.
const SCAN_OF_ONE_KIND: ScanBudget = ScanBudget { time: Duration::from_secs(30), bytes: 64 << 20 };

/// Serves until a signal ends it. `ready` receives the address once it listens.
pub async fn serve(settings: Settings, ready: impl FnOnce(SocketAddr)) -> anyhow::Result<()> {
    let tls = http::Tls::new(settings.certificate.clone())?;
    let connection = Connection { user_agent: USER_AGENT, ..settings.connection.clone() };
    let (client, _) = connect(&connection).await.context("connect to the API server")?;
    let requests = Arc::new(Requests::default());
    let client = requests.counted(client);
    let request_timeout = settings.connection.request_timeout;
    let bounds =
        Bounds { request_timeout, page: PAGE_BYTES, room: ROOM, scan: Some(SCAN_OF_ONE_KIND), ..Bounds::default() };
    let clock = Arc::new(ServerClock::default());
    let (inputs, heard) = std::sync::mpsc::channel();
    // One batch waits while one is asked: what comes up waits for no more.
    let (questions, asked) = mpsc::channel(1);
    let (publish, published) = watch::channel(Published::default());
    let kept = settings.incidents.as_deref().map(incident_store::read).unwrap_or_default();
    let recorder = Recorder::new(Limits::default(), kept);
    let relists = Relists::default();
    let judging = JudgeThread {
        inputs: heard,
        questions,
        published: publish,
        clock: Arc::clone(&clock),
        recorder,
        relists: relists.clone(),
    };
    let thread = std::thread::Builder::new().name("judge".to_owned()).spawn(move || judging.run())?;
    let asker = queries::run(client.clone(), bounds, asked, inputs.clone(), Arc::clone(&clock), Arc::clone(&requests));
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(asker);
    // What is watched is listed to its end.
    let bounds = Bounds { scan: None, ..bounds };
    let watches = watches::Watches { connection, requests: Arc::clone(&requests), bounds, inputs, relists };
    let (stop, stopped) = oneshot::channel();
    tasks.spawn_blocking(move || {
        if let Err(error) = watches.hear(stopped) {
            tracing::error!(error = format!("{error:#}"), "no receiver is left for watches");
        }
    });
    if let Some(file) = settings.incidents.clone() {
        tasks.spawn(incident_store::keep(file, published.clone()));
    }
    let mut resignation = None;
    let (leader, identity) = match settings.lease {
        None => (Leader::alone(), "only".to_owned()),
        Some(lease) => {
            let (candidate, leader) = lease::Candidate::new(client.clone(), lease);
            let identity = candidate.identity();
            resignation = Some(candidate.resignation());
            tasks.spawn(candidate.run());
            (leader, identity)
        }
    };
    if settings.events {
        let writer = events::Writer::new(client.clone(), leader.clone(), Arc::clone(&clock), identity);
        tasks.spawn(writer.run(published.clone()));
    }
    let Settings { names_in_metrics, cluster_name, accepts_api_tokens, .. } = settings;
    let shared = http::Shared::new(
        client,
        request_timeout,
        http::Served { published, requests, clock, leader, names_in_metrics, cluster_name, accepts_api_tokens },
    );
    let (listener, address) = http::bind(settings.listen).context("listen")?;
    tracing::info!(%address, "listening");
    ready(address);
    tasks.spawn(http::serve(listener, tls.acceptor(), shared));
    tasks.spawn(tls.follow());
    tokio::select! {
        ended = tasks.join_next() => anyhow::bail!("a part of the service has ended: {ended:?}"),
        signal = ended_by_signal() => signal?,
    }
    // The judge ends when every sender has ended.
    drop(stop);
    tasks.shutdown().await;
    if let Some(resignation) = resignation {
        resignation.resign().await;
    }
    tokio::task::spawn_blocking(move || thread.join()).await?.map_err(|_| anyhow::anyhow!("the judge panicked"))
}
