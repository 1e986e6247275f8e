//! Answers, typed by kind.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::discovery::{Discovery, Version};
use super::kinds::*;
use super::objects::Objects;
use super::page::{Reader, read};
use super::{Meta, Select};
use crate::messages::Message;
use crate::resource::{Resource, known};

/// How many objects of a kind there were at two times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// At first.
    pub first: usize,
    /// Some seconds later.
    pub last: usize,
    /// Milliseconds from the first to the last.
    pub millis: u64,
}

/// An object that an answer may hold.
pub trait Kind: Sized + Clone + Serialize + DeserializeOwned {
    /// Its metadata.
    fn meta(&self) -> &Meta;
    /// The same, to be changed.
    fn meta_mut(&mut self) -> &mut Meta;
    /// Those among `facts`, if they are of this kind.
    fn among(facts: &Facts) -> Option<&[Self]>;
    /// Those that `facts` are, if they are of this kind.
    fn from_facts(facts: Facts) -> Option<Vec<Self>>;
    /// An answer of them.
    fn into_facts(objects: Vec<Self>) -> Facts;
}

/// Declares which kind of object the resources are read as.
macro_rules! kinds {
    ($($variant:ident($kind:ty): $($resource:ident)*;)*) => {
        /// What an answer holds.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub enum Facts {
            /// The server's version.
            Version(Version),
            /// What it serves.
            Discovery(Discovery),
            /// Lines of a kubelet's log.
            KubeletLog(Vec<Message>),
            /// How many objects there are.
            Counts(Counts),
            $(#[doc = concat!("Objects of kind `", stringify!($kind), "`.")] $variant(Vec<$kind>),)*
        }

        impl Facts {
            fn objects(&self) -> Option<&dyn Objects> {
                match self {
                    Facts::Version(_) | Facts::Discovery(_) | Facts::KubeletLog(_) | Facts::Counts(_) => None,
                    $(Facts::$variant(objects) => Some(objects),)*
                }
            }

            fn objects_mut(&mut self) -> Option<&mut dyn Objects> {
                match self {
                    Facts::Version(_) | Facts::Discovery(_) | Facts::KubeletLog(_) | Facts::Counts(_) => None,
                    $(Facts::$variant(objects) => Some(objects),)*
                }
            }
        }

        $(impl Kind for $kind {
            fn meta(&self) -> &Meta {
                &self.metadata
            }
            fn meta_mut(&mut self) -> &mut Meta {
                &mut self.metadata
            }
            fn among(facts: &Facts) -> Option<&[Self]> {
                if let Facts::$variant(objects) = facts { Some(objects) } else { None }
            }
            fn from_facts(facts: Facts) -> Option<Vec<Self>> {
                if let Facts::$variant(objects) = facts { Some(objects) } else { None }
            }
            fn into_facts(objects: Vec<Self>) -> Facts {
                Facts::$variant(objects)
            }
        })*

        pub(super) fn reader(resource: &Resource) -> Reader {
            $($(if known::$resource.is(resource) {
                return read::<$kind>;
            })*)*
            read::<Object>
        }
    };
}

kinds! {
    // Those of any kind that is not read as its own.
    Objects(Object):;
    Namespaces(Namespace): NAMESPACES;
    Pods(Pod): PODS;
    Nodes(Node): NODES;
    Claims(Claim): CLAIMS;
    Volumes(PersistentVolume): VOLUMES;
    Attachments(Attachment): ATTACHMENTS;
    CsiNodes(CsiNode): CSI_NODES;
    Services(Service): SERVICES;
    Endpoints(Endpoints): ENDPOINTS;
    EndpointSlices(EndpointSlice): ENDPOINT_SLICES;
    Events(Event): EVENTS;
    AgentEvents(AgentEvent): AGENT_EVENTS;
    Leases(Lease): LEASES;
    ApiServices(ApiService): API_SERVICES;
    Crds(Crd): CRDS;
    WebhookConfigurations(WebhookConfiguration): VALIDATING MUTATING;
    AdmissionPolicies(AdmissionPolicy): ADMISSION_POLICIES MUTATING_POLICIES;
    AdmissionPolicyBindings(AdmissionPolicyBinding): ADMISSION_POLICY_BINDINGS MUTATING_POLICY_BINDINGS;
    Workloads(Workload): DEPLOYMENTS STATEFUL_SETS DAEMON_SETS;
    Budgets(Budget): BUDGETS;
    Jobs(Job): JOBS;
    Ingresses(Ingress): INGRESSES;
    Roles(Role): CLUSTER_ROLES ROLES;
    Bindings(Binding): CLUSTER_BINDINGS BINDINGS;
}

impl Facts {
    /// How many objects it holds.
    pub fn count(&self) -> usize {
        self.objects().map_or(1, |objects| objects.len())
    }

    /// Drops what no server can leave out.
    pub fn keep(&mut self, select: &Select) {
        match (select, self) {
            (Select::Every | Select::Fields(_) | Select::Labels(_), _) => {}
            (Select::Terminating, facts) => {
                facts.retain(|meta| meta.deletion_timestamp.is_some());
            }
            (Select::Local, Facts::Volumes(volumes)) => volumes.retain(PersistentVolume::is_local),
            (Select::Local, _) => {}
        }
    }

    fn retain(&mut self, mut keep: impl FnMut(&Meta) -> bool) {
        if let Some(objects) = self.objects_mut() {
            objects.retain(&mut keep);
        }
    }

    /// About how many bytes of memory the object that stands there takes.
    pub fn size_bytes_at(&self, at: usize) -> usize {
        self.objects().map_or(0, |objects| objects.size_bytes(at))
    }

    /// About how many bytes of memory all of it takes.
    pub fn size_bytes(&self) -> usize {
        (0..self.objects().map_or(0, |objects| objects.len())).map(|at| self.size_bytes_at(at)).sum()
    }

    /// Each of its objects by itself.
    pub fn into_each(mut self) -> impl Iterator<Item = Facts> {
        let count = self.objects().map_or(0, |objects| objects.len());
        let mut each: Vec<Facts> = (0..count).rev().map(|at| self.swap_remove(at)).collect();
        each.reverse();
        each.into_iter()
    }

    /// Gives back the room that lists have grown into.
    pub fn shrink(&mut self) {
        if let Some(objects) = self.objects_mut() {
            objects.shrink();
        }
    }

    /// Takes one object of the same kind in, in place of the one that stands there and is returned.
    pub fn replace(&mut self, at: usize, one: Facts) -> Facts {
        self.objects_mut().map_or_else(Facts::nothing, |objects| objects.replace(at, one))
    }

    /// Takes out the object that stands there, in whose place the last one comes.
    pub fn swap_remove(&mut self, at: usize) -> Facts {
        self.objects_mut().map_or_else(Facts::nothing, |objects| objects.remove(at))
    }

    fn nothing() -> Facts {
        Facts::Objects(Vec::new())
    }

    /// The metadata of the object that stands there.
    pub fn meta_at(&self, at: usize) -> Option<&Meta> {
        self.objects()?.meta(at)
    }

    /// The uid of the object that stands there.
    pub fn uid_at(&self, at: usize) -> Option<&str> {
        self.meta_at(at).map(|meta| meta.uid.as_str())
    }

    /// Changes the metadata of each object.
    pub fn for_each_meta(&mut self, mut change: impl FnMut(&mut Meta)) {
        if let Some(objects) = self.objects_mut() {
            objects.for_each_meta(&mut change);
        }
    }

    /// The metadata of each object.
    pub fn metas(&self) -> Vec<&Meta> {
        self.objects().map_or(Vec::new(), |objects| objects.metas())
    }

    /// Adds objects of the same kind.
    pub fn append(&mut self, more: Facts) {
        if let Some(objects) = self.objects_mut() {
            objects.append(more);
        }
    }
}
