//! Answers, typed by kind.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::discovery::{Discovery, Version};
use super::kinds::*;
use crate::messages::Message;

use super::{Detail, Meta, Question, Resource, Select, or_default};

/// A resource that the rules know by its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// The group.
    pub group: &'static str,
    /// The version that is asked for.
    pub version: &'static str,
    /// The plural.
    pub plural: &'static str,
    /// The kind, as people write it.
    pub kind: &'static str,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
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
    ($($variant:ident($kind:ty): $($name:ident = $group:literal $version:literal $plural:literal $object:literal $namespaced:literal),+;)*) => {
        /// The resources the rules know by their fields.
        pub mod known {
            use super::Known;
            $($(
                #[doc = concat!("`", $plural, "`")]
                pub const $name: Known = Known {
                    group: $group,
                    version: $version,
                    plural: $plural,
                    kind: $object,
                    namespaced: $namespaced,
                };
            )+)*
            /// All of them.
            pub const ALL: &[Known] = &[$($($name),+),*];

            /// Words that need no discovery: it may be what is broken.
            pub fn named(word: &str) -> Option<Known> {
                Some(match word.to_lowercase().as_str() {
                    "ns" | "namespace" | "namespaces" => NAMESPACES,
                    "po" | "pod" | "pods" => PODS,
                    "pvc" | "persistentvolumeclaim" | "persistentvolumeclaims" => CLAIMS,
                    "pv" | "persistentvolume" | "persistentvolumes" => VOLUMES,
                    "no" | "node" | "nodes" => NODES,
                    "crd" | "crds" | "customresourcedefinition" | "customresourcedefinitions" => CRDS,
                    "apiservice" | "apiservices" => API_SERVICES,
                    "volumeattachment" | "volumeattachments" => ATTACHMENTS,
                    _ => return None,
                })
            }
        }

        /// What an answer holds.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub enum Facts {
            /// The server's version.
            Version(Version),
            /// What it serves.
            Discovery(Discovery),
            /// Lines of a kubelet's log.
            KubeletLog(Vec<Message>),
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

        fn typed(group: &str, plural: &str, body: &[u8], shape: Shape) -> Result<Page, serde_json::Error> {
            match (group, plural) {
                $($(($group, $plural))|+ => read(body, shape, Facts::$variant),)*
                _ => read(body, shape, Facts::Objects),
            }
        }

        impl Facts {
            /// How many objects it holds.
            pub fn count(&self) -> usize {
                match self {
                    Facts::Version(_) | Facts::Discovery(_) | Facts::KubeletLog(_) => 1,
                    Facts::Objects(objects) => objects.len(),
                    $(Facts::$variant(objects) => objects.len(),)*
                }
            }

            /// Drops what no server can leave out.
            pub fn keep(&mut self, select: &Select) {
                match select {
                    Select::Every | Select::Fields(_) | Select::Labels(_) => {}
                    Select::Terminating => self.keep_terminating(),
                    Select::Local => {
                        if let Facts::Volumes(volumes) = self {
                            volumes.retain(PersistentVolume::is_local);
                        }
                    }
                }
            }

            /// Gives back the room that lists have grown into.
            pub fn shrink(&mut self) {
                match self {
                    Facts::Version(_) | Facts::Discovery(_) | Facts::KubeletLog(_) => {}
                    Facts::Objects(objects) => objects.shrink_to_fit(),
                    $(Facts::$variant(objects) => objects.shrink_to_fit(),)*
                }
            }

            fn keep_terminating(&mut self) {
                match self {
                    Facts::Version(_) | Facts::Discovery(_) | Facts::KubeletLog(_) => {}
                    Facts::Objects(objects) => keep_terminating(objects),
                    $(Facts::$variant(objects) => keep_terminating(objects),)*
                }
            }

            /// Takes objects of the same kind in, in place of those with the same uid. Each is looked for among all.
            pub fn upsert(&mut self, more: Facts) {
                match (self, more) {
                    (Facts::Objects(objects), Facts::Objects(more)) => upsert(objects, more),
                    $((Facts::$variant(objects), Facts::$variant(more)) => upsert(objects, more),)*
                    _ => {}
                }
            }

            /// Takes one object of the same kind in, in place of the one that stands there and is returned.
            pub fn replace(&mut self, at: usize, one: Facts) -> Facts {
                match (self, one) {
                    (Facts::Objects(objects), Facts::Objects(one)) => Facts::Objects(replace(objects, at, one)),
                    $((Facts::$variant(objects), Facts::$variant(one)) => Facts::$variant(replace(objects, at, one)),)*
                    _ => Facts::Objects(Vec::new()),
                }
            }

            /// Takes out the object that stands there, in whose place the last one comes.
            pub fn swap_remove(&mut self, at: usize) -> Facts {
                match self {
                    Facts::Version(_) | Facts::Discovery(_) | Facts::KubeletLog(_) => Facts::Objects(Vec::new()),
                    Facts::Objects(objects) => Facts::Objects(swap_remove(objects, at)),
                    $(Facts::$variant(objects) => Facts::$variant(swap_remove(objects, at)),)*
                }
            }

            /// The metadata of the object that stands there.
            pub fn meta_at(&self, at: usize) -> Option<&Meta> {
                match self {
                    Facts::Version(_) | Facts::Discovery(_) | Facts::KubeletLog(_) => None,
                    Facts::Objects(objects) => objects.get(at).map(Kind::meta),
                    $(Facts::$variant(objects) => objects.get(at).map(Kind::meta),)*
                }
            }

            /// The uid of the object that stands there.
            pub fn uid_at(&self, at: usize) -> Option<&str> {
                self.meta_at(at).map(|meta| meta.uid.as_str())
            }

            /// Changes the metadata of each object.
            pub fn for_each_meta(&mut self, mut change: impl FnMut(&mut Meta)) {
                match self {
                    Facts::Version(_) | Facts::Discovery(_) | Facts::KubeletLog(_) => {}
                    Facts::Objects(objects) => objects.iter_mut().for_each(|object| change(&mut object.metadata)),
                    $(Facts::$variant(objects) => objects.iter_mut().for_each(|object| change(&mut object.metadata)),)*
                }
            }

            /// The metadata of each object.
            pub fn metas(&self) -> Vec<&Meta> {
                match self {
                    Facts::Version(_) | Facts::Discovery(_) | Facts::KubeletLog(_) => Vec::new(),
                    Facts::Objects(objects) => objects.iter().map(Kind::meta).collect(),
                    $(Facts::$variant(objects) => objects.iter().map(Kind::meta).collect(),)*
                }
            }

            /// Adds objects of the same kind.
            pub fn append(&mut self, more: Facts) {
                match (self, more) {
                    (Facts::Objects(objects), Facts::Objects(more)) => append(objects, more),
                    $((Facts::$variant(objects), Facts::$variant(more)) => append(objects, more),)*
                    _ => {}
                }
            }
        }
    };
}

kinds! {
    Namespaces(Namespace): NAMESPACES = "" "v1" "namespaces" "Namespace" false;
    Pods(Pod): PODS = "" "v1" "pods" "Pod" true;
    Nodes(Node): NODES = "" "v1" "nodes" "Node" false;
    Claims(Claim): CLAIMS = "" "v1" "persistentvolumeclaims" "PersistentVolumeClaim" true;
    Volumes(PersistentVolume): VOLUMES = "" "v1" "persistentvolumes" "PersistentVolume" false;
    Attachments(Attachment): ATTACHMENTS = "storage.k8s.io" "v1" "volumeattachments" "VolumeAttachment" false;
    CsiNodes(CsiNode): CSI_NODES = "storage.k8s.io" "v1" "csinodes" "CSINode" false;
    Services(Service): SERVICES = "" "v1" "services" "Service" true;
    Endpoints(Endpoints): ENDPOINTS = "" "v1" "endpoints" "Endpoints" true;
    EndpointSlices(EndpointSlice): ENDPOINT_SLICES = "discovery.k8s.io" "v1" "endpointslices" "EndpointSlice" true;
    Events(Event): EVENTS = "" "v1" "events" "Event" true;
    AgentEvents(AgentEvent): AGENT_EVENTS = "events.k8s.io" "v1" "events" "Event" true;
    Leases(Lease): LEASES = "coordination.k8s.io" "v1" "leases" "Lease" true;
    ApiServices(ApiService): API_SERVICES = "apiregistration.k8s.io" "v1" "apiservices" "APIService" false;
    Crds(Crd): CRDS = "apiextensions.k8s.io" "v1" "customresourcedefinitions" "CustomResourceDefinition" false;
    WebhookConfigurations(WebhookConfiguration):
        VALIDATING = "admissionregistration.k8s.io" "v1" "validatingwebhookconfigurations" "ValidatingWebhookConfiguration" false,
        MUTATING = "admissionregistration.k8s.io" "v1" "mutatingwebhookconfigurations" "MutatingWebhookConfiguration" false;
    AdmissionPolicies(AdmissionPolicy):
        ADMISSION_POLICIES = "admissionregistration.k8s.io" "v1" "validatingadmissionpolicies" "ValidatingAdmissionPolicy" false;
    AdmissionPolicyBindings(AdmissionPolicyBinding):
        ADMISSION_POLICY_BINDINGS = "admissionregistration.k8s.io" "v1" "validatingadmissionpolicybindings" "ValidatingAdmissionPolicyBinding" false;
    Workloads(Workload):
        DEPLOYMENTS = "apps" "v1" "deployments" "Deployment" true,
        STATEFUL_SETS = "apps" "v1" "statefulsets" "StatefulSet" true,
        DAEMON_SETS = "apps" "v1" "daemonsets" "DaemonSet" true;
    Budgets(Budget): BUDGETS = "policy" "v1" "poddisruptionbudgets" "PodDisruptionBudget" true;
    Jobs(Job): JOBS = "batch" "v1" "jobs" "Job" true;
    Ingresses(Ingress): INGRESSES = "networking.k8s.io" "v1" "ingresses" "Ingress" true;
    Roles(Role):
        CLUSTER_ROLES = "rbac.authorization.k8s.io" "v1" "clusterroles" "ClusterRole" false,
        ROLES = "rbac.authorization.k8s.io" "v1" "roles" "Role" true;
    Bindings(Binding):
        CLUSTER_BINDINGS = "rbac.authorization.k8s.io" "v1" "clusterrolebindings" "ClusterRoleBinding" false,
        BINDINGS = "rbac.authorization.k8s.io" "v1" "rolebindings" "RoleBinding" true;
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

/// A page of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// Its objects.
    pub facts: Facts,
    /// What leads to the next page; empty at the last.
    pub next: String,
    /// How many objects come after it, as far as the server says.
    pub remaining: Option<usize>,
}

impl Page {
    /// Reads a list, or a page of it, as the API serves it. An object that cannot be read is a fault of the
    /// answer: left out, it would seem gone.
    pub fn read(question: &Question, body: &[u8]) -> Result<Page, serde_json::Error> {
        shaped(question, body, Shape::List)
    }
}

impl Facts {
    /// No object of the kind that is asked for.
    pub fn none(question: &Question) -> Result<Facts, serde_json::Error> {
        Page::read(question, b"{}").map(|page| page.facts)
    }

    /// Reads one object as the API serves it.
    pub fn object(question: &Question, body: &[u8]) -> Result<Facts, serde_json::Error> {
        shaped(question, body, Shape::Object).map(|page| page.facts)
    }
}

#[derive(Clone, Copy)]
enum Shape {
    List,
    Object,
}

fn shaped(question: &Question, body: &[u8], shape: Shape) -> Result<Page, serde_json::Error> {
    match question {
        Question::Objects { resource, detail: Detail::Full, .. } => {
            typed(&resource.group, &resource.plural, body, shape)
        }
        _ => read(body, shape, Facts::Objects),
    }
}

#[derive(Deserialize)]
#[serde(default, bound = "T: DeserializeOwned")]
struct List<T> {
    metadata: ListMeta,
    #[serde(deserialize_with = "or_default")]
    items: Vec<T>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        List { metadata: ListMeta::default(), items: Vec::new() }
    }
}

/// What a list says of itself.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct ListMeta {
    /// What leads to the next page.
    #[serde(rename = "continue", deserialize_with = "or_default")]
    pub next: String,
    /// How many objects come after this page; of what is selected no server says that.
    #[serde(rename = "remainingItemCount")]
    pub remaining: Option<usize>,
}

fn read<T: DeserializeOwned>(body: &[u8], shape: Shape, facts: fn(Vec<T>) -> Facts) -> Result<Page, serde_json::Error> {
    match shape {
        Shape::List => {
            let List { metadata, items } = serde_json::from_slice(body)?;
            Ok(Page { facts: facts(items), next: metadata.next, remaining: metadata.remaining })
        }
        Shape::Object => {
            Ok(Page { facts: facts(vec![serde_json::from_slice(body)?]), next: String::new(), remaining: None })
        }
    }
}

/// Of ten thousand objects twice the room is much: it grows by a little.
fn append<K>(objects: &mut Vec<K>, more: Vec<K>) {
    if objects.capacity() - objects.len() < more.len() {
        objects.reserve_exact(more.len().max(objects.len() / 16));
    }
    objects.extend(more);
}

fn upsert<K: Kind>(objects: &mut Vec<K>, more: Vec<K>) {
    for object in more {
        match objects.iter_mut().find(|known| known.meta().uid == object.meta().uid) {
            Some(known) => *known = object,
            None => append(objects, vec![object]),
        }
    }
}

fn replace<K>(objects: &mut [K], at: usize, one: Vec<K>) -> Vec<K> {
    let places = objects.get_mut(at).into_iter();
    places.zip(one).map(|(place, object)| std::mem::replace(place, object)).collect()
}

fn swap_remove<K>(objects: &mut Vec<K>, at: usize) -> Vec<K> {
    if at < objects.len() { vec![objects.swap_remove(at)] } else { Vec::new() }
}

fn keep_terminating<K: Kind>(objects: &mut Vec<K>) {
    objects.retain(|object| object.meta().deletion_timestamp.is_some());
}
