//! What each kind of object waits for, and which causes are found at it.

mod admission_policy;
mod agent;
mod api_service;
mod backend;
mod ca_bundle;
mod case;
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
mod prelude;
mod preview;
mod replacement;
mod requested_objects;
mod rights;
mod scan;
mod volume_attachment;
mod webhook;

pub use agent::event_age::{MAX_AGE_SECONDS, MAX_RENEWAL_SECONDS};
pub use finalizer::{KnownFinalizer, known as known_finalizers};
pub use object::{is_node_of, is_of_node};

use self::case::Case;
use crate::diagnosis::Diagnosis;
use crate::lister::Lister;
use crate::state::{ObjectRef, known};

/// What the user asked about, and what is known of it as a whole.
pub fn requested(lister: &Lister) -> (scan::Scan, Diagnosis) {
    let mut case = Case::new(lister);
    let scan = requested_objects::requested(&mut case);
    if let Some(failure) = control_plane::storage_failure(&mut case) {
        case.diagnosis.note(failure.note());
    }
    (scan, case.diagnosis)
}

/// What is known of an object.
pub fn explain(lister: &Lister, target: &ObjectRef) -> Diagnosis {
    let mut case = Case::new(lister);
    match lister.is_before() {
        true => preview::explain(&mut case, target, look),
        false => look(&mut case, target),
    }
    if !case.diagnosis.is_explained()
        && let Some(failure) = control_plane::storage_failure(&mut case)
    {
        match case.diagnosis.terminating {
            true => case.diagnosis.causes.push(failure.root(target)),
            false => case.diagnosis.note(failure.note()),
        }
    }
    finalizer::merge(target, &mut case.diagnosis.causes);
    if case.diagnosis.missing && lister.is_named(target) {
        near_names::offer(&mut case, target);
    }
    if !lister.is_before() {
        minimum_age::spare(&mut case.diagnosis);
    }
    case.diagnosis
}

fn look(case: &mut Case, target: &ObjectRef) {
    match target {
        _ if target.is(known::NAMESPACES) => namespace::explain(case, target),
        _ if target.is(known::PODS) => pod::explain(case, target),
        _ if target.is(known::NODES) => node::explain(case, target),
        _ if target.is(known::CLAIMS) => persistent_volume_claim::explain(case, target),
        _ if target.is(known::VOLUMES) => persistent_volume::explain(case, target),
        _ if target.is(known::ATTACHMENTS) => volume_attachment::explain(case, target),
        _ if target.is(known::CRDS) => crd::explain(case, target),
        _ if target.is(known::API_SERVICES) => api_service::explain(case, target),
        _ if target.is(known::VALIDATING) || target.is(known::MUTATING) => webhook::explain(case, target),
        _ => object::explain(case, target),
    }
}
