//! `/metrics`, `/healthz` and `/readyz`, for whoever can reach the address that was asked for.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
    routing::get,
};
use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use tokio::{
    net::TcpListener,
    sync::{Semaphore, watch::Receiver},
};

use super::metrics::Metrics;

/// At the same time.
const MOST_CONNECTIONS: usize = 128;
/// How long one may take.
const CONNECTION: Duration = Duration::from_secs(5);

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

/// Serves until the agent ends. Whoever can reach the port may ask, so a connection lives for a few
/// seconds and answers one question, and there are never many.
pub async fn serve(listener: TcpListener, metrics: Arc<Metrics>, health: Receiver<Health>) {
    let router = Router::new()
        .route("/metrics", get(render))
        // That this answers says that the agent's loop transitions: both share one thread.
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .with_state(Shared { metrics, health });
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok((connection, _)) = listener.accept().await else {
            // Out of descriptors, for a moment.
            tokio::time::sleep(Duration::from_millis(200)).await;
            continue;
        };
        // Without a place the connection is closed at once.
        let Ok(place) = places.clone().try_acquire_owned() else { continue };
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let served = http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(connection), service);
            // Whoever asks wrongly or slowly is no concern of ours.
            let _ = tokio::time::timeout(CONNECTION, served).await;
            drop(place);
        });
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
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpStream,
        sync::watch,
    };

    use super::*;

    async fn ask(address: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn it_answers_and_lets_nobody_stay() {
        let (listener, address) = bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let (sender, health) = watch::channel(Health { not_ready: Some("no scan has ended yet".into()) });
        tokio::spawn(serve(listener, Arc::new(Metrics::new()), health));
        assert!(ask(address, "/readyz").await.contains("503"));
        sender.send(Health::default()).unwrap();
        assert!(ask(address, "/readyz").await.contains("200"));
        assert!(ask(address, "/metrics").await.contains("why_terminating_build_info"));
        let mut silent: Vec<TcpStream> = Vec::new();
        for _ in 0..MOST_CONNECTIONS {
            silent.push(TcpStream::connect(address).await.unwrap());
        }
        // They are full, and whoever says nothing is gone after a while.
        let mut end = [0; 1];
        assert_eq!(silent[0].read(&mut end).await.unwrap(), 0);
        assert!(ask(address, "/healthz").await.ends_with("ok\n"));
    }
}
