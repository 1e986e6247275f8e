//! What the service tells, to each caller what that caller may see.

mod api;
mod cached_response;
mod caller;
mod concurrency_limit;
mod metrics;
mod openapi;
mod page;
mod rate_limit;
mod review;
mod routes;
mod server;
mod stream;
mod tls;
mod visibility;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use client::Client;
use tokio::sync::watch::Receiver;

use crate::leader::Leader;
use crate::published::Published;
use crate::requests::Requests;
use crate::server_clock::ServerClock;

pub use server::{bind, serve};
pub use tls::{Certificate, Tls};

/// What all requests share.
#[derive(Clone)]
pub struct Shared {
    published: Receiver<Published>,
    reviews: Arc<review::Reviews>,
    limits: Arc<caller::Limits>,
    streams: Arc<concurrency_limit::ConcurrencyLimit<String>>,
    requests: Arc<Requests>,
    clock: Arc<ServerClock>,
    leader: Leader,
    names_in_metrics: bool,
}

impl Shared {
    /// Serves what is published; asks the API server through `client` who may see what.
    pub fn new(
        client: Client,
        request_timeout: Duration,
        published: Receiver<Published>,
        requests: Arc<Requests>,
        clock: Arc<ServerClock>,
        leader: Leader,
        names_in_metrics: bool,
    ) -> Self {
        let (reviews, limits) = (Arc::new(review::Reviews::new(client, request_timeout)), Arc::default());
        let streams = concurrency_limit::ConcurrencyLimit::new(64, 8);
        Shared { published, reviews, limits, streams, requests, clock, leader, names_in_metrics }
    }
}

/// The description of the API: OpenAPI 3.1.
pub fn openapi() -> serde_json::Value {
    openapi::document(&routes::routes())
}

fn router(shared: Shared) -> Router {
    let api = routes::routes().into_iter().fold(Router::new(), |api, route| api.route(route.path, route.handler));
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics::render))
        .nest(openapi::PREFIX, api)
        .merge(page::router())
        .fallback(|| async { StatusCode::NOT_FOUND })
        .with_state(shared)
}

/// Ready is who has judged once; an API server that is away makes nobody unready who can still tell what was.
async fn ready(axum::extract::State(shared): axum::extract::State<Shared>) -> (StatusCode, &'static str) {
    match shared.published.borrow().report {
        Some(_) => (StatusCode::OK, "ok\n"),
        None => (StatusCode::SERVICE_UNAVAILABLE, "nothing has been judged yet\n"),
    }
}
