//! A running fake and a plain HTTP client, to see what is really on the wire.

use std::io::{BufRead as _, BufReader, Read as _};
use std::time::Duration;

use apiserver::{FakeApiServer, Store};
use serde_json::{Value, json};
use ureq::{Agent, Body, BodyReader, http};

pub const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/default/events";
pub const APPLY: &str = "application/apply-patch+yaml";
pub const JSON: &str = "application/json";
/// How long the fake may take to begin an answer.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// How long an answer may take to end; that of a watch goes on as long as the test.
const LONGEST: Duration = Duration::from_mins(2);

pub struct Server {
    pub fake: FakeApiServer,
    dir: tempfile::TempDir,
}

pub struct Answer {
    pub status: u16,
    pub headers: String,
    pub body: Vec<u8>,
    /// Whether the body came to its end.
    pub complete: bool,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn message(&self) -> String {
        self.json()["message"].as_str().unwrap().to_owned()
    }

    pub fn names(&self) -> Vec<String> {
        let list = self.json();
        let items = list["items"].as_array().unwrap_or_else(|| panic!("no list: {list}")).iter();
        items.map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    }
}

impl Server {
    pub fn start() -> Self {
        Self::of(|store| store)
    }

    pub fn of(prepare: impl FnOnce(Store) -> Store) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = prepare(Store::new(dir.path()));
        Self { fake: FakeApiServer::start(store).unwrap(), dir }
    }

    pub fn recorded(name: &str) -> Self {
        let recording = apiserver::recordings().unwrap().remove(name).unwrap();
        Self::of(|store| store.with_recording(recording))
    }

    /// Another fake with the same objects.
    pub fn restarted(self) -> Self {
        let Server { fake, dir } = self;
        fake.stop().unwrap();
        Self { fake: FakeApiServer::start(Store::new(dir.path())).unwrap(), dir }
    }

    pub fn store(&self) -> &Store {
        self.fake.store()
    }

    pub fn pod(&self, namespace: &str, name: &str, node: &str) {
        self.store().put_pod(namespace, name, &json!({"spec": {"nodeName": node}})).unwrap();
    }

    /// What is asked of this server.
    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> http::request::Builder {
        let request = http::Request::builder().method(method).uri(format!("http://{}{path}", self.fake.address()));
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))
    }

    fn open(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> http::Response<Body> {
        let (agent, request) = (client(PATIENCE), self.request(method, path, headers));
        let answer =
            if body.is_empty() { agent.run(request.body(()).unwrap()) } else { agent.run(request.body(body).unwrap()) };
        answer.unwrap()
    }

    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let answer = self.open(method, path, headers, body);
        let (head, body) = answer.into_parts();
        let line = |(name, value): (&http::HeaderName, &http::HeaderValue)| format!("{name}: {value:?}\n");
        let headers = head.headers.iter().map(line).collect::<String>().to_lowercase().replace('"', "");
        let mut bytes = Vec::new();
        let complete = body.into_reader().read_to_end(&mut bytes).is_ok();
        Answer { status: head.status.as_u16(), headers, body: bytes, complete }
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[("Accept", JSON)], "")
    }

    pub fn get_as(&self, path: &str, accept: &str) -> Answer {
        self.ask("GET", path, &[("Accept", accept)], "")
    }

    pub fn apply(&self, name: &str, manager: &str, force: bool, event: &Value) -> Answer {
        let path = format!("{EVENTS}/{name}?fieldManager={manager}&force={force}");
        self.ask("PATCH", &path, &[("Content-Type", APPLY)], &event.to_string())
    }

    pub fn create(&self, event: &Value) -> Answer {
        self.ask("POST", EVENTS, &[("Content-Type", JSON)], &event.to_string())
    }

    pub fn watch(&self, path_and_query: &str) -> Watch {
        let answer = self.open("GET", path_and_query, &[("Accept", JSON)], "");
        let status = answer.status().as_u16();
        Watch { status, lines: BufReader::new(answer.into_body().into_reader()) }
    }

    pub fn version(&self, path: &str) -> String {
        self.get(path).json()["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
    }
}

/// Asks over one connection, and gives up on an answer that takes longer to begin.
pub fn client(patience: Duration) -> Agent {
    let config = Agent::config_builder().http_status_as_error(false).user_agent("tester/1").accept_encoding("");
    Agent::new_with_config(config.timeout_recv_response(Some(patience)).timeout_recv_body(Some(LONGEST)).build())
}

/// The lines of a watch.
pub struct Watch {
    pub status: u16,
    lines: BufReader<BodyReader<'static>>,
}

impl Watch {
    /// The next event, bookmarks too; `None` when the watch has ended.
    pub fn next_of_all(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
    }

    /// The next event that is no bookmark: its type, the object's name.
    pub fn next(&mut self) -> (String, String) {
        loop {
            let event = self.next_of_all().expect("the watch goes on");
            if event["type"] != "BOOKMARK" {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                return (text(&event["type"]), text(&event["object"]["metadata"]["name"]));
            }
        }
    }
}

pub fn seen(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}

/// An event a real server takes.
pub fn event(name: &str) -> Value {
    json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event",
        "metadata": {"name": name, "namespace": "default", "annotations": {"why-terminating/finding": "{}"}},
        "eventTime": "2026-11-20T20:58:00.000000Z", "type": "Warning",
        "reason": "PodVolumeUnmountBlocked", "action": "TerminatePod",
        "reportingController": "why-terminating/agent", "reportingInstance": "node-a",
        "regarding": {"apiVersion": "v1", "kind": "Node", "name": "node-a", "uid": "d9be1216"},
        "related": {"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "db-0", "uid": "0f2e"},
        "note": "shop/db-0: volume data is still mounted",
    })
}
