//! `/metrics`, `/healthz` and `/readyz`, for every client that can reach the configured address.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use axum::body::HttpBody;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use findings::ConcurrencyLimit;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch::Receiver;

use super::metrics::Metrics;

/// At the same time, from everywhere.
const MAX_CONNECTIONS: usize = 64;
/// At the same time from one address: a client that takes all it can get leaves places for the kubelet's probes, which come
/// from another.
const MAX_CONNECTIONS_PER_ADDRESS: usize = 8;
/// How long a request may take to arrive.
const HEADER_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a connection may take, with its answer.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);
/// Of a request.
const MAX_HEADERS: usize = 32;
/// Of a request and its headers; the least that hyper reads with.
const MAX_REQUEST_BYTES: usize = 8 << 10;

/// Whether the agent does its work, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// What keeps it from being ready; none when it is.
    pub not_ready: Option<String>,
}

#[derive(Clone)]
struct Shared {
    metrics: Arc<Metrics>,
    health: Receiver<Health>,
}

/// Listens there; the address that was given is returned, because port 0 means any.
pub async fn bind(address: SocketAddr) -> std::io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Serves until the agent ends. Every client that reaches the port may ask, so a connection lives for a few seconds and
/// answers one short question without a body, and there are never many.
pub async fn serve(listener: TcpListener, metrics: Arc<Metrics>, health: Receiver<Health>) {
    let router = Router::new()
        .route("/metrics", get(render))
        // That this answers says that the agent's loop transitions: both share one thread.
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .layer(middleware::from_fn(refuse_body))
        .with_state(Shared { metrics, health });
    let places = ConcurrencyLimit::new(MAX_CONNECTIONS, MAX_CONNECTIONS_PER_ADDRESS);
    loop {
        let Ok((connection, from)) = listener.accept().await else {
            // Out of descriptors, for a moment.
            tokio::time::sleep(Duration::from_millis(200)).await;
            continue;
        };
        // Without a place the connection is closed at once.
        let Some(place) = places.take(from.ip()) else { continue };
        let router = router.clone();
        tokio::spawn(async move {
            // A malformed or slow request is not an error of the agent.
            let _ = tokio::time::timeout(CONNECTION_TIMEOUT, answer(connection, router)).await;
            drop(place);
        });
    }
}

async fn answer(connection: TcpStream, router: Router) -> hyper::Result<()> {
    http1::Builder::new()
        .keep_alive(false)
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_REQUEST_BYTES)
        .serve_connection(TokioIo::new(connection), TowerToHyperService::new(router))
        .await
}

/// No question here has a body; one would be read only to be thrown away.
async fn refuse_body(request: Request, next: Next) -> Response {
    match request.body().is_end_stream() {
        true => next.run(request).await,
        false => StatusCode::PAYLOAD_TOO_LARGE.into_response(),
    }
}

async fn render(State(shared): State<Shared>) -> impl IntoResponse {
    match shared.metrics.render() {
        Ok(text) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            (StatusCode::OK, [(header::CONTENT_TYPE, kind)], text)
        }
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, [(header::CONTENT_TYPE, "text/plain")], String::new()),
    }
}

async fn ready(State(shared): State<Shared>) -> impl IntoResponse {
    match &shared.health.borrow().not_ready {
        None => (StatusCode::OK, "ok\n".to_owned()),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
    }
}

#[cfg(test)]
mod tests;
