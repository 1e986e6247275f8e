//! Why an aggregated API is not served.

mod backed_api;
mod neighbours;
mod unavailable;
mod unreachable;

use self::backed_api::Unavailable;
use super::phrases::lasting;
use crate::rules::prelude::*;

/// Explains an APIService. It is not being deleted: namespaces wait for it to serve.
pub fn explain(case: &mut Case, target: &ObjectRef) {
    let answer = case.lister.get::<ApiService>(known::API_SERVICES, None, &target.name);
    if answer.is_missing() {
        return unregistered(case, target);
    }
    let Some(service) = case.explained(target, "why this API does not answer", answer) else { return };
    let available = condition(&service.status.conditions, "Available");
    match available {
        Some(available) if available.status != "True" => unavailable(case, target, service, available),
        said => serves(case, target, service, said.is_some()),
    }
}

/// Discovery may fail of a version that no APIService registers: where a proxy answers in the place of its server.
fn unregistered(case: &mut Case, target: &ObjectRef) {
    case.diagnosis = Diagnosis::missing();
    let answer = case.lister.discovery();
    let discovery = case.diagnosis.required("API discovery", "whether its resources can be listed", answer);
    let is_it = |served: &&ServedVersion| *target == ObjectRef::api_service(&served.group, &served.version);
    if let Some(stale) = discovery.and_then(|discovery| discovery.stale().find(is_it)) {
        let words = "is not registered, and discovery cannot list what the version serves";
        case.diagnosis.causes.push(stale_version(target, words, "not found", &stale.group, &stale.version));
    }
}

fn stale_version(target: &ObjectRef, words: &str, condition: &str, group: &str, version: &str) -> RootCause {
    RootCause::here(&cause::API_DISCOVERY_STALE, target, words)
        .evidence(target.to_string(), condition)
        .evidence("API discovery", format!("{group}/{version} is stale"))
        .name(Placeholder::GroupVersion, format!("{group}/{version}"))
}

/// It is not said to be unavailable; only discovery may say otherwise.
fn serves(case: &mut Case, target: &ObjectRef, service: &ApiService, is_said: bool) {
    let condition = if is_said { "Available=True" } else { "no condition Available" };
    case.diagnosis.words = if is_said { "is said to be available" } else { "is not said to be unavailable" }.to_owned();
    let ApiServiceSpec { group, version, .. } = &service.spec;
    let Some(discovery) =
        case.diagnosis.required("API discovery", "whether its resources can be listed", case.lister.discovery())
    else {
        return;
    };
    let is_stale = discovery.stale().any(|served| served.group == *group && served.version == *version);
    if is_stale {
        let words = format!("{condition}, and discovery cannot list what it serves");
        case.diagnosis.causes.push(stale_version(target, &words, condition, group, version));
    }
}

fn unavailable(case: &mut Case, target: &ObjectRef, api: &ApiService, available: &Condition) {
    let since = lasting(case.lister, available.last_transition_time);
    case.diagnosis.words = format!("not available{since} ({})", available.reason);
    let Some(reference) = &api.spec.service else {
        let words = format!("not available{since}: {}", available.message);
        let root = RootCause::here(&cause::API_SERVICE_UNAVAILABLE, target, words);
        case.diagnosis.causes.push(root.name(Placeholder::ApiService, &target.name));
        return;
    };
    Unavailable { target, api, available, reference }.explain(case);
}
