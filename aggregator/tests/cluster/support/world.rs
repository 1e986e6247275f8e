//! Objects by path, and the answers a real server would give about them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use http::{Request, Response, StatusCode, header};
use jiff::Timestamp;
use kube::client::Body;
use serde_json::{Value, json};

pub struct World {
    /// When it was recorded.
    pub at: Timestamp,
    /// Lists by path: `/api/v1/pods`.
    lists: BTreeMap<String, Vec<Value>>,
    /// Other answers by path.
    whole: BTreeMap<String, (String, Vec<u8>)>,
    /// Refusals by path.
    refusals: BTreeMap<String, (u16, String)>,
    /// Discovery of an older server, by path.
    legacy: BTreeMap<String, Value>,
    requests: Mutex<Vec<String>>,
}

impl World {
    /// Reads a recording; what it does not have of discovery comes from the healthy cluster's.
    pub fn load(folder: &Path) -> World {
        let mut world = World {
            at: Timestamp::UNIX_EPOCH,
            lists: BTreeMap::new(),
            whole: BTreeMap::new(),
            refusals: BTreeMap::new(),
            legacy: BTreeMap::new(),
            requests: Mutex::new(Vec::new()),
        };
        let baseline = folder.parent().unwrap().join("baseline");
        for path in ["/api", "/apis"] {
            world.read(&baseline, path);
        }
        let index: Value = serde_json::from_slice(&std::fs::read(folder.join("index.json")).unwrap()).unwrap();
        for entry in index.as_array().unwrap() {
            world.entry(folder, entry);
        }
        world.at = world.last_heartbeat();
        world
    }

    fn read(&mut self, folder: &Path, path: &str) {
        let index: Value = serde_json::from_slice(&std::fs::read(folder.join("index.json")).unwrap()).unwrap();
        for entry in index.as_array().unwrap().iter().filter(|entry| entry["path"] == path) {
            self.entry(folder, entry);
        }
    }

    fn entry(&mut self, folder: &Path, entry: &Value) {
        let path = entry["path"].as_str().unwrap().to_owned();
        let body = std::fs::read(folder.join(entry["file"].as_str().unwrap())).unwrap();
        let status = u16::try_from(entry["status"].as_u64().unwrap()).unwrap();
        if status != 200 {
            self.refusals.insert(path, (status, String::from_utf8(body).unwrap()));
            return;
        }
        let value: Value = serde_json::from_slice(&body).unwrap();
        let is_discovery = matches!(path.as_str(), "/api" | "/apis");
        if is_discovery && value["kind"] != "APIGroupDiscoveryList" {
            // The form for older clients, see `only_legacy_discovery`.
            return;
        }
        match value.get("items").and_then(Value::as_array) {
            Some(items) if !is_discovery => {
                self.lists.insert(path, items.clone());
            }
            _ => {
                self.whole.insert(path, (entry["contentType"].as_str().unwrap().to_owned(), body));
            }
        }
    }

    /// A recording has no time of its own; somebody renewed a Lease just before.
    fn last_heartbeat(&self) -> Timestamp {
        let leases = self.lists.get("/apis/coordination.k8s.io/v1/leases").into_iter().flatten();
        leases.filter_map(|lease| lease["spec"]["renewTime"].as_str()?.parse().ok()).max().unwrap_or(self.at)
    }

    /// `seconds` before the recording, as the API writes it.
    pub fn ago(&self, seconds: i64) -> String {
        self.at.checked_sub(jiff::SignedDuration::from_secs(seconds)).unwrap().to_string()
    }

    /// The objects of a list, to be changed.
    pub fn list(&mut self, path: &str) -> &mut Vec<Value> {
        self.lists.entry(path.to_owned()).or_default()
    }

    /// Adds objects: each has a `kind` and, outside of the core group, an `apiVersion`.
    pub fn with(mut self, objects: Value) -> World {
        for object in objects.as_array().cloned().unwrap_or_else(|| vec![objects]) {
            let path = self.path_of(&object);
            self.list(&path).push(object);
        }
        self
    }

    /// Takes one object away.
    pub fn without(mut self, path: &str, name: &str) -> World {
        self.list(path).retain(|object| object["metadata"]["name"] != name);
        self
    }

    /// Changes one object.
    pub fn change(mut self, path: &str, name: &str, change: impl FnOnce(&mut Value)) -> World {
        let found = self.list(path).iter_mut().find(|object| object["metadata"]["name"] == name);
        change(found.unwrap_or_else(|| panic!("{path} has no {name}")));
        self
    }

    /// Refuses every request whose path begins so.
    pub fn refuse(mut self, path: &str, status: u16, text: &str) -> World {
        self.refusals.insert(path.to_owned(), (status, text.to_owned()));
        self
    }

    /// Changes what discovery says of the groups.
    pub fn change_groups(mut self, change: impl FnOnce(&mut Vec<Value>)) -> World {
        let (content_type, body) = self.whole.remove("/apis").unwrap();
        let mut list: Value = serde_json::from_slice(&body).unwrap();
        change(list["items"].as_array_mut().unwrap());
        self.whole.insert("/apis".to_owned(), (content_type, serde_json::to_vec(&list).unwrap()));
        self
    }

    /// Defines a namespaced custom resource.
    pub fn with_custom(self, group: &str, plural: &str, kind: &str) -> World {
        let (group, plural, kind) = (group.to_owned(), plural.to_owned(), kind.to_owned());
        self.change_groups(|groups| {
            groups.push(json!({"metadata": {"name": group}, "versions": [{
                "version": "v1", "freshness": "Current", "resources": [{
                    "resource": plural, "responseKind": {"kind": kind}, "scope": "Namespaced",
                    "singularResource": kind.to_lowercase(), "verbs": ["delete", "get", "list", "update"]
                }]
            }]}));
        })
    }

    /// An older server: the groups, and each group's resources at a path of its own.
    pub fn only_legacy_discovery(&mut self) {
        for root in ["/api", "/apis"] {
            let list: Value = serde_json::from_slice(&self.whole[root].1).unwrap();
            let mut groups = Vec::new();
            for group in list["items"].as_array().unwrap() {
                let name = group["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                let mut versions = Vec::new();
                for version in group["versions"].as_array().unwrap() {
                    let number = version["version"].as_str().unwrap();
                    versions.push(json!({"version": number}));
                    let resources = version["resources"].as_array().unwrap().iter().map(|one| {
                        json!({
                            "name": one["resource"], "kind": one["responseKind"]["kind"], "verbs": one["verbs"],
                            "namespaced": one["scope"] == "Namespaced", "singularName": one["singularResource"]
                        })
                    });
                    let body = json!({"kind": "APIResourceList", "resources": resources.collect::<Vec<_>>()});
                    let path =
                        if name.is_empty() { format!("{root}/{number}") } else { format!("{root}/{name}/{number}") };
                    self.legacy.insert(path, body);
                }
                groups.push(json!({"name": name, "versions": versions, "preferredVersion": versions[0]}));
            }
            let body = match root {
                "/api" => json!({"kind": "APIVersions", "versions": ["v1"]}),
                _ => json!({"kind": "APIGroupList", "groups": groups}),
            };
            self.legacy.insert(root.to_owned(), body);
        }
    }

    fn path_of(&self, object: &Value) -> String {
        let version = object["apiVersion"].as_str().unwrap_or("v1");
        let kind = object["kind"].as_str().unwrap_or_else(|| panic!("no kind: {object}"));
        let (root, group, version) = match version.split_once('/') {
            Some((group, version)) => ("/apis", group, version),
            None => ("/api", "", version),
        };
        let list: Value = serde_json::from_slice(&self.whole[root].1).unwrap();
        let groups = list["items"].as_array().unwrap().iter();
        let resources = groups
            .filter(|one| one["metadata"]["name"].as_str().unwrap_or_default() == group)
            .flat_map(|one| one["versions"].as_array().unwrap())
            .flat_map(|one| one["resources"].as_array().into_iter().flatten());
        let found = resources.clone().find(|one| one["responseKind"]["kind"] == kind);
        let plural =
            found.unwrap_or_else(|| panic!("discovery knows no {kind} of {group}"))["resource"].as_str().unwrap();
        match group {
            "" => format!("/api/{version}/{plural}"),
            group => format!("/apis/{group}/{version}/{plural}"),
        }
    }

    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// What a server would answer.
    pub fn answer(&self, request: &Request<Body>) -> Response<Body> {
        assert_eq!(request.method(), http::Method::GET, "only reading is allowed");
        let uri = request.uri();
        self.requests.lock().unwrap().push(uri.to_string());
        let path = uri.path().to_owned();
        if let Some((_, (status, text))) = self.refusals.iter().find(|(refused, _)| path.starts_with(*refused)) {
            return respond(*status, "text/plain", text.clone().into_bytes());
        }
        if let Some(body) = self.legacy.get(&path) {
            return respond(200, "application/json", serde_json::to_vec(body).unwrap());
        }
        if let Some((content_type, body)) = self.whole.get(&path) {
            return respond(200, content_type, body.clone());
        }
        let Some((list, namespace, name)) = self.parse(&path) else {
            return respond(404, "text/plain", b"404 page not found".to_vec());
        };
        let query = query(uri.query().unwrap_or_default());
        let empty = Vec::new();
        let items = self
            .lists
            .get(&list)
            .unwrap_or(&empty)
            .iter()
            .filter(|item| namespace.is_none() || item["metadata"]["namespace"].as_str() == namespace.as_deref());
        let body = match name {
            Some(name) => match items.clone().find(|item| item["metadata"]["name"] == name) {
                Some(found) => found.clone(),
                None => return respond(404, "application/json", br#"{"message":"not found"}"#.to_vec()),
            },
            None => {
                assert!(query.contains_key("limit"), "a list without a limit: {uri}");
                let chosen: Vec<&Value> = items.filter(|item| is_selected(item, &query)).collect();
                json!({"kind": "List", "metadata": {}, "items": chosen})
            }
        };
        respond(200, "application/json", serde_json::to_vec(&body).unwrap())
    }

    /// The list a path belongs to, its namespace and its name. `None` for what is not served.
    fn parse(&self, path: &str) -> Option<(String, Option<String>, Option<String>)> {
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let (root, group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("/api", "", *version, rest),
            ["apis", group, version, rest @ ..] => ("/apis", *group, *version, rest),
            _ => return None,
        };
        let owned = |text: &&str| Some((*text).to_owned());
        let (plural, namespace, name) = match rest {
            ["namespaces", namespace, plural] => (*plural, owned(namespace), None),
            ["namespaces", namespace, plural, name] => (*plural, owned(namespace), owned(name)),
            [plural] => (*plural, None, None),
            [plural, name] => (*plural, None, owned(name)),
            _ => return None,
        };
        let list: Value = serde_json::from_slice(&self.whole[root].1).unwrap();
        let is_served = list["items"].as_array()?.iter().any(|one| {
            one["metadata"]["name"].as_str().unwrap_or_default() == group
                && one["versions"].as_array().into_iter().flatten().any(|one| {
                    one["version"] == version
                        && one["resources"].as_array().into_iter().flatten().any(|one| one["resource"] == plural)
                })
        });
        let base = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        is_served.then(|| (format!("{base}/{plural}"), namespace, name))
    }
}

fn respond(status: u16, content_type: &str, body: Vec<u8>) -> Response<Body> {
    let response = Response::builder().status(StatusCode::from_u16(status).unwrap());
    response.header(header::CONTENT_TYPE, content_type).body(Body::from(body)).unwrap()
}

fn query(text: &str) -> BTreeMap<String, String> {
    text.split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key.to_owned(), decode(value)))
        .collect()
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let hex = [rest.next().unwrap(), rest.next().unwrap()];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap());
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn is_selected(item: &Value, query: &BTreeMap<String, String>) -> bool {
    let pairs = |key: &str| -> Vec<(String, String)> {
        let text = query.get(key).cloned().unwrap_or_default();
        text.split(',').filter_map(|pair| pair.split_once('=')).map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
    };
    let field = |path: &str| item.pointer(&format!("/{}", path.replace('.', "/"))).and_then(Value::as_str);
    pairs("fieldSelector").iter().all(|(path, value)| field(path) == Some(value))
        && pairs("labelSelector").iter().all(|(key, value)| item["metadata"]["labels"][key] == **value)
}
