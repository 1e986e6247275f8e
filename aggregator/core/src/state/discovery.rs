//! What the API server says that it serves.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Resource;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Version {
    /// `v1.36.2`, or `v1.21.5-eks-bc4871b`. The fields beside it are empty in builds from source.
    pub git_version: String,
}

impl Version {
    /// The minor version as a number.
    pub fn minor(&self) -> Option<u32> {
        self.git_version.split('.').nth(1)?.parse().ok()
    }
}

/// Every group and version with its resources.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Discovery {
    /// In the server's order, which prefers the first version of a group.
    pub versions: Vec<ServedVersion>,
}

/// A version of a group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServedVersion {
    /// The group; empty for the core group.
    pub group: String,
    pub version: String,
    /// Whether the server could not ask who serves it, so that its resources are unknown.
    pub stale: bool,
    /// Its resources, without subresources.
    pub resources: Vec<ServedResource>,
}

/// A resource that can be asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServedResource {
    /// `pods`.
    pub plural: String,
    /// `pod`.
    pub singular: String,
    /// `Pod`.
    pub kind: String,
    /// `po`.
    pub short_names: Vec<String>,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// What may be done with it.
    pub verbs: Vec<String>,
}

impl Discovery {
    /// Adds what an `APIGroupDiscoveryList` says.
    pub fn add_aggregated(&mut self, list: &Value) {
        for group in array(list, "items") {
            let name = text(group.get("metadata").unwrap_or(&Value::Null), "name");
            for version in array(group, "versions") {
                self.versions.push(ServedVersion {
                    group: name.clone(),
                    version: text(version, "version"),
                    stale: text(version, "freshness") == "Stale",
                    resources: array(version, "resources").map(aggregated_resource).collect(),
                });
            }
        }
    }

    /// Adds what an `APIResourceList` of an older server says; `None` when it could not be had.
    pub fn add_legacy(&mut self, group: &str, version: &str, list: Option<&Value>) {
        let resources = list.map(|list| array(list, "resources").filter_map(legacy_resource).collect());
        self.versions.push(ServedVersion {
            group: group.to_owned(),
            version: version.to_owned(),
            stale: resources.is_none(),
            resources: resources.unwrap_or_default(),
        });
    }

    /// Groups and versions whose resources the server could not ask for.
    pub fn stale(&self) -> impl Iterator<Item = &ServedVersion> {
        self.versions.iter().filter(|served| served.stale)
    }

    /// What a namespace deletion empties: every resource with `list` and `delete`, once, in the
    /// preferred version.
    pub fn deletable_namespaced(&self) -> Vec<Resource> {
        self.deletable(true)
    }

    /// The same of what lives in no namespace.
    pub fn deletable_cluster_wide(&self) -> Vec<Resource> {
        self.deletable(false)
    }

    fn deletable(&self, namespaced: bool) -> Vec<Resource> {
        let all = self.deletable_kinds().into_iter();
        all.filter(|(_, served)| served.namespaced == namespaced).map(|(resource, _)| resource).collect()
    }

    /// The resource with this group and plural, in its preferred version.
    pub fn find(&self, group: &str, plural: &str) -> Option<(Resource, &ServedResource)> {
        self.each().find(|(resource, _)| resource.group == group && resource.plural == plural)
    }

    /// The resource that holds this kind in this very version.
    pub fn resource_of_kind(&self, group: &str, version: &str, kind: &str) -> Option<(Resource, &ServedResource)> {
        let is_it = |(resource, served): &(Resource, &ServedResource)| {
            resource.group == group && resource.version == version && served.kind == kind
        };
        self.each().find(is_it)
    }

    /// Whether any version of this group is served, or may be.
    pub fn has_group(&self, group: &str) -> bool {
        self.versions.iter().any(|served| served.group == group)
    }

    /// Whether the server could not ask who serves this group.
    pub fn is_stale(&self, group: &str) -> bool {
        self.stale().any(|served| served.group == group)
    }

    /// The resource a person means by `word`: plural, singular, kind or short name, with `.group`, `.version.group` or
    /// without (`pods.v1.`, as kubectl has it). Of several the server's order decides, as it does for kubectl.
    pub fn named(&self, word: &str) -> Option<(Resource, &ServedResource)> {
        self.all_named(word).into_iter().next()
    }

    /// The name of a kind that `word` may be meant for: nothing has this very name.
    pub fn near(&self, word: &str) -> Option<&str> {
        let all = self.versions.iter().flat_map(|served| &served.resources);
        let names = all.flat_map(|served| [served.singular.as_str(), served.plural.as_str()]);
        findings::near_name(word, names.filter(|name| !name.is_empty() && !name.contains('/')))
    }

    /// Every resource that `word` may mean, each group's in its preferred version.
    pub fn all_named(&self, word: &str) -> Vec<(Resource, &ServedResource)> {
        let word = word.to_lowercase();
        let is_meant = |(resource, served): &(Resource, &ServedResource)| {
            let is = |name: &str| {
                let name = name.to_lowercase();
                let Resource { group, version, .. } = resource;
                name == word
                    || (!group.is_empty() && format!("{name}.{group}") == word)
                    || format!("{name}.{version}.{group}") == word
            };
            is(&served.plural) || is(&served.singular) || is(&served.kind) || served.short_names.iter().any(|n| is(n))
        };
        let mut found: Vec<(Resource, &ServedResource)> = Vec::new();
        for (resource, served) in self.each().filter(is_meant) {
            let is_again = |(had, _): &(Resource, _)| had.group == resource.group && had.plural == resource.plural;
            if !found.iter().any(is_again) {
                found.push((resource, served));
            }
        }
        found
    }

    /// Everything that can be listed and deleted, once, in the preferred version.
    pub fn deletable_kinds(&self) -> Vec<(Resource, &ServedResource)> {
        let mut known = BTreeSet::new();
        let mut found = Vec::new();
        for version in &self.versions {
            for served in &version.resources {
                let can = |verb: &str| served.verbs.iter().any(|have| have == verb);
                if can("list") && can("delete") && known.insert((&version.group, &served.plural)) {
                    let resource = Resource::new(version.group.clone(), version.version.clone(), served.plural.clone());
                    found.push((resource, served));
                }
            }
        }
        found
    }

    fn each(&self) -> impl Iterator<Item = (Resource, &ServedResource)> {
        self.versions.iter().flat_map(|served| {
            let name = |resource: &ServedResource| {
                Resource::new(served.group.clone(), served.version.clone(), resource.plural.clone())
            };
            served.resources.iter().map(move |resource| (name(resource), resource))
        })
    }
}

fn aggregated_resource(resource: &Value) -> ServedResource {
    ServedResource {
        plural: text(resource, "resource"),
        singular: text(resource, "singularResource"),
        kind: text(resource.get("responseKind").unwrap_or(&Value::Null), "kind"),
        short_names: texts(resource, "shortNames"),
        namespaced: text(resource, "scope") == "Namespaced",
        verbs: texts(resource, "verbs"),
    }
}

fn legacy_resource(resource: &Value) -> Option<ServedResource> {
    let plural = text(resource, "name");
    (!plural.contains('/')).then(|| ServedResource {
        plural,
        singular: text(resource, "singularName"),
        kind: text(resource, "kind"),
        short_names: texts(resource, "shortNames"),
        namespaced: resource.get("namespaced").and_then(Value::as_bool).unwrap_or(false),
        verbs: texts(resource, "verbs"),
    })
}

fn array<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    value.get(field).and_then(Value::as_array).into_iter().flatten()
}

fn text(value: &Value, field: &str) -> String {
    value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn texts(value: &Value, field: &str) -> Vec<String> {
    array(value, field).filter_map(Value::as_str).map(str::to_owned).collect()
}
