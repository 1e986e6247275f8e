//! What was last heard of a silent node, and from whom.

use jiff::Timestamp;

use crate::rules::agent::{self, event_age::is_after};
use crate::rules::phrases::age;
use crate::rules::prelude::*;

/// A kubelet renews its Lease every ten seconds; one that others were heard after for so long has
/// missed some of that.
const MIN_SILENCE_SECONDS: i64 = 40;

/// What was last heard of a node.
pub struct Heartbeat {
    /// Its kubelet's last word: the later of status and Lease.
    pub last: Option<Timestamp>,
    /// Whether the Events of its agent could be seen.
    pub agent_is_visible: bool,
    /// That its agent spoke later than its kubelet could have been silent by chance.
    pub agent: Option<AgentHeartbeat>,
}

/// An Event of the agent.
pub struct AgentHeartbeat {
    pub at: Timestamp,
    /// Why another account may have written it.
    pub doubt: Option<String>,
}

/// Whether its kubelet never reported. The node lifecycle controller says so in the status; but only a minute after the
/// Node was made, and not at all while it does not run.
pub fn has_never_reported(case: &mut Case, node: &Node) -> bool {
    match condition(&node.status.conditions, "Ready") {
        Some(ready) => ready.reason == "NodeStatusNeverUpdated",
        None => lease(case, node).is_some_and(|lease| lease.is_none()),
    }
}

/// The Lease that its kubelet renews; `None` where it could not be looked up.
fn lease<'a>(case: &mut Case<'_, 'a>, node: &Node) -> Option<Option<&'a Lease>> {
    let name = &node.metadata.name;
    // The list also says who else is silent.
    let answer = case.lister.get_listed::<Lease>(known::LEASES, "kube-node-lease", name);
    if answer.is_missing() {
        return Some(None);
    }
    case.diagnosis
        .required(format!("Lease kube-node-lease/{name}"), "when its kubelet last renewed it", answer)
        .map(Some)
}

impl Heartbeat {
    /// Looks at the node's status, its Lease and what its agent wrote. All three carry the time of the
    /// node's own clock, so they compare whatever that clock says.
    pub fn read(case: &mut Case, on: &Node) -> Heartbeat {
        let heartbeat = condition(&on.status.conditions, "Ready").and_then(|ready| ready.last_heartbeat_time);
        let lease = lease(case, on).flatten();
        let last = heartbeat.max(lease.and_then(|lease| lease.spec.renew_time));
        let good_for =
            lease.map_or(MIN_SILENCE_SECONDS, |lease| lease.spec.lease_duration_seconds.max(MIN_SILENCE_SECONDS));
        let word = agent::last_event(case, on);
        let is_later =
            |at: Timestamp| last.is_some_and(|last| at.as_second() > last.as_second().saturating_add(good_for));
        let spoke = word.flatten().filter(|(at, _)| is_later(*at));
        let agent = spoke.map(|(at, event)| AgentHeartbeat { at, doubt: agent::doubt(case, event) });
        Heartbeat { last, agent_is_visible: word.is_some(), agent }
    }

    /// `silent for 5m (last heartbeat …)`.
    pub fn words(&self, lister: &Lister) -> String {
        match self.last {
            Some(last) => format!("silent for {} (last heartbeat {last})", age(lister, last)),
            None => "silent".to_owned(),
        }
    }

    /// What its agent said after `then`: the machine ran and reached the API server.
    pub fn word_after(&self, then: Option<Timestamp>) -> Option<&AgentHeartbeat> {
        self.agent.as_ref().filter(|word| then.is_none_or(|then| is_after(word.at, then)))
    }
}
