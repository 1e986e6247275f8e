//! The route to a node's pods, as the route controller of its cloud reports it.

use super::super::object_reports;
use super::super::phrases::{Quote, condition_text};
use crate::messages::quote;
use crate::rules::prelude::*;

/// Why the node has no route, if anybody says that it has none.
pub struct NoRoute {
    pub evidence: Vec<Quote>,
    /// The cloud's refusal in its own words, where an Event has them.
    pub refusal: Option<String>,
    /// Whether the node's own condition says so: only then is it more than an unverified Event.
    pub is_proven: bool,
}

/// The route controller's own reason (kubernetes: cloud-provider/controllers/route/route_controller.go,
/// `updateNetworkingCondition`).
const NO_ROUTE: &str = "NoRouteCreated";

fn unavailable(on: &Node) -> Option<&Condition> {
    condition(&on.status.conditions, "NetworkUnavailable").filter(|it| it.status == "True")
}

/// What components beside the route controller report of the node's pod network: mostly its network plugin, of itself.
pub fn down(on: &Node) -> Option<&Condition> {
    unavailable(on).filter(|it| it.reason != NO_ROUTE)
}

/// Looks at the condition NetworkUnavailable, and at the Events of the route controller.
pub fn missing(case: &mut Case, on: &Node) -> Option<NoRoute> {
    let target = ObjectRef::node(&on.metadata.name);
    let condition = unavailable(on).filter(|it| it.reason == NO_ROUTE);
    let events = object_reports::events(case, &target, &on.metadata);
    let event = events.into_iter().find(|event| event.reason == "FailedToCreateRoute");
    let mut evidence: Vec<Quote> =
        condition.iter().map(|one| (format!("status of {target}"), condition_text(one))).collect();
    evidence.extend(event.map(|event| (format!("Event {} about {target}", event.reason), quote(&event.message, 400))));
    let refusal = event.map(|event| quote(&event.message, 300));
    (!evidence.is_empty()).then_some(NoRoute { evidence, refusal, is_proven: condition.is_some() })
}
