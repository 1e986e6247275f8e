//! Answers, typed by kind.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::discovery::{Discovery, Version};
use super::kinds::*;
use super::{Detail, Meta, Question, Resource};

/// A resource that the rules know by its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// The group.
    pub group: &'static str,
    /// The version that is asked for.
    pub version: &'static str,
    /// The plural.
    pub plural: &'static str,
}

impl From<Known> for Resource {
    fn from(known: Known) -> Self {
        Resource::new(known.group, known.version, known.plural)
    }
}

/// An object that one of the known resources holds.
pub trait Kind: Sized + Clone {
    /// Its metadata.
    fn meta(&self) -> &Meta;
    /// Those among `facts`, if they are of this kind.
    fn among(facts: &Facts) -> Option<&[Self]>;
}

/// Declares which resources hold which kind.
macro_rules! kinds {
    ($($variant:ident($kind:ty): $($name:ident = $group:literal $version:literal $plural:literal),+;)*) => {
        /// The resources the rules know by their fields.
        pub mod known {
            use super::Known;
            $($(
                #[doc = concat!("`", $plural, "`")]
                pub const $name: Known = Known { group: $group, version: $version, plural: $plural };
            )+)*
        }

        /// What an answer holds.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub enum Facts {
            /// The server's version.
            Version(Version),
            /// What it serves.
            Discovery(Discovery),
            /// Objects of any other kind.
            Objects(Vec<Object>),
            $(#[doc = concat!("Objects of kind `", stringify!($kind), "`.")] $variant(Vec<$kind>),)*
        }

        $(impl Kind for $kind {
            fn meta(&self) -> &Meta {
                &self.metadata
            }
            fn among(facts: &Facts) -> Option<&[Self]> {
                match facts {
                    Facts::$variant(objects) => Some(objects),
                    _ => None,
                }
            }
        })*

        fn typed(group: &str, plural: &str, items: Vec<Value>) -> Result<Facts, serde_json::Error> {
            Ok(match (group, plural) {
                $($(($group, $plural))|+ => Facts::$variant(each(items)?),)*
                _ => Facts::Objects(each(items)?),
            })
        }
    };
}

kinds! {
    Namespaces(Namespace): NAMESPACES = "" "v1" "namespaces";
    Pods(Pod): PODS = "" "v1" "pods";
    Nodes(Node): NODES = "" "v1" "nodes";
    Claims(Claim): CLAIMS = "" "v1" "persistentvolumeclaims";
    Volumes(PersistentVolume): VOLUMES = "" "v1" "persistentvolumes";
    Attachments(Attachment): ATTACHMENTS = "storage.k8s.io" "v1" "volumeattachments";
    CsiNodes(CsiNode): CSI_NODES = "storage.k8s.io" "v1" "csinodes";
    Services(Service): SERVICES = "" "v1" "services";
    Endpoints(Endpoints): ENDPOINTS = "" "v1" "endpoints";
    EndpointSlices(EndpointSlice): ENDPOINT_SLICES = "discovery.k8s.io" "v1" "endpointslices";
    Events(Event): EVENTS = "" "v1" "events";
    AgentEvents(AgentEvent): AGENT_EVENTS = "events.k8s.io" "v1" "events";
    Leases(Lease): LEASES = "coordination.k8s.io" "v1" "leases";
    ApiServices(ApiService): API_SERVICES = "apiregistration.k8s.io" "v1" "apiservices";
    Crds(Crd): CRDS = "apiextensions.k8s.io" "v1" "customresourcedefinitions";
    WebhookConfigurations(WebhookConfiguration):
        VALIDATING = "admissionregistration.k8s.io" "v1" "validatingwebhookconfigurations",
        MUTATING = "admissionregistration.k8s.io" "v1" "mutatingwebhookconfigurations";
    Workloads(Workload):
        DEPLOYMENTS = "apps" "v1" "deployments",
        STATEFUL_SETS = "apps" "v1" "statefulsets",
        DAEMON_SETS = "apps" "v1" "daemonsets";
    Jobs(Job): JOBS = "batch" "v1" "jobs";
    Ingresses(Ingress): INGRESSES = "networking.k8s.io" "v1" "ingresses";
    Roles(Role):
        CLUSTER_ROLES = "rbac.authorization.k8s.io" "v1" "clusterroles",
        ROLES = "rbac.authorization.k8s.io" "v1" "roles";
    Bindings(Binding):
        CLUSTER_BINDINGS = "rbac.authorization.k8s.io" "v1" "clusterrolebindings",
        BINDINGS = "rbac.authorization.k8s.io" "v1" "rolebindings";
}

impl Kind for Object {
    fn meta(&self) -> &Meta {
        &self.metadata
    }
    fn among(facts: &Facts) -> Option<&[Self]> {
        match facts {
            Facts::Objects(objects) => Some(objects),
            _ => None,
        }
    }
}

impl Facts {
    /// Reads objects as the API serves them. One that cannot be read is a fault of the answer: left
    /// out, it would seem gone.
    pub fn read(question: &Question, items: Vec<Value>) -> Result<Facts, serde_json::Error> {
        match question {
            Question::Objects { resource, detail: Detail::Full, .. } => typed(&resource.group, &resource.plural, items),
            _ => Ok(Facts::Objects(each(items)?)),
        }
    }
}

fn each<T: DeserializeOwned>(items: Vec<Value>) -> Result<Vec<T>, serde_json::Error> {
    items.into_iter().map(|item| serde_json::from_value(without_nulls(item))).collect()
}

/// The API writes `null` for empty lists and unset fields alike.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields.into_iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (k, without_nulls(v))).collect(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().filter(|v| !v.is_null()).map(without_nulls).collect()),
        other => other,
    }
}
