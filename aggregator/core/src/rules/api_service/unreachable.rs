//! Why the API server does not reach an API that has a ready endpoint.

use findings::Reach;

use super::backed_api::Unavailable;
use super::neighbours::{self, Neighbour};
use crate::messages::api_service::{Failure, address};
use crate::rules::node::{self, NoRoute};
use crate::rules::phrases::condition_text;
use crate::rules::prelude::*;

/// What of the proof is missing where no connection was made.
const CUT_SOMEWHERE: &str = "where the way is cut: the error does not say so";
/// And where no answer came in time.
const CUT_OR_SLOW: &str = "whether the way is cut or the pod is too slow: a time-out does not show that";

/// Explains it by the node of the endpoint, where that is known. Refused is an answer: a host was reached.
pub fn explain(case: &mut Case, api: &Unavailable, failure: Failure, node: Option<&str>) -> RootCause {
    let reach = match failure {
        Failure::ConnectionRefused => Reach::Refused,
        Failure::TimedOut => Reach::Late,
        _ => Reach::Cut,
    };
    by_failure(case, api, failure, node).given(Circumstance::Reach(reach))
}

fn by_failure(case: &mut Case, api: &Unavailable, failure: Failure, node: Option<&str>) -> RootCause {
    let is_late = failure == Failure::TimedOut;
    let what = if is_late { "it does not answer the API server in time" } else { "the API server cannot reach it" };
    let words = format!("has a ready endpoint, and {what}: {}", api.available.message);
    let service = Step::about(&api.service(), words);
    let unsure = if is_late { CUT_OR_SLOW } else { CUT_SOMEWHERE };
    let is_refused = failure == Failure::ConnectionRefused;
    let Some(name) = node else {
        let root = api.found(&cause::API_SERVICE_UNREACHABLE).step(service);
        return if is_refused { root } else { root.probable(unsure) };
    };
    let endpoint = Endpoint { api, service, node: name };
    if is_refused {
        return endpoint.unreachable();
    }
    let answer = case.lister.get::<Node>(known::NODES, None, name);
    let node = case.diagnosis.required(format!("node {name}"), "whether the node is Ready", answer);
    let Some(ready) = node.filter(|node| is_true(&node.status.conditions, "Ready")) else {
        return endpoint.unreachable().probable(unsure);
    };
    if let Some(missing) = node::route_missing(case, ready) {
        return endpoint.without_route(ready, missing);
    }
    if let Some(down) = node::network_down(ready) {
        return endpoint.without_network(down);
    }
    if is_late {
        let words = "Ready; whether the way to its pods is cut or this one is too slow, a time-out does not show";
        return endpoint.unreachable().step(endpoint.on_node(words)).probable(unsure);
    }
    match neighbours::find(case, api.target, name) {
        Some(Neighbour::AlsoUnreachable(other)) => endpoint.like_its_neighbour(ready, &other),
        other => endpoint.firewalled(other),
    }
}

/// A ready endpoint that the API server does not reach, and its node.
struct Endpoint<'c> {
    api: &'c Unavailable<'c>,
    service: Step,
    node: &'c str,
}

impl Endpoint<'_> {
    fn on_node(&self, words: impl AsRef<str>) -> Step {
        Step::about(&ObjectRef::node(self.node), words)
    }

    fn found(&self, cause: &'static Cause) -> RootCause {
        self.api.found(cause).name(Placeholder::Node, self.node).step(self.service.clone())
    }

    fn unreachable(&self) -> RootCause {
        self.found(&cause::API_SERVICE_UNREACHABLE)
    }

    fn routeless(&self, node: &Node) -> RootCause {
        let cidr = node.spec.pod_cidrs.first();
        self.found(&cause::NODE_ROUTE_MISSING).same_as(self.node).name_if(Placeholder::PodCidr, cidr)
    }

    fn without_route(&self, node: &Node, missing: NoRoute) -> RootCause {
        let words = format!("Ready, and its pods are out of reach: it has no route{}", pod_range(node));
        let root = self.routeless(node).step(self.on_node(words)).with_evidence(missing.evidence);
        // The cloud's refusal is nearer to the root than the route that it refuses.
        let refusal = missing.refusal.map(|words| Step::named("route controller", words));
        let root = refusal.into_iter().fold(root, RootCause::step);
        let unproven = "the node's condition NetworkUnavailable: only an Event says that the route is missing";
        if missing.is_proven { root } else { root.probable(unproven) }
    }

    fn without_network(&self, down: &Condition) -> RootCause {
        let down = condition_text(down);
        self.unreachable()
            .step(self.on_node(format!("Ready, and its pod network is not available: {down}")))
            .evidence(format!("status of Node {}", self.node), down)
            .probable("whether that is what cuts the way: the log of its network plugin has more")
    }

    fn like_its_neighbour(&self, node: &Node, other: &str) -> RootCause {
        let range = pod_range(node);
        let words = format!(
            "Ready, and its pods are out of reach ({other} too): the route{range} is missing, or a firewall lies between"
        );
        self.routeless(node)
            .step(self.on_node(words))
            .evidence(other, "out of reach on the same node")
            .probable("the route itself: the cloud's table has it, and a firewall would look the same")
    }

    fn firewalled(&self, neighbour: Option<Neighbour>) -> RootCause {
        let address = address(&self.api.available.message).unwrap_or("its address");
        let Some(Neighbour::Reached(other)) = neighbour else {
            let words = format!(
                "Ready; whether a firewall does not let {address} through or the route to its pods is missing, one \
                 time-out does not show"
            );
            return self.unreachable().step(self.on_node(words)).probable(
                "another API on the same node, reached or not: it would show whether it is a firewall or a missing route",
            );
        };
        let words = format!(
            "Ready, and {other} answers from it, so its route works: a firewall between control plane and nodes does \
             not let {address} through"
        );
        self.unreachable()
            .step(self.on_node(words))
            .evidence(other, "Available=True, with an endpoint on the same node")
            .probable("the firewall's rule: it is not in the cluster")
    }
}

/// The node's addresses for pods, as they stand behind a route.
fn pod_range(node: &Node) -> String {
    node.spec.pod_cidrs.first().map_or(String::new(), |cidr| format!(" to {cidr}"))
}
