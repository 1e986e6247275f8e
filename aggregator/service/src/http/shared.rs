//! What all requests share.

use std::sync::Arc;
use std::time::Duration;

use client::Client;
use findings::ConcurrencyLimit;
use tokio::sync::watch::Receiver;

use super::rate_limit::CallerLimits;
use super::review::Reviews;
use crate::leader::Leader;
use crate::published::Published;
use crate::requests::Requests;
use crate::server_clock::ServerClock;

/// Streams at the same time.
const MAX_STREAMS: usize = 64;
/// And of one caller.
const MAX_STREAMS_OF_ONE: usize = 8;

/// What the service serves, and what it reports of itself.
#[derive(Clone)]
pub struct Served {
    pub published: Receiver<Published>,
    /// What was asked of the API server.
    pub requests: Arc<Requests>,
    pub clock: Arc<ServerClock>,
    /// Whether this replica writes Events.
    pub leader: Leader,
    /// Whether names of namespaces may stand in metrics.
    pub names_in_metrics: bool,
    /// The name of the cluster; empty where none was given.
    pub cluster_name: String,
    /// Whether tokens that are made for the API server are taken for all that is served.
    pub accepts_api_tokens: bool,
}

#[derive(Clone)]
pub struct Shared {
    pub served: Served,
    pub reviews: Arc<Reviews>,
    pub limits: Arc<CallerLimits>,
    pub streams: Arc<ConcurrencyLimit<String>>,
}

impl Shared {
    /// Asks the API server through `client` who may see what.
    pub fn new(client: Client, request_timeout: Duration, served: Served) -> Self {
        let streams = ConcurrencyLimit::new(MAX_STREAMS, MAX_STREAMS_OF_ONE);
        Shared { served, reviews: Arc::new(Reviews::new(client, request_timeout)), limits: Arc::default(), streams }
    }
}
