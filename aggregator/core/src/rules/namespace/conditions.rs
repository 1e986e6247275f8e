//! What the conditions point to.

use super::controller_rights;
use super::terminating_namespace::TerminatingNamespace;
use crate::messages::leads::Lead;
use crate::messages::namespace::{DiscoveryFailure, content_failure, discovery_failure};
use crate::rules::leads::{self, ApiState, Followed, Repair, Sentence};
use crate::rules::phrases::{condition_text, some};
use crate::rules::prelude::*;

/// Follows them. Returns what they name as broken and that works again.
pub fn follow(case: &mut Case, terminating: &TerminatingNamespace) -> Vec<Repair> {
    let mut answering = Vec::new();
    if let Some(failure) = terminating.failing("NamespaceDeletionDiscoveryFailure") {
        answering = discovery(case, terminating, failure);
    }
    if let Some(failure) = terminating.failing("NamespaceDeletionGroupVersionParsingFailure") {
        case.diagnosis.causes.push(undiscovered(terminating, failure, failure.message.to_string()));
    }
    if let Some(failure) = terminating.failing("NamespaceDeletionContentFailure") {
        for lead in content_failure(&failure.message) {
            answering.extend(content(case, terminating, failure, &lead));
        }
    }
    answering
}

fn status_of(terminating: &TerminatingNamespace) -> String {
    format!("status of {}", terminating.target)
}

/// The same for every namespace.
fn undiscovered(terminating: &TerminatingNamespace, failure: &Condition, words: String) -> RootCause {
    RootCause::below(&cause::API_DISCOVERY_FAILED, terminating.target)
        .same_as("")
        .step(Step::named("API discovery", words))
        .evidence(status_of(terminating), condition_text(failure))
}

fn discovery(case: &mut Case, terminating: &TerminatingNamespace, failure: &Condition) -> Vec<Repair> {
    let mut answering = Vec::new();
    match discovery_failure(&failure.message) {
        DiscoveryFailure::Groups(groups) => {
            for (group_version, _) in groups {
                let Some((group, version)) = group_version.split_once('/') else { continue };
                let (how, since) = match leads::api_state(case, group, Some(version)) {
                    ApiState::Answers(since) => (leads::ANSWERS, since),
                    ApiState::Gone => (leads::GONE, None),
                    ApiState::Dead(_) | ApiState::NotTold => {
                        case.diagnosis.wait_for(ObjectRef::api_service(group, version));
                        continue;
                    }
                };
                answering.push(Repair { name: group_version, how, since });
            }
        }
        DiscoveryFailure::Whole(message) => {
            let root = controller_rights::cannot_discover(case, terminating)
                .map(|root| root.evidence(status_of(terminating), condition_text(failure)));
            let words = format!("fails for the namespace controller: {message}");
            case.diagnosis.causes.push(root.unwrap_or_else(|| undiscovered(terminating, failure, words)));
        }
    }
    answering
}

/// The APIServices of other API servers, which a namespace's deletion asks to delete too; none where they cannot be seen.
fn served_elsewhere(case: &mut Case) -> Option<Vec<String>> {
    let answer = case.lister.list::<ApiService>(known::API_SERVICES, Scope::All);
    let services = case.diagnosis.required("apiservices", "whose etcd it is", answer);
    let discovery = case.diagnosis.required("API discovery", "whose etcd it is", case.lister.discovery());
    let (services, deleted) = (services?, discovery?.deletable_namespaced());
    let is_deleted = |service: &ApiService| deleted.iter().any(|resource| resource.group == service.spec.group);
    let others = services.into_iter().filter(|service| service.spec.service.is_some() && is_deleted(service));
    Some(others.map(|service| format!("APIService {}", service.metadata.name)).collect())
}

fn content(case: &mut Case, terminating: &TerminatingNamespace, failure: &Condition, lead: &Lead) -> Option<Repair> {
    let (source, says) = (status_of(terminating), condition_text(failure));
    let sentence = Sentence { target: terminating.target, source: &source, says: &says, is_of_before: false };
    let root = match leads::follow(case, &sentence, lead) {
        Followed::Repaired(repair) => return Some(repair),
        Followed::Claimed(root) => *root,
        Followed::Open | Followed::Explained | Followed::Nothing => return None,
    };
    // The condition does not show which API server reported it.
    let elsewhere = match lead {
        Lead::Etcd { .. } => served_elsewhere(case).map(|apis| (apis.is_empty(), some(&apis, 3))),
        _ => Some((true, String::new())),
    };
    let elsewhere = match elsewhere {
        Some((true, _)) => None,
        Some((false, apis)) => Some(apis),
        None => Some("an APIService that cannot be seen".to_owned()),
    };
    case.diagnosis.causes.push(match elsewhere {
        Some(apis) => {
            root.probable(format!("whether that is the etcd of kube-apiserver: behind {apis} may be another"))
        }
        None => root,
    });
    None
}
