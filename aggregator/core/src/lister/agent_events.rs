//! Which Events of the agents to ask for: by node, or for all nodes at once.

use std::collections::BTreeSet;

use findings::event::{CONTROLLER, NAMESPACE};
use foldhash::{HashMap, HashMapExt as _};

use super::{Lister, slice_of};
use crate::access::Access;
use crate::lister::Dependency;
use crate::state::{AgentEvent, Answer, Detail, Kind as _, Pod, Question, Scope, Select, known};

/// For more nodes than these all Events of agents are asked for at once.
const MAX_SINGLE_NODES: usize = 4;

/// The labels of the agents' pods, as `deploy/` sets them.
const LABELS: &str = "app.kubernetes.io/name=why-terminating,app.kubernetes.io/component=agent";

/// What to ask to hear of these nodes. When there are more Events than are kept of one list, each is asked for alone.
pub fn questions(nodes: &BTreeSet<String>, all_are_cut: bool) -> Vec<Question> {
    match nodes.len() {
        0..=MAX_SINGLE_NODES => nodes.iter().map(|node| question(Some(node))).collect(),
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
    let scope = Scope::Namespace(NAMESPACE.to_owned());
    Question::objects(known::AGENT_EVENTS, scope, Select::Fields(selector), Detail::Full)
}

/// Which Events regard which node. It is made for each judgement, of up to thousands: no node has a list of its own.
pub struct ByNode<'a> {
    events: &'a [AgentEvent],
    /// Where the first of each node stands.
    first: HashMap<&'a str, usize>,
    /// For each Event, where the next of its node stands.
    next: Vec<Option<usize>>,
}

impl<'a> ByNode<'a> {
    /// Looks through all.
    pub fn new(events: &'a [AgentEvent]) -> Self {
        let mut first = HashMap::with_capacity(events.len());
        let node = |(at, event): (usize, &'a AgentEvent)| first.insert(event.regarding.name.as_str(), at);
        let mut next: Vec<_> = events.iter().enumerate().rev().map(node).collect();
        next.reverse();
        ByNode { events, first, next }
    }

    /// Those of one node.
    pub fn events(&self, node: &str) -> impl Iterator<Item = &'a AgentEvent> {
        let next = |at: &usize| self.next.get(*at).copied().flatten();
        std::iter::successors(self.first.get(node).copied(), next).filter_map(|at| self.events.get(at))
    }
}

impl<'a> Lister<'a> {
    /// The Events that regard this node and call themselves an agent's.
    pub fn agent_events(&self, node: &str) -> Answer<Vec<&'a AgentEvent>> {
        let of_all = question(None);
        self.depends_on(Dependency::object(&of_all, None, node));
        if let Some(all) = self.state.answers.get(&of_all).filter(|all| !all.cut) {
            self.reads(Access::of_question(&of_all));
            let all = all.answer.as_ref().and_then(slice_of::<AgentEvent>);
            return all.map(|events| self.by_node.get_or_init(|| ByNode::new(events)).events(node).collect());
        }
        let of_one = question(Some(node));
        if !self.is_answered(&of_one) {
            self.trace.borrow_mut().silent_nodes.insert(node.to_owned());
            return Answer::Unasked;
        }
        let all = self.each::<AgentEvent>(of_one);
        all.map(|events| events.into_iter().filter(|event| event.regarding.name == node).collect())
    }

    /// The Events of all agents, as far as they are known: of a list that was cut the rest adds to an answer, and is not missed.
    pub fn all_agent_events(&self) -> &'a [AgentEvent] {
        let question = question(None);
        if !self.is_answered(&question) {
            self.asks(question);
            return &[];
        }
        self.reads(Access::of_question(&question));
        let facts = self.state.answers.get(&question).and_then(|answered| answered.answer.as_ref().seen());
        facts.and_then(AgentEvent::among).unwrap_or_default()
    }

    /// The agents' own pods.
    pub fn agents(&self) -> Answer<Vec<&'a Pod>> {
        self.select(known::PODS, Scope::All, Select::Labels(LABELS.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_has_its_events() {
        let event = |node: &&str| {
            let mut event = AgentEvent::default();
            event.regarding.name = (*node).to_owned();
            event
        };
        let events: Vec<AgentEvent> = ["a", "b", "a", "c", "a"].iter().map(event).collect();
        let by_node = ByNode::new(&events);
        let count = |node| by_node.events(node).filter(|event| event.regarding.name == node).count();
        assert_eq!(["a", "b", "c", "d"].map(count), [3, 1, 1, 0]);
        assert_eq!(["a", "b", "c", "d"].map(|node| by_node.events(node).count()), [3, 1, 1, 0]);
    }

    #[test]
    fn where_not_all_are_kept_each_node_is_asked_for_alone() {
        let nodes: BTreeSet<String> = (0..=MAX_SINGLE_NODES).map(|n| format!("node-{n}")).collect();
        assert_eq!(questions(&nodes, false), [question(None)]);
        let alone = questions(&nodes, true);
        assert_eq!(alone.len(), nodes.len());
        assert!(!alone.contains(&question(None)), "it was queried, and showed too little");
    }
}
