//! What the kubelet says of its own health (`http://127.0.0.1:<port>/healthz`, no credentials).

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::observation::{FaultKind, Healthz, Seen};

/// The kubelet's default port.
pub const DEFAULT_PORT: u16 = 10248;
const DEADLINE: Duration = Duration::from_millis(800);
const MAX_ANSWER_BYTES: u64 = 4096;

/// Asks; a port without a listener is `Missing`.
pub async fn answer(port: u16) -> Seen<Healthz> {
    let source = format!("http://127.0.0.1:{port}/healthz");
    match tokio::time::timeout(DEADLINE, ask(port)).await {
        Ok(Ok(answer)) => parse(&answer)
            .map_or_else(|| Seen::failed(source, (FaultKind::Malformed, "the answer is no HTTP")), Seen::Seen),
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => Seen::Missing,
        Ok(Err(error)) => Seen::failed(source, error),
        Err(_) => Seen::failed(source, (FaultKind::TimedOut, format!("did not answer within {DEADLINE:?}"))),
    }
}

async fn ask(port: u16) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.write_all(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n").await?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER_BYTES).read_to_end(&mut answer).await?;
    Ok(answer)
}

fn parse(answer: &[u8]) -> Option<Healthz> {
    let text = String::from_utf8_lossy(answer);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    Some(Healthz { status, body: findings::clean(body.trim(), 500) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_failed_check() {
        let answer =
            b"HTTP/1.0 500 Internal Server Error\r\nX: y\r\n\r\n[+]ping ok\n[-]syncloop failed: reason withheld\n";
        let healthz = parse(answer).unwrap();
        assert_eq!(healthz.status, 500);
        assert!(healthz.body.contains("[-]syncloop failed"));
        assert_eq!(parse(b"nonsense"), None);
    }

    #[tokio::test]
    async fn nobody_listening_is_missing() {
        let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        assert_eq!(answer(port).await, Seen::Missing);
    }

    #[tokio::test]
    async fn silence_is_a_fault() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        assert!(answer(listener.local_addr().unwrap().port()).await.fault().is_some());
    }
}
