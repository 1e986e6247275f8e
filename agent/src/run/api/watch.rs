//! The one watch: the pods of this node, into small types.
//!
//! kube's own watcher reads a list and a line of any length: whoever makes pods here could end the agent.

use std::time::Duration;

use findings::FaultKind;
use kube::core::WatchEvent as Change;
use reconcile::{Backoff, index::WatchEvent, reconciler::Input};
use tokio::{
    sync::mpsc::Sender,
    time::{Instant, sleep, sleep_until},
};

use super::Cluster;
use crate::{
    clock,
    host::api::{Freshness, Pod, of_node},
    observation::Fault,
};

/// Between the beginnings of two watches: one may be answered and ended at once, as by a proxy without a
/// server behind it.
const APART: Duration = Duration::from_secs(1);

/// Nobody listens any more.
struct Closed;

/// Watches for ever; ends when nobody listens any more.
pub async fn watch(cluster: Cluster, inputs: Sender<Input>) {
    // Only this may end it.
    let Closed = Watcher { cluster, inputs, version: None, next: Instant::now() }.run().await;
}

/// Whether the pods must be listed anew: the version is too old to go on from (410), or what came was not understood.
fn is_version_lost(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::Stale | FaultKind::Gone | FaultKind::TooLarge | FaultKind::Malformed)
}

struct Watcher {
    cluster: Cluster,
    inputs: Sender<Input>,
    /// What has been seen; none when the pods are to be listed.
    version: Option<String>,
    /// No watch begins before.
    next: Instant,
}

impl Watcher {
    async fn run(mut self) -> Closed {
        let mut backoff = Backoff::new(clock::now().wall_ms);
        loop {
            let step = match self.version.is_none() {
                true => self.list().await,
                false => self.follow().await,
            };
            match step {
                Err(Closed) => return Closed,
                Ok(Ok(())) => backoff.succeeded(),
                Ok(Err(fault)) => {
                    // Of what was not understood nobody knows what it has changed.
                    if is_version_lost(fault.kind) {
                        self.version = None;
                    }
                    if self.send(WatchEvent::Failed(fault)).await.is_err() {
                        return Closed;
                    }
                    backoff.failed(None, clock::now());
                    sleep(backoff.wait(clock::now())).await;
                }
            }
        }
    }

    async fn list(&mut self) -> Result<Result<(), Fault>, Closed> {
        let (pods, version) = match self.cluster.api.pods(&self.cluster.node, None, Freshness::Cached).await {
            Ok(listed) => listed,
            Err(fault) => return Ok(Err(fault)),
        };
        self.send(WatchEvent::Init).await?;
        for pod in pods {
            self.send(WatchEvent::InitApply(pod)).await?;
        }
        self.send(WatchEvent::InitDone).await?;
        self.version = Some(version);
        Ok(Ok(()))
    }

    /// One watch, until it ends.
    async fn follow(&mut self) -> Result<Result<(), Fault>, Closed> {
        sleep_until(self.next).await;
        self.next = Instant::now() + APART;
        let version = self.version.clone().unwrap_or_default();
        let mut changes = match self.cluster.api.watch::<Pod>(&of_node(&self.cluster.node), &version).await {
            Ok(changes) => changes,
            Err(fault) => return Ok(Err(fault)),
        };
        loop {
            let closed = self.inputs.clone();
            let change = tokio::select! {
                change = changes.next() => change,
                () = closed.closed() => return Err(Closed),
            };
            let event = match change {
                Ok(None) => return Ok(Ok(())),
                Err(fault) => return Ok(Err(fault)),
                Ok(Some(Change::Added(pod) | Change::Modified(pod))) => self.seen(pod).reduce().map(WatchEvent::Apply),
                Ok(Some(Change::Deleted(pod))) => self.seen(pod).reduce().map(|pod| WatchEvent::Delete(pod.uid)),
                Ok(Some(Change::Bookmark(bookmark))) => {
                    self.version = Some(bookmark.metadata.resource_version);
                    None
                }
                Ok(Some(Change::Error(_))) => None,
            };
            if let Some(event) = event {
                self.send(event).await?;
            }
        }
    }

    fn seen(&mut self, pod: Pod) -> Pod {
        self.version = Some(pod.version().to_owned());
        pod
    }

    async fn send(&self, event: WatchEvent) -> Result<(), Closed> {
        self.inputs.send(Input::Watch(event)).await.map_err(|_| Closed)
    }
}
