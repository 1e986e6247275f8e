//! Which resources there are.

use std::collections::HashMap;

use serde_json::{Value, json};

/// Group and version, plural, kind, whether it lies in a namespace. One line per resource.
const TABLE: &[(&str, &str, &str, bool)] = &[
    ("v1", "configmaps", "ConfigMap", true),
    ("v1", "endpoints", "Endpoints", true),
    ("v1", "namespaces", "Namespace", false),
    ("v1", "nodes", "Node", false),
    ("v1", "persistentvolumeclaims", "PersistentVolumeClaim", true),
    ("v1", "persistentvolumes", "PersistentVolume", false),
    ("v1", "pods", "Pod", true),
    ("v1", "serviceaccounts", "ServiceAccount", true),
    ("v1", "services", "Service", true),
    ("admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", false),
    ("admissionregistration.k8s.io/v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", false),
    ("admissionregistration.k8s.io/v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", false),
    ("admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", false),
    ("apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", false),
    ("apiregistration.k8s.io/v1", "apiservices", "APIService", false),
    ("apps/v1", "daemonsets", "DaemonSet", true),
    ("apps/v1", "deployments", "Deployment", true),
    ("apps/v1", "replicasets", "ReplicaSet", true),
    ("apps/v1", "statefulsets", "StatefulSet", true),
    ("batch/v1", "jobs", "Job", true),
    ("coordination.k8s.io/v1", "leases", "Lease", true),
    ("discovery.k8s.io/v1", "endpointslices", "EndpointSlice", true),
    ("events.k8s.io/v1", "events", "Event", true),
    ("policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", true),
    ("storage.k8s.io/v1", "csidrivers", "CSIDriver", false),
    ("storage.k8s.io/v1", "csinodes", "CSINode", false),
    ("storage.k8s.io/v1", "storageclasses", "StorageClass", false),
    ("storage.k8s.io/v1", "volumeattachments", "VolumeAttachment", false),
];

/// One kind of object and where it is served and stored.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    /// Empty for the core group.
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) kind: String,
    pub(crate) namespaced: bool,
    /// Below the store's root.
    pub(crate) dir: String,
    /// Core events are the same objects as those of events.k8s.io, in an older form.
    pub(crate) stored_as: Option<usize>,
    /// Custom resources repeat kind and version in each item of a list.
    pub(crate) typed_items: bool,
}

impl Resource {
    pub(crate) fn group_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// As errors name it: `pods`, `events.events.k8s.io`.
    pub(crate) fn qualified(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    pub(crate) fn details(&self, name: &str) -> Value {
        let mut details = json!({"name": name, "kind": self.plural});
        if !self.group.is_empty() {
            details["group"] = json!(self.group);
        }
        details
    }

    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.group == group && self.plural == plural
    }

    /// As discovery describes it.
    fn described(&self) -> Value {
        json!({
            "name": self.plural, "singularName": self.kind.to_lowercase(), "namespaced": self.namespaced,
            "kind": self.kind, "verbs": VERBS,
        })
    }

    fn described_aggregated(&self) -> Value {
        json!({
            "resource": self.plural, "singularResource": self.kind.to_lowercase(), "verbs": VERBS,
            "scope": if self.namespaced { "Namespaced" } else { "Cluster" },
            "responseKind": {"group": "", "version": "", "kind": self.kind},
        })
    }
}

const VERBS: [&str; 7] = ["create", "delete", "get", "list", "patch", "update", "watch"];

/// All resources that are served.
#[derive(Debug)]
pub(crate) struct Catalog {
    resources: Vec<Resource>,
    by_path: HashMap<(String, String), usize>,
    by_dir: HashMap<String, usize>,
}

impl Catalog {
    pub(crate) fn new() -> Self {
        let mut catalog = Self { resources: Vec::new(), by_path: HashMap::new(), by_dir: HashMap::new() };
        for &(group_version, plural, kind, namespaced) in TABLE {
            catalog.add(group_version, plural, kind, namespaced, plural.to_owned());
        }
        let events = catalog.find("events.k8s.io/v1", "events");
        let core = catalog.add("v1", "events", "Event", true, "core/v1/events".to_owned());
        catalog.resources[core].stored_as = events;
        catalog
    }

    /// Adds what a recorded resource list (`APIResourceList`) names and is not known yet.
    pub(crate) fn extend(&mut self, recorded: &Value) {
        let Some(group_version) = recorded["groupVersion"].as_str() else { return };
        let is_custom = |group: &str| !group.is_empty() && !group.ends_with(".k8s.io") && group.contains('.');
        for resource in recorded["resources"].as_array().into_iter().flatten() {
            let (Some(plural), Some(kind)) = (resource["name"].as_str(), resource["kind"].as_str()) else { continue };
            // What has no watch is not stored, but made up for each request.
            let is_stored = resource["verbs"].as_array().is_some_and(|verbs| verbs.contains(&json!("watch")));
            if plural.contains('/') || !is_stored || self.find(group_version, plural).is_some() {
                continue;
            }
            let (group, version) = group_version.rsplit_once('/').unwrap_or(("", group_version));
            let dir = format!("{}/{version}/{plural}", if group.is_empty() { "core" } else { group });
            let index = self.add(group_version, plural, kind, resource["namespaced"] == true, dir);
            self.resources[index].typed_items = is_custom(group);
        }
    }

    fn add(&mut self, group_version: &str, plural: &str, kind: &str, namespaced: bool, dir: String) -> usize {
        let (group, version) = group_version.rsplit_once('/').unwrap_or(("", group_version));
        let index = self.resources.len();
        self.by_path.insert((group_version.to_owned(), plural.to_owned()), index);
        self.by_dir.insert(dir.clone(), index);
        self.resources.push(Resource {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: plural.to_owned(),
            kind: kind.to_owned(),
            namespaced,
            dir,
            stored_as: None,
            typed_items: false,
        });
        index
    }

    pub(crate) fn len(&self) -> usize {
        self.resources.len()
    }

    pub(crate) fn get(&self, index: usize) -> &Resource {
        &self.resources[index]
    }

    /// Where the objects of a resource are kept.
    pub(crate) fn home(&self, index: usize) -> usize {
        self.resources[index].stored_as.unwrap_or(index)
    }

    pub(crate) fn find(&self, group_version: &str, plural: &str) -> Option<usize> {
        self.by_path.get(&(group_version.to_owned(), plural.to_owned())).copied()
    }

    /// The resource whose files are in `dir`.
    pub(crate) fn in_dir(&self, dir: &str) -> Option<usize> {
        self.by_dir.get(dir).copied()
    }

    /// What discovery says without a recording. `None`: no such group.
    pub(crate) fn discovery(&self, path: &str, aggregated: bool) -> Option<Value> {
        match (path, aggregated) {
            ("/api", true) => Some(self.aggregated(|group| group.is_empty())),
            ("/apis", true) => Some(self.aggregated(|group| !group.is_empty())),
            ("/api", false) => Some(json!({
                "kind": "APIVersions", "versions": ["v1"],
                "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}],
            })),
            ("/apis", false) => {
                let groups: Vec<Value> =
                    self.groups().filter(|group| !group.is_empty()).map(|g| self.group(g)).collect();
                Some(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
            }
            _ => {
                let group_version = path.strip_prefix("/apis/").or_else(|| path.strip_prefix("/api/"))?;
                if !group_version.contains('/') && path.starts_with("/apis/") {
                    let mut group = self.groups().find(|group| *group == group_version).map(|g| self.group(g))?;
                    group["kind"] = json!("APIGroup");
                    group["apiVersion"] = json!("v1");
                    return Some(group);
                }
                let resources: Vec<Value> = self
                    .resources
                    .iter()
                    .filter(|resource| resource.group_version() == group_version)
                    .map(Resource::described)
                    .collect();
                (!resources.is_empty()).then(|| {
                    json!({
                        "kind": "APIResourceList", "apiVersion": "v1",
                        "groupVersion": group_version, "resources": resources,
                    })
                })
            }
        }
    }

    fn groups(&self) -> impl Iterator<Item = &str> {
        let mut seen: Vec<&str> = Vec::new();
        for resource in &self.resources {
            if !seen.contains(&resource.group.as_str()) {
                seen.push(&resource.group);
            }
        }
        seen.into_iter()
    }

    fn versions(&self, group: &str) -> Vec<&str> {
        let mut versions: Vec<&str> = Vec::new();
        for resource in self.resources.iter().filter(|resource| resource.group == group) {
            if !versions.contains(&resource.version.as_str()) {
                versions.push(&resource.version);
            }
        }
        versions
    }

    fn group(&self, group: &str) -> Value {
        let versions: Vec<Value> = self
            .versions(group)
            .into_iter()
            .map(|version| json!({"groupVersion": format!("{group}/{version}"), "version": version}))
            .collect();
        json!({"name": group, "preferredVersion": versions.first(), "versions": versions})
    }

    fn aggregated(&self, wanted: impl Fn(&str) -> bool) -> Value {
        let groups = self.groups().filter(|group| wanted(group)).map(|group| {
            let versions = self.versions(group).into_iter().map(|version| {
                let of_version = |resource: &&Resource| resource.group == group && resource.version == version;
                let resources: Vec<Value> =
                    self.resources.iter().filter(of_version).map(Resource::described_aggregated).collect();
                json!({"version": version, "resources": resources, "freshness": "Current"})
            });
            let metadata = if group.is_empty() { json!({}) } else { json!({"name": group}) };
            json!({"metadata": metadata, "versions": versions.collect::<Vec<_>>()})
        });
        json!({
            "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {},
            "items": groups.collect::<Vec<_>>(),
        })
    }
}
