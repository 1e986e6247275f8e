//! Connections: how many, how long, and how much each may say.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::{Shared, router};

/// At the same time.
const MOST_CONNECTIONS: usize = 256;
/// A request's head must be there by then, and may be so long.
const HEAD: (Duration, usize) = (Duration::from_secs(5), 16 << 10);
/// Headers of one request.
const MOST_HEADERS: usize = 64;
/// A connection lives no longer; whoever follows a stream begins anew.
const CONNECTION: Duration = Duration::from_secs(600);

/// Listens there; the address that was given is returned, because port 0 means any.
pub async fn bind(address: SocketAddr) -> std::io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Serves until the service ends.
pub async fn serve(listener: TcpListener, shared: Shared) {
    let router = router(shared);
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok((connection, _)) = listener.accept().await else {
            // Out of descriptors, for a moment.
            tokio::time::sleep(Duration::from_millis(200)).await;
            continue;
        };
        // Without a place the connection is closed at once.
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(HEAD.0).max_buf_size(HEAD.1).max_headers(MOST_HEADERS);
            // Whoever asks wrongly or slowly is no concern of ours.
            let _ = tokio::time::timeout(CONNECTION, server.serve_connection(TokioIo::new(connection), service)).await;
            drop(place);
        });
    }
}
