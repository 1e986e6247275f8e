//! Follows what waits for what, from what should be gone down to the root causes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use findings::FaultKind;

use crate::circle;
use crate::diagnosis::Diagnosis;
use crate::graph::Graph;
use crate::lister::Lister;
use crate::rules;
use crate::state::{Fault, ObjectRef, Question, Scope, State, known};

/// More than this is not looked into; the report says so.
const MOST_OBJECTS: usize = 4000;

/// Judges the state. The questions are what should be asked before the judgement is final.
pub fn build(state: &State) -> (Graph, BTreeSet<Question>) {
    let lister = Lister::new(state);
    let mut graph = graph(&lister);
    let (questions, cut) = lister.finish();
    for list in cut {
        let fault = Fault::new(FaultKind::TooLarge, "");
        graph.about.hidden(list, fault, "the rest of them");
    }
    (graph, questions)
}

fn graph(lister: &Lister) -> Graph {
    let mut about = Diagnosis::default();
    let victims = rules::victims(lister, &mut about);
    let (objects, cut) = explain(lister, victims.clone());
    let mut graph = Graph { victims, objects, about, looked_at: rules::looked_at(lister), cut };
    circle::mark(&mut graph);
    graph
}

/// The questions on whose answers the whole judgement rests.
pub fn used(state: &State) -> BTreeSet<&Question> {
    let lister = Lister::remembering(state);
    graph(&lister);
    lister.used()
}

/// Explains objects and all that they wait for. The second value says that there was more.
fn explain(lister: &Lister, first: Vec<ObjectRef>) -> (BTreeMap<ObjectRef, Diagnosis>, bool) {
    let mut objects = BTreeMap::new();
    let mut waiting = VecDeque::from(first);
    while let Some(object) = waiting.pop_front() {
        if objects.contains_key(&object) {
            continue;
        }
        if objects.len() == MOST_OBJECTS {
            return (objects, true);
        }
        let diagnosis = rules::explain(lister, &object);
        waiting.extend(diagnosis.waits_for.iter().cloned());
        objects.insert(object, diagnosis);
    }
    (objects, false)
}

/// The questions on whose answers the judgement of these objects rests, down to their roots.
pub fn rests_on(state: &State, objects: Vec<ObjectRef>) -> BTreeSet<&Question> {
    let lister = Lister::remembering(state);
    explain(&lister, objects);
    lister.used()
}

/// What to ask next; nothing when the judgement is final.
pub fn next_questions(state: &State) -> Vec<Question> {
    to_ask(build(state).1)
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
