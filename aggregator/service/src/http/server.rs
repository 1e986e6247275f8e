//! Connections: how many, how long, and how much each may say.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Extension;
use axum::body::HttpBody as _;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket};
use tokio_rustls::TlsAcceptor;

use super::Shared;
use super::connections::{Activity, Connections, MAX_CONNECTIONS, MAX_CONNECTIONS_PER_ADDRESS};
use super::peer::Peer;
use super::router::router;
use super::unread_answers::{Asker, SEND_BUFFER_BYTES, SendBuffer, UnreadAnswers};
use super::write_rate::MinWriteRate;

/// The handshake must be over by then.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// A request's head must be there by then, and may be so long.
const HEAD: (Duration, usize) = (Duration::from_secs(5), 16 << 10);
/// Headers of one request.
const MAX_HEADERS: usize = 64;
/// An answer must begin by then.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// A connection lives no longer; the client of a stream connects again.
const MAX_CONNECTION_AGE: Duration = Duration::from_secs(600);

/// When nothing more is sent, the peer takes what the kernel keeps by then.
const LINGER_TIMEOUT: Duration = Duration::from_secs(5);
/// Connections that wait to be accepted.
const MAX_BACKLOG: u32 = 1024;

/// Listens there; the address that was given is returned, because port 0 means any.
pub fn bind(address: SocketAddr) -> std::io::Result<(TcpListener, SocketAddr)> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    // Each connection has the same. Else the kernel keeps megabytes for one who does not read.
    socket.set_send_buffer_size(SEND_BUFFER_BYTES)?;
    socket.bind(address)?;
    let listener = socket.listen(MAX_BACKLOG)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Serves until the service ends.
pub async fn serve(listener: TcpListener, acceptor: TlsAcceptor, shared: Shared) {
    let router = router(shared).layer(axum::middleware::from_fn_with_state(UnreadAnswers::default(), bounded));
    let connections = Connections::new(MAX_CONNECTIONS, MAX_CONNECTIONS_PER_ADDRESS);
    loop {
        let Ok((connection, from)) = listener.accept().await else {
            // Out of descriptors, for a moment.
            tokio::time::sleep(Duration::from_millis(200)).await;
            continue;
        };
        // Without a place the connection is closed at once.
        let Some(mut place) = connections.admit(from.ip()) else { continue };
        // What a connection that ends leaves unread goes with it. Else the kernel keeps it for minutes.
        // And the last packet of an answer waits for nothing.
        if connection.set_zero_linger().and_then(|()| connection.set_nodelay(true)).is_err() {
            continue;
        }
        let layers = (Extension(Peer(from.ip())), Extension(place.activity.clone()), Extension(SendBuffer::default()));
        let service = TowerToHyperService::new(router.clone().layer(layers));
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let served = async {
                let connection = acceptor.accept(MinWriteRate::new(connection));
                let handshake = tokio::time::timeout(HANDSHAKE_TIMEOUT, connection).await;
                let Ok(Ok(connection)) = handshake else { return };
                let mut server = http1::Builder::new();
                server.timer(TokioTimer::new()).header_read_timeout(HEAD.0).max_buf_size(HEAD.1);
                server.max_headers(MAX_HEADERS);
                // A malformed or slow request is not an error of the service.
                let served = server.serve_connection(TokioIo::new(connection), service).without_shutdown();
                if let Ok(Ok(ended)) = tokio::time::timeout(MAX_CONNECTION_AGE, served).await {
                    let _ = tokio::time::timeout(LINGER_TIMEOUT, last_read(ended.io.into_inner())).await;
                }
            };
            tokio::select! {
                () = served => {}
                _ = &mut place.displaced => {}
            }
            drop(place);
        });
    }
}

/// Ends when the peer has taken all and closed its side.
async fn last_read(mut connection: impl AsyncRead + AsyncWrite + Unpin) -> std::io::Result<()> {
    connection.shutdown().await?;
    let mut ignored = [0; 512];
    while connection.read(&mut ignored).await? > 0 {}
    Ok(())
}

/// Nothing is ever sent to the service, no answer is taken for something else, and none takes for ever.
async fn bounded(
    State(unread): State<UnreadAnswers>,
    Extension(activity): Extension<Activity>,
    Extension(buffer): Extension<SendBuffer>,
    mut request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let is_empty = |length: &HeaderValue| length.as_bytes() == b"0";
    if headers.contains_key(header::TRANSFER_ENCODING) || !headers.get(header::CONTENT_LENGTH).is_none_or(is_empty) {
        return (StatusCode::PAYLOAD_TOO_LARGE, [(header::CONNECTION, "close")]).into_response();
    }
    let asker = Asker::default();
    request.extensions_mut().insert(asker.clone());
    activity.set(true);
    let answer = tokio::time::timeout(ANSWER_TIMEOUT, next.run(request)).await;
    let answer = answer.unwrap_or_else(|_| StatusCode::GATEWAY_TIMEOUT.into_response());
    let mut answer = unread.counted(&asker, &buffer, answer).await;
    // A stream goes on; all else is as good as sent.
    activity.set(answer.body().size_hint().exact().is_none());
    let headers = answer.headers_mut();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        // What one caller may see is nothing for another's cache.
        (header::CACHE_CONTROL, "private, no-cache"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    answer
}
