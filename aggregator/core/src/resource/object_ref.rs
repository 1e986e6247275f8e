//! Names one object.

use std::fmt;
use std::hash::{Hash, Hasher};

use findings::clean;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ApiResource, Name, Resource, known};

/// One object of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Object")]
pub struct ObjectRef {
    /// Its kind, as people write it: `Pod`.
    pub kind: Name,
    /// Its resource.
    pub resource: Resource,
    /// Its namespace, if it lives in one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

/// Objects of one name are few, and the names of their kinds are most of what there is to hash.
impl Hash for ObjectRef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.namespace, &self.name).hash(state);
    }
}

impl ObjectRef {
    /// An object of a known kind that lives in a namespace.
    pub fn namespaced(known: ApiResource, namespace: &str, name: &str) -> Self {
        ObjectRef::new(known, Some(namespace), name)
    }

    /// An object of a known kind that lives in no namespace.
    pub fn cluster_wide(known: ApiResource, name: &str) -> Self {
        ObjectRef::new(known, None, name)
    }

    fn new(known: ApiResource, namespace: Option<&str>, name: &str) -> Self {
        ObjectRef {
            kind: known.kind.into(),
            resource: known.into(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        }
    }

    pub fn pod(namespace: &str, name: &str) -> Self {
        ObjectRef::namespaced(known::PODS, namespace, name)
    }

    pub fn claim(namespace: &str, name: &str) -> Self {
        ObjectRef::namespaced(known::CLAIMS, namespace, name)
    }

    pub fn node(name: &str) -> Self {
        ObjectRef::cluster_wide(known::NODES, name)
    }

    /// The APIService of a group and version.
    pub fn api_service(group: &str, version: &str) -> Self {
        ObjectRef::cluster_wide(known::API_SERVICES, &format!("{version}.{group}"))
    }

    /// The type as one types it for kubectl: `pod`, `widgets.example.com`.
    pub fn type_for_kubectl(&self) -> String {
        // Built-in kinds are known by their kind alone; others may share it.
        if self.resource.is_built_in() { self.kind.to_lowercase() } else { self.resource.for_kubectl() }
    }

    /// `pod/db-0`, in one word for kubectl.
    pub fn typed_name(&self) -> String {
        format!("{}/{}", self.type_for_kubectl(), self.name)
    }

    /// Whether it is an object of this resource.
    pub fn is(&self, known: ApiResource) -> bool {
        known.is(&self.resource)
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ObjectRef { kind, namespace, name, .. } = self;
        let (kind, name) = (clean(kind, 63), clean(name, 253));
        match namespace {
            Some(namespace) => write!(f, "{kind} {}/{name}", clean(namespace, 63)),
            None => write!(f, "{kind} {name}"),
        }
    }
}
