//! The way to the API server double, which every write really takes.

use std::sync::Arc;

use agent::{
    host::api::Credentials,
    run::api::{Cluster, Requests},
};
use anyhow::Context as _;
use apiserver::{Double, Store};
use findings::event::{Carried, Phase};
use reconcile::{event::Draft, reconciler::WriteOutcome};
use tempfile::TempDir;
use tokio::{sync::Semaphore, task::JoinHandle};

/// So many requests are under way at once, each on a connection of its own.
const CONNECTIONS: usize = 8;

/// A double with an empty store, and the agent's own client for it.
pub struct Wire {
    double: Double,
    cluster: Cluster,
    free: Arc<Semaphore>,
    // Dropped after the double.
    _dir: TempDir,
}

/// What the double has in the end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stored {
    /// Events that say that something holds.
    pub events: usize,
    /// Pods that they tell.
    pub pods: usize,
    /// Applies that it accepted.
    pub accepted: usize,
    /// Requests that it did not.
    pub refused: usize,
    /// Bytes of the largest body.
    pub largest: u64,
}

impl Wire {
    /// Starts a double.
    pub async fn open() -> anyhow::Result<Self> {
        let dir = tempfile::tempdir().context("make a directory for the API server double")?;
        let double = Double::start(Store::new(dir.path().join("store")))?;
        let kubeconfig = dir.path().join("kubeconfig");
        std::fs::write(&kubeconfig, double.kubeconfig_json()?).context("write the kubeconfig")?;
        // Whose pods it would list plays no part: it only writes here.
        let cluster = Cluster::new(Credentials::Kubeconfig(kubeconfig), "any", Arc::new(Requests::default())).await?;
        Ok(Self { double, cluster, free: Arc::new(Semaphore::new(CONNECTIONS)), _dir: dir })
    }

    /// Sends one write; the answer comes with the handle.
    pub fn write(&self, draft: Draft) -> JoinHandle<anyhow::Result<WriteOutcome>> {
        let (cluster, free) = (self.cluster.clone(), self.free.clone());
        tokio::spawn(async move {
            let _one = free.acquire_owned().await.context("wait for a connection")?;
            Ok(cluster.write(&draft).await)
        })
    }

    /// Reads back what was written.
    pub fn stored(&self) -> anyhow::Result<Stored> {
        let store = self.double.store();
        let mut stored = Stored::default();
        let mut pods = std::collections::BTreeSet::new();
        for event in store.events()? {
            let text = event["metadata"]["annotations"][findings::event::ANNOTATION].as_str();
            let carried = Carried::from_annotation(text.context("an Event without a finding")?)?;
            if carried.phase == Phase::Holds {
                stored.events += 1;
                pods.extend(carried.pods.into_iter().map(|pod| pod.uid));
            }
        }
        stored.pods = pods.len();
        for request in store.requests()? {
            let accepted = request.verb == "patch" && matches!(request.status, 200 | 201);
            stored.accepted += usize::from(accepted);
            stored.refused += usize::from(!accepted);
            stored.largest = stored.largest.max(request.body_bytes);
        }
        Ok(stored)
    }
}
