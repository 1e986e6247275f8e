//! What the agent of a pod's node reports of the pod. Every writer of Events in `default` can speak as an agent, so all of
//! it is a claim: checked, bounded, cleaned and shown as such.

mod advice;
mod believed_events;
pub(super) mod event_age;
mod event_policy;
mod findings;
mod last_event;
mod link;
mod live_query;
mod missing_agent;
mod name_agent;
mod root_cause;
mod trust;

pub use believed_events::pods_held_by_mounts;
pub use event_policy::doubt;
pub use findings::{Holders, findings, findings_if_any, would_hold};
pub use last_event::last_event;
pub use name_agent::name_agent;
