//! `/metrics`, `/healthz` and `/readyz`, for whoever can reach the address that was asked for.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
    routing::get,
};
use tokio::net::TcpListener;
use tokio::sync::watch::Receiver;

use super::metrics::Metrics;

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

/// Serves until the agent ends.
pub async fn serve(listener: TcpListener, metrics: Arc<Metrics>, health: Receiver<Health>) {
    let router = Router::new()
        .route("/metrics", get(render))
        // That this answers says that the agent's loop turns: both share one thread.
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .with_state(Shared { metrics, health });
    if let Err(error) = axum::serve(listener, router).await {
        tracing::error!(%error, "metrics are not served any more");
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
