//! APIs and the conversion of their objects, where a sentence names them.

use jiff::Timestamp;

use super::{ANSWERS, Followed, GONE, Repair, Sentence, repaired};
use crate::messages::errors;
use crate::rules::crd::conversion;
use crate::rules::prelude::*;

pub enum ApiState {
    /// These do not answer.
    Dead(Vec<ObjectRef>),
    /// It does, since then if that is known.
    Answers(Option<Timestamp>),
    /// It is served no more.
    Gone,
    /// Its APIServices, or discovery, do not show that.
    NotTold,
}

/// Reads the APIServices of a group, or of one version of it. Available is the answer to one path, and discovery asks for
/// another.
pub fn api_state(case: &mut Case, group: &str, version: Option<&str>) -> ApiState {
    let is_it = |its: &str, one: &str| its == group && version.is_none_or(|version| one == version);
    let answer = case.lister.list::<ApiService>(known::API_SERVICES, Scope::All);
    let all = case.diagnosis.optional("apiservices", "whether an API is dead", answer);
    let discovery = case.diagnosis.silently(case.lister.discovery());
    let Some(all) = all else { return ApiState::NotTold };
    let its: Vec<&ApiService> = all.into_iter().filter(|api| is_it(&api.spec.group, &api.spec.version)).collect();
    let is_stale = discovery.is_some_and(|known| known.stale().any(|one| is_it(&one.group, &one.version)));
    let available: Vec<&Condition> =
        its.iter().filter_map(|api| condition(&api.status.conditions, "Available")).collect();
    let is_dead = |api: &&&ApiService| {
        is_stale || condition(&api.status.conditions, "Available").is_some_and(|available| available.status != "True")
    };
    let dead = its.iter().filter(is_dead).map(|api| ObjectRef::api_service(&api.spec.group, &api.spec.version));
    match dead.collect::<Vec<_>>() {
        dead if !dead.is_empty() => ApiState::Dead(dead),
        _ if discovery.is_none() || is_stale || available.len() < its.len() => ApiState::NotTold,
        _ if its.is_empty() => ApiState::Gone,
        _ => ApiState::Answers(available.iter().filter_map(|available| available.last_transition_time).max()),
    }
}

impl Sentence<'_> {
    pub(super) fn conversion(&self, case: &mut Case, group: &str, kind: &str, error: &str) -> Followed {
        let subject = format!("Conversion of {kind}.{group}");
        let answer = conversion::crd_of(case.lister, group, kind);
        if answer.is_missing() {
            return repaired(format!("{kind}.{group}"), GONE);
        }
        let Some(crd) = case.diagnosis.required(known::CRDS.plural, "who converts custom resources", answer) else {
            let step = Step::named(subject, format!("fails: {error}"));
            return self.claimed(&cause::CONVERSION_WEBHOOK_UNAVAILABLE, step);
        };
        if conversion::is_explained(case, &crd) {
            case.diagnosis.wait_for(crd);
            return Followed::Explained;
        }
        match conversion::converter_serves(case, &crd) {
            Some(since) if errors::is_backend_missing(error) => {
                Followed::Repaired(Repair { name: subject, how: ANSWERS, since })
            }
            _ => {
                let step = Step::about(&crd, format!("the conversion of its objects fails: {error}"));
                let root = self.claim(&cause::CONVERSION_WEBHOOK_UNAVAILABLE, &subject, step);
                Followed::Claimed(Box::new(root.name(Placeholder::Crd, crd.name)))
            }
        }
    }

    pub(super) fn api(&self, case: &mut Case, group: &str, version: Option<&str>) -> Followed {
        let name = || format!("API group {group}");
        match api_state(case, group, version) {
            ApiState::Dead(apis) => {
                apis.into_iter().for_each(|api| case.diagnosis.wait_for(api));
                Followed::Explained
            }
            ApiState::Answers(since) => Followed::Repaired(Repair { name: name(), how: ANSWERS, since }),
            ApiState::Gone => repaired(name(), GONE),
            ApiState::NotTold => Followed::Nothing,
        }
    }
}
