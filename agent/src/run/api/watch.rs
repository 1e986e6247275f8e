//! The one watch: the pods of this node, into small types.
//!
//! kube's own watcher reads a list and a line of any length: a creator of pods here could end the agent.

use std::time::Duration;

use client::{Change, Changes, Freshness, Selector};
use reconcile::{Backoff, index::WatchEvent, reconciler::Input};
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, sleep_until};

use super::Cluster;
use crate::clock;
use crate::host::api::{PODS, Pod, fault, of_node, pods};
use crate::observation::Fault;

/// Between the beginnings of two watches: one may be answered and ended at once, as by a proxy without a
/// server behind it.
const APART: Duration = Duration::from_secs(1);

/// What ends a step before its time.
enum Interrupted {
    Closed,
    /// It is begun again.
    Failed(Fault),
}

impl From<client::Fault> for Interrupted {
    fn from(error: client::Fault) -> Self {
        Interrupted::Failed(fault(error))
    }
}

/// Watches for ever; ends with the receiver.
pub async fn watch(cluster: Cluster, inputs: Sender<Input>) {
    Watcher { cluster, inputs, version: None, next: Instant::now() }.run().await;
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
    async fn run(mut self) {
        let mut backoff = Backoff::new(clock::now().wall_ms);
        loop {
            let step = match self.version.is_none() {
                true => self.list().await,
                false => self.follow().await,
            };
            match step {
                Err(Interrupted::Closed) => return,
                Ok(()) => backoff.succeeded(),
                Err(Interrupted::Failed(fault)) => {
                    // What an unreadable event changed is unknown.
                    if fault.kind.needs_relist() {
                        self.version = None;
                    }
                    if self.send(WatchEvent::Failed(fault)).await.is_err() {
                        return;
                    }
                    backoff.failed(None, clock::now());
                    sleep(backoff.wait(clock::now())).await;
                }
            }
        }
    }

    async fn list(&mut self) -> Result<(), Interrupted> {
        let Cluster { api, node } = &self.cluster;
        let (pods, version) = pods(api, node, None, Freshness::Cached).await.map_err(Interrupted::Failed)?;
        self.send(WatchEvent::Init).await?;
        for pod in pods {
            self.send(WatchEvent::InitApply(pod)).await?;
        }
        self.send(WatchEvent::InitDone).await?;
        self.version = Some(version);
        Ok(())
    }

    /// One watch, until it ends.
    async fn follow(&mut self) -> Result<(), Interrupted> {
        sleep_until(self.next).await;
        self.next = Instant::now() + APART;
        let selector = of_node(&self.cluster.node);
        let (selector, since) = (Selector::Fields(&selector), self.version.as_deref());
        let changes = Changes { path: PODS, selector, since, metadata_only: false, terminating_only: false };
        let mut changes = self.cluster.api.watch(changes).await?;
        loop {
            let change = tokio::select! {
                change = changes.next() => change,
                () = self.inputs.closed() => return Err(Interrupted::Closed),
            };
            self.version = Some(changes.version().to_owned());
            let event = match change? {
                None => return Ok(()),
                Some(Change::Applied(pod)) => read(&pod)?.reduce().map(WatchEvent::Apply),
                Some(Change::Deleted { object, .. }) => read(&object)?.reduce().map(|pod| WatchEvent::Delete(pod.uid)),
                Some(Change::Listed) => None,
            };
            if let Some(event) = event {
                self.send(event).await?;
            }
        }
    }

    async fn send(&self, event: WatchEvent) -> Result<(), Interrupted> {
        self.inputs.send(Input::Watch(event)).await.map_err(|_| Interrupted::Closed)
    }
}

fn read(pod: &[u8]) -> Result<Pod, client::Fault> {
    Ok(serde_json::from_slice(pod)?)
}
