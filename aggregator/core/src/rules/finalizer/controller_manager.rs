//! Finalizers that a controller of kube-controller-manager takes off.

use findings::{JobManager, Users};

use super::blocking_finalizer::BlockingFinalizer;
use super::finalizer_cause::{finalizer_cause, refused};
use super::referenced_objects::{self, CountedBy};
use super::users;
use crate::rules::admission_policy::{self, REFUSED_BEFORE, Seen};
use crate::rules::prelude::*;
use crate::rules::webhook::Request;
use crate::rules::{control_plane, garbage_collector, webhook};

/// More of them are not shown.
const MAX_VALIDATORS: usize = 3;

/// Why such a finalizer stays.
pub fn by_controller_manager(case: &mut Case, target: &ObjectRef, meta: &Meta, finalizer: &str, cause: &'static Cause) {
    let is_of_job = cause.id == cause::JOB_TRACKING_FINALIZER.id;
    let counted = is_of_job.then(|| referenced_objects::counted_by(case, target, meta));
    let is_others = matches!(counted, Some(CountedBy::Other(..)));
    if let Some(root) = control_plane::silent(case, target).filter(|_| !is_others) {
        case.diagnosis.causes.push(root);
        return;
    }
    if refused(case, target, meta) {
        return;
    }
    let is_collected =
        cause.id == cause::GARBAGE_COLLECTOR_NOT_WORKING.id || cause.id == cause::ORPHAN_FINALIZER_PENDING.id;
    if is_collected && garbage_collector::is_kept_from(case, target) {
        return;
    }
    let update = Request::about(target, meta, "UPDATE");
    let policy = admission_policy::suspect(case, target, update);
    let mut words = match &counted {
        Some(CountedBy::Other(manager, _)) => format!(
            "{}, which the controller named by spec.managedBy {manager} must remove; kube-controller-manager does not",
            case.diagnosis.words
        ),
        _ => format!("{}, which kube-controller-manager removes", case.diagnosis.words),
    };
    let root = finalizer_cause(target, meta, finalizer, cause);
    let (root, mut beside) = match counted {
        Some(CountedBy::Other(manager, quote)) => {
            let manager = format!("the controller {manager}");
            let root = root.given(Circumstance::JobManager(JobManager::Other)).name(Placeholder::ReleasedBy, manager);
            (root, vec![quote])
        }
        Some(CountedBy::NoJob(quote)) => {
            words.push_str(&format!("; {}: {}", quote.0, quote.1));
            (root, vec![quote])
        }
        Some(CountedBy::JobController) => {
            (root.given(Circumstance::JobManager(JobManager::ControllerManager)), Vec::new())
        }
        None => (root, Vec::new()),
    };
    let validators = webhook::validators(case, update);
    if is_of_job {
        if let Some((configuration, name)) = validators.first() {
            words
                .push_str(&format!("; webhook {name} of {configuration} is called for each update, and may refuse it"));
        }
        let changers = webhook::changers(case, update);
        let says = "is called for updates of this pod; containers that it adds make them invalid";
        beside
            .extend(changers.into_iter().map(|name| (format!("MutatingWebhookConfiguration {name}"), says.to_owned())));
    }
    let root = root.at_itself(target, words);
    let root = match cause.id == cause::GARBAGE_COLLECTOR_NOT_WORKING.id {
        true => not_looked_at(root, target, policy.is_some()),
        false => root,
    };
    let seen = if beside.is_empty() { Seen::NotActed } else { Seen::Reason };
    let may_refuse = |name| format!("webhook {name} is called for each update of the object, and may refuse it");
    let root = root.with_evidence(beside).with_evidence(
        validators
            .into_iter()
            .take(MAX_VALIDATORS)
            .map(|(configuration, name)| (configuration.to_string(), may_refuse(name))),
    );
    let blocking = BlockingFinalizer { target, meta, finalizer, known: super::registry::find(finalizer, &target.kind) };
    let Some(root) = users::add(case, &blocking, root) else { return };
    // As long as something uses it no request is due that a policy may refuse.
    let is_used = root.draft.facts.has(Circumstance::Users(Users::Some));
    let root = if is_used { root } else { admission_policy::beside(&mut case.diagnosis, policy, root, seen) };
    case.diagnosis.causes.push(root);
}

/// Every kind but one was looked at, where it may be. A policy is the nearer doubt.
fn not_looked_at(root: RootCause, target: &ObjectRef, is_policy_seen: bool) -> RootCause {
    let root = root.evidence("secrets", "not looked at: their content is not read; one may block");
    if is_policy_seen {
        return root;
    }
    let elsewhere =
        if target.namespace.is_some() { ", or an object outside of its namespace that names it," } else { "" };
    root.probable(format!("whether a Secret that it owns{elsewhere} blocks, and {REFUSED_BEFORE}"))
}
