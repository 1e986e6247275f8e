//! When the agent of a node was last heard.

use jiff::Timestamp;

use super::believed_events;
use crate::rules::case::Case;
use crate::state::{AgentEvent, Node};

/// The last Event of the agent of a silent node, which has its own way to the API server, and when it was written. It must
/// be as an agent of this Node writes it. `None` when its Events could not be seen.
pub fn last_event<'a>(case: &mut Case<'_, 'a>, on: &Node) -> Option<Option<(Timestamp, &'a AgentEvent)>> {
    let answer = case.lister.agent_events(&on.metadata.name);
    let events = case.diagnosis.optional("Events of the agents", "whether its agent reaches the API server", answer)?;
    let is_its = |event: &&&AgentEvent| {
        let is_by_now = event.carried().is_ok_and(|carried| believed_events::is_by_now(case.lister, event, carried));
        event.regarding.uid == on.metadata.uid && event.reporting_instance == on.metadata.name && is_by_now
    };
    let written = events.iter().filter(is_its).filter_map(|event| Some((event.written()?, *event)));
    Some(written.max_by_key(|(written, _)| *written))
}
