//! What the conditions point to.

use findings::{Placeholder, cause};
use jiff::Timestamp;

use super::terminating_namespace::TerminatingNamespace;
use crate::diagnosis::{Diagnosis, RootCause, Step};
use crate::lister::Lister;
use crate::messages::namespace::{DiscoveryFailure, Obstacle, content_failure, discovery_failure};
use crate::rules::phrases::{condition_text, some};
use crate::rules::{control_plane, crd, webhook};
use crate::state::*;

/// Follows them. Returns the APIs that they name as dead and that answer again.
pub fn follow(lister: &Lister, case: &TerminatingNamespace, diagnosis: &mut Diagnosis) -> Vec<Answering> {
    let mut answering = Vec::new();
    if let Some(failure) = case.failing("NamespaceDeletionDiscoveryFailure") {
        answering = discovery(lister, case, failure, diagnosis);
    }
    if let Some(failure) = case.failing("NamespaceDeletionGroupVersionParsingFailure") {
        diagnosis.causes.push(
            RootCause::below(&cause::GROUP_VERSION_MALFORMED, case.target)
                .same_as(&failure.message)
                .step(Step::named("API discovery", failure.message.to_string()))
                .evidence(status_of(case), condition_text(failure)),
        );
    }
    if let Some(failure) = case.failing("NamespaceDeletionContentFailure") {
        for obstacle in content_failure(&failure.message) {
            content(lister, case, failure, obstacle, diagnosis);
        }
    }
    answering
}

fn status_of(case: &TerminatingNamespace) -> String {
    format!("status of {}", case.target)
}

/// An API that a condition names as dead.
pub struct Answering {
    /// Its group and version.
    pub group_version: String,
    /// Since when it is available; nothing when it is served no more.
    pub since: Option<Timestamp>,
}

fn discovery(
    lister: &Lister,
    case: &TerminatingNamespace,
    failure: &Condition,
    diagnosis: &mut Diagnosis,
) -> Vec<Answering> {
    let mut answering = Vec::new();
    match discovery_failure(&failure.message) {
        DiscoveryFailure::Groups(groups) => {
            for (group_version, _) in groups {
                let Some((group, version)) = group_version.split_once('/') else { continue };
                match answers(lister, diagnosis, group, version) {
                    Some(since) => answering.push(Answering { since, group_version }),
                    None => diagnosis.wait_for(ObjectRef::api_service(group, version)),
                }
            }
        }
        DiscoveryFailure::Whole(message) => diagnosis.causes.push(
            RootCause::below(&cause::API_DISCOVERY_FAILED, case.target)
                .same_as("")
                .step(Step::named("API discovery", format!("fails for the namespace controller: {message}")))
                .evidence(status_of(case), condition_text(failure)),
        ),
    }
    answering
}

/// Whether an API has answered since, or is served no more: conditions are as old as the last try.
fn answers(lister: &Lister, diagnosis: &mut Diagnosis, group: &str, version: &str) -> Option<Option<Timestamp>> {
    let name = format!("{version}.{group}");
    let answer = lister.get::<ApiService>(known::API_SERVICES, None, &name);
    let is_gone = answer.is_missing();
    let service = diagnosis.silently(answer);
    let available = service.and_then(|service| condition(&service.status.conditions, "Available"));
    let is_available = available.is_some_and(|available| available.status == "True");
    if !is_gone && !is_available {
        return None;
    }
    let discovery = diagnosis.silently(lister.discovery())?;
    let is_stale = discovery.stale().any(|served| served.group == group && served.version == version);
    (!is_stale).then(|| available.and_then(|available| available.last_transition_time))
}

/// The APIServices of other API servers, which a namespace's deletion asks to delete too; none where they cannot be seen.
fn served_elsewhere(lister: &Lister, diagnosis: &mut Diagnosis) -> Option<Vec<String>> {
    let answer = lister.list::<ApiService>(known::API_SERVICES, Scope::All);
    let services = diagnosis.required("apiservices", "whose etcd it is", answer);
    let discovery = diagnosis.required("API discovery", "whose etcd it is", lister.discovery());
    let (services, deleted) = (services?, discovery?.deletable_namespaced());
    let is_deleted = |service: &ApiService| deleted.iter().any(|resource| resource.group == service.spec.group);
    let others = services.into_iter().filter(|service| service.spec.service.is_some() && is_deleted(service));
    Some(others.map(|service| format!("APIService {}", service.metadata.name)).collect())
}

fn content(
    lister: &Lister,
    case: &TerminatingNamespace,
    failure: &Condition,
    obstacle: Obstacle,
    diagnosis: &mut Diagnosis,
) {
    let root = |cause, subject: &str, words: &str| {
        RootCause::below(cause, case.target)
            .same_as(subject)
            .name(Placeholder::Namespace, case.name)
            .step(Step::named(subject, words))
            .evidence(status_of(case), condition_text(failure))
    };
    let cause = match obstacle {
        // They are listed anyway, or follow from the resource's name.
        Obstacle::Unexpected { .. } => return,
        Obstacle::WebhookCall { webhook, host, error } => {
            let called = webhook::called(lister, diagnosis, &webhook, &host);
            // Its Service has a ready endpoint, or it is outside of the cluster: the path is cut, or it is slow.
            if !called.is_explained && !diagnosis.pending {
                let words = format!("cannot be called: {error}");
                let root = root(&cause::WEBHOOK_UNAVAILABLE, &format!("Webhook {webhook}"), &words);
                diagnosis
                    .causes
                    .push(root.name_if(Placeholder::Configuration, called.configuration.map(|it| it.typed_name())));
            }
            return;
        }
        Obstacle::WebhookDenial { webhook, why } => {
            let configuration = webhook::configuration_of(lister, diagnosis, &webhook);
            let why = if why.is_empty() { "without giving a reason".to_owned() } else { why };
            root(&cause::WEBHOOK_REFUSES_DELETE, &format!("Webhook {webhook}"), &format!("refuses the deletion: {why}"))
                .name_if(Placeholder::Configuration, configuration.map(|it| it.typed_name()))
        }
        Obstacle::PolicyDenial { policy, binding, why } => root(
            &cause::POLICY_REFUSES_DELETE,
            &format!("ValidatingAdmissionPolicy {policy}"),
            &format!("bound by {binding}, refuses the deletion: {why}"),
        ),
        Obstacle::Conversion { group, kind, error } => {
            match crd::crd_of(lister, diagnosis, &group, &kind) {
                Some(crd) if crd::is_explained(lister, &crd) => diagnosis.wait_for(crd),
                None if diagnosis.pending => {}
                crd => {
                    let root = root(
                        &cause::CONVERSION_WEBHOOK_UNAVAILABLE,
                        &format!("Conversion of {kind}.{group}"),
                        &format!("fails: {error}"),
                    );
                    diagnosis.causes.push(root.name_if(Placeholder::Crd, crd.map(|crd| crd.name)));
                }
            }
            return;
        }
        Obstacle::StoredVersion { group_version } => root(
            &cause::STORED_VERSION_NOT_SERVED,
            &format!("Objects of {group_version}"),
            "are stored in a version that the CRD does not have any more",
        ),
        Obstacle::NotDecryptable { key, error } => {
            root(&cause::OBJECT_NOT_DECRYPTABLE, &format!("etcd key {key}"), &format!("cannot be decrypted: {error}"))
        }
        Obstacle::NotDecodable { error } => {
            root(&cause::OBJECT_NOT_DECODABLE, "A stored object", &format!("cannot be decoded: {error}"))
        }
        Obstacle::Etcd { fault, error } => {
            let root = root(control_plane::etcd_cause(fault), "etcd", &format!("{}: {error}", fault.words()));
            // The condition does not tell which API server said it.
            let elsewhere = match served_elsewhere(lister, diagnosis) {
                Some(apis) if apis.is_empty() => return diagnosis.causes.push(root),
                Some(apis) => some(&apis, 3),
                None => "an APIService that cannot be seen".to_owned(),
            };
            root.probable(format!("whether that is the etcd of kube-apiserver: behind {elsewhere} may be another"))
        }
        Obstacle::Forbidden { why } => {
            root(&cause::NAMESPACE_CONTROLLER_FORBIDDEN, "The namespace controller", &format!("may not {why}"))
        }
        Obstacle::TooManyRequests => root(
            &cause::API_REQUESTS_REJECTED,
            "The API server",
            "rejects the namespace controller's requests (429 Too Many Requests)",
        ),
        Obstacle::Unknown { text } => {
            root(&cause::NAMESPACE_CONTENT_FAILURE, "Deleting the content", &format!("fails: {text}"))
                .same_as(case.name)
        }
    };
    diagnosis.causes.push(cause);
}
