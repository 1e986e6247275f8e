//! Other APIs that are served from the same node: whether they are reached distinguishes a route from a firewall.

use crate::messages::api_service::{Failure, failure};
use crate::rules::backend::{self, Backend};
use crate::rules::prelude::*;

/// More APIs are not looked into: each costs two questions.
const MAX_APIS: usize = 4;

/// What another API says of the path to a node.
pub enum Neighbour {
    /// This one is reached on the same node.
    Reached(String),
    /// This one is out of reach on the same node.
    AlsoUnreachable(String),
}

/// Looks for another API with an endpoint on this node. One that is reached says more than one that is not.
pub fn find(case: &mut Case, target: &ObjectRef, node: &str) -> Option<Neighbour> {
    let own = case.lister.get::<ApiService>(known::API_SERVICES, None, &target.name).seen()?;
    let answer = case.lister.list::<ApiService>(known::API_SERVICES, Scope::All);
    let all = case.diagnosis.optional("apiservices", "whether other pods of the node are reached", answer)?;
    let others = all.into_iter().filter_map(|other| {
        let service = other.spec.service.as_ref().filter(|_| other.spec.service != own.spec.service)?;
        let available = condition(&other.status.conditions, "Available")?;
        let is_reached = available.status == "True";
        (is_reached || failure(&available.message) == Failure::Unreachable).then_some((other, service, is_reached))
    });
    let mut unreachable = None;
    for (other, service, is_reached) in others.take(MAX_APIS) {
        let Backend::Ready { node: Some(on), .. } = backend::inspect(case, service) else { continue };
        let shown = format!("APIService {}", other.metadata.name);
        match (on == node, is_reached) {
            (true, true) => return Some(Neighbour::Reached(shown)),
            (true, false) => unreachable = Some(shown),
            (false, _) => {}
        }
    }
    unreachable.map(Neighbour::AlsoUnreachable)
}
