//! What each kind of object waits for, and which causes are found at it.

mod admission_policy;
mod agent;
mod api_service;
mod backend;
mod ca_bundle;
mod completed_pod;
mod control_plane;
mod crd;
mod csi_controller;
mod data_at_risk;
mod finalizer;
mod garbage_collector;
mod invalid_owner;
mod leads;
mod minimum_age;
mod namespace;
mod near_names;
mod node;
mod object;
mod object_reports;
mod owner;
mod persistent_volume;
mod persistent_volume_claim;
mod phrases;
mod pod;
mod pod_not_terminating;
mod preview;
mod replacement;
mod requested_objects;
mod rights;
mod scan;
mod volume_attachment;
mod webhook;

pub use agent::event_age::{MAX_AGE_SECONDS, MAX_RENEWAL_SECONDS};
pub use finalizer::{KnownFinalizer, known as known_finalizers};
pub use requested_objects::requested;

use crate::diagnosis::Diagnosis;
use crate::lister::Lister;
use crate::state::{ObjectRef, known};

/// What is known of an object.
pub fn explain(lister: &Lister, target: &ObjectRef) -> Diagnosis {
    let mut diagnosis = match lister.is_before() {
        true => preview::explain(lister, target, look),
        false => look(lister, target),
    };
    finalizer::merge(target, &mut diagnosis.causes);
    if diagnosis.missing && requested_objects::is_named(lister, target) {
        near_names::offer(lister, target, &mut diagnosis);
    }
    if lister.is_before() {
        return diagnosis;
    }
    minimum_age::spare(&mut diagnosis);
    diagnosis
}

fn look(lister: &Lister, target: &ObjectRef) -> Diagnosis {
    match target {
        _ if target.is(known::NAMESPACES) => namespace::explain(lister, target),
        _ if target.is(known::PODS) => pod::explain(lister, target),
        _ if target.is(known::NODES) => node::explain(lister, target),
        _ if target.is(known::CLAIMS) => persistent_volume_claim::explain(lister, target),
        _ if target.is(known::VOLUMES) => persistent_volume::explain(lister, target),
        _ if target.is(known::ATTACHMENTS) => volume_attachment::explain(lister, target),
        _ if target.is(known::CRDS) => crd::explain(lister, target),
        _ if target.is(known::API_SERVICES) => api_service::explain(lister, target),
        _ if target.is(known::VALIDATING) || target.is(known::MUTATING) => webhook::explain(lister, target),
        _ => object::explain(lister, target),
    }
}
