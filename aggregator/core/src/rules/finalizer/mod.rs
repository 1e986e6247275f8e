//! Finalizers: who must take one off, and whether that program lives.

mod account;
mod behind_controller;
mod blocking_finalizer;
mod controller;
pub mod controller_manager;
mod controller_reports;
mod deadlock;
mod dependents;
mod finalizer_cause;
mod grouping;
mod ineffective_removal;
mod installation;
mod leader;
mod load_balancer;
mod mentioned;
mod operator;
pub mod parts;
mod paused;
mod powerful;
mod referenced_objects;
mod registry;
mod remover;
mod setter;
mod users;
mod workloads_of_account;

use findings::{Evidence, FaultKind};

pub use blocking_finalizer::is_down;
use controller_manager::by_controller_manager;
pub use finalizer_cause::{patched, refused};
pub use grouping::merge;
pub use registry::{KnownFinalizer, all as known};

use super::owner;
use crate::at_risk::{AtRisk, AtRiskKind};
use crate::rules::prelude::*;

/// What is known of this finalizer by its name.
pub fn known_as(finalizer: &str) -> Option<&'static KnownFinalizer> {
    registry::find(finalizer, "")
}

/// Explains every finalizer of an object.
pub fn explain(case: &mut Case, target: &ObjectRef, meta: &Meta) {
    for finalizer in meta.finalizers.distinct() {
        one(case, target, meta, finalizer);
    }
    count_left_out(target, meta, &mut case.diagnosis);
    if meta.finalizers.is_empty() && !case.lister.is_before() {
        case.diagnosis.note(format!(
            "{target} has no finalizer left. The API server removes such an object at once, so it was seen on its way, \
             or its deletion is refused."
        ));
    }
}

/// Reports that an object has more finalizers than are kept: the answer is not complete without them.
pub fn count_left_out(target: &ObjectRef, meta: &Meta, diagnosis: &mut Diagnosis) {
    let left_out = meta.finalizers.left_out();
    if left_out > 0 {
        let hides = format!("what {left_out} more finalizers of it wait for");
        diagnosis.hidden(target.to_string(), Fault::new(FaultKind::TooLarge, ""), &hides);
    }
}

/// Explains one finalizer of an object.
pub fn one(case: &mut Case, target: &ObjectRef, meta: &Meta, finalizer: &str) {
    match finalizer {
        "foregroundDeletion" => owner::foreground(case, target, meta),
        "orphan" => owner::orphan(case, target, meta),
        _ => match registry::find_on(finalizer, &target.kind, meta) {
            // The answer to the other one is the answer to both.
            Some(known) if known.waits_for_another(&meta.finalizers) => {}
            Some(known) if known.in_controller_manager => {
                by_controller_manager(case, target, meta, finalizer, known.cause);
            }
            known => {
                if let Some(known) = known {
                    note_destroyed(target, finalizer, known, &mut case.diagnosis);
                }
                let first = case.diagnosis.causes.len();
                remover::explain(case, &blocking_finalizer::BlockingFinalizer { target, meta, finalizer, known });
                ineffective_removal::explain(case, target, meta, finalizer, first);
            }
        },
    }
}

/// Notes what the controller of a finalizer deletes outside of the API before it takes that off.
fn note_destroyed(target: &ObjectRef, finalizer: &str, known: &KnownFinalizer, diagnosis: &mut Diagnosis) {
    let Some(destroyed) = known.destroyed(&target.kind) else { return };
    let what = if destroyed.has_data { AtRiskKind::ExternalData } else { AtRiskKind::ExternalResource };
    let evidence = Evidence::new(target.to_string(), format!("finalizer {finalizer}: {}", known.sentence()));
    let name = format!("{} {}", destroyed.noun, target.name);
    let (driver, condition) = (target.to_string(), destroyed.condition.to_owned());
    diagnosis.at_risk.push(AtRisk { driver, condition, ..AtRisk::new(what, &name, target, evidence) });
}
