//! What each kind of thing waits for, and which causes are found at it. No I/O.

mod agent;
mod api_service;
mod attachment;
mod backend;
mod claim;
mod conditions;
mod control_plane;
mod custom;
mod finalizer;
mod living;
mod namespace;
mod node;
mod object;
mod odd_owner;
mod owner;
mod pod;
mod sidecar;
mod victims;
mod volume;
mod webhook;
mod words;

pub use victims::victims;

use crate::graph::{Standing, View};
use crate::state::{Thing, known};

/// How `thing` stands.
pub fn explain(view: &View, thing: &Thing) -> Standing {
    match thing {
        _ if thing.is(known::NAMESPACES) => namespace::explain(view, thing),
        _ if thing.is(known::PODS) => pod::explain(view, thing),
        _ if thing.is(known::NODES) => node::explain(view, thing),
        _ if thing.is(known::CLAIMS) => claim::explain(view, thing),
        _ if thing.is(known::VOLUMES) => volume::explain(view, thing),
        _ if thing.is(known::ATTACHMENTS) => attachment::explain(view, thing),
        _ if thing.is(known::CRDS) => custom::explain(view, thing),
        _ if thing.is(known::API_SERVICES) => api_service::explain(view, thing),
        _ if thing.is(known::VALIDATING) || thing.is(known::MUTATING) => webhook::explain(view, thing),
        _ => object::explain(view, thing),
    }
}
