//! Which questions are about the surroundings of objects.

use std::collections::HashSet;

use aggregator_core::state::{ObjectRef, Question, Scope};

/// Names and namespaces of objects.
pub struct Neighbourhood {
    names: HashSet<String>,
    /// Those that are namespaces themselves included.
    namespaces: HashSet<String>,
}

impl Neighbourhood {
    /// The surroundings of these.
    pub fn new<'o>(objects: impl IntoIterator<Item = &'o ObjectRef>) -> Self {
        let mut near = Neighbourhood { names: HashSet::new(), namespaces: HashSet::new() };
        for object in objects {
            near.names.insert(object.name.clone());
            near.namespaces.insert(object.namespace.as_ref().unwrap_or(&object.name).clone());
        }
        near
    }

    /// Whether the answer may be another because of them.
    pub fn contains(&self, question: &Question) -> bool {
        let Question::Objects { scope, .. } = question else { return false };
        match scope {
            Scope::All => false,
            Scope::Namespace(namespace) => self.namespaces.contains(namespace),
            Scope::Named(namespace, name) => {
                self.names.contains(name)
                    || namespace.as_ref().is_some_and(|namespace| self.namespaces.contains(namespace))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use aggregator_core::state::{Detail, Select, known};

    use super::*;

    #[test]
    fn what_is_asked_of_the_same_namespace_or_name_is_near() {
        let of = |scope| Question::objects(known::PODS, scope, Select::Every, Detail::Full);
        let named =
            |namespace: Option<&str>, name: &str| of(Scope::Named(namespace.map(str::to_owned), name.to_owned()));
        let within = |namespace: &str| of(Scope::Namespace(namespace.to_owned()));
        let near = Neighbourhood::new(&[ObjectRef::pod("shop", "db-0"), ObjectRef::node("node-a")]);
        for question in [within("shop"), named(Some("shop"), "db-1"), named(None, "node-a"), within("node-a")] {
            assert!(near.contains(&question), "{question}");
        }
        for question in [within("other"), named(Some("other"), "db-1"), named(None, "node-b"), of(Scope::All)] {
            assert!(!near.contains(&question), "{question}");
        }
    }
}
