//! Answers, typed by kind.

use foldhash::HashMap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::discovery::{Discovery, Version};
use super::kinds::*;
use super::objects::Objects;
use super::page::{Reader, read};
use super::{Meta, Select};
use crate::messages::Message;
use crate::resource::{Resource, known};

/// An object that an answer may hold.
pub trait Kind: Sized + Clone + DeserializeOwned {
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
            $(#[doc = concat!("Objects of kind `", stringify!($kind), "`.")] $variant(Vec<$kind>),)*
        }

        impl Facts {
            fn objects(&self) -> Option<&dyn Objects> {
                match self {
                    Facts::Version(_) | Facts::Discovery(_) | Facts::KubeletLog(_) => None,
                    $(Facts::$variant(objects) => Some(objects),)*
                }
            }

            fn objects_mut(&mut self) -> Option<&mut dyn Objects> {
                match self {
                    Facts::Version(_) | Facts::Discovery(_) | Facts::KubeletLog(_) => None,
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

    /// Keeps so many objects, shared out to their namespaces: a small one keeps all of its own.
    pub fn keep_shares(&mut self, max_objects: usize) {
        let namespace = |meta: &Meta| meta.namespace.clone().unwrap_or_default();
        let mut counts: HashMap<String, usize> = HashMap::default();
        for meta in self.metas() {
            *counts.entry(namespace(meta)).or_default() += 1;
        }
        let mut sizes: Vec<usize> = counts.into_values().collect();
        sizes.sort_unstable();
        let mut room = max_objects;
        let mut shares = None;
        for (index, size) in sizes.iter().enumerate() {
            let left = sizes.len() - index;
            let share = room / left;
            if *size > share {
                shares = Some((share, room - share * left));
                break;
            }
            room -= size;
        }
        // What does not divide evenly is for the first of them.
        let Some((share, mut rest)) = shares else { return };
        let mut kept: HashMap<String, usize> = HashMap::default();
        self.retain(|meta| {
            let count = kept.entry(namespace(meta)).or_default();
            *count += 1;
            let is_of_rest = *count == share + 1 && rest > 0;
            rest -= usize::from(is_of_rest);
            *count <= share || is_of_rest
        });
    }

    /// Gives back the room that lists have grown into.
    pub fn shrink(&mut self) {
        if let Some(objects) = self.objects_mut() {
            objects.shrink();
        }
    }

    /// Takes objects of the same kind in, in place of those with the same uid. Each is looked for among all.
    pub fn upsert(&mut self, more: Facts) {
        if let Some(objects) = self.objects_mut() {
            objects.upsert(more);
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
