//! What waits for what: things, what is known of each, and what each waits for.

mod agents;
mod circle;
mod found;
mod standing;
mod view;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub use found::{Found, Step, Told, ToldBy};
pub use standing::Standing;
pub use view::View;

use crate::rules;
use crate::state::{Question, Scope, State, Thing, known};

/// More than this is not looked into; the report says so.
const MOST_THINGS: usize = 4000;

/// Everything that was looked into.
pub struct Graph {
    /// What the user asked about, or all that should be gone.
    pub victims: Vec<Thing>,
    /// How each thing stands.
    pub things: BTreeMap<Thing, Standing>,
    /// What could not be looked at and belongs to no thing.
    pub about: Standing,
    /// Whether there was more than could be looked into.
    pub cut: bool,
}

/// Judges the state. The questions are what should be asked before the judgement is final.
pub fn build(state: &State) -> (Graph, BTreeSet<Question>) {
    let view = View::new(state);
    let mut about = Standing::default();
    let victims = rules::victims(&view, &mut about);
    let mut graph = Graph { victims: victims.clone(), things: BTreeMap::new(), about, cut: false };
    let mut waiting = VecDeque::from(victims);
    while let Some(thing) = waiting.pop_front() {
        if graph.things.contains_key(&thing) {
            continue;
        }
        if graph.things.len() == MOST_THINGS {
            graph.cut = true;
            break;
        }
        let standing = rules::explain(&view, &thing);
        waiting.extend(standing.waits_for.iter().cloned());
        graph.things.insert(thing, standing);
    }
    circle::mark(&mut graph);
    let (questions, cut) = view.finish();
    for list in cut {
        graph.about.hidden(list, "there are more than are kept", "the rest of them");
    }
    (graph, questions)
}

/// What to ask next; nothing when the judgement is final.
pub fn next_questions(state: &State) -> Vec<Question> {
    let all = build(state).1;
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
