//! Objects in few words, where a line has room for the first of many.

use aggregator_core::state::{ObjectRef, known};
use findings::clean;

/// More names are counted.
const MAX_NAMES: usize = 3;

/// As it is typed: `pod/db-0 in shop`, `ns/shop`, `widget/w1 in shop`.
pub fn short_name(object: &ObjectRef) -> String {
    typed(&object.kind, object.namespace.as_deref(), &object.name)
}

/// The same of a kind, a namespace and a name.
pub fn typed(kind: &str, namespace: Option<&str>, name: &str) -> String {
    let kind = if kind == known::NAMESPACES.kind { "ns".to_owned() } else { clean(&kind.to_lowercase(), 63) };
    let inside = namespace.map_or(String::new(), |namespace| format!(" in {}", clean(namespace, 63)));
    format!("{kind}/{}{inside}", clean(name, 253))
}

/// The first names, and how many more there are.
pub fn some(names: &[String]) -> String {
    findings::some(names, MAX_NAMES)
}
