//! What was explained before, for as long as it holds: until something that it rests on changes, or deadlines may have
//! passed.

use std::cell::Cell;
use std::hash::Hash;
use std::ops::RangeInclusive;
use std::sync::Arc;

use foldhash::{HashMap, HashSet, HashSetExt as _};
use jiff::Timestamp;

use crate::access::Reads;
use crate::diagnosis::Explained;
use crate::graph::Named;
use crate::lister::{Changes, Dependency, Lister, Trace};
use crate::state::{ObjectRef, Question, State};
use crate::{rules, shares};

/// After so many seconds a deadline may have passed, or after a hundredth of the time for which the object should have been
/// gone, a minute at most: by then the answer counts in minutes.
const REFRESH_SECONDS: RangeInclusive<i64> = 10..=60;
/// So many are explained anew at once because they are old, the oldest first.
const MAX_REFRESHED: usize = 100;

/// What was explained before.
#[derive(Debug, Default)]
pub struct ExplanationCache {
    objects: HashMap<Named, Basis>,
    /// Each different one of those that were read for them.
    reads: HashSet<Reads>,
    /// What the choice of what is explained rests on.
    chosen: Vec<Dependency>,
    at: Timestamp,
    /// Counts judgements.
    round: u64,
    /// Counts explanations.
    count: u64,
    /// Explanations before this one are not kept when they are old.
    renewed_before: u64,
    is_behind: bool,
}

/// What an explanation rests on, and when it was made.
#[derive(Debug)]
struct Basis {
    trace: Trace,
    at: Timestamp,
    /// For how many seconds it holds.
    lasts: i64,
    count: u64,
    round: Cell<u64>,
}

impl Basis {
    /// Its time may also lie ahead: the clock was set back.
    fn is_old(&self, now: Timestamp) -> bool {
        !(0..self.lasts).contains(&(now.as_second() - self.at.as_second()))
    }
}

impl ExplanationCache {
    /// How many objects were explained.
    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Begins a judgement.
    pub(crate) fn begin(&mut self, now: Timestamp, chosen: &Trace) {
        (self.at, self.round) = (now, self.round + 1);
        self.chosen.clone_from(&chosen.dependencies);
        let mut old: Vec<u64> =
            self.objects.values().filter(|basis| basis.is_old(now)).map(|basis| basis.count).collect();
        self.is_behind = old.len() > MAX_REFRESHED;
        self.renewed_before = if self.is_behind { *old.select_nth_unstable(MAX_REFRESHED).1 } else { u64::MAX };
    }

    /// What is known of an object: what was known before if that holds.
    pub(crate) fn explained(
        &mut self,
        lister: &Lister,
        object: &ObjectRef,
        changes: &Changes,
        trace: &mut Trace,
    ) -> Arc<Explained> {
        let (now, renewed_before) = (self.at, self.renewed_before);
        let is_renewed = |basis: &Basis| basis.is_old(now) && basis.count < renewed_before;
        if let Some((Named(explained), basis)) = self.objects.get_key_value(object)
            && !is_renewed(basis)
            && !changes.concern(&basis.trace)
        {
            basis.round.set(self.round);
            trace.add(&basis.trace);
            return Arc::clone(explained);
        }
        let diagnosis = rules::explain(lister, object);
        let mut found = lister.take_trace();
        let reads = self.shared(Reads::new(std::mem::take(&mut found.reads)));
        let explained = Arc::new(Explained::new(object.clone(), diagnosis, reads));
        self.count += 1;
        let lasts =
            (explained.diagnosis.overdue.unwrap_or(0) / 100).clamp(*REFRESH_SECONDS.start(), *REFRESH_SECONDS.end());
        let basis = Basis { trace: found, at: now, lasts, count: self.count, round: Cell::new(self.round) };
        trace.add(&basis.trace);
        // Else the key would stay what was known before.
        self.objects.remove(object);
        self.objects.insert(Named(Arc::clone(&explained)), basis);
        explained
    }

    /// For most objects of a namespace the same is read.
    fn shared(&mut self, reads: Reads) -> Reads {
        match self.reads.get(&reads) {
            Some(known) => known.clone(),
            None => {
                self.reads.insert(reads.clone());
                reads
            }
        }
    }

    /// Ends it: what nothing waits for any more is dropped.
    pub(crate) fn end(&mut self) {
        let round = self.round;
        self.objects.retain(|_, basis| basis.round.get() == round);
        self.reads.retain(Reads::is_shared);
    }

    /// Whether more was old than was explained anew.
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// The questions on whose answers the judgement rests.
    pub fn used<'s>(&self, state: &'s State) -> impl Iterator<Item = &'s Question> + use<'s> {
        let each = self.objects.values().flat_map(|basis| &basis.trace.dependencies);
        let used: HashSet<Dependency> = each.chain(&self.chosen).map(|one| one.whole()).collect();
        state.answers.keys().filter(move |question| used.contains(&Dependency::answer(question)))
    }

    /// For which namespace each answer is needed; empty for what more than one needs.
    pub fn namespaces(&self) -> HashMap<Dependency, &str> {
        // An object of no namespace is explained for that of what waits for it.
        let mut of_objects: HashMap<&ObjectRef, &str> = HashMap::default();
        let explained = self.objects.keys().map(|Named(explained)| &explained.object);
        let own = |object| (object, shares::namespace(object));
        let mut waiting: Vec<(&ObjectRef, &str)> = explained.map(own).filter(|(_, own)| *own != SHARED).collect();
        while let Some((object, namespace)) = waiting.pop() {
            let Some((Named(explained), _)) = self.objects.get_key_value(object) else { continue };
            if let Some(namespace) = join(&mut of_objects, &explained.object, namespace) {
                let next = explained.diagnosis.waits_for.iter().filter(|next| shares::namespace(next) == SHARED);
                waiting.extend(next.map(|next| (next, namespace)));
            }
        }
        let mut of_answers = HashMap::default();
        for (Named(explained), basis) in &self.objects {
            let namespace = of_objects.get(&explained.object).copied().unwrap_or(SHARED);
            for dependency in &basis.trace.dependencies {
                join(&mut of_answers, dependency.whole(), namespace);
            }
        }
        of_answers
    }

    /// The answers on which the judgement of these objects rests, down to their roots.
    pub fn dependencies(&self, objects: impl IntoIterator<Item = ObjectRef>) -> HashSet<Dependency> {
        let mut waiting: Vec<ObjectRef> = objects.into_iter().collect();
        let (mut known, mut dependencies) = (HashSet::new(), HashSet::new());
        while let Some(object) = waiting.pop() {
            let Some((Named(explained), basis)) = self.objects.get_key_value(&object) else { continue };
            if known.insert(object) {
                dependencies.extend(basis.trace.dependencies.iter().map(|one| one.whole()));
                waiting.extend(explained.diagnosis.waits_for.iter().cloned());
            }
        }
        dependencies
    }
}

/// What more than one namespace needs is for all.
const SHARED: &str = "";

/// Notes for whom something is; returns that if it is another than before.
fn join<'n, K: Hash + Eq>(all: &mut HashMap<K, &'n str>, key: K, namespace: &'n str) -> Option<&'n str> {
    let before = all.get(&key).copied();
    let now = if before.is_none_or(|before| before == namespace) { namespace } else { SHARED };
    all.insert(key, now);
    (before != Some(now)).then_some(now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::judge_again;
    use crate::state::{Answer, Answered, Detail, Page, Scope, Select, Subject, known};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn what_should_have_been_gone_for_long_is_explained_anew_less_often() {
        let day = 86_400;
        let question = Question::objects(known::PODS, Scope::All, Select::Terminating, Detail::Full);
        let pod = |name: &str, deadline: i64| {
            let deadline = at(deadline);
            format!(r#"{{"metadata":{{"namespace":"a","name":"{name}","deletionTimestamp":"{deadline}"}}}}"#)
        };
        let items = [pod("young", day - 20), pod("older", day - 2000), pod("oldest", 0)].join(",");
        let facts = Page::read(&question, format!(r#"{{"items":[{items}]}}"#).as_bytes()).unwrap().facts;
        let mut state = State::new(Subject::Everything { namespace: None, all_kinds: false }, at(day));
        state.add(Answered::whole(question, Answer::Seen(facts)));
        let mut kept = ExplanationCache::default();
        judge_again(&state, &mut kept, &Changes::default());
        let mut renewed = |seconds: i64| {
            state.at = at(day + seconds);
            judge_again(&state, &mut kept, &Changes::default());
            let is_new = |name: &str| kept.objects[&ObjectRef::pod("a", name)].at == state.at;
            ["young", "older", "oldest"].map(is_new)
        };
        assert_eq!(renewed(9), [false, false, false]);
        assert_eq!(renewed(10), [true, false, false]);
        assert_eq!(renewed(19), [false, false, false]);
        assert_eq!(renewed(20), [true, true, false]);
        assert_eq!(renewed(59), [true, true, false]);
        assert_eq!(renewed(60), [false, false, true]);
    }
}
