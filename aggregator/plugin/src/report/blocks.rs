//! Which roots are told together: the first screen and the trees number them alike.

use std::collections::BTreeSet;

use aggregator_core::report::{ClusterReport, Held, Root};
use aggregator_core::state::ObjectRef;
use findings::duration;

/// Roots that make one block: one that the API shows, or all that only one node knows the cause of.
pub struct Block<'a> {
    roots: Vec<&'a Root>,
}

/// How many blocks the first screen has.
pub fn count(report: &ClusterReport) -> usize {
    blocks(report).len()
}

/// The blocks of a report, in the order of their numbers.
pub fn blocks(report: &ClusterReport) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block> = Vec::new();
    for root in &report.roots {
        let is_same = |block: &&mut Block| {
            block.roots.iter().any(|other| {
                root.look_on.is_some() && other.look_on == root.look_on && other.finding.cause == root.finding.cause
            })
        };
        match blocks.iter_mut().find(is_same) {
            Some(block) => block.roots.push(root),
            None => blocks.push(Block { roots: vec![root] }),
        }
    }
    blocks
}

impl<'a> Block<'a> {
    /// What is in it.
    pub fn roots(&self) -> &[&'a Root] {
        &self.roots
    }

    /// The one that stands for all.
    pub fn first(&self) -> Option<&'a Root> {
        self.roots.first().copied()
    }

    /// What it holds, each once.
    pub fn victims(&self) -> Vec<&'a Held> {
        let mut known = BTreeSet::new();
        let all = self.roots.iter().flat_map(|root| root.victims.iter().map(|victim| &victim.held));
        all.filter(|held| known.insert(&held.thing)).collect()
    }

    /// Everything it holds, what lies between victim and root included.
    pub fn objects(&self) -> BTreeSet<&'a ObjectRef> {
        let victims = self.roots.iter().flat_map(|root| root.victims.iter().map(|victim| &victim.held.thing));
        victims.chain(self.roots.iter().flat_map(|root| &root.on_the_way)).collect()
    }

    /// For how long the oldest of them should have been gone; empty before that.
    pub fn age(&self) -> String {
        let oldest = self.roots.iter().filter_map(|root| root.oldest()).max();
        oldest.map_or(String::new(), duration)
    }
}
