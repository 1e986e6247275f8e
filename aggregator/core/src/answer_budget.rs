//! One budget of bytes for all answers of a state, shared out per namespace.

use std::collections::BTreeSet;

use findings::FaultKind;

use crate::shares::Places;
use crate::state::{Answer, Answered, Question, Scope, State};

/// How many bytes the answers may take: those about the whole cluster, and those about single namespaces, so that the answers
/// about some objects of a tenant push out none about what all share.
#[derive(Clone, Copy, Debug)]
pub struct MaxAnswers {
    /// The lists and objects of the whole cluster.
    pub cluster_bytes: usize,
    /// Those of namespaces, shared out.
    pub namespaces_bytes: usize,
}

/// What the answers take together.
#[derive(Debug)]
pub struct AnswerBudget {
    max: MaxAnswers,
    of_cluster: Places<Question>,
    of_namespaces: Places<Question>,
    /// What was left out, and not answered anew since.
    left_out: BTreeSet<Question>,
}

impl AnswerBudget {
    /// Nothing is taken yet.
    pub fn new(max: MaxAnswers) -> Self {
        let (of_cluster, of_namespaces) = Default::default();
        AnswerBudget { max, of_cluster, of_namespaces, left_out: BTreeSet::new() }
    }

    /// Adds an answer in place of the one that is there. Where there is no room for it, one of the namespace whose answers take
    /// most is left out: the state says of that question that its answer was too large. Returns what was left out.
    pub fn add(&mut self, state: &mut State, answered: Answered) -> Vec<Question> {
        let question = answered.question.clone();
        let size = answered.answer.as_ref().seen().map_or(0, |facts| facts.size_bytes());
        self.forget(&question);
        let (places, max_bytes) = self.places(&question);
        let namespace = namespace(&question);
        let (mut left_out, mut has_room) = (Vec::new(), true);
        while places.used() + size > max_bytes {
            let Some(displaced) = places.displaced_by(namespace, size) else {
                has_room = false;
                break;
            };
            places.release(self::namespace(&displaced), &displaced);
            left_out.push(displaced);
        }
        if has_room {
            places.take(namespace, question.clone(), size);
            state.add(answered);
        } else {
            left_out.push(question);
        }
        for question in &left_out {
            let answer =
                Answer::failed(FaultKind::TooLarge, "it was left out: all answers together take too much memory");
            state.add(Answered::whole(question.clone(), answer));
        }
        self.left_out.extend(left_out.iter().cloned());
        left_out
    }

    /// Gives back what the answers to all other questions take.
    pub fn retain(&mut self, is_kept: impl Fn(&Question) -> bool) {
        let all = self.of_cluster.keys().chain(self.of_namespaces.keys()).chain(&self.left_out);
        let gone: Vec<Question> = all.filter(|question| !is_kept(question)).cloned().collect();
        gone.iter().for_each(|question| self.forget(question));
    }

    /// Whether this one is left out.
    pub fn is_left_out(&self, question: &Question) -> bool {
        self.left_out.contains(question)
    }

    /// How many answers are left out.
    pub fn left_out(&self) -> usize {
        self.left_out.len()
    }

    fn forget(&mut self, question: &Question) {
        self.left_out.remove(question);
        self.places(question).0.release(namespace(question), question);
    }

    /// What the answers of this kind take, and may take.
    fn places(&mut self, question: &Question) -> (&mut Places<Question>, usize) {
        match namespace(question) {
            "" => (&mut self.of_cluster, self.max.cluster_bytes),
            _ => (&mut self.of_namespaces, self.max.namespaces_bytes),
        }
    }
}

/// Whose objects it asks for; nothing for those of the whole cluster.
fn namespace(question: &Question) -> &str {
    match question {
        Question::Objects { scope: Scope::Namespace(namespace) | Scope::Named(Some(namespace), _), .. } => namespace,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::state::{Detail, Page, Resource, Select, Subject};

    fn question(namespace: &str, kind: usize) -> Question {
        let scope = if namespace.is_empty() { Scope::All } else { Scope::Namespace(namespace.to_owned()) };
        let (resource, select) = (Resource::new("", "v1", "pods"), Select::Labels(format!("kind={kind}")));
        Question::Objects { resource, scope, select, detail: Detail::Metadata }
    }

    fn answered(question: &Question, bytes: usize) -> Answered {
        let list = json!({"items": [{"metadata": {"name": "a", "uid": "u", "labels": {"l": "x".repeat(bytes)}}}]});
        let facts = Page::read(question, list.to_string().as_bytes()).unwrap().facts;
        Answered::whole(question.clone(), Answer::Seen(facts))
    }

    #[test]
    fn answers_about_one_namespace_leave_room_for_those_about_others() {
        let mut state = State::new(Subject::Everything { namespace: None, all_kinds: false }, Timestamp::UNIX_EPOCH);
        let mut budget = AnswerBudget::new(MaxAnswers { cluster_bytes: 100_000, namespaces_bytes: 100_000 });
        let shared = question("", 0);
        assert_eq!(budget.add(&mut state, answered(&shared, 80_000)), []);
        for kind in 0..20 {
            budget.add(&mut state, answered(&question("flood", kind), 20_000));
        }
        assert!(budget.left_out() > 10, "{}", budget.left_out());
        let small = question("small", 0);
        let left_out = budget.add(&mut state, answered(&small, 20_000));
        assert!(left_out.iter().all(|question| namespace(question) == "flood") && !left_out.is_empty());
        let sizes = state.answers.values().filter_map(|one| one.answer.as_ref().seen()).map(|facts| facts.size_bytes());
        assert!(sizes.sum::<usize>() <= 200_000);
        for seen in [&shared, &small] {
            assert!(matches!(state.answers[seen].answer, Answer::Seen(_)), "{seen}");
        }
        let Answer::Failed(fault) = &state.answers[&left_out[0]].answer else { panic!() };
        assert_eq!(fault.kind, FaultKind::TooLarge);
        budget.retain(|question| *question == small);
        assert_eq!(budget.left_out(), 0);
        assert_eq!(budget.add(&mut state, answered(&question("flood", 1), 70_000)), [], "what is gone takes nothing");
    }
}
