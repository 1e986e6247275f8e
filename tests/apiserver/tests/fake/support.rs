//! A running fake and a plain HTTP client, to see what is really on the wire.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    time::{Duration, Instant},
};

use apiserver::{FakeApiServer, Store};
use serde_json::{Value, json};

pub const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/default/events";
pub const APPLY: &str = "application/apply-patch+yaml";
pub const JSON: &str = "application/json";

pub struct Server {
    pub fake: FakeApiServer,
    _dir: tempfile::TempDir,
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
        Self { fake: FakeApiServer::start(store).unwrap(), _dir: dir }
    }

    pub fn recorded(name: &str) -> Self {
        let recording = apiserver::recordings().unwrap().remove(name).unwrap();
        Self::of(|store| store.with_recording(recording))
    }

    pub fn store(&self) -> &Store {
        self.fake.store()
    }

    pub fn pod(&self, namespace: &str, name: &str, node: &str) {
        self.store().put_pod(namespace, name, &json!({"spec": {"nodeName": node}})).unwrap();
    }

    pub fn open(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(self.fake.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: fake\r\nUser-Agent: tester/1\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()));
        stream.write_all(head.as_bytes()).unwrap();
        BufReader::new(stream)
    }

    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut reader = self.open(method, path, headers, body);
        let (status, headers) = head(&mut reader);
        let lower = headers.to_lowercase();
        let mut rest = Vec::new();
        let ended = reader.read_to_end(&mut rest).is_ok();
        let (body, complete) = if lower.contains("transfer-encoding: chunked") {
            unchunk(&rest)
        } else {
            let length = lower.split("content-length: ").nth(1).and_then(|text| text.lines().next()?.parse().ok());
            let complete = length.is_none_or(|length: usize| length == rest.len());
            (rest, complete)
        };
        Answer { status, headers: lower, body, complete: complete && ended }
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
        Watch::new(self.open("GET", path_and_query, &[("Accept", JSON)], ""))
    }

    pub fn version(&self, path: &str) -> String {
        self.get(path).json()["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
    }
}

fn head(reader: &mut BufReader<TcpStream>) -> (u16, String) {
    let mut headers = String::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        headers.push_str(&line);
    }
    let status = headers.split_whitespace().nth(1).unwrap_or_else(|| panic!("no answer: {headers:?}"));
    (status.parse().unwrap(), headers)
}

fn unchunk(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    loop {
        let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") else { return (body, false) };
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        rest = &rest[end + 2..];
        if size == 0 {
            return (body, true);
        }
        if rest.len() < size + 2 {
            body.extend(rest);
            return (body, false);
        }
        body.extend(&rest[..size]);
        rest = &rest[size + 2..];
    }
}

/// The lines of a watch.
pub struct Watch {
    reader: BufReader<TcpStream>,
    pub status: u16,
    ready: Vec<Value>,
}

impl Watch {
    fn new(mut reader: BufReader<TcpStream>) -> Self {
        let (status, _) = head(&mut reader);
        Self { reader, status, ready: Vec::new() }
    }

    /// The next event, bookmarks too; `None` when the watch is over.
    pub fn next_of_all(&mut self) -> Option<Value> {
        let begun = Instant::now();
        while self.ready.is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(10), "the watch says nothing");
            let mut size = String::new();
            self.reader.read_line(&mut size).unwrap();
            let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
            if size == 0 {
                return None;
            }
            let mut chunk = vec![0; size + 2];
            self.reader.read_exact(&mut chunk).unwrap();
            let lines = chunk[..size].split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
            self.ready.extend(lines.map(|line| serde_json::from_slice::<Value>(line).unwrap()));
        }
        Some(self.ready.remove(0))
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
