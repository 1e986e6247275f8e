//! Why no agent says what holds a pod, and what it would add.

use findings::{clean, duration};

use super::{advice, believed_events::Claim, event_age};
use crate::rules::prelude::*;
use crate::state::{AgentEvent, Answer, Node, Pod, is_true};

/// Whether it is known that no agent runs on this node.
pub fn is_absent(lister: &Lister, node: &str) -> bool {
    lister.agents().seen().is_some_and(|agents| agents.iter().all(|agent| agent.spec.node_name != node))
}

/// Whether it is known that a ready one does.
pub fn is_ready(lister: &Lister, node: &str) -> bool {
    let is_here = |agent: &&&Pod| agent.spec.node_name == node && is_true(&agent.status.conditions, "Ready");
    lister.agents().seen().is_some_and(|agents| agents.iter().any(|agent| is_here(&agent)))
}

/// Says why the agent of a node is silent about a pod. `events` are what it reports of others.
pub fn explain(case: &mut Case, on: &Node, events: &[&AgentEvent]) {
    let node = on.metadata.name.as_str();
    if on.is_no_linux_machine() {
        case.diagnosis.note(format!(
            "No agent runs on {node}: by its labels it does not run Linux. What holds the pod there is unknown."
        ));
        return;
    }
    let agents = match case.lister.agents() {
        Answer::Seen(agents) => agents,
        Answer::Unasked => {
            case.diagnosis.pending = true;
            return;
        }
        // Most people may not list the pods of all namespaces, and the answer does not rest on it.
        Answer::Missing | Answer::Failed(_) => {
            case.diagnosis.note(format!(
                "The agent on {node} says nothing, if there is one; its pods are not visible to us. It would name the \
                 process, mount or cgroup."
            ));
            return;
        }
    };
    let is_here = agents.iter().any(|agent| agent.spec.node_name == node);
    let is_of_now = |event: &&AgentEvent| event.written().is_some_and(|at| !event_age::has_expired(case.lister, at));
    if !is_here && events.iter().any(is_of_now) {
        case.diagnosis.note(format!(
            "Events of the agent on {node} are about other pods and none is about this one; no pod of that agent is visible."
        ));
        return;
    }
    if agents.is_empty() {
        // Said once however many nodes there are.
        case.diagnosis.note(
            "No agent runs in this cluster, so the process, mount or cgroup that holds the pod is unknown: the API does not \
             show it. Install it: deploy/README.md of why-terminating. For one node, once: docs/agent.md there",
        );
        return;
    }
    let here: Vec<&&Pod> = agents.iter().filter(|agent| agent.spec.node_name == node).collect();
    match here.iter().find(|agent| is_true(&agent.status.conditions, "Ready")).or(here.first()) {
        None => case.diagnosis.note(format!(
            "No agent is deployed on {node} (on other nodes: {}). It would name the process, mount or cgroup: see why its \
             DaemonSet leaves this node out, or, if it is not installed as a whole, deploy/README.md of why-terminating",
            agents.len()
        )),
        Some(agent) if is_true(&agent.status.conditions, "Ready") => case.diagnosis.note(format!(
            "The agent on {node} says nothing about such a pod (yet): it looks 15 s after a pod's deadline and reports \
             what lasts. Its log says what it could not see: kubectl -n {} logs {}",
            agent.metadata.namespace.as_deref().unwrap_or_default(),
            agent.metadata.name
        )),
        Some(agent) => case.diagnosis.note(format!(
            "The agent on {node} is not ready, so it says nothing: kubectl -n {} describe pod {}",
            agent.metadata.namespace.as_deref().unwrap_or_default(),
            agent.metadata.name
        )),
    }
}

/// The Events could not be had.
pub fn not_visible(diagnosis: &mut Diagnosis) {
    diagnosis.note(
        "What exactly holds it is on the node: the agent names the process, mount or cgroup. The API does not show it.",
    );
}

/// A report of an agent that is too old to rely on.
pub fn expired(claim: &Claim, node: &str, age: i64) -> String {
    let (cause, age) = (claim.carried.finding.cause.0.id, duration(u64::try_from(age).unwrap_or(0)));
    format!(
        "The agent on {node} said {cause} {age} ago and has not said it again: the agent may be gone. It is not used."
    )
}

/// What is said to be over although the pod is there: that alone proves nothing.
pub fn over(claim: &Claim, pod: &Pod, node: &str, age: i64, doubt: Option<String>) -> String {
    let finding = &claim.carried.finding;
    let root = finding.chain.iter().rfind(|link| link.root).map(|link| format!(" ({})", clean(&link.subject, 120)));
    let (cause, root, age) = (finding.cause.0.id, root.unwrap_or_default(), duration(u64::try_from(age).unwrap_or(0)));
    let doubt = doubt.map_or(String::new(), |why| format!(" Unverified: {why}."));
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let again = advice::live_command(pod).map_or(String::new(), |command| format!(" Query it: {command}"));
    format!(
        "The agent on {node} reports that {cause}{root} ended {age} ago, yet pod {namespace}/{} is still there.{doubt}{again}",
        pod.metadata.name
    )
}
