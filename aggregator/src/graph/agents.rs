//! What the agents of the nodes tell: asked for once, by node or for all nodes.

use findings::event::{CONTROLLER, NAMESPACE};

use super::view::{View, of_kind};
use crate::state::{AgentEvent, Answer, Detail, Pod, Question, Scope, Select, known};

/// For more nodes than these all Events of agents are asked for at once.
const HANDFUL: usize = 4;

/// The labels of the agents' pods, as `deploy/` sets them.
const LABELS: &str = "app.kubernetes.io/name=why-terminating,app.kubernetes.io/component=agent";

impl<'a> View<'a> {
    /// The Events that regard this node and call themselves an agent's.
    pub fn told_of(&self, node: &str) -> Answer<Vec<&'a AgentEvent>> {
        let is_asked = |question: &Question| self.state.answers.contains_key(question);
        let question = [told(None), told(Some(node))].into_iter().find(is_asked);
        let Some(question) = question else {
            self.told.borrow_mut().insert(node.to_owned());
            return Answer::Unasked;
        };
        let all = self.facts(question).and_then(of_kind::<AgentEvent>);
        all.map(|events| events.into_iter().filter(|event| event.regarding.name == node).collect())
    }

    /// The agents' own pods.
    pub fn agents(&self) -> Answer<Vec<&'a Pod>> {
        self.select(known::PODS, Scope::All, Select::Labels(LABELS.to_owned()))
    }

    /// What to ask to hear of the nodes that came up.
    pub(super) fn ask_for_told(&self) -> Vec<Question> {
        let nodes = self.told.borrow();
        match nodes.len() {
            0..=HANDFUL => nodes.iter().map(|node| told(Some(node))).collect(),
            _ => vec![told(None)],
        }
    }
}

/// `related` cannot be selected by, so a pod's Events are those of its node.
fn told(node: Option<&str>) -> Question {
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
