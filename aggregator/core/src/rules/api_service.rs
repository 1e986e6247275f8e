//! Why an aggregated API is not served.

mod backed_api;
mod neighbours;
mod unavailable;
mod unreachable;

use findings::{Placeholder, cause};

use self::backed_api::Unavailable;
use super::phrases::lasting;
use crate::diagnosis::{Diagnosis, RootCause};
use crate::lister::Lister;
use crate::state::*;

/// Explains an APIService. It is not being deleted: namespaces wait for it to serve.
pub fn explain(lister: &Lister, target: &ObjectRef) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    let answer = lister.get::<ApiService>(known::API_SERVICES, None, &target.name);
    if answer.is_missing() {
        return Diagnosis::missing();
    }
    let Some(service) = diagnosis.required(target.to_string(), "why this API does not answer", answer) else {
        diagnosis.words = crate::report::NOT_KNOWN.to_owned();
        return diagnosis;
    };
    let available = condition(&service.status.conditions, "Available");
    match available {
        Some(available) if available.status != "True" => {
            unavailable(lister, target, service, available, &mut diagnosis)
        }
        said => serves(lister, target, service, said.is_some(), &mut diagnosis),
    }
    diagnosis
}

/// It is not said to be unavailable; only discovery may say otherwise.
fn serves(lister: &Lister, target: &ObjectRef, service: &ApiService, is_said: bool, diagnosis: &mut Diagnosis) {
    let condition = if is_said { "Available=True" } else { "no condition Available" };
    diagnosis.words = if is_said { "is said to be available" } else { "is not said to be unavailable" }.to_owned();
    let ApiServiceSpec { group, version, .. } = &service.spec;
    let Some(discovery) =
        diagnosis.required("API discovery", "whether its resources can be listed", lister.discovery())
    else {
        return;
    };
    let is_stale = discovery.stale().any(|served| served.group == *group && served.version == *version);
    if is_stale {
        let words = format!("{condition}, and discovery cannot list what it serves");
        diagnosis.causes.push(
            RootCause::here(&cause::API_DISCOVERY_STALE, target, words)
                .evidence(target.to_string(), condition)
                .evidence("API discovery", format!("{group}/{version} is stale"))
                .name(Placeholder::GroupVersion, format!("{group}/{version}")),
        );
    }
}

fn unavailable(
    lister: &Lister,
    target: &ObjectRef,
    api: &ApiService,
    available: &Condition,
    diagnosis: &mut Diagnosis,
) {
    let since = lasting(lister, available.last_transition_time);
    diagnosis.words = format!("not available{since} ({})", available.reason);
    let Some(reference) = &api.spec.service else {
        let words = format!("not available{since}: {}", available.message);
        let root = RootCause::here(&cause::API_SERVICE_UNAVAILABLE, target, words);
        diagnosis.causes.push(root.name(Placeholder::ApiService, &target.name));
        return;
    };
    Unavailable { lister, target, api, available, reference }.explain(diagnosis);
}
