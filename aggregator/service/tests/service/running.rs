//! A service beside a fake API server that also says who somebody is and what they may see.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use aggregator::client::Connection;
use apiserver::Store;
use axum::routing::post;
use axum::{Json, Router};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Both, until it is dropped.
pub struct Running {
    runtime: Handle,
    /// Ends the thread that drives the runtime.
    _driven: oneshot::Sender<()>,
    dir: tempfile::TempDir,
    store: Store,
    api: SocketAddr,
    api_server: Option<tokio::task::JoinHandle<()>>,
    service: SocketAddr,
}

fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/recordings").join(name)
}

/// `admin` and two others; no other token is anybody's.
async fn token_review(Json(review): Json<Value>) -> Json<Value> {
    let token = review["spec"]["token"].as_str().unwrap();
    let is_known = ["admin", "alice", "bob"].contains(&token);
    Json(json!({"status": {"authenticated": is_known, "user": {"username": if is_known { token } else { "" }}}}))
}

/// `alice` may look at pods, `bob` at nothing.
async fn access_review(Json(review): Json<Value>) -> Json<Value> {
    let spec = &review["spec"];
    let allowed = match spec["user"].as_str().unwrap() {
        "admin" => true,
        "alice" => {
            let asked = &spec["resourceAttributes"];
            asked["resource"] == "pods" && asked["verb"] == "get" && asked["namespace"] != ""
        }
        _ => false,
    };
    Json(json!({"status": {"allowed": allowed}}))
}

fn api_router(store: &Store) -> Router {
    Router::new()
        .route("/apis/authentication.k8s.io/v1/tokenreviews", post(token_review))
        .route("/apis/authorization.k8s.io/v1/subjectaccessreviews", post(access_review))
        .fallback_service(apiserver::service(store, apiserver::VERSION).unwrap())
}

impl Running {
    /// Starts both, and waits until the service is ready.
    pub fn start(name: &str) -> Running {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (handle, (driven, ended)) = (runtime.handle().clone(), oneshot::channel::<()>());
        std::thread::spawn(move || runtime.block_on(ended));
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path().join("api")).with_recording(recording(name));
        let mut running = Running {
            runtime: handle,
            _driven: driven,
            store,
            api: "127.0.0.1:0".parse().unwrap(),
            api_server: None,
            service: "127.0.0.1:0".parse().unwrap(),
            dir,
        };
        running.start_api_server();
        let kubeconfig = running.dir.path().join("kubeconfig");
        std::fs::write(&kubeconfig, apiserver::kubeconfig(&running.api.to_string(), None)).unwrap();
        let settings = service::Settings {
            connection: Connection {
                kubeconfig: Some(kubeconfig),
                request_timeout: Duration::from_secs(5),
                ..Connection::default()
            },
            listen: "127.0.0.1:0".parse().unwrap(),
            incidents: Some(running.dir.path().join("incidents")),
            names_in_metrics: false,
        };
        let (sender, address) = std::sync::mpsc::channel();
        running.runtime.spawn(async move {
            let ended = service::serve(settings, move |address| sender.send(address).unwrap()).await;
            eprintln!("the service has ended: {ended:?}");
        });
        running.service = address.recv_timeout(Duration::from_secs(10)).unwrap();
        running.until(Duration::from_secs(30), || running.get("/readyz", "").0 == 200);
        running
    }

    pub fn start_api_server(&mut self) {
        let (router, address) = (api_router(&self.store), self.api);
        let listener = self.runtime.block_on(async move { TcpListener::bind(address).await.unwrap() });
        self.api = listener.local_addr().unwrap();
        self.api_server = Some(self.runtime.spawn(async move { axum::serve(listener, router).await.unwrap() }));
    }

    /// Closes its port and its connections.
    pub fn stop_api_server(&mut self) {
        let task = self.api_server.take().unwrap();
        task.abort();
        let _ = self.runtime.block_on(task);
    }

    pub fn remove_pod(&self, namespace: &str, name: &str) {
        self.store.remove_pod(namespace, name).unwrap();
        // A recorded object is hidden by an empty file.
        self.store.put("pods", Some(namespace), name, &Value::Null).unwrap();
    }

    async fn ask(&self, path: &str, token: &str, headers: &[(&str, &str)]) -> hyper::Response<Bytes> {
        let stream = TcpStream::connect(self.service).await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let mut request = hyper::Request::get(path).header("host", "service");
        if !token.is_empty() {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = sender.send_request(request.body(Empty::<Bytes>::new()).unwrap()).await.unwrap();
        let (head, body) = response.into_parts();
        hyper::Response::from_parts(head, body.collect().await.unwrap().to_bytes())
    }

    pub fn get(&self, path: &str, token: &str) -> (u16, String) {
        let response = self.runtime.block_on(self.ask(path, token, &[]));
        (response.status().as_u16(), String::from_utf8(response.into_body().to_vec()).unwrap())
    }

    pub fn json(&self, path: &str, token: &str) -> (u16, Value) {
        let (status, body) = self.get(path, token);
        (status, serde_json::from_str(&body).unwrap_or_else(|_| json!(body)))
    }

    pub fn status(&self, path: &str, token: &str, headers: &[(&str, &str)]) -> u16 {
        self.runtime.block_on(self.ask(path, token, headers)).status().as_u16()
    }

    pub fn header(&self, path: &str, token: &str, headers: &[(&str, &str)], name: &str) -> Option<String> {
        let response = self.runtime.block_on(self.ask(path, token, headers));
        Some(response.headers().get(name)?.to_str().unwrap().to_owned())
    }

    pub fn until(&self, most: Duration, mut is_so: impl FnMut() -> bool) {
        let begin = Instant::now();
        while !is_so() {
            assert!(begin.elapsed() < most, "not so within {most:?}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}
