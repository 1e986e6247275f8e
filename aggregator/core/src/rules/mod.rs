//! What each kind of object waits for, and which causes are found at it.

mod agent;
mod api_service;
mod attachment;
mod backend;
mod ca_bundle;
mod claim;
mod control_plane;
mod crd;
mod finalizer;
mod invalid_owner;
mod live_pod;
mod minimum_age;
mod namespace;
mod node;
mod object;
mod object_reports;
mod owner;
mod phrases;
mod pod;
mod preview;
mod replacement;
mod sidecar;
mod subject;
mod volume;
mod webhook;

pub use finalizer::{KnownFinalizer, known as known_finalizers};
pub use subject::{looked_at, victims};

use crate::diagnosis::Diagnosis;
use crate::lister::Lister;
use crate::state::{ObjectRef, known};

/// What is known of an object.
pub fn explain(lister: &Lister, target: &ObjectRef) -> Diagnosis {
    if lister.is_before() {
        return preview::explain(lister, target, look);
    }
    let mut diagnosis = look(lister, target);
    minimum_age::spare(&mut diagnosis);
    diagnosis
}

fn look(lister: &Lister, target: &ObjectRef) -> Diagnosis {
    match target {
        _ if target.is(known::NAMESPACES) => namespace::explain(lister, target),
        _ if target.is(known::PODS) => pod::explain(lister, target),
        _ if target.is(known::NODES) => node::explain(lister, target),
        _ if target.is(known::CLAIMS) => claim::explain(lister, target),
        _ if target.is(known::VOLUMES) => volume::explain(lister, target),
        _ if target.is(known::ATTACHMENTS) => attachment::explain(lister, target),
        _ if target.is(known::CRDS) => crd::explain(lister, target),
        _ if target.is(known::API_SERVICES) => api_service::explain(lister, target),
        _ if target.is(known::VALIDATING) || target.is(known::MUTATING) => webhook::explain(lister, target),
        _ => object::explain(lister, target),
    }
}
