//! Why an aggregated API is not served.

mod neighbours;

use findings::{Placeholder, cause};

use self::neighbours::Neighbour;
use super::backend::{self, Backend};
use super::ca_bundle;
use super::node;
use super::phrases::{condition_text, lasting};
use crate::diagnosis::{Diagnosis, RootCause, Step};
use crate::lister::Lister;
use crate::messages::api_service::{Failure, address, failure};
use crate::state::*;

/// Explains an APIService. It is not being deleted: namespaces wait for it to serve.
pub fn explain(lister: &Lister, target: &ObjectRef) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    let answer = lister.get::<ApiService>(known::API_SERVICES, None, &target.name);
    if answer.is_missing() {
        return Diagnosis::missing();
    }
    let Some(service) = diagnosis.required(target.to_string(), "why this API does not answer", answer) else {
        diagnosis.words = "not known".to_owned();
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
    service: &ApiService,
    available: &Condition,
    diagnosis: &mut Diagnosis,
) {
    let since = lasting(lister, available.last_transition_time);
    diagnosis.words = format!("not available{since} ({})", available.reason);
    let Some(reference) = &service.spec.service else {
        let words = format!("not available{since}: {}", available.message);
        diagnosis.causes.push(
            RootCause::here(&cause::API_SERVICE_UNAVAILABLE, target, words).name(Placeholder::ApiService, &target.name),
        );
        return;
    };
    let base = |cause| {
        RootCause::below(cause, target)
            .name(Placeholder::ApiService, &target.name)
            .name(Placeholder::Namespace, &reference.namespace)
            .name(Placeholder::Service, reference)
            .name(Placeholder::ServiceName, &reference.name)
            .evidence(format!("status of {target}"), condition_text(available))
    };
    let shown = ObjectRef::namespaced(known::SERVICES, &reference.namespace, &reference.name);
    match backend::look(lister, diagnosis, reference) {
        Backend::NoService => {
            let found = base(&cause::API_SERVICE_WITHOUT_SERVICE)
                .evidence(shown.to_string(), "not found")
                .step(Step::about(&shown, "does not exist"));
            diagnosis.causes.push(found);
        }
        Backend::NoEndpoint { node: Some(on), .. } => diagnosis.wait_for(on),
        Backend::NoEndpoint { steps, workload, node: None } => {
            let mut found = base(&cause::API_SERVICE_WITHOUT_ENDPOINTS).name_if(Placeholder::Workload, workload);
            for step in steps {
                found = found.evidence(&step.subject, &step.words).step(step);
            }
            diagnosis.causes.push(found);
        }
        Backend::Ready { node } => {
            let found = by_message(lister, diagnosis, target, (service, available), node, &base, &shown);
            diagnosis.causes.push(found);
        }
        Backend::External => {
            let found = base(&cause::API_SERVICE_UNAVAILABLE).at_itself(target, available.message.to_string());
            diagnosis.causes.push(found);
        }
        Backend::Unknown if diagnosis.pending => {}
        Backend::Unknown => {
            let found = base(&cause::API_SERVICE_UNAVAILABLE).at_itself(target, available.message.to_string());
            diagnosis.causes.push(found.probable("what runs behind its Service: that could not be looked at"));
        }
    }
}

/// What of the proof is missing where no connection was made.
const CUT_SOMEWHERE: &str = "where the way is cut: the error does not say so";
/// And where no answer came in time.
const CUT_OR_SLOW: &str = "whether the way is cut or the pod is too slow: a time-out does not show that";

/// There is a ready endpoint, so what the API server says about it decides.
fn by_message(
    lister: &Lister,
    diagnosis: &mut Diagnosis,
    target: &ObjectRef,
    (api, available): (&ApiService, &Condition),
    on: Option<String>,
    base: &dyn Fn(&'static findings::Cause) -> RootCause,
    service: &ObjectRef,
) -> RootCause {
    let expired = ca_bundle::expired(lister, &api.spec.ca_bundle).map(|(_, words)| words);
    let message = &available.message;
    let here = |cause| base(cause).at_itself(target, format!("not available: {message}"));
    if available.reason == "ServicePortError" {
        return here(&cause::API_SERVICE_PORT_WRONG);
    }
    let failure = failure(message);
    match failure {
        Failure::Certificate => {
            let found = here(&cause::API_SERVICE_CERTIFICATE_INVALID);
            return expired.iter().fold(found, |found, words| {
                let bundle = Step::named(format!("caBundle of {target}"), words);
                found.evidence(&bundle.subject, &bundle.words).step(bundle)
            });
        }
        Failure::Unauthorized => return here(&cause::API_SERVICE_REFUSES_AGGREGATOR),
        Failure::Other => return here(&cause::API_SERVICE_UNAVAILABLE),
        Failure::ConnectionRefused | Failure::Unreachable | Failure::TimedOut => {}
    }
    let is_late = failure == Failure::TimedOut;
    let what = if is_late { "it does not answer the API server in time" } else { "the API server cannot reach it" };
    let path = format!("has a ready endpoint, and {what}: {message}");
    let unsure = |found: RootCause| found.probable(if is_late { CUT_OR_SLOW } else { CUT_SOMEWHERE });
    let Some(name) = on else {
        let found = base(&cause::API_SERVICE_UNREACHABLE).step(Step::about(service, path));
        return if failure == Failure::ConnectionRefused { found } else { unsure(found) };
    };
    let unreachable = || base(&cause::API_SERVICE_UNREACHABLE).name(Placeholder::Node, &name);
    // Refused is an answer: somebody was reached.
    if failure == Failure::ConnectionRefused {
        return unreachable().step(Step::about(service, path));
    }
    let answer = lister.get::<Node>(known::NODES, None, &name);
    let on = diagnosis.required(format!("node {name}"), "whether the node is Ready", answer);
    let is_ready = on.is_some_and(|on| is_true(&on.status.conditions, "Ready"));
    let cidr = on.and_then(|on| on.spec.pod_cidrs.first());
    if let Some(told) = on.filter(|_| is_ready).and_then(|on| node::route_missing(lister, on, diagnosis)) {
        let range = cidr.map_or(String::new(), |cidr| format!(" to {cidr}"));
        let words = format!("Ready, and its pods are out of reach: it has no route{range}");
        let found = base(&cause::NODE_ROUTE_MISSING)
            .same_as(&name)
            .name(Placeholder::Node, &name)
            .name_if(Placeholder::PodCidr, cidr)
            .step(Step::about(service, path))
            .step(Step::about(&ObjectRef::node(&name), words));
        let found = told.evidence.into_iter().fold(found, |found, (source, says)| found.evidence(source, says));
        // The cloud's refusal is nearer to the root than the route that it refuses.
        let refusal = told.refusal.map(|words| Step::named("route controller", words));
        let found = refusal.into_iter().fold(found, RootCause::step);
        return match told.is_proven {
            true => found,
            false => {
                found.probable("the node's condition NetworkUnavailable: only an Event says that the route is missing")
            }
        };
    }
    if let Some(down) = on.filter(|_| is_ready).and_then(node::network_down) {
        let words = format!("Ready, and its pod network is not available: {}", condition_text(down));
        return unreachable()
            .step(Step::about(service, path))
            .step(Step::about(&ObjectRef::node(&name), words))
            .evidence(format!("status of Node {name}"), condition_text(down))
            .probable("whether that is what cuts the way: the log of its network plugin has more");
    }
    if !is_ready {
        return unsure(unreachable().step(Step::about(service, path)));
    }
    if is_late {
        let words = "Ready; whether the way to its pods is cut or this one is too slow, a time-out does not show";
        let on = Step::about(&ObjectRef::node(&name), words);
        return unsure(unreachable().step(Step::about(service, path)).step(on));
    }
    let address = address(message).unwrap_or("its address").to_owned();
    match neighbours::of(lister, diagnosis, target, &name) {
        Some(Neighbour::AlsoUnreachable(other)) => {
            let range = cidr.map_or(String::new(), |cidr| format!(" to {cidr}"));
            base(&cause::NODE_ROUTE_MISSING)
                .same_as(&name)
                .name(Placeholder::Node, &name)
                .name_if(Placeholder::PodCidr, cidr)
                .step(Step::about(service, path))
                .step(Step::about(
                    &ObjectRef::node(&name),
                    format!(
                        "Ready, and its pods are out of reach ({other} too): the route{range} is missing, or a firewall \
                         lies between"
                    ),
                ))
                .evidence(other, "out of reach on the same node")
                .probable("the route itself: the cloud's table has it, and a firewall would look the same")
        }
        Some(Neighbour::Reached(other)) => unreachable()
            .step(Step::about(service, path))
            .step(Step::about(
                &ObjectRef::node(&name),
                format!(
                    "Ready, and {other} answers from it, so its route works: a firewall between control plane and nodes \
                     does not let {address} through"
                ),
            ))
            .evidence(other, "Available=True, with an endpoint on the same node")
            .probable("the firewall's rule: it is not in the cluster"),
        None => unreachable()
            .step(Step::about(service, path))
            .step(Step::about(
                &ObjectRef::node(&name),
                format!(
                    "Ready; whether a firewall does not let {address} through or the route to its pods is missing, one \
                     time-out does not show"
                ),
            ))
            .probable("another API on the same node, reached or not: it would show whether it is a firewall or a \
                missing route"),
    }
}
