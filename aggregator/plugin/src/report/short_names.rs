//! Objects in few words, where a line has room for the first of many.

use aggregator_core::state::{ObjectRef, known};
use findings::clean;

/// More names are counted.
const MAX_NAMES: usize = 3;

/// `shop/db-0` of a pod, `ns/shop`, `widget shop/w1`.
pub fn short_name(object: &ObjectRef) -> String {
    let of = |name: &str| clean(name, 253);
    match &object.namespace {
        Some(namespace) if object.is(known::PODS) => format!("{}/{}", of(namespace), of(&object.name)),
        Some(namespace) => format!("{} {}/{}", clean(&object.kind.to_lowercase(), 63), of(namespace), of(&object.name)),
        None if object.is(known::NAMESPACES) => format!("ns/{}", of(&object.name)),
        None => format!("{}/{}", clean(&object.kind.to_lowercase(), 63), of(&object.name)),
    }
}

/// The first names, and how many more there are.
pub fn some(names: &[String]) -> String {
    findings::some(names, MAX_NAMES)
}
