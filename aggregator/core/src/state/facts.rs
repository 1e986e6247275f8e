//! Answers, typed by kind, and how they are read.

use std::io;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::discovery::{Discovery, Version};
use super::kinds::*;
use super::{Detail, Meta, Question, Select, or_default};
use crate::messages::Message;
use crate::resource::{Resource, known};

/// How many objects of a kind there were at two times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub first: usize,
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
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub enum Facts {
            Version(Version),
            Discovery(Discovery),
            /// Names of the checks that the API server fails.
            FailedChecks(Vec<String>),
            /// Lines of a kubelet's log.
            KubeletLog(Vec<Message>),
            /// How many objects there are.
            Counts(Counts),
            $(#[doc = concat!("Objects of kind `", stringify!($kind), "`.")] $variant(Vec<$kind>),)*
        }

        impl Facts {
            fn objects(&self) -> Option<&dyn Objects> {
                match self {
                    Facts::Version(_)
                    | Facts::Discovery(_)
                    | Facts::FailedChecks(_)
                    | Facts::KubeletLog(_)
                    | Facts::Counts(_) => None,
                    $(Facts::$variant(objects) => Some(objects),)*
                }
            }

            fn objects_mut(&mut self) -> Option<&mut dyn Objects> {
                match self {
                    Facts::Version(_)
                    | Facts::Discovery(_)
                    | Facts::FailedChecks(_)
                    | Facts::KubeletLog(_)
                    | Facts::Counts(_) => None,
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

        fn reader(resource: &Resource) -> Reader {
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
    /// No object of the kind that is asked for.
    pub fn none(question: &Question) -> Result<Facts, serde_json::Error> {
        Page::read(question, b"{}").map(|page| page.facts)
    }

    /// Reads one object as the API serves it.
    pub fn object(question: &Question, body: &[u8]) -> Result<Facts, serde_json::Error> {
        shaped(question, body, Shape::Object).map(|page| page.facts)
    }

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

/// What is done with a list without regard to the kind of its objects. Of another kind no object is taken in.
trait Objects {
    fn len(&self) -> usize;
    fn meta(&self, at: usize) -> Option<&Meta>;
    fn metas(&self) -> Vec<&Meta>;
    fn size_bytes(&self, at: usize) -> usize;
    fn for_each_meta(&mut self, change: &mut dyn FnMut(&mut Meta));
    fn retain(&mut self, keep: &mut dyn FnMut(&Meta) -> bool);
    fn shrink(&mut self);
    fn append(&mut self, more: Facts);
    fn replace(&mut self, at: usize, one: Facts) -> Facts;
    fn remove(&mut self, at: usize) -> Facts;
}

impl<K: Kind> Objects for Vec<K> {
    fn len(&self) -> usize {
        self.len()
    }

    fn meta(&self, at: usize) -> Option<&Meta> {
        self.get(at).map(Kind::meta)
    }

    fn metas(&self) -> Vec<&Meta> {
        self.iter().map(Kind::meta).collect()
    }

    /// What it takes by itself, and its texts. Those are counted as they would be saved: with the names of the fields, which
    /// are about as long as what the allocator adds.
    fn size_bytes(&self, at: usize) -> usize {
        let mut saved = Counter(0);
        let counted = self.get(at).map(|object| serde_json::to_writer(&mut saved, object));
        // A counter takes whatever it is given.
        debug_assert!(counted.is_none_or(|counted| counted.is_ok()));
        size_of::<K>() + saved.0
    }

    fn for_each_meta(&mut self, change: &mut dyn FnMut(&mut Meta)) {
        self.iter_mut().for_each(|object| change(object.meta_mut()));
    }

    fn retain(&mut self, keep: &mut dyn FnMut(&Meta) -> bool) {
        self.retain(|object| keep(object.meta()));
    }

    fn shrink(&mut self) {
        self.shrink_to_fit();
    }

    fn append(&mut self, more: Facts) {
        append(self, K::from_facts(more).unwrap_or_default());
    }

    fn replace(&mut self, at: usize, one: Facts) -> Facts {
        let places = self.get_mut(at).into_iter();
        let replaced = places.zip(K::from_facts(one).unwrap_or_default());
        K::into_facts(replaced.map(|(place, object)| std::mem::replace(place, object)).collect())
    }

    fn remove(&mut self, at: usize) -> Facts {
        K::into_facts(if at < self.len() { vec![self.swap_remove(at)] } else { Vec::new() })
    }
}

/// Counts what is written, and keeps none of it.
struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Of ten thousand objects twice the room is much: it grows by a little.
fn append<K>(objects: &mut Vec<K>, more: Vec<K>) {
    if objects.capacity() - objects.len() < more.len() {
        objects.reserve_exact(more.len().max(objects.len() / 16));
    }
    objects.extend(more);
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
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

#[derive(Clone, Copy)]
enum Shape {
    List,
    Object,
}

fn shaped(question: &Question, body: &[u8], shape: Shape) -> Result<Page, serde_json::Error> {
    match question {
        Question::Objects { resource, detail: Detail::Full, .. } => reader(resource)(body, shape),
        _ => read::<Object>(body, shape),
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

/// Reads objects of this kind.
fn read<K: Kind>(body: &[u8], shape: Shape) -> Result<Page, serde_json::Error> {
    match shape {
        Shape::List => {
            let List { metadata, items } = serde_json::from_slice(body)?;
            Ok(Page { facts: K::into_facts(items), next: metadata.next, remaining: metadata.remaining })
        }
        Shape::Object => {
            let facts = K::into_facts(vec![serde_json::from_slice(body)?]);
            Ok(Page { facts, next: String::new(), remaining: None })
        }
    }
}

/// Reads objects of one kind.
type Reader = fn(&[u8], Shape) -> Result<Page, serde_json::Error>;
