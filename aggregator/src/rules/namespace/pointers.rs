//! What the conditions point to.

use findings::{Placeholder, cause};

use super::Case;
use crate::graph::{Found, Standing, Step, View};
use crate::rules::conditions::{DiscoveryFailure, Obstacle, content_failure, discovery_failure};
use crate::rules::words::{api_service, said};
use crate::rules::{custom, webhook};
use crate::state::*;

pub fn follow(view: &View, case: &Case, standing: &mut Standing) {
    if let Some(failure) = case.failing("NamespaceDeletionDiscoveryFailure") {
        discovery(case, failure, standing);
    }
    if let Some(failure) = case.failing("NamespaceDeletionGroupVersionParsingFailure") {
        standing.found.push(
            Found::below(&cause::GROUP_VERSION_MALFORMED, case.thing)
                .same_as(&failure.message)
                .step(Step::named("API discovery", &failure.message))
                .evidence(status_of(case), said(failure)),
        );
    }
    if let Some(failure) = case.failing("NamespaceDeletionContentFailure") {
        for obstacle in content_failure(&failure.message) {
            content(view, case, failure, obstacle, standing);
        }
    }
}

fn status_of(case: &Case) -> String {
    format!("status of {}", case.thing)
}

fn discovery(case: &Case, failure: &Condition, standing: &mut Standing) {
    match discovery_failure(&failure.message) {
        DiscoveryFailure::Groups(groups) => {
            for (group_version, _) in groups {
                if let Some((group, version)) = group_version.split_once('/') {
                    standing.wait_for(api_service(group, version));
                }
            }
        }
        DiscoveryFailure::Whole(message) => standing.found.push(
            Found::below(&cause::API_DISCOVERY_FAILED, case.thing)
                .same_as("")
                .step(Step::named("API discovery", format!("fails for the namespace controller: {message}")))
                .evidence(status_of(case), said(failure)),
        ),
    }
}

fn content(view: &View, case: &Case, failure: &Condition, obstacle: Obstacle, standing: &mut Standing) {
    let found = |cause, subject: &str, words: &str| {
        Found::below(cause, case.thing)
            .same_as(subject)
            .name(Placeholder::Namespace, case.name)
            .step(Step::named(subject, words))
            .evidence(status_of(case), said(failure))
    };
    let cause = match obstacle {
        // They are listed anyway, or follow from the resource's name.
        Obstacle::Unexpected { .. } => return,
        Obstacle::WebhookCall { webhook, error } => {
            let called = webhook::called(view, standing, &webhook);
            // Its Service has a ready endpoint, or it is outside of the cluster: the path is cut, or it is slow.
            if !called.is_explained && !standing.open {
                let words = format!("cannot be called: {error}");
                let found = found(&cause::WEBHOOK_UNAVAILABLE, &format!("Webhook {webhook}"), &words);
                standing
                    .found
                    .push(found.name_if(Placeholder::Configuration, called.configuration.map(|it| it.typed_name())));
            }
            return;
        }
        Obstacle::WebhookDenial { webhook, why } => {
            let configuration = webhook::configuration_of(view, standing, &webhook);
            let why = if why.is_empty() { "without giving a reason".to_owned() } else { why };
            found(
                &cause::WEBHOOK_REFUSES_DELETE,
                &format!("Webhook {webhook}"),
                &format!("refuses the deletion: {why}"),
            )
            .name_if(Placeholder::Configuration, configuration.map(|it| it.typed_name()))
        }
        Obstacle::PolicyDenial { policy, binding, why } => found(
            &cause::POLICY_REFUSES_DELETE,
            &format!("ValidatingAdmissionPolicy {policy}"),
            &format!("bound by {binding}, refuses the deletion: {why}"),
        ),
        Obstacle::Conversion { group, kind, error } => {
            match custom::crd_of(view, standing, &group, &kind) {
                Some(crd) if custom::is_explained(view, &crd) => standing.wait_for(crd),
                None if standing.open => {}
                _ => standing.found.push(found(
                    &cause::CONVERSION_WEBHOOK_UNAVAILABLE,
                    &format!("Conversion of {kind}.{group}"),
                    &format!("fails: {error}"),
                )),
            }
            return;
        }
        Obstacle::StoredVersion { group_version } => found(
            &cause::STORED_VERSION_NOT_SERVED,
            &format!("Objects of {group_version}"),
            "are stored in a version that the CRD does not have any more",
        ),
        Obstacle::NotDecryptable { key, error } => {
            found(&cause::OBJECT_NOT_DECRYPTABLE, &format!("etcd key {key}"), &format!("cannot be decrypted: {error}"))
        }
        Obstacle::NotDecodable { error } => {
            found(&cause::OBJECT_NOT_DECODABLE, "A stored object", &format!("cannot be decoded: {error}"))
        }
        Obstacle::Etcd { error } if error.contains("space exceeded") => {
            found(&cause::ETCD_SPACE_EXCEEDED, "etcd", &format!("takes no more writes: {error}"))
        }
        Obstacle::Etcd { error } => found(&cause::ETCD_NOT_RESPONDING, "etcd", &format!("does not answer: {error}")),
        Obstacle::Forbidden { why } => {
            found(&cause::NAMESPACE_CONTROLLER_FORBIDDEN, "The namespace controller", &format!("may not {why}"))
        }
        Obstacle::TooManyRequests => found(
            &cause::API_REQUESTS_REJECTED,
            "The API server",
            "turns the namespace controller's requests away: too many",
        ),
        Obstacle::Unknown { text } => {
            found(&cause::NAMESPACE_CONTENT_FAILURE, "Deleting the content", &format!("fails: {text}"))
                .same_as(case.name)
        }
    };
    standing.found.push(cause);
}
