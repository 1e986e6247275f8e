//! `ui` as a process: which token it requests, through what it asks, and who gets an answer from it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream as Stream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Message, handshake::derive_accept_key, protocol::Role};

const PAGE: &str = "/api/v1/namespaces/why-terminating/pods/aggregator-1/portforward?";
const TOKEN: &str = "/api/v1/namespaces/shop/serviceaccounts/viewer/token";
/// Of the pod, where the API server forwards to.
const PORT: u16 = 8443;

/// What the API server was asked: path and body.
type Asked = Arc<Mutex<Vec<(String, String)>>>;

/// Reads the head of a request, and as much of a body as it says.
async fn request(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> Option<(String, String)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await.ok()?;
    Some((head, String::from_utf8(body).unwrap()))
}

/// An API server that knows one pod of the service, one account, and forwards ports.
async fn api_server(listener: TcpListener, acceptor: TlsAcceptor, asked: Asked) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        tokio::spawn(api_connection(stream, acceptor.clone(), Arc::clone(&asked)));
    }
}

async fn api_connection(mut stream: TcpStream, acceptor: TlsAcceptor, asked: Asked) {
    while let Some((head, body)) = request(&mut stream).await {
        let path = head.split(' ').nth(1).unwrap().to_owned();
        asked.lock().unwrap().push((path.clone(), body));
        if path.starts_with(PAGE) {
            return forward(stream, &head, acceptor).await;
        }
        let answer = if path == TOKEN {
            json!({"status": {"token": "token-of-viewer"}})
        } else {
            let ready = json!([{"type": "Ready", "status": "True"}]);
            let spec = json!({"containers": [{"ports": [{"containerPort": PORT}]}]});
            json!({"metadata": {}, "items": [
                {"metadata": {"name": "aggregator-0"}, "spec": spec, "status": {}},
                {"metadata": {"name": "aggregator-1"}, "spec": spec, "status": {"conditions": ready}}
            ]})
        };
        let body = answer.to_string();
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(answer.as_bytes()).await.unwrap();
    }
}

/// As the API server and the kubelet do: a message begins with its channel; the first of each channel is the port.
async fn forward(mut stream: TcpStream, head: &str, acceptor: TlsAcceptor) {
    let header = |name: &str| {
        let is_it = |line: &&str| line.to_lowercase().starts_with(name);
        head.lines().find(is_it).unwrap().split_once(": ").unwrap().1.to_owned()
    };
    let accept = derive_accept_key(header("sec-websocket-key").as_bytes());
    let protocols = header("sec-websocket-protocol");
    let protocol = protocols.split(',').next_back().unwrap().trim();
    let accepts = format!(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: {accept}\r\n\
         sec-websocket-protocol: {protocol}\r\n\r\n"
    );
    stream.write_all(accepts.as_bytes()).await.unwrap();
    let mut socket = WebSocketStream::from_raw_socket(stream, Role::Server, None).await;
    for channel in 0..2_u8 {
        let [low, high] = PORT.to_le_bytes();
        socket.send(Message::binary(vec![channel, low, high])).await.unwrap();
    }
    let (ours, pods) = tokio::io::duplex(1 << 16);
    tokio::spawn(service(pods, acceptor));
    let (mut from_pod, mut to_pod) = tokio::io::split(ours);
    let mut buffer = vec![0; 4096];
    loop {
        tokio::select! {
            message = socket.next() => match message {
                Some(Ok(Message::Binary(bytes))) => to_pod.write_all(&bytes[1..]).await.unwrap(),
                Some(Ok(_)) => {}
                _ => return,
            },
            read = from_pod.read(&mut buffer) => match read {
                Ok(0) | Err(_) => return,
                Ok(read) => {
                    let message = [&[0], &buffer[..read]].concat();
                    if socket.send(Message::binary(message)).await.is_err() {
                        return;
                    }
                }
            },
        }
    }
}

/// A service that answers with what it was asked.
async fn service(stream: tokio::io::DuplexStream, acceptor: TlsAcceptor) {
    let Ok(mut stream) = acceptor.accept(stream).await else { return };
    while let Some((head, _)) = request(&mut stream).await {
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{head}", head.len());
        stream.write_all(answer.as_bytes()).await.unwrap();
    }
}

fn acceptor() -> TlsAcceptor {
    let made = rcgen::generate_simple_self_signed(["somewhere".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// Ends the plugin with the test.
struct Ui(Child);

impl Drop for Ui {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What `address` answers.
fn ask(address: &str, headers: &str) -> String {
    let mut stream = Stream::connect(address).unwrap();
    write!(stream, "GET /page/session HTTP/1.1\r\nconnection: close\r\n{headers}\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_page_gets_the_accounts_rights_and_no_other_site_does() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let asked = Asked::default();
    let serves = api_server(listener, acceptor(), Arc::clone(&asked));
    std::thread::spawn(move || runtime.block_on(serves));
    let child = Command::new(env!("CARGO_BIN_EXE_kubectl-why_terminating"))
        .args(["ui", "--serviceaccount", "shop/viewer", "--no-browser", "--server", &server])
        .env("KUBECONFIG", "/nonexistent")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ui = Ui(child);
    let mut lines = BufReader::new(ui.0.stdout.take().unwrap()).lines();
    let address = lines.next().unwrap().unwrap();
    let words = lines.next().unwrap().unwrap();
    assert!(
        words.starts_with("The page shows what ServiceAccount shop/viewer can see, not what you can see."),
        "{words}"
    );
    let host = address.strip_prefix("http://").unwrap().trim_end_matches('/');
    assert!(host.starts_with("127.0.0.1:") && !address.contains("token"), "{address}");
    // The browser shows no token, and the service gets the account's.
    let answer = ask(host, &format!("host: {host}\r\ncookie: a=b\r\n"));
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let passed = answer.to_lowercase();
    assert!(passed.contains("authorization: bearer token-of-viewer\r\n"), "{answer}");
    assert!(passed.contains("get /page/session http/1.1") && !passed.contains("cookie"), "{answer}");
    let pasted = ask(host, &format!("host: {host}\r\nauthorization: Bearer pasted\r\n"));
    assert!(pasted.contains("Bearer pasted") && !pasted.contains("viewer"), "{pasted}");
    // Another web page, also one whose name points to this machine.
    for headers in ["host: evil.example\r\n", &format!("host: {host}\r\norigin: https://evil.example\r\n")] {
        let answer = ask(host, headers);
        assert!(answer.starts_with("HTTP/1.1 403 ") && !answer.contains("viewer"), "{answer}");
    }
    let asked = asked.lock().unwrap();
    let requests: Vec<&str> = asked.iter().filter(|(path, _)| path == TOKEN).map(|(_, body)| body.as_str()).collect();
    let spec = json!({"audiences": ["why-terminating"], "expirationSeconds": 600});
    assert_eq!(requests.len(), 1);
    assert_eq!(serde_json::from_str::<Value>(requests[0]).unwrap()["spec"], spec);
    assert_eq!(
        asked.iter().filter(|(path, _)| path.starts_with(PAGE)).count(),
        2,
        "one for each connection: {asked:?}"
    );
}
