//! The fake API server, which here also decides who a caller is and what they may see.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::cluster::{ago, findings_policy};
use apiserver::{Faults, Prepared, Store};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::IntoResponse as _;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};

/// Waits until it is so.
pub fn until(most: Duration, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < most, "not so within {most:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// How a stream begins that has nothing to begin with.
const NOTHING_BEFORE: &str = concat!(
    r#"{"type":"BOOKMARK","object":{"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{"resourceVersion":"5","#,
    r#""annotations":{"k8s.io/initial-events-end":"true"}}}}"#,
    "\n"
);

fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/recordings").join(name)
}

/// Which replica writes stands there.
const LEASE: &str = "why-terminating-aggregator";

/// Who may see what.
#[derive(Clone, Default)]
pub struct People {
    /// Users whose tokens are no longer valid.
    gone: Arc<Mutex<BTreeSet<String>>>,
    /// What was asked about each.
    pub reviewed: Arc<Mutex<Vec<(String, Value)>>>,
}

impl People {
    /// Their tokens are invalid from now on, and they may do nothing.
    pub fn remove(&self, name: &str) {
        self.gone.lock().unwrap().insert(name.to_owned());
    }
}

/// `admin` and three others; a token is `NAME` or `NAME-and-more`, `NAME-api` one for the API server, and of `NAME-old` an
/// authenticator says nothing about whom it is made for.
async fn token_review(State(people): State<People>, Json(review): Json<Value>) -> Json<Value> {
    let token = review["spec"]["token"].as_str().unwrap();
    let name = token.split('-').next().unwrap();
    let is_known = ["admin", "alice", "bob", "eve"].contains(&name) && !people.gone.lock().unwrap().contains(name);
    let audiences = if token.ends_with("-old") { &Value::Null } else { &review["spec"]["audiences"] };
    let is_known = is_known && (!token.ends_with("-api") || audiences.is_null());
    let user = json!({"username": if is_known { name } else { "" }});
    Json(json!({"status": {"authenticated": is_known, "user": user, "audiences": audiences}}))
}

/// `admin` may look at everything, `alice` at pods, `bob` and `eve` at nothing.
async fn access_review(State(people): State<People>, Json(review): Json<Value>) -> Json<Value> {
    let spec = &review["spec"];
    let user = spec["user"].as_str().unwrap();
    let asked = &spec["resourceAttributes"];
    people.reviewed.lock().unwrap().push((user.to_owned(), asked.clone()));
    let allowed = match user {
        "admin" => !people.gone.lock().unwrap().contains(user),
        "alice" => asked["resource"] == "pods" && asked["verb"] == "get" && asked["namespace"] != "",
        _ => false,
    };
    Json(json!({"status": {"allowed": allowed}}))
}

/// A runtime in a thread of its own.
fn driven() -> (Handle, oneshot::Sender<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (handle, (driven, ended)) = (runtime.handle().clone(), oneshot::channel::<()>());
    std::thread::spawn(move || runtime.block_on(ended));
    (handle, driven)
}

/// It runs until it is dropped.
pub struct Api {
    pub runtime: Handle,
    /// For those who ask: they are not to wait while the server works.
    pub clients: Handle,
    /// Ends the threads that drive the runtimes.
    _driven: [oneshot::Sender<()>; 2],
    pub dir: tempfile::TempDir,
    pub store: Store,
    pub people: People,
    address: SocketAddr,
    server: Option<tokio::task::JoinHandle<()>>,
}

impl Api {
    /// With what was recorded, and what `prepare` adds.
    pub fn start(name: &str, prepare: impl FnOnce(&Store)) -> Api {
        let mut api = Api::away(name);
        prepare(&api.store);
        api.serve();
        api
    }

    /// Known by its address, but not there yet.
    pub fn away(name: &str) -> Api {
        Api::away_with(name, Vec::new())
    }

    /// The same, with objects that are too many for files.
    pub fn away_with(name: &str, prepared: Vec<Prepared>) -> Api {
        let [(runtime, server_driven), (clients, clients_driven)] = [driven(), driven()];
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path().join("api")).with_recording(recording(name)).with_prepared(prepared);
        let store = store.with_namespaces_of_objects();
        // The chart's.
        let lease = json!({"metadata": {"name": LEASE, "namespace": "why-terminating", "uid": "uid-of-the-lease"}});
        store.put("leases", Some("why-terminating"), LEASE, &lease).unwrap();
        // The API server lives, whatever the recording has of it.
        let server = "apiserver-wlv32tlttr4jl3gtroqexyxapa";
        let metadata = json!({
            "name": server, "namespace": "kube-system", "uid": server,
            "labels": {"apiserver.kubernetes.io/identity": "kube-apiserver"}
        });
        let renewed = ago(-600).replace('Z', ".000000Z");
        let lease = json!({"metadata": metadata, "spec": {"leaseDurationSeconds": 3600, "renewTime": renewed}});
        store.put("leases", Some("kube-system"), server, &lease).unwrap();
        findings_policy(&store);
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        std::fs::write(dir.path().join("kubeconfig"), apiserver::kubeconfig(&free.to_string(), None)).unwrap();
        let people = People::default();
        Api {
            runtime,
            clients,
            _driven: [server_driven, clients_driven],
            dir,
            store,
            people,
            address: free,
            server: None,
        }
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.dir.path().join("kubeconfig")
    }

    /// Serves a watch of Events that sends none until `begun`, and then all these.
    pub fn serve_burst(
        &mut self,
        begun: Arc<Notify>,
        lines: impl Fn(usize) -> Option<String> + Clone + Send + Sync + 'static,
    ) {
        let watch = move |request: Request, next: Next| {
            let (begun, lines) = (Arc::clone(&begun), lines.clone());
            async move {
                let is_watch = request.uri().query().is_some_and(|query| query.contains("sendInitialEvents"));
                if !is_watch || !request.uri().path().ends_with("/default/events") {
                    return next.run(request).await;
                }
                let body = futures::stream::unfold(0, move |at| {
                    let (begun, lines) = (Arc::clone(&begun), lines.clone());
                    async move {
                        let text = match at {
                            0 => NOTHING_BEFORE.to_owned(),
                            1 => {
                                begun.notified().await;
                                String::new()
                            }
                            at => match lines(at - 2) {
                                Some(line) => line,
                                None => std::future::pending().await,
                            },
                        };
                        Some((Ok::<_, std::convert::Infallible>(text), at + 1))
                    }
                });
                axum::body::Body::from_stream(body).into_response()
            }
        };
        self.serve_with(move |router| router.layer(axum::middleware::from_fn(watch)));
    }

    pub fn serve(&mut self) {
        self.serve_with(|router| router);
    }

    fn serve_with(&mut self, change: impl FnOnce(Router) -> Router) {
        let objects = apiserver::service(&self.store, apiserver::VERSION).unwrap();
        let reviews = Router::new()
            .route("/apis/authentication.k8s.io/v1/tokenreviews", post(token_review))
            .route("/apis/authorization.k8s.io/v1/subjectaccessreviews", post(access_review))
            .with_state(self.people.clone());
        let router = apiserver::guarded(reviews).fallback_service(objects);
        let router = change(router);
        let address = self.address;
        let listener = self.runtime.block_on(async move { TcpListener::bind(address).await.unwrap() });
        self.server = Some(self.runtime.spawn(async move { axum::serve(listener, router).await.unwrap() }));
    }

    /// Closes its port and its connections.
    pub fn stop(&mut self) {
        let task = self.server.take().unwrap();
        task.abort();
        let _ = self.runtime.block_on(task);
    }

    pub fn set_faults(&self, faults: impl Into<Faults>) {
        self.store.set_faults(&faults.into()).unwrap();
    }

    pub fn remove_pod(&self, namespace: &str, name: &str) {
        self.store.remove_pod(namespace, name).unwrap();
        // A recorded object is hidden by an empty file.
        self.store.put("pods", Some(namespace), name, &Value::Null).unwrap();
    }
}
