//! Whether a Service that waits for its load balancer to be removed has one.

use findings::{Cleanup, Controller, clean};

use super::blocking_finalizer::BlockingFinalizer;
use super::controller_reports::MAX_STEP_CHARS;
use super::setter;
use crate::rules::data_at_risk;
use crate::rules::object_reports;
use crate::rules::prelude::*;

/// Says of what was found that there is no load balancer, where the Service shows that.
pub fn without_one(case: &mut Case, blocking: &BlockingFinalizer, found: RootCause) -> RootCause {
    let about = [&cause::LOAD_BALANCER_CLEANUP_PENDING, &cause::EXTERNAL_RESOURCE_FINALIZER];
    let is_about = blocking.known.is_some_and(|known| about.iter().any(|cause| cause.id == known.cause.id));
    if !is_about || !blocking.target.is(known::SERVICES) {
        return found;
    }
    let answer =
        case.lister.get::<Service>(known::SERVICES, blocking.target.namespace.as_deref(), &blocking.target.name);
    let Some(service) = case.diagnosis.optional(blocking.target.to_string(), "whether it has a load balancer", answer)
    else {
        return found;
    };
    data_at_risk::note_load_balancer(blocking.target, service, &mut case.diagnosis);
    // kubernetes: staging/src/k8s.io/cloud-provider/controllers/service/controller.go: who writes it runs.
    let failed = object_reports::events_of(case, blocking.target, blocking.meta, "SyncLoadBalancerFailed");
    let found = match failed.is_empty() {
        true => found,
        false => found.given(blocking.controller(Controller::Ready)),
    };
    // A controller that set it may have made one, and the API server empties the status when the type changes.
    let is_from_manifest = setter::is_from_manifest(blocking.meta, blocking.finalizer, &blocking.target.resource.group);
    let has_one = service.spec.kind == "LoadBalancer"
        || service.spec.kind.is_empty()
        || !service.status.load_balancer.ingress.is_empty();
    if has_one || !is_from_manifest {
        return found;
    }
    let says = format!("spec.type {}, no load balancer in its status: it has none to clean up", service.spec.kind);
    let mut found = found.given(Circumstance::Cleanup(Cleanup::Nothing)).evidence(blocking.target.to_string(), &says);
    if let Some(step) = found.steps.first_mut() {
        step.words = clean(&format!("{}; {says}", step.words), MAX_STEP_CHARS);
    }
    found
}
