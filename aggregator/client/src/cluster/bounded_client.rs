//! One request at a time, bounded in time and size; what fails is a value.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aggregator_core::state::Answer;
use findings::FaultKind;
use kube::Client;
use tokio::sync::Semaphore;

use super::bounds::Bounds;
use super::pod_exec;
use super::retry_after::ask;
use crate::Fault;

/// A scan of a node gives up before.
const EXEC: Duration = Duration::from_secs(20);

/// The server, and how much of it may be asked for at a time. One answer may need several requests.
pub struct BoundedClient<'a> {
    client: &'a Client,
    /// What is asked for at most.
    pub bounds: Bounds,
    free: Semaphore,
    requests: AtomicU64,
}

impl<'a> BoundedClient<'a> {
    /// All that may be asked for is free.
    pub fn new(client: &'a Client, bounds: Bounds) -> Self {
        BoundedClient { client, bounds, free: Semaphore::new(bounds.in_flight), requests: AtomicU64::new(0) }
    }

    /// How many requests were made.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// What a command in a pod writes, bounded in time and size.
    pub async fn exec(&self, path: &str, most: usize) -> Answer<Vec<u8>> {
        let Ok(_one) = self.free.acquire().await else {
            return Answer::failed(FaultKind::NotAsked, "the client ends");
        };
        let ran = pod_exec::read(self.client, path, most.min(self.bounds.answer));
        let ran = tokio::time::timeout(EXEC, ran).await.unwrap_or_else(|_| Err(Fault::timed_out(EXEC)));
        ran.unwrap_or_else(Answer::from)
    }

    /// One GET, bounded in time and size.
    pub async fn get(&self, path: &str, accept: &str) -> Answer<Vec<u8>> {
        self.get_at_most(path, accept, self.bounds.answer).await
    }

    /// One GET, bounded in time and to so many bytes.
    pub async fn get_at_most(&self, path: &str, accept: &str, max_bytes: usize) -> Answer<Vec<u8>> {
        let Ok(_one) = self.free.acquire().await else {
            return Answer::failed(FaultKind::NotAsked, "the client ends");
        };
        self.requests.fetch_add(1, Ordering::Relaxed);
        let bounds = Bounds { answer: max_bytes, ..self.bounds };
        ask(self.client, path, accept, bounds).await.map(|response| response.body)
    }
}
