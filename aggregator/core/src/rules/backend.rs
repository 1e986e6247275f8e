//! Why a Service does not serve: it is missing, has no endpoints, or its pods are not well.

use std::collections::BTreeMap;

use findings::{Controller, clean};
use jiff::Timestamp;

use super::phrases::{count, some, within};
use crate::rules::prelude::*;

/// What stands behind a Service.
pub enum Backend {
    /// Not known yet, or not visible.
    Unknown,
    /// It has a ready endpoint, on this node if that is known.
    Ready {
        /// Where the first ready endpoint runs.
        node: Option<String>,
        /// When its endpoints last changed, as far as that is known.
        since: Option<Timestamp>,
    },
    /// It is another name for a host, which has no endpoints here.
    External,
    /// The Service does not exist.
    NoService,
    /// It has no ready endpoint.
    NoEndpoint {
        /// From the Service down to what is wrong.
        steps: Vec<Step>,
        /// A workload that should run its pods.
        workload: Option<Box<ObjectRef>>,
        state: Controller,
        /// The node all its pods are on, when that node is what is wrong.
        node: Option<ObjectRef>,
    },
}

/// Looks behind a Service.
pub fn inspect(case: &mut Case, service: &ServiceRef) -> Backend {
    inspect_endpoints(case, service, Endpoint::is_ready)
}

/// The same of one that is called at its own address, as webhooks are: where no endpoint is ready, the network takes what
/// ends and still serves (kubernetes: pkg/proxy/topology.go, `CategorizeEndpoints`).
pub fn inspect_called(case: &mut Case, service: &ServiceRef) -> Backend {
    inspect_endpoints(case, service, |endpoint| endpoint.is_ready() || endpoint.still_serves())
}

fn inspect_endpoints(case: &mut Case, service: &ServiceRef, is_taken: fn(&Endpoint) -> bool) -> Backend {
    let ServiceRef { namespace, name, .. } = service;
    let answer = case.lister.get::<Service>(known::SERVICES, Some(namespace), name);
    if answer.is_missing() {
        return Backend::NoService;
    }
    let shown = format!("Service {service}");
    let Some(found) = case.diagnosis.required(&shown, "who should serve this", answer) else { return Backend::Unknown };
    if found.spec.kind == "ExternalName" {
        let host = clean(&found.spec.external_name, 253);
        case.diagnosis
            .note(format!("{shown} is another name for {host}: whether that answers cannot be seen in the API."));
        return Backend::External;
    }
    match ready(case, service, is_taken) {
        Ready::Unknown => return Backend::Unknown,
        Ready::On(node, since) => return Backend::Ready { node: node.filter(|node| !node.is_empty()), since },
        Ready::Nowhere => {}
    }
    let service = ObjectRef::namespaced(known::SERVICES, namespace, name);
    let selector = &found.spec.selector;
    if selector.is_empty() {
        let steps = vec![Step::about(&service, "has no selector, and no ready endpoint was written for it")];
        return Backend::NoEndpoint { steps, workload: None, state: Controller::Unknown, node: None };
    }
    pods_of(case, &service, selector)
}

/// Where a Service has a ready endpoint.
enum Ready {
    Unknown,
    On(Option<String>, Option<Timestamp>),
    Nowhere,
}

fn ready(case: &mut Case, service: &ServiceRef, is_taken: fn(&Endpoint) -> bool) -> Ready {
    let ServiceRef { namespace, name, .. } = service;
    let of_service = Select::Labels(format!("kubernetes.io/service-name={name}"));
    let slices = case.lister.select::<EndpointSlice>(known::ENDPOINT_SLICES, within(namespace), of_service);
    let source = format!("endpoints of Service {service}");
    if slices.is_missing() {
        // Servers before 1.21 do not have them in this version.
        let answer = case.lister.get::<Endpoints>(known::ENDPOINTS, Some(namespace), name);
        if answer.is_missing() {
            return Ready::Nowhere;
        }
        let Some(endpoints) = case.diagnosis.required(source, "what serves this", answer) else {
            return Ready::Unknown;
        };
        let first = endpoints.subsets.iter().flat_map(|subset| &subset.addresses).next();
        return first.map_or(Ready::Nowhere, |address| Ready::On(Some(address.node_name.clone()), None));
    }
    let Some(slices) = case.diagnosis.required(source, "what serves this", slices) else { return Ready::Unknown };
    let first = slices.iter().flat_map(|slice| &slice.endpoints).find(|endpoint| is_taken(endpoint));
    let since = slices.iter().filter_map(|slice| slice.changed_at()).max();
    first.map_or(Ready::Nowhere, |endpoint| Ready::On(Some(endpoint.node_name.clone()), since))
}

fn pods_of(case: &mut Case, service: &ObjectRef, selector: &BTreeMap<String, String>) -> Backend {
    let namespace = service.namespace.as_deref().unwrap_or_default();
    let labels = selector.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",");
    let answer = case.lister.select::<Pod>(known::PODS, within(namespace), Select::Labels(labels.clone()));
    let seen = case.diagnosis.required(format!("pods of {service}"), "why no pod serves it", answer);
    let none = seen.as_ref().is_some_and(Vec::is_empty);
    let is_hidden = seen.is_none();
    let pods = seen.unwrap_or_default();
    let mut steps = Vec::new();
    let workload = workload(case, namespace, selector);
    let what =
        if none { format!("has no endpoint: no pod has its labels {labels}") } else { "has no ready endpoint".into() };
    steps.push(Step::about(service, what));
    if let Ok(Some((object, found))) = &workload {
        let words = match found.wanted() {
            0 => "scaled to 0".to_owned(),
            wanted => format!("{} of {wanted} pods ready", found.ready()),
        };
        steps.push(Step::about(object, words).identified_by(service));
    }
    let state = match &workload {
        Ok(Some((_, found))) if found.wanted() == 0 => Controller::ScaledDown,
        _ if pods.iter().any(|pod| pod.crashes()) => Controller::Crashing,
        Ok(Some(_)) => Controller::NotReady,
        _ if !pods.is_empty() => Controller::NotReady,
        Ok(None) if !is_hidden => Controller::Absent,
        _ => Controller::Unseen,
    };
    let mut nodes: Vec<&str> = pods.iter().map(|pod| pod.spec.node_name.as_str()).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let lost = match nodes.as_slice() {
        [only] if !only.is_empty() => lost(case, only).then(|| ObjectRef::node(only)),
        _ => None,
    };
    let words = not_ready(case.lister, &pods);
    let step = match pods.as_slice() {
        [] => None,
        [pod] => Some(Step::about(&ObjectRef::pod(namespace, &pod.metadata.name), words)),
        pods => {
            let names: Vec<String> = pods.iter().map(|pod| pod.metadata.name.clone()).collect();
            let subject = format!("{} of {service}", count(names.len(), "pod"));
            Some(Step::named(subject, format!("{}: {words}", some(&names, 3))))
        }
    };
    steps.extend(step.map(|step| step.identified_by(service)));
    let workload = workload.ok().flatten().map(|(object, _)| Box::new(object));
    Backend::NoEndpoint { steps, workload, state, node: lost }
}

/// The workload whose pods the selector selects; an error where not all could be read.
fn workload<'a>(
    case: &mut Case<'_, 'a>,
    namespace: &str,
    selector: &BTreeMap<String, String>,
) -> Result<Option<(ObjectRef, &'a Workload)>, ()> {
    let mut is_whole = true;
    for known in [known::DEPLOYMENTS, known::STATEFUL_SETS] {
        let answer = case.lister.list::<Workload>(known, within(namespace));
        let all = case.diagnosis.required(known.plural, "which workload should serve this", answer);
        is_whole &= all.is_some();
        let is_it = |workload: &&Workload| {
            selector.iter().all(|(key, value)| workload.spec.template.metadata.labels.get(key) == Some(value))
        };
        if let Some(found) = all.unwrap_or_default().into_iter().find(is_it) {
            return Ok(Some((ObjectRef::namespaced(known, namespace, &found.metadata.name), found)));
        }
    }
    if is_whole { Ok(None) } else { Err(()) }
}

fn lost(case: &mut Case, name: &str) -> bool {
    let answer = case.lister.get::<Node>(known::NODES, None, name);
    if answer.is_missing() {
        return true;
    }
    let node = case.diagnosis.required(format!("node {name}"), "whether its node is Ready", answer);
    node.is_some_and(|node| condition(&node.status.conditions, "Ready").is_some_and(|ready| ready.status != "True"))
}

fn not_ready(lister: &Lister, pods: &[&Pod]) -> String {
    let waiting =
        pods.iter().flat_map(|pod| pod.status.init_container_statuses.iter().chain(&pod.status.container_statuses));
    let mut reasons: Vec<&str> =
        waiting.filter_map(|container| Some(container.state.waiting.as_ref()?.reason.as_str())).collect();
    reasons.extend(pods.iter().filter(|pod| pod.spec.node_name.is_empty()).map(|_| "not scheduled"));
    reasons.extend(pods.iter().filter(|pod| lister.is_going(&pod.metadata)).map(|_| "being deleted"));
    reasons.sort_unstable();
    reasons.dedup();
    reasons.retain(|reason| !reason.is_empty());
    if reasons.is_empty() { "not ready".to_owned() } else { reasons.join(", ") }
}
