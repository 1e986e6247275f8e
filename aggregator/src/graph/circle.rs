//! Things that wait for each other and for nothing else.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use findings::cause;

use super::{Found, Graph, Step};
use crate::state::Thing;

/// Names each circle of waiting that no other cause explains, once, at its first thing.
pub fn mark(graph: &mut Graph) {
    let explained = explained(graph);
    let mut told: BTreeSet<Thing> = BTreeSet::new();
    let mut found = Vec::new();
    for (thing, standing) in &graph.things {
        if standing.waits_for.is_empty() || explained.contains(thing) || told.contains(thing) {
            continue;
        }
        if let Some(circle) = around(graph, thing) {
            found.push((thing.clone(), name(graph, thing, &circle)));
            told.extend(circle);
        }
    }
    for (thing, found) in found {
        if let Some(standing) = graph.things.get_mut(&thing) {
            standing.found.push(found);
        }
    }
}

/// Things that wait, near or far, for something with a cause or with an answer still out.
fn explained(graph: &Graph) -> BTreeSet<Thing> {
    let mut waiting_for: BTreeMap<&Thing, Vec<&Thing>> = BTreeMap::new();
    for (thing, standing) in &graph.things {
        for next in &standing.waits_for {
            waiting_for.entry(next).or_default().push(thing);
        }
    }
    let is_start =
        |thing: &&Thing| graph.things.get(*thing).is_some_and(|standing| !standing.found.is_empty() || standing.open);
    let mut known: BTreeSet<Thing> = graph.things.keys().filter(is_start).cloned().collect();
    let mut queue: Vec<Thing> = known.iter().cloned().collect();
    while let Some(thing) = queue.pop() {
        for above in waiting_for.get(&thing).into_iter().flatten() {
            if known.insert((*above).clone()) {
                queue.push((*above).clone());
            }
        }
    }
    known
}

/// The shortest way from a thing back to itself.
fn around(graph: &Graph, start: &Thing) -> Option<Vec<Thing>> {
    let mut from: BTreeMap<&Thing, &Thing> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(thing) = queue.pop_front() {
        for next in &graph.things.get(thing)?.waits_for {
            if next == start {
                let mut circle = vec![thing.clone()];
                let mut at = thing;
                while at != start {
                    at = from.get(at)?;
                    circle.push(at.clone());
                }
                circle.reverse();
                return Some(circle);
            }
            if graph.things.contains_key(next) && !from.contains_key(next) {
                from.insert(next, thing);
                queue.push_back(next);
            }
        }
    }
    None
}

fn name(graph: &Graph, start: &Thing, circle: &[Thing]) -> Found {
    let mut found = Found::below(&cause::DELETIONS_WAIT_FOR_EACH_OTHER, start);
    for (index, thing) in circle.iter().enumerate() {
        let words = graph.things.get(thing).map_or("", |standing| standing.words.as_str());
        let words = match circle.get(index + 1) {
            Some(_) => words.to_owned(),
            None => format!("{words}; it waits for {start} again"),
        };
        found = found.step(Step::about(thing, words));
    }
    let all: Vec<String> = circle.iter().map(ToString::to_string).collect();
    found
        .in_place_of_own()
        .evidence("the objects' owners and finalizers", format!("each waits for the next: {}", all.join(", ")))
}
