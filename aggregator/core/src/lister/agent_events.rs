//! Which Events of the agents to ask for: by node, or for all nodes at once.

use std::collections::BTreeSet;

use findings::event::{CONTROLLER, NAMESPACE};

use crate::state::{Detail, Question, Scope, Select, known};

/// For more nodes than these all Events of agents are asked for at once.
const HANDFUL: usize = 4;

/// The labels of the agents' pods, as `deploy/` sets them.
pub const LABELS: &str = "app.kubernetes.io/name=why-terminating,app.kubernetes.io/component=agent";

/// What to ask to hear of these nodes. When there are more Events than are kept of one list, each is asked for alone.
pub fn questions(nodes: &BTreeSet<String>, all_are_cut: bool) -> Vec<Question> {
    match nodes.len() {
        0..=HANDFUL => nodes.iter().map(|node| question(Some(node))).collect(),
        _ if all_are_cut => nodes.iter().map(|node| question(Some(node))).collect(),
        _ => vec![question(None)],
    }
}

/// `related` cannot be selected by, so a pod's Events are those of its node.
pub fn question(node: Option<&str>) -> Question {
    let mut selector = format!("reportingController={CONTROLLER}");
    if let Some(node) = node {
        selector.push_str(&format!(",regarding.name={node}"));
    }
    Question::Objects {
        resource: known::AGENT_EVENTS.into(),
        scope: Scope::Namespace(NAMESPACE.to_owned()),
        select: Select::Fields(selector),
        detail: Detail::Full,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_not_all_are_kept_each_node_is_asked_for_alone() {
        let nodes: BTreeSet<String> = (0..=HANDFUL).map(|n| format!("node-{n}")).collect();
        assert_eq!(questions(&nodes, false), [question(None)]);
        let alone = questions(&nodes, true);
        assert_eq!(alone.len(), nodes.len());
        assert!(!alone.contains(&question(None)), "it was asked, and told too little");
    }
}
