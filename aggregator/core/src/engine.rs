//! Follows what waits for what, from what should be gone down to the root causes.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use findings::FaultKind;

use crate::deletion_cycle;
use crate::explanation_cache::ExplanationCache;
use crate::graph::{Graph, Node};
use crate::lister::{Changes, Lister, Trace};
use crate::rules;
use crate::shares::Shares;
use crate::state::{Fault, ObjectRef, Question, Scope, State, known};

/// What is known of the objects that are looked into takes no more, shared out per namespace; the report says so.
const MAX_BYTES: usize = 24 << 20;
/// Nor are there more of them: each counts for so many bytes at least.
const MAX_OBJECTS: usize = 4000;
const MIN_OBJECT_BYTES: usize = MAX_BYTES / MAX_OBJECTS;

/// Judges the state; of what was judged before only what may be otherwise now. The questions are what should be asked
/// before the judgement is final.
pub fn build(state: &State, kept: &mut ExplanationCache, changes: &Changes) -> (Graph, BTreeSet<Question>) {
    let lister = Lister::new(state);
    let (scan, mut about) = rules::requested(&lister);
    let mut trace = lister.take_trace();
    kept.begin(state.at, &trace);
    let mut graph = Graph::with_capacity(kept.len());
    graph.cut = explain(&lister, &scan.objects, kept, changes, &mut trace, &mut graph);
    kept.end();
    for list in &trace.cut {
        let fault = Fault::new(FaultKind::TooLarge, "");
        about.hidden(list, fault, "the rest of them");
    }
    let questions = lister.questions(trace);
    if let Some(rounds) = state.rounds_used_up {
        let words = format!("the search ended after {rounds} rounds of queries");
        questions.iter().for_each(|question| {
            about.hidden(question.to_string(), Fault::new(FaultKind::NotAsked, &words), "the rest of the chain");
        });
    }
    graph.about = about;
    (graph.scanned, graph.not_scanned) = (scan.kinds, scan.not_scanned);
    deletion_cycle::mark(&mut graph);
    (graph, questions)
}

/// Explains objects and all that they wait for. Returns whether there was more.
fn explain<'v>(
    lister: &Lister,
    victims: &'v [ObjectRef],
    kept: &mut ExplanationCache,
    changes: &Changes,
    trace: &mut Trace,
    graph: &mut Graph,
) -> bool {
    let mut shares = Shares::new(MAX_BYTES, victims.iter());
    let mut place = |shares: &mut Shares<'v>, graph: &mut Graph, victim: &'v ObjectRef, object: &ObjectRef| {
        let known = graph.find(object);
        if known.is_some() || !shares.has_room(victim) {
            return known;
        }
        let explained = kept.explained(lister, object, changes, trace);
        shares.charge(victim, explained.diagnosis.size_bytes().max(MIN_OBJECT_BYTES));
        Some(graph.add(explained))
    };
    // Which objects were left out because there was no room, and where the search stopped.
    let mut left_out: Vec<(&'v ObjectRef, Option<Node>)> = victims.iter().map(|victim| (victim, None)).collect();
    for is_last in [false, true] {
        for (victim, stopped) in std::mem::take(&mut left_out) {
            let Some(first) = stopped.or_else(|| place(&mut shares, graph, victim, victim)) else {
                left_out.push((victim, None));
                continue;
            };
            if stopped.is_none() {
                graph.victims.push(first);
            }
            let mut waiting = VecDeque::from([first]);
            while let Some(node) = waiting.pop_front() {
                let explained = Arc::clone(graph.explained(node));
                let before = graph.len();
                let objects = &explained.diagnosis.waits_for;
                let next: Vec<Node> =
                    objects.iter().filter_map(|object| place(&mut shares, graph, victim, object)).collect();
                if next.len() < objects.len() {
                    left_out.push((victim, Some(node)));
                }
                waiting.extend(graph.nodes_from(before));
                graph.connect(node, next);
            }
        }
        if !is_last {
            shares.open();
        }
    }
    !left_out.is_empty()
}

/// What to ask next; nothing when the judgement is final.
pub fn next_questions(state: &State) -> Vec<Question> {
    to_ask(build(state, &mut ExplanationCache::default(), &Changes::default()).1)
}

/// What of all that came up is to be asked now.
pub(crate) fn to_ask(all: BTreeSet<Question>) -> Vec<Question> {
    all.iter().filter(|question| !may_become_needless(question, &all)).cloned().collect()
}

/// What stands behind a Service is mostly a Deployment: StatefulSets are asked for when it is none.
fn may_become_needless(question: &Question, all: &BTreeSet<Question>) -> bool {
    let Question::Objects { resource, scope: scope @ Scope::Namespace(_), select, detail } = question else {
        return false;
    };
    let (scope, select, detail) = (scope.clone(), select.clone(), *detail);
    *resource == known::STATEFUL_SETS.into()
        && all.contains(&Question::Objects { resource: known::DEPLOYMENTS.into(), scope, select, detail })
}
