//! What of the API was read for an answer: only who may read all of it may see what follows from it.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::resource::{Name, ObjectRef, Resource, known};
use crate::state::{Question, Scope};

/// How something is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// One object, by its name.
    Get,
    List,
}

/// A right to read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Access {
    pub verb: Verb,
    /// The API group.
    pub group: Name,
    pub plural: Name,
    /// The namespace; none for the whole cluster.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub namespace: Option<String>,
}

impl Access {
    fn new(verb: Verb, resource: &Resource, namespace: Option<&str>) -> Self {
        let (group, plural) = (resource.group.clone(), resource.plural.clone());
        Access { verb, group, plural, namespace: namespace.map(str::to_owned) }
    }

    /// To get an object. That of a namespace is asked of the namespace itself, as the API server asks.
    pub fn get(resource: &Resource, namespace: Option<&str>, name: &str) -> Self {
        let own = known::NAMESPACES.is(resource).then_some(name);
        Access::new(Verb::Get, resource, namespace.or(own))
    }

    /// To get this object.
    pub fn get_object(object: &ObjectRef) -> Self {
        Access::get(&object.resource, object.namespace.as_deref(), &object.name)
    }

    /// To list objects.
    pub fn list(resource: &Resource, scope: &Scope) -> Self {
        match scope {
            Scope::All => Access::new(Verb::List, resource, None),
            Scope::Namespace(namespace) => Access::new(Verb::List, resource, Some(namespace)),
            Scope::Named(namespace, name) => Access::get(resource, namespace.as_deref(), name),
        }
    }

    /// To read whatever there is.
    pub fn everything() -> Self {
        Access { verb: Verb::List, group: "*".into(), plural: "*".into(), namespace: None }
    }

    /// What it takes to ask this; none for what the API server shows to each of its users.
    pub fn of_question(question: &Question) -> Option<Self> {
        match question {
            Question::Version | Question::Discovery | Question::Health => None,
            Question::KubeletLog { .. } | Question::Live { .. } => Some(Access::everything()),
            Question::Counts { resource, namespace } => Some(Access::new(Verb::List, resource, Some(namespace))),
            Question::Objects { resource, scope, .. } => Some(Access::list(resource, scope)),
        }
    }

    /// Those that include it, in the cluster and where it is: who may list all objects of a kind may read each of them.
    pub fn wider(&self) -> (Self, Self) {
        let within = Access { verb: Verb::List, ..self.clone() };
        (Access { namespace: None, ..within.clone() }, within)
    }
}

/// All that was read for an answer. Without it, as by default, the sources of an answer are unknown, and only a reader with
/// all rights may see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reads(Option<Arc<BTreeSet<Access>>>);

/// More are replaced by those of the whole cluster.
const MAX_READS: usize = 256;

impl Reads {
    /// Only a lister knows what was read.
    pub(crate) fn new(all: BTreeSet<Access>) -> Self {
        Reads(Some(Arc::new(all)))
    }

    /// Each; none where they are not known.
    pub fn all(&self) -> Option<&BTreeSet<Access>> {
        self.0.as_deref()
    }

    /// Whether it is not known what was read.
    pub fn is_unknown(&self) -> bool {
        self.0.is_none()
    }

    /// Whether it is kept elsewhere too.
    pub(crate) fn is_shared(&self) -> bool {
        self.0.as_ref().is_some_and(|all| Arc::strong_count(all) > 1)
    }

    /// What follows from both.
    pub fn add(&mut self, other: &Reads) {
        let (Some(own), Some(more)) = (&mut self.0, &other.0) else {
            self.0 = None;
            return;
        };
        if Arc::ptr_eq(own, more) || more.is_subset(own) {
            return;
        }
        if own.is_subset(more) {
            *own = Arc::clone(more);
            return;
        }
        let own = Arc::make_mut(own);
        own.extend(more.iter().cloned());
        if own.len() > MAX_READS {
            *own = own.iter().map(|access| access.wider().0).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pods(namespace: &str) -> Reads {
        Reads::new(BTreeSet::from([Access::get_object(&ObjectRef::pod(namespace, "p"))]))
    }

    #[test]
    fn what_follows_from_much_takes_the_rights_to_all_of_it() {
        let mut both = pods("a");
        both.add(&pods("b"));
        assert_eq!(both.all().unwrap().len(), 2);
        (0..1000).for_each(|number| both.add(&pods(&number.to_string())));
        let wide = Access::list(&known::PODS.into(), &Scope::All);
        assert!(both.all().unwrap().contains(&wide) && both.all().unwrap().len() <= MAX_READS);
        both.add(&Reads::default());
        assert!(both.is_unknown());
    }

    #[test]
    fn a_namespace_is_asked_of_itself() {
        let namespace = ObjectRef::cluster_wide(known::NAMESPACES, "shop");
        assert_eq!(Access::get_object(&namespace).namespace.as_deref(), Some("shop"));
    }
}
