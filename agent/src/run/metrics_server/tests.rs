use std::{io, time::Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::watch;

use super::*;

/// A server that is ready, and what makes it unready.
async fn served() -> (SocketAddr, watch::Sender<Health>) {
    let (listener, address) = bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let (sender, health) = watch::channel(Health::default());
    tokio::spawn(serve(listener, Arc::new(Metrics::default()), health));
    (address, sender)
}

/// Every address of 127.0.0.0/8 is this machine's.
async fn connect_from(from: &str, to: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(format!("{from}:0").parse().unwrap())?;
    socket.connect(to).await
}

async fn say(to: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(to).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

async fn ask(to: SocketAddr, path: &str) -> String {
    say(to, &format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")).await
}

/// How long until the other side has closed it.
async fn closed_after(stream: &mut TcpStream) -> Duration {
    let began = Instant::now();
    let mut rest = Vec::new();
    // With an answer, with none, or with a reset.
    let _ = stream.read_to_end(&mut rest).await;
    began.elapsed()
}

#[tokio::test]
async fn it_answers() {
    let (address, health) = served().await;
    assert!(ask(address, "/readyz").await.contains("200"));
    health.send(Health { not_ready: Some("no scan has ended yet".into()) }).unwrap();
    assert!(ask(address, "/readyz").await.contains("503"));
    assert!(ask(address, "/metrics").await.contains("why_terminating_build_info"));
    assert!(ask(address, "/healthz").await.ends_with("ok\n"));
}

/// Slowloris: a header that is always about to end.
#[tokio::test]
async fn whoever_sends_headers_slowly_or_nothing_is_gone() {
    let (address, _health) = served().await;
    let mut silent = TcpStream::connect(address).await.unwrap();
    let (mut slow, mut sends) = TcpStream::connect(address).await.unwrap().into_split();
    let dripping = tokio::spawn(async move {
        sends.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n").await?;
        loop {
            tokio::time::sleep(Duration::from_millis(100)).await;
            sends.write_all(b"X-A: b\r\n").await?;
        }
        #[expect(unreachable_code, reason = "it names the type")]
        io::Result::Ok(())
    });
    let began = Instant::now();
    let mut rest = Vec::new();
    let _ = slow.read_to_end(&mut rest).await;
    assert!(began.elapsed() < HEADER_TIMEOUT + Duration::from_secs(1), "{:?}", began.elapsed());
    assert!(closed_after(&mut silent).await < Duration::from_secs(1));
    assert!(tokio::time::timeout(Duration::from_secs(2), dripping).await.unwrap().unwrap().is_err());
}

#[tokio::test]
async fn whoever_does_not_read_the_answer_is_gone() {
    let (address, _health) = served().await;
    let mut deaf = TcpStream::connect(address).await.unwrap();
    deaf.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    tokio::time::sleep(CONNECTION_TIMEOUT + Duration::from_secs(1)).await;
    assert!(closed_after(&mut deaf).await < Duration::from_secs(1));
}

#[tokio::test]
async fn headers_are_few_and_short() {
    let (address, _health) = served().await;
    let long = "x".repeat(MAX_REQUEST_BYTES);
    let many = "X-A: b\r\n".repeat(MAX_HEADERS);
    for (name, request) in [
        ("a long value", format!("GET /metrics HTTP/1.1\r\nHost: x\r\nX-A: {long}\r\n\r\n")),
        ("a long path", format!("GET /{long} HTTP/1.1\r\nHost: x\r\n\r\n")),
        ("many headers", format!("GET /metrics HTTP/1.1\r\nHost: x\r\n{many}\r\n")),
        ("no end", format!("GET /metrics HTTP/1.1\r\nX-A: {long}{long}")),
    ] {
        let answer = say(address, &request).await;
        assert!(answer.starts_with("HTTP/1.1 431 "), "{name}: {answer}");
    }
}

/// Nothing that is asked here has a body; one would only be read to be thrown away.
#[tokio::test]
async fn a_body_is_refused() {
    let (address, _health) = served().await;
    for body in ["Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"] {
        let answer = say(address, &format!("GET /metrics HTTP/1.1\r\nHost: x\r\n{body}")).await;
        assert!(answer.starts_with("HTTP/1.1 413 "), "{body}: {answer}");
    }
    let post = say(address, "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n").await;
    assert!(post.starts_with("HTTP/1.1 405 "), "{post}");
}

/// The kubelet restarts an agent whose `/healthz` does not answer.
#[tokio::test]
async fn nobody_takes_the_places_of_the_others() {
    let (address, _health) = served().await;
    let mut held = Vec::new();
    for _ in 0..2 * MAX_CONNECTIONS {
        held.push(connect_from("127.0.0.2", address).await.unwrap());
    }
    let mut probe = connect_from("127.0.0.3", address).await.unwrap();
    probe.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    probe.read_to_string(&mut answer).await.unwrap();
    assert!(answer.ends_with("ok\n"), "{answer:?}");
    // What exceeds its share is closed at once, and the rest soon.
    assert!(closed_after(held.last_mut().unwrap()).await < Duration::from_millis(500));
    assert!(closed_after(&mut held[0]).await < HEADER_TIMEOUT + Duration::from_secs(1));
}
