//! What the agent of a pod's node says when it is asked now.

use crate::rules::prelude::*;
use findings::FaultKind;

/// What is to be said of a pod.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// What holds it: it is being deleted.
    Terminating,
    /// Who would hold its volumes if it were.
    Running,
}

/// What it says of this pod; none when it was not asked or did not answer, and then a note says why.
pub fn ask<'a>(case: &mut Case<'_, 'a>, pod: &Pod, on: &Node, about: About) -> Option<Vec<&'a AgentEvent>> {
    let node = on.metadata.name.as_str();
    let agent = match case.lister.node_check(pod) {
        Some(ran_in) => ran_in.clone(),
        None => running_agent(case, node)?,
    };
    let at = agent.0.clone();
    match case.lister.live(agent, pod, about == About::Running) {
        Answer::Seen(said) => {
            if said.is_empty() && about == About::Terminating {
                case.diagnosis
                    .note(format!("The agent on {node}, queried now, names nothing that holds {}.", shown(pod)));
            }
            return Some(said);
        }
        Answer::Unasked => case.diagnosis.pending = true,
        Answer::Missing => case.diagnosis.note(format!("The agent on {node} could not be queried: its pod is gone.")),
        Answer::Failed(fault) => {
            // No step grants it: it is root on the node.
            let right = match fault.kind {
                FaultKind::Denied => format!("; that takes the right to create pods/exec in {at}"),
                _ => String::new(),
            };
            let instead = match about {
                About::Terminating => "This answer uses its Events instead.",
                About::Running => "Its Events say nothing about running pods.",
            };
            case.diagnosis.note(format!("The agent on {node} could not be queried ({fault}{right}). {instead}"));
        }
    }
    None
}

/// The agent of a node that can be asked: the namespace and name of its pod.
fn running_agent(case: &mut Case, node: &str) -> Option<(String, String)> {
    if !case.lister.asks_live() {
        return None;
    }
    let agents = match case.lister.agents() {
        Answer::Unasked => {
            case.diagnosis.pending = true;
            return None;
        }
        Answer::Seen(agents) => agents,
        Answer::Missing | Answer::Failed(_) => {
            case.diagnosis.note(format!("The agent on {node} could not be queried: its pod is not visible to us."));
            return None;
        }
    };
    let is_here = |agent: &&&Pod| agent.spec.node_name == node && is_true(&agent.status.conditions, "Ready");
    let agent = agents.iter().find(is_here);
    if agent.is_none() {
        case.diagnosis.note(format!("The agent on {node} could not be queried: there is none that is ready."));
    }
    agent.map(|agent| agent.metadata.namespace_and_name())
}

fn shown(pod: &Pod) -> String {
    format!("Pod {}/{}", pod.metadata.namespace.as_deref().unwrap_or_default(), pod.metadata.name)
}
