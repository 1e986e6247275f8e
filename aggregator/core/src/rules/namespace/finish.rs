//! What is left to say when objects and conditions have been looked at.

use findings::{Cleanup, FaultKind, spec_finalizer_patch};

use super::content::Left;
use super::controller_rights;
use super::emptying;
use super::terminating_namespace::TerminatingNamespace;
use crate::diagnosis::MIN_AGE_SECONDS;
use crate::messages::leads::Lead;
use crate::messages::namespace::{content_failure, remaining};
use crate::rules::leads::{self, Followed, Repair, Sentence};
use crate::rules::phrases::{count, lasting, some};
use crate::rules::prelude::*;
use crate::rules::webhook::Request;
use crate::rules::{control_plane, finalizer, webhook};

/// The namespace controller tries again within a minute; after five it does not work on the namespace.
const MAX_RETRY_SECONDS: i64 = 300;

/// The first attempt of the namespace controller ends within seconds.
const MAX_FIRST_CONDITION_SECONDS: i64 = 15;

/// After it has met pods, the namespace controller checks again after half of their longest grace period, whether they are
/// gone by then or not (kubernetes: pkg/controller/namespace/namespace_controller.go, `ResourcesRemainingError`). What grace
/// they had is no longer known; it is seldom longer than half an hour.
const MAX_WAIT_FOR_PODS_SECONDS: i64 = 15 * 60;

pub fn judge(case: &mut Case, terminating: &TerminatingNamespace, left: &Left, repaired: &[Repair]) {
    recreated(terminating, left, &mut case.diagnosis);
    foreign_finalizers(case, terminating);
    let falling = if case.diagnosis.pending { None } else { emptying::falling(case, terminating, left) };
    if let Some(falling) = falling.as_ref().filter(|_| case.diagnosis.is_explained() && !case.diagnosis.pending) {
        case.diagnosis.note(format!("{} is being emptied meanwhile: {falling}.", terminating.target));
    }
    if case.diagnosis.is_explained() || case.diagnosis.pending {
        return;
    }
    // Nothing is wrong while it becomes less.
    if let Some(falling) = falling {
        let words = format!("{}; being emptied: {falling}", case.diagnosis.words);
        let root = RootCause::here(&cause::NAMESPACE_STILL_EMPTYING, terminating.target, words)
            .name(Placeholder::Namespace, terminating.name)
            .evidence(format!("what remains in {}", terminating.name), falling);
        case.diagnosis.causes.push(root.progressing());
        return;
    }
    if left.not_asked.is_empty() || terminating.namespace.status.conditions.is_empty() {
        own_update_refused(case, terminating);
    }
    refused(case, left);
    outdated(case, terminating, repaired);
    without_condition(case, terminating, left);
    let is_waiting = left.pods == 0 && left.terminating == 0 && !left.not_asked.is_empty();
    let is_young = case.diagnosis.is_younger_than(if is_waiting { MAX_WAIT_FOR_PODS_SECONDS } else { MIN_AGE_SECONDS });
    if !case.diagnosis.is_explained() && is_young && !case.diagnosis.pending {
        let until = if is_waiting { wait_for_pods(terminating, &case.diagnosis) } else { "" };
        let words = format!("{}; being emptied{until}", case.diagnosis.words);
        let root = RootCause::here(&cause::NAMESPACE_STILL_EMPTYING, terminating.target, words)
            .name(Placeholder::Namespace, terminating.name);
        case.diagnosis.causes.push(root.progressing());
    }
}

/// What the controller waits for where no pod is left: the condition is of its last try.
fn wait_for_pods(terminating: &TerminatingNamespace, diagnosis: &Diagnosis) -> &'static str {
    let said = terminating.failing("NamespaceContentRemaining").map(|condition| remaining(&condition.message));
    let had_pods = said.into_iter().flatten().any(|(plural, group, _)| group.is_empty() && plural == "pods");
    match () {
        () if had_pods => "; the controller had found pods, and waits half of their grace period",
        // Without pods it would have tried again by now.
        () if !terminating.is_young(diagnosis) => "; if it had pods, the controller waits half of their grace period",
        () => "",
    }
}

/// The first version whose namespace controller writes down how far it is, also when nothing is wrong.
const MIN_MINOR_WITH_CONDITIONS: u32 = 16;

/// A namespace controller that runs writes conditions at its first look, and asks what is inside to go.
fn without_condition(case: &mut Case, terminating: &TerminatingNamespace, left: &Left) {
    let is_untouched = terminating.namespace.status.conditions.is_empty() && terminating.has_own_finalizer();
    if !is_untouched
        || case.diagnosis.is_younger_than(MIN_AGE_SECONDS)
        || case.diagnosis.is_explained()
        || case.diagnosis.pending
    {
        return;
    }
    let minor = case.diagnosis.silently(case.lister.version()).and_then(Version::minor);
    if minor.is_none_or(|minor| minor < MIN_MINOR_WITH_CONDITIONS) || case.diagnosis.pending {
        return;
    }
    let forbidden = controller_rights::cannot_report(case, terminating);
    if forbidden.is_some() || case.diagnosis.pending {
        case.diagnosis.causes.extend(forbidden);
        return;
    }
    let inside = match left.not_asked.len() {
        0 if case.diagnosis.is_blind() => "what is in it could not be seen".to_owned(),
        0 => "nothing in it was deleted since".to_owned(),
        many => format!("{} in it, not deleted", count(many, "object")),
    };
    let words = format!(
        "{}; no condition, and {inside}: no attempt of the namespace controller is visible",
        case.diagnosis.words
    );
    let root = RootCause::here(&cause::NAMESPACE_CONTROLLER_NOT_RUNNING, terminating.target, words)
        // All namespaces wait for the same controller.
        .same_as("namespace-controller")
        .name(Placeholder::Namespace, terminating.name)
        .evidence(terminating.target.to_string(), "status.conditions is empty")
        .evidence("what is inside", inside)
        .evidence("version of the server", format!("1.{}", minor.unwrap_or_default()));
    let root = root.probable(
        "that the namespace controller does not run: a webhook or an API that was repaired in the last minute looks the same",
    );
    // Its next attempt may be the first that gets so far.
    let is_recent = case.diagnosis.is_younger_than(MAX_RETRY_SECONDS);
    case.diagnosis.causes.push(if is_recent { root.progressing() } else { root });
}

/// Whether no controller acts, or an API that cannot be listed holds every namespace.
pub fn control_plane(case: &mut Case, terminating: &TerminatingNamespace) {
    let storage = control_plane::storage_failure(case).map(|failure| failure.root(terminating.target));
    case.diagnosis.causes.extend(storage);
    match control_plane::silent(case, terminating.target) {
        Some(root) => case.diagnosis.causes.push(root),
        None => {
            dead_apis(case, terminating);
            failing_conversions(case, terminating);
        }
    }
}

/// The namespace controller lists every kind. Where the objects of one cannot be converted, also those of other namespaces, the
/// API server answers "try again" for five minutes, and the first condition is written after that (kubernetes:
/// staging/src/k8s.io/apiserver/pkg/storage/cacher/cacher.go, `storage is (re)initializing`).
fn failing_conversions(case: &mut Case, terminating: &TerminatingNamespace) {
    let is_young = case.diagnosis.is_younger_than(MAX_FIRST_CONDITION_SECONDS);
    let is_first = terminating.namespace.status.conditions.is_empty();
    if !is_first || is_young || case.diagnosis.is_explained() || case.diagnosis.pending {
        return;
    }
    let converted = |crd: &&Crd| crd.conversion_client().is_some() && crd.needs_converter();
    let crds = case.diagnosis.silently(case.lister.list::<Crd>(known::CRDS, Scope::All)).unwrap_or_default();
    for crd in crds.into_iter().filter(converted) {
        let CrdNames { kind, plural } = &crd.spec.names;
        let discovery = case.diagnosis.silently(case.lister.discovery());
        let Some((resource, _)) = discovery.and_then(|discovery| discovery.find(&crd.spec.group, plural)) else {
            continue;
        };
        let answer = case.lister.metadata(&resource, Scope::All);
        let failed = if let Answer::Failed(fault) = &answer { Some(fault.clone()) } else { None };
        case.diagnosis.silently(answer);
        let Some(fault) = failed.filter(|fault| fault.kind != FaultKind::Denied) else { continue };
        let is_conversion = |lead: &Lead| matches!(lead, Lead::Conversion { .. });
        let lead = content_failure(&fault.message).into_iter().find(is_conversion).unwrap_or_else(|| {
            Lead::Conversion { group: crd.spec.group.clone(), kind: kind.clone(), error: fault.to_string() }
        });
        let (source, says) = (format!("list of {resource}"), format!("fails: {fault}"));
        let sentence = Sentence { target: terminating.target, source: &source, says: &says, is_of_before: false };
        if let Followed::Claimed(root) = leads::follow(case, &sentence, &lead) {
            let missing = "whether the namespace controller's own list of them fails: it has written no condition yet";
            case.diagnosis.causes.push(root.probable(missing));
        }
    }
}

/// The conditions name as broken what works again, and nothing else holds the namespace.
fn outdated(case: &mut Case, terminating: &TerminatingNamespace, repaired: &[Repair]) {
    if repaired.is_empty() || case.diagnosis.is_explained() || case.diagnosis.pending {
        return;
    }
    let since = repaired.iter().filter_map(|one| one.since).max();
    let all: Vec<String> = repaired
        .iter()
        .map(|one| format!("{}, which {}{}", one.name, one.how, lasting(case.lister, one.since)))
        .collect();
    let all = some(&all, 3);
    let words = format!("{}; its condition still names {all}", case.diagnosis.words);
    let root = RootCause::here(&cause::NAMESPACE_CONDITION_OUTDATED, terminating.target, words)
        .name(Placeholder::Namespace, terminating.name)
        .evidence("what the condition names", all);
    let is_recent = since.is_some_and(|since| case.lister.seconds_since(since) < MAX_RETRY_SECONDS)
        || (since.is_none() && case.diagnosis.is_younger_than(MAX_RETRY_SECONDS));
    case.diagnosis.causes.push(match (is_recent, since) {
        (true, _) => root.progressing(),
        (false, Some(_)) => root.probable("why the namespace controller has not tried again since: its log has that"),
        (false, None) => root.probable("since when that is so: the namespace controller tries again within a minute"),
    });
}

fn recreated(terminating: &TerminatingNamespace, left: &Left, diagnosis: &mut Diagnosis) {
    if let Some(first) = left.recreated.first() {
        let names: Vec<String> = left.recreated.iter().map(ToString::to_string).collect();
        diagnosis.causes.push(
            RootCause::below(&cause::OBJECTS_RECREATED, terminating.target)
                .name(Placeholder::Namespace, terminating.name)
                .name(Placeholder::Type, first.type_for_kubectl())
                .name(Placeholder::Name, &first.name)
                .step(Step::named(
                    count(names.len(), "object"),
                    format!("created after the namespace's deletion: {}", some(&names, 3)),
                ))
                .evidence(
                    first.to_string(),
                    "its creationTimestamp is more than a minute later than the namespace's deletionTimestamp",
                ),
        );
    }
}

/// Finalizers that mean something in metadata.finalizers only.
const IDLE_IN_SPEC: [&str; 2] = ["foregroundDeletion", "orphan"];

/// The controller has done its part; others have not.
fn foreign_finalizers(case: &mut Case, terminating: &TerminatingNamespace) {
    let spec = &terminating.namespace.spec.finalizers;
    if terminating.has_own_finalizer() {
        return;
    }
    let uid = &terminating.namespace.metadata.uid;
    for (index, finalizer) in spec.iter().enumerate() {
        // The garbage collector looks at metadata.finalizers only.
        let is_idle = IDLE_IN_SPEC.contains(&finalizer.as_str());
        let more = if is_idle { "; no controller handles it there" } else { "" };
        let words =
            format!("spec.finalizers holds {finalizer}; the namespace controller has removed its own entry{more}");
        let cleanup = if is_idle { Cleanup::Nothing } else { Cleanup::Pending };
        case.diagnosis.causes.push(
            RootCause::here(&cause::NAMESPACE_SPEC_FINALIZER, terminating.target, words)
                .same_as(finalizer)
                .given(Circumstance::Cleanup(cleanup))
                .name(Placeholder::Finalizer, finalizer)
                .name_if(
                    Placeholder::SpecFinalizerPatch,
                    (!uid.is_empty()).then(|| spec_finalizer_patch(uid, index, finalizer)),
                )
                .name(Placeholder::Namespace, terminating.name)
                .evidence(terminating.target.to_string(), format!("spec.finalizers: {}", spec.join(", "))),
        );
    }
    if spec.is_empty() {
        finalizer::explain(case, terminating.target, &terminating.namespace.metadata);
    }
}

/// APIs that cannot be listed hold every namespace, whether the conditions say so or not.
fn dead_apis(case: &mut Case, terminating: &TerminatingNamespace) {
    let answer = case.lister.list::<ApiService>(known::API_SERVICES, Scope::All);
    let services = case.diagnosis.required("apiservices", "whether an API is dead", answer).unwrap_or_default();
    let mut any = false;
    for service in services {
        let available = condition(&service.status.conditions, "Available");
        if available.is_some_and(|available| available.status != "True") {
            case.diagnosis.wait_for(ObjectRef::api_service(&service.spec.group, &service.spec.version));
            any = true;
        }
    }
    if !any
        && let Some(discovery) =
            case.diagnosis.required("API discovery", "whether an API is dead", case.lister.discovery())
    {
        for stale in discovery.stale().filter(|stale| !stale.group.is_empty()) {
            case.diagnosis.wait_for(ObjectRef::api_service(&stale.group, &stale.version));
            any = true;
        }
    }
    if any && terminating.namespace.status.conditions.is_empty() {
        case.diagnosis.note(
            "Some namespace has no conditions: its controller has not ended a first try, or the server is older than \
             1.16. What holds it is derived from the APIs that cannot be listed.",
        );
    }
}

/// Objects that were not deleted, although the controller runs.
fn refused(case: &mut Case, left: &Left) {
    for (target, meta) in left.not_asked.iter().take(3) {
        webhook::refuses(case, &[Request::about(target, meta, "DELETE")]);
    }
}

/// The namespace is empty, and its last update is refused. The controller makes no other that counts: its phase was set
/// as it was deleted, and a condition that cannot be written is only logged (kubernetes:
/// pkg/controller/namespace/deletion/namespaced_resources_deleter.go, `finalizeNamespace`).
fn own_update_refused(case: &mut Case, terminating: &TerminatingNamespace) {
    let update = Request::about(terminating.target, &terminating.namespace.metadata, "UPDATE");
    webhook::refuses(case, &[update.at("namespaces/finalize")]);
}
