//! Everything that an object waits for, and the way to each.

use foldhash::{HashMap, HashSet};

use crate::diagnosis::Way;
use crate::graph::{Graph, Marks, Node};

/// Of a longer way from an object to its root the middle is left out.
const MAX_WAY: usize = 24;

/// Everything that an object waits for, nearest first.
pub(super) struct Reach<'g> {
    graph: &'g Graph,
    /// The object itself is the first. Beside each stands the index in this list of the one that waits for it.
    pub(super) nodes: Vec<(Node, Option<usize>)>,
}

impl<'g> Reach<'g> {
    /// A circle ends where it would begin again.
    pub(super) fn new(graph: &'g Graph, from: Node) -> Self {
        let (mut nodes, mut known) = (vec![(from, None)], HashSet::from_iter([from]));
        let mut next = 0;
        while let Some((node, _)) = nodes.get(next).copied() {
            let below = graph.waits_for(node).iter().filter(|below| known.insert(**below));
            nodes.extend(below.map(|below| (*below, Some(next))));
            next += 1;
        }
        Reach { graph, nodes }
    }

    /// The way to one of them. Of a long one the middle is left out.
    pub(super) fn way(&self, to: usize) -> (Vec<Node>, Way<'g>) {
        let above = |index: &usize| self.nodes[*index].1;
        let mut nodes: Vec<Node> = std::iter::successors(Some(to), above).map(|index| self.nodes[index].0).collect();
        nodes.reverse();
        let gap = nodes.len().checked_sub(MAX_WAY).filter(|left_out| *left_out > 0);
        let gap = gap.map(|left_out| (MAX_WAY / 2, left_out));
        if let Some((at, left_out)) = gap {
            nodes.drain(at..at + left_out);
        }
        let objects = nodes.iter().map(|node| self.graph.explained(*node).as_ref()).collect();
        (nodes, Way { objects, gap })
    }

    /// Everything that waits for one of them, by whichever way: many pods of a namespace wait for one node.
    pub(super) fn waiting_for(&self, to: usize, above: &Marks<Vec<Node>>) -> Vec<Node> {
        let places: HashMap<Node, usize> = self.nodes.iter().enumerate().map(|(at, (node, _))| (*node, at)).collect();
        let mut found = HashSet::from_iter([to]);
        let mut open = vec![to];
        while let Some(at) = open.pop() {
            let next = above[self.nodes[at].0].iter().filter_map(|node| places.get(node).copied());
            open.extend(next.filter(|next| found.insert(*next)));
        }
        let mut found: Vec<usize> = found.into_iter().collect();
        found.sort_unstable();
        found.into_iter().map(|at| self.nodes[at].0).collect()
    }
}
