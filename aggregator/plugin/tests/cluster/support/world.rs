//! A recorded cluster that a test changes before it is asked.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::path::Path;

use jiff::Timestamp;
use serde_json::{Value, json};

const JSON: &str = "application/json";
const NAMESPACES: &str = "/api/v1/namespaces";
const ACCOUNTS: &str = "/api/v1/serviceaccounts";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// A number that a seed and a text give.
pub fn seeded(seed: u64, text: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    (seed, text).hash(&mut hasher);
    hasher.finish()
}

pub struct World {
    /// When it was recorded.
    pub at: Timestamp,
    /// Lists by path: `/api/v1/pods`.
    lists: BTreeMap<String, Vec<Value>>,
    /// Aggregated discovery: of `/api` and of `/apis`.
    discovery: BTreeMap<String, Value>,
    /// Refusals by path.
    refusals: BTreeMap<String, (u16, String)>,
    /// Namespaces that are gone, with pods left in them.
    lost_namespaces: BTreeSet<String>,
    /// Service accounts that were deleted: namespace and name.
    lost_accounts: BTreeSet<(String, String)>,
    is_old: bool,
}

impl World {
    /// Reads a recording.
    pub fn load(folder: &Path) -> World {
        let mut world = World {
            at: Timestamp::UNIX_EPOCH,
            lists: BTreeMap::new(),
            discovery: BTreeMap::new(),
            refusals: BTreeMap::new(),
            lost_namespaces: BTreeSet::new(),
            lost_accounts: BTreeSet::new(),
            is_old: false,
        };
        let index: Value = serde_json::from_slice(&std::fs::read(folder.join("index.json")).unwrap()).unwrap();
        for entry in index.as_array().unwrap() {
            world.entry(folder, entry);
        }
        world.at = world.last_heartbeat();
        world
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
        if value["kind"] == "APIGroupDiscoveryList" {
            self.discovery.insert(path, value);
        } else if let Some(items) = value["items"].as_array() {
            self.lists.insert(path, items.clone());
        }
    }

    /// A recording has no time of its own; some component renewed a Lease just before.
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

    /// Whether a list has an object of this name.
    pub fn has(&self, path: &str, name: &str) -> bool {
        self.lists.get(path).is_some_and(|list| list.iter().any(|object| object["metadata"]["name"] == name))
    }

    /// Puts the objects of each list into another order.
    pub fn reordered(mut self, seed: u64) -> World {
        for list in self.lists.values_mut() {
            list.sort_by_cached_key(|object| seeded(seed, object.to_string()));
        }
        self
    }

    /// One node, as it is.
    pub fn node(&self, name: &str) -> Value {
        let nodes = self.lists.get("/api/v1/nodes").into_iter().flatten();
        nodes.into_iter().find(|node| node["metadata"]["name"] == name).cloned().unwrap()
    }

    /// Takes one object away.
    pub fn without(mut self, path: &str, name: &str) -> World {
        self.list(path).retain(|object| object["metadata"]["name"] != name);
        self
    }

    /// RBAC decides nothing.
    pub fn without_rbac(self) -> World {
        let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
        self.without(roles, super::GARBAGE_COLLECTOR_ROLE).without(roles, super::NAMESPACE_CONTROLLER_ROLE)
    }

    /// Changes one object.
    pub fn change(mut self, path: &str, name: &str, change: impl FnOnce(&mut Value)) -> World {
        let found = self.list(path).iter_mut().find(|object| object["metadata"]["name"] == name);
        change(found.unwrap_or_else(|| panic!("{path} has no {name}")));
        self
    }

    /// Deletes a service account that something runs as.
    pub fn without_account(mut self, namespace: &str, name: &str) -> World {
        self.lost_accounts.insert((namespace.to_owned(), name.to_owned()));
        self
    }

    /// Adds a service account that is not as others.
    pub fn with_account(mut self, metadata: Value) -> World {
        let name = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
        self.lost_accounts.remove(&(name("namespace"), name("name")));
        self.list(ACCOUNTS).push(json!({"kind": "ServiceAccount", "metadata": metadata}));
        self
    }

    /// Takes a namespace away, and leaves its pods.
    pub fn without_namespace(mut self, name: &str) -> World {
        self.lost_namespaces.insert(name.to_owned());
        self
    }

    /// No pod and no claim is made without its namespace.
    fn namespaces(&self) -> Vec<Value> {
        let mut namespaces = self.lists.get(NAMESPACES).cloned().unwrap_or_default();
        let name = |one: &Value| one["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        namespaces.retain(|one| !self.lost_namespaces.contains(&name(one)));
        let mut known: BTreeSet<String> = namespaces.iter().map(name).chain(self.lost_namespaces.clone()).collect();
        let inside = ["/api/v1/pods", "/api/v1/persistentvolumeclaims"].map(|path| self.lists.get(path));
        for one in inside.into_iter().flatten().flatten() {
            let name = one["metadata"]["namespace"].as_str().unwrap_or_default();
            if known.insert(name.to_owned()) {
                namespaces
                    .push(json!({"kind": "Namespace", "metadata": {"name": name}, "status": {"phase": "Active"}}));
            }
        }
        namespaces
    }

    /// Nothing starts without its service account, so whatever runs has one.
    fn accounts(&self) -> Vec<Value> {
        let mut accounts = self.lists.get(ACCOUNTS).cloned().unwrap_or_default();
        let workloads = ["deployments", "statefulsets", "daemonsets"].map(|plural| format!("/apis/apps/v1/{plural}"));
        let pods = self.lists.get("/api/v1/pods").into_iter().flatten().map(|pod| (pod, &pod["spec"]));
        let running = workloads.iter().filter_map(|path| self.lists.get(path)).flatten();
        for (one, spec) in running.map(|one| (one, &one["spec"]["template"]["spec"])).chain(pods) {
            let name = spec["serviceAccountName"].as_str().unwrap_or("default");
            accounts.push(json!({"metadata": {"namespace": one["metadata"]["namespace"], "name": name}}));
        }
        let key = |one: &Value| {
            let text = |field: &str| one["metadata"][field].as_str().unwrap_or_default().to_owned();
            (text("namespace"), text("name"))
        };
        let mut known = self.lost_accounts.clone();
        accounts.retain(|one| known.insert(key(one)));
        accounts
    }

    /// Refuses every request whose path begins so.
    pub fn refuse(mut self, path: &str, status: u16, text: &str) -> World {
        self.refusals.insert(path.to_owned(), (status, text.to_owned()));
        self
    }

    /// Changes what discovery says of the groups.
    pub fn change_groups(mut self, change: impl FnOnce(&mut Vec<Value>)) -> World {
        change(self.discovery.get_mut("/apis").unwrap()["items"].as_array_mut().unwrap());
        self
    }

    /// Defines a namespaced custom resource.
    pub fn with_custom(self, group: &str, plural: &str, kind: &str) -> World {
        self.with_resource(group, plural, kind, "Namespaced")
    }

    /// Defines a custom resource that lives in no namespace.
    pub fn with_cluster_wide(self, group: &str, plural: &str, kind: &str) -> World {
        self.with_resource(group, plural, kind, "Cluster")
    }

    fn with_resource(self, group: &str, plural: &str, kind: &str, scope: &str) -> World {
        let (group, plural, kind) = (group.to_owned(), plural.to_owned(), kind.to_owned());
        self.change_groups(|groups| {
            groups.push(json!({"metadata": {"name": group}, "versions": [{
                "version": "v1", "freshness": "Current", "resources": [{
                    "resource": plural, "responseKind": {"kind": kind}, "scope": scope,
                    "singularResource": kind.to_lowercase(), "verbs": ["delete", "get", "list", "update", "watch"]
                }]
            }]}));
        })
    }

    /// A server that does not aggregate its discovery.
    pub fn only_legacy_discovery(mut self) -> World {
        self.is_old = true;
        self
    }

    /// Writes it down as a recording.
    pub fn write(&self, folder: &Path) {
        let mut index = Vec::new();
        let mut put = |path: &str, accept: &str, status: u16, content_type: &str, body: &[u8]| {
            let file = format!("{}.json", index.len());
            std::fs::write(folder.join(&file), body).unwrap();
            index.push(json!({
                "path": path, "accept": accept, "status": status, "contentType": content_type, "file": file
            }));
        };
        for (path, (status, text)) in &self.refusals {
            put(path, JSON, *status, "text/plain", text.as_bytes());
        }
        let is_refused = |path: &str| self.refusals.keys().any(|refused| path.starts_with(refused));
        let mut lists = self.lists.clone();
        lists.insert(NAMESPACES.to_owned(), self.namespaces());
        lists.insert(ACCOUNTS.to_owned(), self.accounts());
        for (path, items) in lists.iter().filter(|(path, _)| !is_refused(path)) {
            put(path, JSON, 200, JSON, json!({"kind": "List", "items": items}).to_string().as_bytes());
        }
        for (root, list) in self.discovery.iter().filter(|_| !self.is_old) {
            put(root, AGGREGATED, 200, AGGREGATED, list.to_string().as_bytes());
        }
        for (path, list) in self.legacy_discovery() {
            put(&path, JSON, 200, JSON, list.to_string().as_bytes());
        }
        std::fs::write(folder.join("index.json"), Value::Array(index).to_string()).unwrap();
    }

    /// The groups, and each group's resources at a path of its own.
    fn legacy_discovery(&self) -> Vec<(String, Value)> {
        let mut found = vec![("/api".to_owned(), json!({"kind": "APIVersions", "versions": ["v1"]}))];
        let mut groups = Vec::new();
        for (root, list) in &self.discovery {
            for group in list["items"].as_array().unwrap() {
                let name = group["metadata"]["name"].as_str().unwrap_or_default();
                let mut versions = Vec::new();
                for version in group["versions"].as_array().unwrap() {
                    let number = version["version"].as_str().unwrap();
                    versions.push(json!({"version": number}));
                    let resources = version["resources"].as_array().into_iter().flatten().map(|one| {
                        json!({
                            "name": one["resource"], "kind": one["responseKind"]["kind"], "verbs": one["verbs"],
                            "namespaced": one["scope"] == "Namespaced", "singularName": one["singularResource"]
                        })
                    });
                    let resources: Vec<Value> = resources.collect();
                    let version = if name.is_empty() { number.to_owned() } else { format!("{name}/{number}") };
                    let list = json!({"kind": "APIResourceList", "groupVersion": version, "resources": resources});
                    found.push((format!("{root}/{version}"), list));
                }
                if !name.is_empty() {
                    groups.push(json!({"name": name, "versions": versions, "preferredVersion": versions[0]}));
                }
            }
        }
        found.push(("/apis".to_owned(), json!({"kind": "APIGroupList", "groups": groups})));
        found
    }

    fn path_of(&self, object: &Value) -> String {
        let version = object["apiVersion"].as_str().unwrap_or("v1");
        let kind = object["kind"].as_str().unwrap_or_else(|| panic!("no kind: {object}"));
        let (root, group, version) = match version.split_once('/') {
            Some((group, version)) => ("/apis", group, version),
            None => ("/api", "", version),
        };
        let groups = self.discovery[root]["items"].as_array().unwrap().iter();
        let mut resources = groups
            .filter(|one| one["metadata"]["name"].as_str().unwrap_or_default() == group)
            .flat_map(|one| one["versions"].as_array().unwrap())
            .flat_map(|one| one["resources"].as_array().into_iter().flatten());
        let found = resources.find(|one| one["responseKind"]["kind"] == kind);
        let plural =
            found.unwrap_or_else(|| panic!("discovery knows no {kind} of {group}"))["resource"].as_str().unwrap();
        match group {
            "" => format!("/api/{version}/{plural}"),
            group => format!("/apis/{group}/{version}/{plural}"),
        }
    }
}
