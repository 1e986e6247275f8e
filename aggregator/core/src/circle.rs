//! Objects that wait for each other and for nothing else.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use findings::cause;

use crate::diagnosis::{RootCause, Step};
use crate::graph::Graph;
use crate::state::ObjectRef;

/// Names each circle of waiting that no other cause explains, once, at its first object.
pub fn mark(graph: &mut Graph) {
    let explained = explained(graph);
    let mut told: BTreeSet<ObjectRef> = BTreeSet::new();
    let mut found = Vec::new();
    for (object, diagnosis) in &graph.objects {
        if diagnosis.waits_for.is_empty() || explained.contains(object) || told.contains(object) {
            continue;
        }
        if let Some(circle) = around(graph, object) {
            found.push((object.clone(), name(graph, object, &circle)));
            told.extend(circle);
        }
    }
    for (object, found) in found {
        if let Some(diagnosis) = graph.objects.get_mut(&object) {
            diagnosis.causes.push(found);
        }
    }
}

/// Objects that wait, near or far, for something with a cause or with an answer still out.
fn explained(graph: &Graph) -> BTreeSet<ObjectRef> {
    let mut waiting_for: BTreeMap<&ObjectRef, Vec<&ObjectRef>> = BTreeMap::new();
    for (object, diagnosis) in &graph.objects {
        for next in &diagnosis.waits_for {
            waiting_for.entry(next).or_default().push(object);
        }
    }
    let is_start = |object: &&ObjectRef| {
        graph.objects.get(*object).is_some_and(|diagnosis| !diagnosis.causes.is_empty() || diagnosis.pending)
    };
    let mut known: BTreeSet<ObjectRef> = graph.objects.keys().filter(is_start).cloned().collect();
    let mut queue: Vec<ObjectRef> = known.iter().cloned().collect();
    while let Some(object) = queue.pop() {
        for above in waiting_for.get(&object).into_iter().flatten() {
            if known.insert((*above).clone()) {
                queue.push((*above).clone());
            }
        }
    }
    known
}

/// The shortest way from an object back to itself.
fn around(graph: &Graph, start: &ObjectRef) -> Option<Vec<ObjectRef>> {
    let mut from: BTreeMap<&ObjectRef, &ObjectRef> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(object) = queue.pop_front() {
        for next in &graph.objects.get(object)?.waits_for {
            if next == start {
                let mut circle = vec![object.clone()];
                let mut at = object;
                while at != start {
                    at = from.get(at)?;
                    circle.push(at.clone());
                }
                circle.reverse();
                return Some(circle);
            }
            if graph.objects.contains_key(next) && !from.contains_key(next) {
                from.insert(next, object);
                queue.push_back(next);
            }
        }
    }
    None
}

fn name(graph: &Graph, start: &ObjectRef, circle: &[ObjectRef]) -> RootCause {
    let mut found = RootCause::below(&cause::DELETIONS_WAIT_FOR_EACH_OTHER, start);
    for (index, object) in circle.iter().enumerate() {
        let words = graph.objects.get(object).map_or("", |diagnosis| diagnosis.words.as_str());
        let words = match circle.get(index + 1) {
            Some(_) => words.to_owned(),
            None => format!("{words}; it waits for {start} again"),
        };
        found = found.step(Step::about(object, words));
    }
    let all: Vec<String> = circle.iter().map(ToString::to_string).collect();
    found
        .in_place_of_own()
        .evidence("the objects' owners and finalizers", format!("each waits for the next: {}", all.join(", ")))
}
