//! Volumes that are asked for by their names: where they are many, a list takes fewer requests.

use std::collections::BTreeSet;

use crate::state::{Detail, Question, Resource, Scope, Select, State, known};

/// More than these are not asked for one by one.
const MAX_VOLUMES: usize = 50;

/// Puts the list of all in the place of too many questions, those that were answered before among them.
pub fn limit(state: &State, questions: &mut BTreeSet<Question>) {
    let volumes = Resource::from(known::VOLUMES);
    let is_one = |question: &&Question| matches!(question, Question::Objects { resource, scope: Scope::Named(..), .. } if *resource == volumes);
    let all = Question::objects(known::VOLUMES, Scope::All, Select::Every, Detail::Full);
    let wanted = questions.iter().filter(is_one).count();
    let answered = state.answers.keys().filter(is_one).count();
    if wanted > 0 && wanted + answered > MAX_VOLUMES && !state.answers.contains_key(&all) {
        // The list of all has the local ones as well.
        let local = Question::objects(known::VOLUMES, Scope::All, Select::Local, Detail::Full);
        questions.retain(|question| !is_one(&question) && *question != local);
        questions.insert(all);
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::state::{Answer, Answered, Subject};

    #[test]
    fn many_volumes_are_asked_for_as_a_list() {
        let scope = |n: usize| Scope::Named(None, format!("pv-{n}"));
        let named = |n: usize| Question::objects(known::VOLUMES, scope(n), Select::Every, Detail::Full);
        let mut state = State::new(Subject::Everything { namespace: None, all_kinds: false }, Timestamp::UNIX_EPOCH);
        let limited = |state: &State, numbers: std::ops::Range<usize>| {
            let mut questions: BTreeSet<Question> = numbers.map(named).collect();
            limit(state, &mut questions);
            questions
        };
        assert_eq!(limited(&state, 0..MAX_VOLUMES).len(), MAX_VOLUMES);
        assert_eq!(limited(&state, 0..MAX_VOLUMES + 1).len(), 1);
        for question in (0..MAX_VOLUMES).map(named) {
            state.add(Answered::whole(question, Answer::Missing));
        }
        assert_eq!(limited(&state, 0..0).len(), 0, "nothing is queried without need");
        let list = limited(&state, MAX_VOLUMES..MAX_VOLUMES + 1);
        let [Question::Objects { scope: Scope::All, .. }] = list.iter().collect::<Vec<_>>()[..] else {
            panic!("{list:?}")
        };
        // It has the local ones as well, which are asked for alone where all are not.
        let local = Question::objects(known::VOLUMES, Scope::All, Select::Local, Detail::Full);
        let beside = |numbers: std::ops::Range<usize>| {
            let mut questions: BTreeSet<Question> = numbers.map(named).chain([local.clone()]).collect();
            limit(&State::new(state.subject.clone(), state.at), &mut questions);
            questions.contains(&local)
        };
        assert!(beside(0..MAX_VOLUMES) && !beside(0..MAX_VOLUMES + 1));
        // Of the list too much was left out: the others are asked for by name all the same.
        for question in list.clone() {
            state.add(Answered {
                question,
                answer: Answer::Missing,
                cut: true,
                not_read: None,
                is_short_and_held: false,
            });
        }
        assert_eq!(limited(&state, MAX_VOLUMES..MAX_VOLUMES + 9).len(), 9);
    }
}
