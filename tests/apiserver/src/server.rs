//! From a request to its answer.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use axum::serve::ListenerExt as _;
use serde_json::{Value, json};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::TcpListener;

use crate::catalog::Catalog;
use crate::fault_answers::{self, Effect};
use crate::page_cache::{Page, PageCache};
use crate::recording::Recording;
use crate::request::Asked;
use crate::requests::{OpenRequest, RequestLog};
use crate::status::Status;
use crate::watch::Watch;
use crate::world::World;
use crate::{Request, Store, list, pack, reviews, write};

const JSON: &str = "application/json";

/// Larger bodies are refused, as a real server does.
const LARGEST_BODY: usize = 3 * 1024 * 1024;

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) catalog: Arc<Catalog>,
    recording: Option<Recording>,
    world: Mutex<World>,
    log: Arc<RequestLog>,
    /// Of a cluster that came prepared.
    pages: Option<PageCache>,
    version: String,
    /// What time it says it is, when that is not now.
    date: Option<String>,
    /// Who asks where a request does not say.
    asked_by: &'static [&'static str],
}

/// What answers as the server does, for a client in the same process. Files that are written are seen with the next
/// request.
pub fn service(store: &Store, version: &str) -> anyhow::Result<Router> {
    Ok(router(Arc::new(Server::new(store, version.to_owned())?)))
}

fn router(server: Arc<Server>) -> Router {
    Router::new().fallback(handle).with_state(server)
}

/// Serves `store` on `listener` until the process ends. `version` is the server's `gitVersion`.
pub async fn serve(listener: TcpListener, store: Store, version: String) -> anyhow::Result<()> {
    let server = Arc::new(Server::new(&store, version)?);
    let descriptor = server.world().descriptor()?;
    let router = router(Arc::clone(&server)).merge(reviews::router());
    let listener = listener.tap_io(|connection| {
        // Without it each answer of two packets waits for the client's delayed acknowledgement.
        if let Err(error) = connection.set_nodelay(true) {
            eprintln!("set TCP_NODELAY: {error}");
        }
    });
    tokio::select! {
        served = axum::serve(listener, router) => Ok(served?),
        failed = keep_fresh(&server, descriptor) => failed,
    }
}

/// Watchers also receive a file that was written while no request came in.
async fn keep_fresh(server: &Server, descriptor: OwnedFd) -> anyhow::Result<()> {
    #[expect(deprecated, reason = "its successor is unsafe; an owned descriptor is what it asks for")]
    let descriptor = AsyncFd::with_interest(descriptor, Interest::READABLE).context("wait for inotify")?;
    loop {
        descriptor.readable().await.context("wait for inotify")?.clear_ready();
        server.world().refresh()?;
    }
}

impl Server {
    fn new(store: &Store, version: String) -> anyhow::Result<Self> {
        let mut catalog = Catalog::new();
        let recording = store.recording().map(|dir| Recording::read(&dir)).transpose()?;
        if let Some(recording) = &recording {
            recording.extend(&mut catalog);
        }
        let catalog = Arc::new(catalog);
        let world = World::new(store, Arc::clone(&catalog), recording.as_ref())?;
        let log = Arc::new(RequestLog::open(&store.request_log())?);
        let taken_at = recording.as_ref().filter(|_| store.is_then()).and_then(Recording::taken_at);
        let date = taken_at.map(|at| at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string());
        let asked_by = store.programs();
        let pages = (!store.prepared().is_empty()).then(PageCache::default);
        Ok(Self { catalog, recording, world: Mutex::new(world), log, pages, version, date, asked_by })
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is sent.
#[derive(Debug)]
pub(crate) enum Reply {
    /// A body, complete.
    Whole { status: u16, content_type: String, body: Bytes, headers: Vec<(&'static str, String)> },
    /// A stream of events.
    Watch(Watch),
}

impl Reply {
    pub(crate) fn json(status: u16, text: impl Into<Bytes>) -> Self {
        Self::text(status, JSON, text)
    }

    pub(crate) fn text(status: u16, content_type: &str, text: impl Into<Bytes>) -> Self {
        Self::Whole { status, content_type: content_type.to_owned(), body: text.into(), headers: Vec::new() }
    }
}

impl From<Status> for Reply {
    fn from(status: Status) -> Self {
        Self::json(status.code, status.object().to_string())
    }
}

async fn handle(State(server): State<Arc<Server>>, request: axum::extract::Request) -> Response {
    let at = jiff::Timestamp::now();
    let (parts, body) = request.into_parts();
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let (body, too_large) = match to_bytes(body, LARGEST_BODY).await {
        Ok(body) => (body, false),
        Err(_) => (Bytes::new(), true),
    };
    let asked = asked(&server, parts, body);
    let mut line = Request {
        id: server.log.next_id(),
        at: at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
        verb: asked.verb.to_owned(),
        path: asked.path.clone(),
        query,
        status: 0,
        user_agent: asked.header(header::USER_AGENT).to_owned(),
        body_bytes: asked.body.len() as u64,
        answered_bytes: 0,
        plain_bytes: 0,
        open: false,
    };
    let effect = if too_large {
        Effect::Answer(Status::new(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728").into())
    } else {
        fault_answers::effect(&server, &asked)
    };
    let pages = server.pages.as_ref().filter(|_| matches!(effect, Effect::None));
    let kept =
        pages.and_then(|pages| Some((pages, PageCache::place(&asked, &line.query)?, readable_version(&server)?)));
    if let Some((pages, place, version)) = &kept
        && let Some(page) = pages.get(place, *version)
    {
        line.status = 200;
        return page_response(&server, line, Vec::new(), page);
    }
    let (reply, cut) = match effect {
        Effect::None => (answer(&server, &asked), false),
        Effect::Answer(reply) => (reply, false),
        Effect::Wait(time) => {
            tokio::time::sleep(time).await;
            (answer(&server, &asked), false)
        }
        Effect::Cut => (answer(&server, &asked), true),
        Effect::Never => {
            let _open = OpenRequest::new(Arc::clone(&server.log), line);
            return std::future::pending().await;
        }
    };
    let (status, content_type, mut headers) = match &reply {
        Reply::Whole { status, content_type, headers, .. } => (*status, content_type.clone(), headers.clone()),
        Reply::Watch(_) => (200, JSON.to_owned(), Vec::new()),
    };
    headers.extend(server.date.clone().map(|date| ("date", date)));
    line.status = status;
    let body = match reply {
        Reply::Whole { body, .. } if cut => {
            line.answered_bytes = (body.len() / 2) as u64;
            line.plain_bytes = line.answered_bytes;
            server.log.append(&line);
            Body::from_stream(fault_answers::cut(body.slice(..body.len() / 2)))
        }
        Reply::Watch(_) if cut => {
            server.log.append(&line);
            Body::from_stream(fault_answers::cut(Bytes::from_static(br#"{"type":"ADDED","object":{"kind":"#)))
        }
        Reply::Whole { body, .. } => {
            let (plain_bytes, packed) = (body.len() as u64, pack::packed(&asked, &body));
            let is_packed = packed.is_some();
            let page = Page { content_type, plain_bytes, body: packed.unwrap_or(body), is_packed };
            if let Some((pages, place, version)) = kept.filter(|_| status == 200) {
                pages.put(place, version, page.clone());
            }
            return page_response(&server, line, headers, page);
        }
        Reply::Watch(watch) => Body::from_stream(watch.body(OpenRequest::new(Arc::clone(&server.log), line))),
    };
    response(status, &content_type, &headers, body)
}

/// The cluster's version, unless a file of it cannot be understood.
fn readable_version(server: &Server) -> Option<u64> {
    let mut world = server.world();
    world.refresh().and_then(|()| world.check()).ok()?;
    Some(world.version())
}

fn page_response(server: &Server, mut line: Request, mut headers: Vec<(&'static str, String)>, page: Page) -> Response {
    if page.is_packed {
        headers.push(("content-encoding", "gzip".to_owned()));
        headers.push(("vary", "Accept-Encoding".to_owned()));
    }
    (line.plain_bytes, line.answered_bytes) = (page.plain_bytes, page.body.len() as u64);
    server.log.append(&line);
    response(line.status, &page.content_type, &headers, Body::from(page.body))
}

fn asked(server: &Server, parts: Parts, body: Bytes) -> Asked {
    Asked::new(parts, body, &server.catalog, server.asked_by)
}

fn response(status: u16, content_type: &str, headers: &[(&'static str, String)], body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut set = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(name, value);
        }
    };
    set("content-type", content_type);
    set("cache-control", "no-cache, private");
    for (name, value) in headers {
        set(name, value);
    }
    response
}

/// The answer when nothing goes wrong on purpose.
fn answer(server: &Arc<Server>, asked: &Asked) -> Reply {
    let mut world = server.world();
    let fresh = world.refresh().and_then(|()| world.check());
    fresh.map_err(Status::from).and_then(|()| try_answer(server, &mut world, asked)).unwrap_or_else(Reply::from)
}

fn try_answer(server: &Arc<Server>, world: &mut World, asked: &Asked) -> Result<Reply, Status> {
    let is_read = matches!(asked.method, Method::GET | Method::HEAD);
    let recorded = server.recording.as_ref().filter(|_| is_read);
    let recorded = recorded.and_then(|recording| recording.answer(&asked.path, asked.wants_aggregated()));
    let as_recorded = || recorded.map(|answer| Reply::text(answer.status, &answer.content_type, answer.body.clone()));
    // What failed when it was recorded fails again.
    if recorded.is_some_and(|answer| answer.status >= 400)
        && let Some(reply) = as_recorded()
    {
        return Ok(reply);
    }
    // Routes of the kubelet that name no type they produce: go-restful answers those who take anything.
    if asked.path.contains("/proxy/logs/") && !asked.header(header::ACCEPT).contains("*/*") {
        return Ok(Reply::text(406, "text/plain", "406: Not Acceptable\n\nAvailable representations: "));
    }
    let Some(target) = &asked.target else {
        return as_recorded().or_else(|| elsewhere(server, asked)).ok_or_else(Status::no_such_path);
    };
    match asked.verb {
        "get" if target.subresource.as_deref() == Some("log") => {
            list::log(world, &server.catalog, target).map(|text| Reply::text(200, "text/plain", text))
        }
        _ if target.subresource.is_some() => Err(Status::no_such_path()),
        "watch" => Watch::begin(server, world, asked, target).map(Reply::Watch),
        "list" => list::list(world, &server.catalog, asked, target).map(|text| Reply::json(200, text)),
        "get" => list::get(world, &server.catalog, asked, target).map(|text| Reply::json(200, text)),
        _ => write::write(world, &server.catalog, asked, target),
    }
}

/// Paths that are no resource.
fn elsewhere(server: &Server, asked: &Asked) -> Option<Reply> {
    let aggregated = asked.wants_aggregated() && matches!(asked.path.as_str(), "/api" | "/apis");
    match asked.path.as_str() {
        "/version" => Some(Reply::json(200, version_object(&server.version).to_string())),
        "/healthz" | "/livez" | "/readyz" => Some(Reply::text(200, "text/plain; charset=utf-8", "ok")),
        path if server.recording.is_none() => {
            let value = server.catalog.discovery(path, aggregated)?;
            let aggregated_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
            Some(Reply::text(200, if aggregated { aggregated_type } else { JSON }, value.to_string()))
        }
        _ => None,
    }
}

fn version_object(version: &str) -> Value {
    let mut parts = version.trim_start_matches('v').split('.');
    let (major, minor) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    json!({"major": major, "minor": minor, "gitVersion": version, "platform": "linux/amd64"})
}

/// Why a body ends before its end.
pub(crate) fn connection_cut() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "cut on purpose")
}
