//! The names that steps about an agent need.

use super::missing_agent::{is_absent, is_ready};
use crate::messages::kubelet;
use crate::rules::prelude::*;

/// Names the node whose agent is to be read, but not where it is known that none runs there; and what an agent is to
/// check once, but not where one runs, or none could, or nothing is started.
pub fn name_agent(case: &mut Case, target: &ObjectRef, pod: &Pod) {
    let name = pod.spec.node_name.as_str();
    let lister = case.lister;
    let takes_none = || {
        let on = lister.get::<Node>(known::NODES, None, name).seen();
        on.is_some_and(|on| on.is_no_linux_machine() || !kubelet::runs_pods(on))
    };
    for RootCause { draft, .. } in &mut case.diagnosis.causes {
        let is_read = draft.cause.takes(Placeholder::AgentNode);
        if is_read && !is_absent(lister, name) {
            draft.names.set(Placeholder::AgentNode, name);
        }
        let is_checked = draft.cause.takes(Placeholder::AgentPod) && !(is_read && is_ready(lister, name));
        if is_checked && !takes_none() {
            let namespace = target.namespace.as_deref().unwrap_or_default();
            draft.names.set(Placeholder::AgentPod, format!("{namespace}/{}", target.name));
            draft.names.set(Placeholder::AgentlessNode, name);
            draft.names.set(Placeholder::AgentImage, findings::agent_image());
        }
    }
}
