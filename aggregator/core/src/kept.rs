//! What was explained before, for as long as it holds: until something that it rests on changes, or deadlines may have
//! passed.

use std::cell::Cell;
use std::sync::Arc;

use foldhash::{HashMap, HashSet, HashSetExt as _};
use jiff::Timestamp;

use crate::diagnosis::Explained;
use crate::graph::Named;
use crate::lister::{CameUp, Changes, Lister, Rest};
use crate::rules;
use crate::state::{ObjectRef, Question, State};

/// After so many seconds a deadline may have passed.
const OLD: i64 = 10;
/// So many are explained anew at once because they are old, the oldest first.
const MOST_OLD: usize = 100;

/// What was explained before.
#[derive(Debug, Default)]
pub struct Kept {
    objects: HashMap<Named, Basis>,
    /// What the choice of what is explained rests on.
    chosen: Vec<Rest>,
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
    came_up: CameUp,
    at: Timestamp,
    count: u64,
    round: Cell<u64>,
}

impl Basis {
    /// Its time may also lie ahead: the clock was set back.
    fn is_old(&self, now: Timestamp) -> bool {
        !(0..OLD).contains(&(now.as_second() - self.at.as_second()))
    }
}

impl Kept {
    /// Begins a judgement.
    pub(crate) fn begin(&mut self, now: Timestamp, chosen: &CameUp) {
        (self.at, self.round) = (now, self.round + 1);
        self.chosen.clone_from(&chosen.rests);
        let mut old: Vec<u64> =
            self.objects.values().filter(|basis| basis.is_old(now)).map(|basis| basis.count).collect();
        self.is_behind = old.len() > MOST_OLD;
        self.renewed_before = if self.is_behind { *old.select_nth_unstable(MOST_OLD).1 } else { u64::MAX };
    }

    /// What is known of an object: what was known before if that holds.
    pub(crate) fn explained(
        &mut self,
        lister: &Lister,
        object: &ObjectRef,
        changes: &Changes,
        came_up: &mut CameUp,
    ) -> Arc<Explained> {
        let (now, renewed_before) = (self.at, self.renewed_before);
        let is_renewed = |basis: &Basis| basis.is_old(now) && basis.count < renewed_before;
        if let Some((Named(explained), basis)) = self.objects.get_key_value(object)
            && !is_renewed(basis)
            && !changes.concern(&basis.came_up)
        {
            basis.round.set(self.round);
            came_up.add(&basis.came_up);
            return Arc::clone(explained);
        }
        let explained = Arc::new(Explained::new(object.clone(), rules::explain(lister, object)));
        self.count += 1;
        let basis = Basis { came_up: lister.came_up(), at: now, count: self.count, round: Cell::new(self.round) };
        came_up.add(&basis.came_up);
        // Else the key would stay what was known before.
        self.objects.remove(object);
        self.objects.insert(Named(Arc::clone(&explained)), basis);
        explained
    }

    /// Ends it: what nothing waits for any more is dropped.
    pub(crate) fn end(&mut self) {
        let round = self.round;
        self.objects.retain(|_, basis| basis.round.get() == round);
    }

    /// Whether more was old than was explained anew.
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// The questions on whose answers the judgement rests.
    pub fn used<'s>(&self, state: &'s State) -> impl Iterator<Item = &'s Question> + use<'s> {
        let each = self.objects.values().flat_map(|basis| &basis.came_up.rests);
        let used: HashSet<Rest> = each.chain(&self.chosen).map(|rest| rest.whole()).collect();
        state.answers.keys().filter(move |question| used.contains(&Rest::of(question)))
    }

    /// The answers on which the judgement of these objects rests, down to their roots.
    pub fn rests_on(&self, objects: impl IntoIterator<Item = ObjectRef>) -> HashSet<Rest> {
        let mut waiting: Vec<ObjectRef> = objects.into_iter().collect();
        let (mut known, mut rests) = (HashSet::new(), HashSet::new());
        while let Some(object) = waiting.pop() {
            let Some((Named(explained), basis)) = self.objects.get_key_value(&object) else { continue };
            if known.insert(object) {
                rests.extend(basis.came_up.rests.iter().map(|rest| rest.whole()));
                waiting.extend(explained.diagnosis.waits_for.iter().cloned());
            }
        }
        rests
    }
}
