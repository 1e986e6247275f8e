//! Follows what waits for what, from what should be gone down to the root causes.

use std::collections::BTreeSet;
use std::sync::Arc;

use findings::FaultKind;

use crate::deletion_cycle;
use crate::diagnosis::Diagnosis;
use crate::explanation_cache::Kept;
use crate::graph::Graph;
use crate::lister::{CameUp, Changes, Lister};
use crate::rules;
use crate::state::{Fault, ObjectRef, Question, Scope, State, known};

/// More than this is not looked into; the report says so.
const MOST_OBJECTS: usize = 4000;

/// Judges the state; of what was judged before only what may be otherwise now. The questions are what should be asked
/// before the judgement is final.
pub fn build(state: &State, kept: &mut Kept, changes: &Changes) -> (Graph, BTreeSet<Question>) {
    let lister = Lister::new(state);
    let mut about = Diagnosis::default();
    let victims = rules::victims(&lister, &mut about);
    let looked_at = rules::looked_at(&lister);
    let mut came_up = lister.came_up();
    kept.begin(state.at, &came_up);
    let mut graph = Graph::with_capacity(kept.len());
    graph.looked_at = looked_at;
    graph.cut = explain(&lister, victims, kept, changes, &mut came_up, &mut graph);
    kept.end();
    for list in &came_up.cut {
        let fault = Fault::new(FaultKind::TooLarge, "");
        about.hidden(list, fault, "the rest of them");
    }
    graph.about = about;
    let questions = lister.questions(came_up);
    deletion_cycle::mark(&mut graph);
    (graph, questions)
}

/// Explains objects and all that they wait for. Returns whether there was more.
fn explain(
    lister: &Lister,
    victims: Vec<ObjectRef>,
    kept: &mut Kept,
    changes: &Changes,
    came_up: &mut CameUp,
    graph: &mut Graph,
) -> bool {
    let mut is_cut = false;
    let mut place = |graph: &mut Graph, object: &ObjectRef| {
        let known = graph.find(object);
        if known.is_some() || graph.len() == MOST_OBJECTS {
            is_cut |= known.is_none();
            return known;
        }
        Some(graph.add(kept.explained(lister, object, changes, came_up)))
    };
    graph.victims = victims.iter().filter_map(|victim| place(graph, victim)).collect();
    let mut last = None;
    while let Some(node) = graph.after(last) {
        let explained = Arc::clone(graph.explained(node));
        let waits_for = explained.diagnosis.waits_for.iter().filter_map(|next| place(graph, next)).collect();
        graph.connect(node, waits_for);
        last = Some(node);
    }
    is_cut
}

/// What to ask next; nothing when the judgement is final.
pub fn next_questions(state: &State) -> Vec<Question> {
    to_ask(build(state, &mut Kept::default(), &Changes::default()).1)
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
