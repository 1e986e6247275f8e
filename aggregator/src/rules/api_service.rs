//! Why an aggregated API is not served.

use std::sync::LazyLock;

use findings::{Placeholder, cause};

use super::backend::{self, Backend};
use super::words::{lasting, node, said};
use crate::graph::{Found, Standing, Step, View};
use crate::state::*;

/// Explains an APIService. It is not being deleted: namespaces wait for it to serve.
pub fn explain(view: &View, thing: &Thing) -> Standing {
    let mut standing = Standing::default();
    let answer = view.get::<ApiService>(known::API_SERVICES, None, &thing.name);
    if answer.is_missing() {
        return Standing::missing();
    }
    let Some(service) = standing.see(thing.to_string(), "why this API does not answer", answer) else {
        standing.words = "not known".to_owned();
        return standing;
    };
    let available = condition(&service.status.conditions, "Available");
    match available {
        Some(available) if available.status != "True" => unavailable(view, thing, service, available, &mut standing),
        _ => serves(view, thing, service, &mut standing),
    }
    standing
}

/// It is said to be available; only discovery may say otherwise.
fn serves(view: &View, thing: &Thing, service: &ApiService, standing: &mut Standing) {
    standing.words = "is said to be available".to_owned();
    let ApiServiceSpec { group, version, .. } = &service.spec;
    let Some(discovery) = standing.see("API discovery", "whether its resources can be listed", view.discovery()) else {
        return;
    };
    let is_stale = discovery.stale().any(|served| served.group == *group && served.version == *version);
    if is_stale {
        let words = "Available=True, and discovery cannot list what it serves";
        standing.found.push(
            Found::here(&cause::API_DISCOVERY_STALE, thing, words)
                .evidence("API discovery", format!("{group}/{version} is stale"))
                .name(Placeholder::GroupVersion, format!("{group}/{version}")),
        );
    }
}

fn unavailable(view: &View, thing: &Thing, service: &ApiService, available: &Condition, standing: &mut Standing) {
    let since = lasting(view, available.last_transition_time);
    standing.words = format!("not available{since} ({})", available.reason);
    let Some(reference) = &service.spec.service else {
        let words = format!("not available{since}: {}", available.message);
        standing.found.push(
            Found::here(&cause::API_SERVICE_UNAVAILABLE, thing, words).name(Placeholder::ApiService, &thing.name),
        );
        return;
    };
    let base = |cause| {
        Found::below(cause, thing)
            .name(Placeholder::ApiService, &thing.name)
            .name(Placeholder::Namespace, &reference.namespace)
            .name(Placeholder::Service, reference)
            .name(Placeholder::ServiceName, &reference.name)
            .evidence(format!("status of {thing}"), said(available))
    };
    let shown = Thing::namespaced("Service", known::SERVICES, &reference.namespace, &reference.name);
    match backend::look(view, standing, reference) {
        Backend::NoService => {
            let found = base(&cause::API_SERVICE_WITHOUT_SERVICE)
                .evidence(shown.to_string(), "not found")
                .step(Step::about(&shown, "does not exist"));
            standing.found.push(found);
        }
        Backend::NoEndpoint { node: Some(node), .. } => standing.wait_for(node),
        Backend::NoEndpoint { steps, workload, node: None } => {
            let mut found = base(&cause::API_SERVICE_WITHOUT_ENDPOINTS).name_if(Placeholder::Workload, workload);
            for step in steps {
                found = found.evidence(&step.subject, &step.words).step(step);
            }
            standing.found.push(found);
        }
        Backend::Ready { node } => {
            let found = by_message(view, standing, thing, available, node, &base, &shown);
            standing.found.push(found);
        }
        Backend::Unknown if standing.open => {}
        Backend::Unknown => {
            let found = base(&cause::API_SERVICE_UNAVAILABLE).at_itself(thing, &available.message);
            standing.found.push(found.probable());
        }
    }
}

static DIAL: LazyLock<Vec<&str>> = LazyLock::new(|| {
    vec!["dial tcp", "no route to host", "i/o timeout", "connection refused", "context deadline exceeded", "timed out"]
});

/// There is a ready endpoint, so what the API server says about it decides.
fn by_message(
    view: &View,
    standing: &mut Standing,
    thing: &Thing,
    available: &Condition,
    on: Option<String>,
    base: &dyn Fn(&'static findings::Cause) -> Found,
    service: &Thing,
) -> Found {
    let message = available.message.as_str();
    let here = |cause, words: &str| base(cause).at_itself(thing, words);
    let words = format!("not available: {message}");
    if available.reason == "ServicePortError" {
        return here(&cause::API_SERVICE_PORT_WRONG, &words);
    }
    if message.contains("x509:") {
        return here(&cause::API_SERVICE_CERTIFICATE_INVALID, &words);
    }
    if message.contains("bad status from") && (message.contains(": 401") || message.contains(": 403")) {
        return here(&cause::API_SERVICE_REFUSES_AGGREGATOR, &words);
    }
    if !DIAL.iter().any(|mark| message.contains(mark)) {
        return here(&cause::API_SERVICE_UNAVAILABLE, &words);
    }
    let path = format!("has a ready endpoint, and the API server cannot reach it: {message}");
    let Some(name) = on else {
        return base(&cause::API_SERVICE_UNREACHABLE).step(Step::about(service, path));
    };
    let answer = view.get::<Node>(known::NODES, None, &name);
    let on = standing.see(format!("node {name}"), "whether the node behind it is well", answer);
    let is_ready = on.is_some_and(|on| is_true(&on.status.conditions, "Ready"));
    // Refused is an answer: somebody was reached.
    if is_ready && !message.contains("connection refused") {
        let cidr = on.and_then(|on| on.spec.pod_cidrs.first());
        let range = cidr.map_or(String::new(), |cidr| format!(" to {cidr}"));
        return base(&cause::NODE_ROUTE_MISSING)
            .same_as(&name)
            .name(Placeholder::Node, &name)
            .name_if(Placeholder::PodCidr, cidr)
            .step(Step::about(service, path))
            .step(Step::about(
                &node(&name),
                format!("Ready, and its pods are out of reach: the route{range} is probably missing"),
            ))
            .probable();
    }
    base(&cause::API_SERVICE_UNREACHABLE).name(Placeholder::Node, &name).step(Step::about(service, path))
}
