//! What the conditions point to.

use findings::cause;

use super::terminating_namespace::TerminatingNamespace;
use crate::diagnosis::{Diagnosis, RootCause, Step};
use crate::lister::Lister;
use crate::messages::leads::Lead;
use crate::messages::namespace::{DiscoveryFailure, content_failure, discovery_failure};
use crate::rules::leads::{self, ApiState, Followed, Repair, Sentence};
use crate::rules::phrases::{condition_text, some};
use crate::state::*;

/// Follows them. Returns what they name as broken and that works again.
pub fn follow(lister: &Lister, case: &TerminatingNamespace, diagnosis: &mut Diagnosis) -> Vec<Repair> {
    let mut answering = Vec::new();
    if let Some(failure) = case.failing("NamespaceDeletionDiscoveryFailure") {
        answering = discovery(lister, case, failure, diagnosis);
    }
    if let Some(failure) = case.failing("NamespaceDeletionGroupVersionParsingFailure") {
        diagnosis.causes.push(undiscovered(case, failure, failure.message.to_string()));
    }
    if let Some(failure) = case.failing("NamespaceDeletionContentFailure") {
        for lead in content_failure(&failure.message) {
            answering.extend(content(lister, case, failure, &lead, diagnosis));
        }
    }
    answering
}

fn status_of(case: &TerminatingNamespace) -> String {
    format!("status of {}", case.target)
}

/// The same for every namespace.
fn undiscovered(case: &TerminatingNamespace, failure: &Condition, words: String) -> RootCause {
    RootCause::below(&cause::API_DISCOVERY_FAILED, case.target)
        .same_as("")
        .step(Step::named("API discovery", words))
        .evidence(status_of(case), condition_text(failure))
}

fn discovery(
    lister: &Lister,
    case: &TerminatingNamespace,
    failure: &Condition,
    diagnosis: &mut Diagnosis,
) -> Vec<Repair> {
    let mut answering = Vec::new();
    match discovery_failure(&failure.message) {
        DiscoveryFailure::Groups(groups) => {
            for (group_version, _) in groups {
                let Some((group, version)) = group_version.split_once('/') else { continue };
                let (how, since) = match leads::api_state(lister, diagnosis, group, Some(version)) {
                    ApiState::Answers(since) => (leads::ANSWERS, since),
                    ApiState::Gone => (leads::GONE, None),
                    ApiState::Dead(_) | ApiState::NotTold => {
                        diagnosis.wait_for(ObjectRef::api_service(group, version));
                        continue;
                    }
                };
                answering.push(Repair { name: group_version, how, since });
            }
        }
        DiscoveryFailure::Whole(message) => {
            let words = format!("fails for the namespace controller: {message}");
            diagnosis.causes.push(undiscovered(case, failure, words));
        }
    }
    answering
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
    lead: &Lead,
    diagnosis: &mut Diagnosis,
) -> Option<Repair> {
    let (source, says) = (status_of(case), condition_text(failure));
    let sentence = Sentence { target: case.target, source: &source, says: &says };
    let root = match leads::follow(lister, diagnosis, &sentence, lead) {
        Followed::Repaired(repair) => return Some(repair),
        Followed::Claimed(root) => *root,
        Followed::Open | Followed::Explained | Followed::Nothing => return None,
    };
    // The condition does not show which API server reported it.
    let elsewhere = match lead {
        Lead::Etcd { .. } => served_elsewhere(lister, diagnosis).map(|apis| (apis.is_empty(), some(&apis, 3))),
        _ => Some((true, String::new())),
    };
    let elsewhere = match elsewhere {
        Some((true, _)) => None,
        Some((false, apis)) => Some(apis),
        None => Some("an APIService that cannot be seen".to_owned()),
    };
    diagnosis.causes.push(match elsewhere {
        Some(apis) => {
            root.probable(format!("whether that is the etcd of kube-apiserver: behind {apis} may be another"))
        }
        None => root,
    });
    None
}
