//! What follows for an object from all that it waits for.

use crate::access::Reads;
use crate::diagnosis::RootCause;
use crate::graph::{Graph, Marks, Node};

/// What all objects wait for, each looked at once.
pub(super) struct Waiting<'g> {
    /// By circle: the nearest of the worst causes; none where none is known.
    worst: Vec<Option<&'g RootCause>>,
    /// By circle: whether something of it, or below it, could not be seen.
    blind: Vec<bool>,
    /// By circle: what was read for it and for all that is below it.
    reads: Vec<Reads>,
    circles: Marks<usize>,
    /// Victims that another victim waits for. Of victims that wait for each other, all but the first.
    inner: Marks<bool>,
}

impl<'g> Waiting<'g> {
    pub(super) fn new(graph: &'g Graph) -> Self {
        let circles = graph.circles();
        let mut nodes: Vec<Node> = graph.nodes().collect();
        // What is waited for comes before what waits for it.
        nodes.sort_by_key(|node| circles[*node]);
        let mut worst: Vec<Option<&RootCause>> = vec![None; graph.len()];
        let mut blind = vec![false; graph.len()];
        let mut reads: Vec<Option<Reads>> = vec![None; graph.len()];
        for node in &nodes {
            let is_blind_below = graph.waits_for(*node).iter().any(|next| blind[circles[*next]]);
            blind[circles[*node]] |= is_blind_below || graph.diagnosis(*node).is_blind();
            let mut read = reads[circles[*node]].take().unwrap_or_else(|| graph.explained(*node).reads.clone());
            let read_below = graph.waits_for(*node).iter().filter_map(|next| reads[circles[*next]].as_ref());
            [&graph.explained(*node).reads].into_iter().chain(read_below).for_each(|more| read.add(more));
            reads[circles[*node]] = Some(read);
            let own = graph.diagnosis(*node).causes.iter();
            let below = graph.waits_for(*node).iter().filter_map(|next| worst[circles[*next]]);
            let known = worst[circles[*node]];
            // The first of those that are as bad.
            worst[circles[*node]] = known.into_iter().chain(own).chain(below).rev().max_by_key(|cause| cause.verdict);
        }
        nodes.reverse();
        let inner = inner(graph, &circles, nodes);
        let reads = reads.into_iter().map(Option::unwrap_or_default).collect();
        Waiting { worst, blind, reads, circles, inner }
    }

    /// All that was read to know what holds it: for itself, and for all that it waits for.
    pub(super) fn reads(&self, node: Node) -> &Reads {
        &self.reads[self.circles[node]]
    }

    /// The worst cause of all that it waits for, and of its own.
    pub(super) fn worst(&self, node: Node) -> Option<&'g RootCause> {
        self.worst[self.circles[node]]
    }

    /// Whether something that it waits for, or of itself, could not be seen.
    pub(super) fn is_blind(&self, node: Node) -> bool {
        self.blind[self.circles[node]]
    }

    /// Whether it is reported with another victim that waits for it.
    pub(super) fn is_inner(&self, victim: Node) -> bool {
        self.inner[victim]
    }
}

/// `nodes` are sorted: what waits comes before what it waits for.
fn inner(graph: &Graph, circles: &Marks<usize>, nodes: Vec<Node>) -> Marks<bool> {
    let mut first_victim: Vec<Option<Node>> = vec![None; graph.len()];
    for victim in &graph.victims {
        let first = &mut first_victim[circles[*victim]];
        if first.is_none_or(|first| graph.object(*victim) < graph.object(first)) {
            *first = Some(*victim);
        }
    }
    // Whether a victim of another circle waits for those of a circle.
    let mut has_above = vec![false; graph.len()];
    for node in nodes {
        let own = circles[node];
        for below in graph.waits_for(node).iter().map(|next| circles[*next]).filter(|below| *below != own) {
            has_above[below] |= has_above[own] || first_victim[own].is_some();
        }
    }
    let mut inner = graph.marks(false);
    for victim in &graph.victims {
        let own = circles[*victim];
        inner[*victim] = has_above[own] || first_victim[own] != Some(*victim);
    }
    inner
}
