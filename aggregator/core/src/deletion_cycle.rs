//! Objects that wait for each other and for nothing else.

use std::collections::VecDeque;

use findings::{Circle, Circumstance, Placeholder, cause};

use crate::diagnosis::{RootCause, Step};
use crate::graph::{Graph, Marks, Node};
use crate::state::ObjectRef;

/// Of a longer circle the middle is left out.
const MAX_STEPS: usize = 20;

/// Names each circle of waiting that no other cause explains, once, at its first object.
pub fn mark(graph: &mut Graph) {
    let explained = explained(graph);
    let mut marked = graph.marks(false);
    let mut found = Vec::new();
    let circles = graph.circles();
    let is_in_circle = |node: Node| graph.waits_for(node).iter().any(|next| circles[*next] == circles[node]);
    let is_open = |node: &Node| is_in_circle(*node) && !explained[*node];
    let mut open: Vec<Node> = graph.nodes().filter(is_open).collect();
    open.sort_by_key(|node| graph.object(*node));
    for node in open {
        if marked[node] {
            continue;
        }
        if let Some(circle) = around(graph, node) {
            found.push((node, name(graph, node, &circle)));
            circle.into_iter().for_each(|node| marked[node] = true);
        }
    }
    for (node, found) in found {
        graph.add_cause(node, found);
    }
}

/// Objects that wait, near or far, for something with a cause or with an answer still out.
fn explained(graph: &Graph) -> Marks<bool> {
    let above = graph.above();
    let is_start = |node: &Node| {
        let diagnosis = graph.diagnosis(*node);
        !diagnosis.causes.is_empty() || diagnosis.pending
    };
    let mut known = graph.marks(false);
    let mut queue: Vec<Node> = graph.nodes().filter(is_start).collect();
    while let Some(node) = queue.pop() {
        if !std::mem::replace(&mut known[node], true) {
            queue.extend(&above[node]);
        }
    }
    known
}

/// The shortest way from an object back to itself.
fn around(graph: &Graph, start: Node) -> Option<Vec<Node>> {
    let mut from: Marks<Option<Node>> = graph.marks(None);
    let mut queue = VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for next in graph.waits_for(node) {
            if *next == start {
                let mut circle = vec![node];
                let mut at = node;
                while at != start {
                    at = from[at]?;
                    circle.push(at);
                }
                circle.reverse();
                return Some(circle);
            }
            if from[*next].is_none() {
                from[*next] = Some(node);
                queue.push_back(*next);
            }
        }
    }
    None
}

/// The first, or another, that one of them owns and waits for: without that owner the circle is open.
fn owned<'g>(graph: &'g Graph, circle: &[Node]) -> Option<&'g ObjectRef> {
    let before = circle.iter().cycle().skip(circle.len().saturating_sub(1));
    let pairs = before.zip(circle).map(|(owner, node)| (graph.diagnosis(*owner), graph.object(*node)));
    pairs.into_iter().find_map(|(owner, object)| owner.dependents.contains(object).then_some(object))
}

fn name(graph: &Graph, start: Node, circle: &[Node]) -> RootCause {
    let start = graph.object(start);
    let objects: Vec<&ObjectRef> = circle.iter().map(|node| graph.object(*node)).collect();
    let mut found = RootCause::below(&cause::DELETIONS_WAIT_FOR_EACH_OTHER, start);
    found = match owned(graph, circle) {
        Some(owned) => found
            .given(Circumstance::Circle(Circle::OfOwners))
            .name(Placeholder::Type, owned.type_for_kubectl())
            .name(Placeholder::Name, &owned.name)
            .name_if(Placeholder::Namespace, owned.namespace.as_deref()),
        None => found.given(Circumstance::Circle(Circle::OfFinalizers)),
    };
    let left_out = circle.len().saturating_sub(MAX_STEPS);
    for (index, (node, object)) in circle.iter().zip(&objects).enumerate() {
        if index == MAX_STEPS / 2 && left_out > 0 {
            found = found.step(Step::left_out(left_out));
        }
        if (MAX_STEPS / 2..MAX_STEPS / 2 + left_out).contains(&index) {
            continue;
        }
        let words = &graph.diagnosis(*node).words;
        let words = match circle.get(index + 1) {
            Some(_) => words.to_owned(),
            None => format!("{words}; it waits for {start} again"),
        };
        found = found.step(Step::about(object, words));
    }
    let all: Vec<String> = objects.iter().map(ToString::to_string).collect();
    found
        .in_place_of_own()
        .evidence("the objects' owners and finalizers", format!("each waits for the next: {}", all.join(", ")))
}
