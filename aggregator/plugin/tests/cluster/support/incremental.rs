//! The incremental judgement judges again only what has changed. To every cluster of these tests it gives the same answer as
//! a whole one.

use aggregator_core::explanation_cache::ExplanationCache;
use aggregator_core::judgement::{judge, judge_again};
use aggregator_core::lister::Changes;
use aggregator_core::report::ClusterReport;
use aggregator_core::state::{Answer, Answered, Facts, Question, Scope, State};

use super::world::seeded;

/// So many lists lose an object and get it back.
const LISTS: usize = 4;

pub fn assert_same_as_judged_anew(state: &State, report: &ClusterReport) {
    let mut answers: Vec<&Answered> = state.answers.values().collect();
    answers.sort_by_key(|answered| seeded(1, &answered.question));
    let (mut growing, mut kept) = (State { answers: Default::default(), ..state.clone() }, ExplanationCache::default());
    for answered in answers {
        let mut changes = Changes::default();
        changes.answer(&answered.question);
        growing.answers.insert(answered.question.clone(), answered.clone());
        let (again, _) = judge_again(&growing, &mut kept, &changes);
        assert_eq!(again, judge(&growing), "after {}", answered.question);
    }
    let (again, _) = judge_again(&growing, &mut kept, &Changes::default());
    assert_eq!(again, *report, "nothing has changed");
    for question in lists(state) {
        let Some(gone) = change(&mut growing, &mut kept, &question, |facts| facts.swap_remove(0)) else {
            continue;
        };
        change(&mut growing, &mut kept, &question, |facts| {
            facts.append(gone.clone());
            gone
        });
    }
    let used: Vec<&Question> = kept.used(&growing).collect();
    let mut pruned = growing.clone();
    pruned.answers.retain(|question, _| used.contains(&question));
    assert_eq!(judge(&pruned), judge(&growing), "what is not used changes nothing");
}

/// Lists of several objects, some of them.
fn lists(state: &State) -> Vec<Question> {
    let is_list = |answered: &&Answered| {
        let is_of_many =
            matches!(&answered.question, Question::Objects { scope: Scope::All | Scope::Namespace(_), .. });
        is_of_many && answered.answer.as_ref().seen().is_some_and(|facts| facts.count() > 0)
    };
    let mut all: Vec<Question> =
        state.answers.values().filter(is_list).map(|answered| answered.question.clone()).collect();
    all.sort_by_key(|question| seeded(2, question));
    all.truncate(LISTS);
    all
}

/// Changes the objects of one answer, and judges that again and anew.
fn change(
    state: &mut State,
    kept: &mut ExplanationCache,
    question: &Question,
    change: impl FnOnce(&mut Facts) -> Facts,
) -> Option<Facts> {
    let Answer::Seen(facts) = &mut state.answers.get_mut(question)?.answer else { return None };
    let changed = change(facts);
    let mut changes = Changes::default();
    changes.objects(question, &changed);
    let (again, _) = judge_again(state, kept, &changes);
    assert_eq!(again, judge(state), "after an object of {question}");
    Some(changed)
}
