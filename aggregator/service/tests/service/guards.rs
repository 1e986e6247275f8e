//! What keeps strangers from seeing, and anybody from asking too much.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::net::SocketAddr;
use std::time::Duration;

use flate2::read::GzDecoder;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::api::{Api, until};
use crate::client::{Client, Pair};
use crate::process::Process;
use crate::running::Running;

#[test]
fn a_certificate_that_is_replaced_is_served() {
    let running = Running::start("baseline");
    assert!(running.is_believed());
    let old = Client::clone(&running);
    let new = Pair::new();
    let with_new = Client { believes: new.certificate.clone(), ..old.clone() };
    // A key of another certificate changes nothing.
    Pair { key_pem: Pair::new().key_pem, ..new.clone() }.put(&running.dir());
    std::thread::sleep(Duration::from_secs(7));
    assert!(old.is_believed() && !with_new.is_believed());
    new.put(&running.dir());
    until(Duration::from_secs(15), || with_new.is_believed());
    assert!(!old.is_believed());
}

#[test]
fn nothing_is_served_without_tls() {
    let running = Running::start("baseline");
    let answer = running.runtime.block_on(async {
        let mut plain = tokio::net::TcpStream::connect(running.address).await.unwrap();
        plain.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        let mut answer = Vec::new();
        let _ = plain.read_to_end(&mut answer).await;
        answer
    });
    assert!(!answer.starts_with(b"HTTP"), "{}", String::from_utf8_lossy(&answer));
}

/// A service that is taken over could else ask the API server with it.
#[test]
fn a_token_for_the_api_server_is_taken_only_where_that_is_wanted() {
    let running = Running::start("baseline");
    let statuses =
        |client: &Client| ["admin", "admin-api", "admin-old"].map(|token| client.status("/api/v1/roots", token));
    assert_eq!(statuses(&running), [200, 401, 401]);
    assert_eq!(running.status("/metrics", "admin-api"), 200, "Prometheus has no other");
    let process = Process::start(&running.api, &["--accept-api-tokens"]);
    process.until_ready();
    assert_eq!(statuses(&process), [200; 3]);
}

#[test]
fn a_log_tells_no_token() {
    let api = Api::start("volumes-busy", |_| {});
    let secret = "hunter2hunter2";
    let kubeconfig = std::fs::read_to_string(api.kubeconfig()).unwrap();
    let own = kubeconfig.replace("\"user\": {}", "\"user\": {\"token\": \"own-hunter2hunter2\"}");
    assert_ne!(own, kubeconfig);
    std::fs::write(api.kubeconfig(), own).unwrap();
    let service = Process::logging("trace", &api, &[]);
    service.until_ready();
    for token in [format!("admin-{secret}"), format!("nobody-{secret}")] {
        for path in ["/api/v1/stuck", "/metrics", "/api/v1/stream-that-is-not", "/"] {
            service.get(path, &token);
        }
    }
    service.ask("/api/v1/stuck", "", &[("authorization", &format!("Basic {secret}"))]);
    let log = service.log();
    assert!(log.contains("TRACE"), "else nothing is proven: {log}");
    assert!(!log.contains("hunter2"), "{}", log.lines().find(|line| line.contains("hunter2")).unwrap());
}

#[test]
fn who_asks_too_often_is_told_to_wait_and_others_are_not() {
    let running = Running::start("baseline");
    // Until a token is known each request with it counts as a guess.
    assert_eq!(running.status("/api/v1/roots", "admin"), 200);
    let answers = running.ask_together((0..120).map(|_| ("/api/v1/roots", "admin".to_owned())));
    let waits: Vec<_> = answers.iter().filter(|answer| answer.status() == 429).collect();
    assert!(!waits.is_empty());
    assert!(waits.iter().all(|answer| answer.headers()["retry-after"].to_str().unwrap().parse::<u64>().unwrap() > 0));
    assert_eq!(running.status("/api/v1/roots", "bob"), 200);
    // Tokens that are guessed cost a request each; who is known already goes on.
    let guesses = running.ask_together((0..120).map(|guess| ("/api/v1/roots", format!("g{guess}"))));
    let guesses: BTreeSet<u16> = guesses.iter().map(|answer| answer.status().as_u16()).collect();
    assert_eq!(guesses, BTreeSet::from([401, 429]));
    assert_eq!(running.status("/api/v1/roots", "bob"), 200);
}

#[test]
fn what_is_not_asked_for_in_a_few_words_is_refused() {
    let running = Running::start("baseline");
    let long = "x".repeat(20_000);
    assert_eq!(running.status(&format!("/healthz?{long}"), ""), 431);
    let refused = running.runtime.block_on(async {
        let mut stream = running.connect().await.unwrap();
        let head = "POST /api/v1/stuck HTTP/1.1\r\nhost: a\r\ncontent-length: 100000000\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        String::from_utf8(answer.to_vec()).unwrap()
    });
    assert_eq!(refused, "HTTP/1.1 413");
    // Who says nothing is not waited for.
    let silence = running.runtime.block_on(async {
        let mut stream = running.connect().await.unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\n").await.unwrap();
        let mut answer = Vec::new();
        tokio::time::timeout(Duration::from_secs(8), stream.read_to_end(&mut answer)).await.map(drop)
    });
    assert!(silence.is_ok(), "the connection was kept");
}

#[test]
fn a_long_answer_is_packed_for_those_who_can_unpack_it() {
    let running = Running::start("volumes-busy");
    let plain = running.ask("/api/v1/stuck", "admin", &[]);
    let packed = running.ask("/api/v1/stuck", "admin", &[("accept-encoding", "gzip")]);
    assert_eq!(packed.headers()["content-encoding"], "gzip");
    assert!(packed.body().len() * 3 < plain.body().len());
    let mut text = String::new();
    GzDecoder::new(&packed.body()[..]).read_to_string(&mut text).unwrap();
    let unpacked: Value = serde_json::from_str(&text).unwrap();
    let plain: Value = serde_json::from_slice(plain.body()).unwrap();
    assert_eq!(unpacked["subject"], plain["subject"]);
}

/// For what is hidden from them two people cause the same questions and get the same answer as for what is not there.
#[test]
fn hidden_and_absent_are_one() {
    let running = Running::start("volumes-busy");
    let (_, all) = running.json("/api/v1/incidents", "admin");
    let pod = &all["incidents"].as_array().unwrap().iter().find(|one| one["object"]["kind"] == "Pod").unwrap();
    let (namespace, name) = (pod["object"]["namespace"].as_str().unwrap(), pod["object"]["name"].as_str().unwrap());
    let id = pod["id"].as_str().unwrap();
    let asked = |who: &str, path: &str| {
        running.api.people.reviewed.lock().unwrap().clear();
        let answer = running.ask(path, who, &[]);
        let mut reviews: Vec<String> =
            running.api.people.reviewed.lock().unwrap().iter().map(|(_, what)| what.to_string()).collect();
        reviews.sort();
        let mut headers = answer.headers().clone();
        headers.remove("date");
        (answer.status(), headers, answer.into_body(), reviews)
    };
    let hidden = asked("bob", &format!("/api/v1/objects/-/Pod/{namespace}/{name}"));
    let absent = asked("eve", "/api/v1/objects/-/Pod/no-such/thing");
    assert_eq!(hidden, absent);
    assert_eq!(hidden.0, 404);
    assert!(!hidden.3.is_empty());
    let again = [format!("/api/v1/incidents/{id}"), "/api/v1/incidents/0".to_owned(), "/api/v1/nodes/x".to_owned()];
    for path in again {
        let answer = asked("bob", &path);
        assert_eq!((answer.0, answer.2), (hidden.0, hidden.2.clone()), "{path}");
    }
}

/// Connections that ask for nothing, from as many addresses as it takes to have them all.
#[test]
fn silent_connections_leave_room_for_probes() {
    let running = Running::start("baseline");
    let silent = running.runtime.block_on(async {
        let mut silent = Vec::new();
        for number in 0..300_u16 {
            let from = SocketAddr::from(([127, 0, 1, u8::try_from(number % 3 + 1).unwrap()], 0));
            let socket = tokio::net::TcpSocket::new_v4().unwrap();
            socket.bind(from).unwrap();
            silent.push(socket.connect(running.address).await.unwrap());
        }
        silent
    });
    assert_eq!(running.status("/healthz", ""), 200);
    drop(silent);
}
