//! The plugin's judgement, kept up to date: what is watched changes the state in place, all else is asked for again,
//! the more rarely the longer it has stayed the same.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aggregator_core::answer_budget::{AnswerBudget, MaxAnswers};
use aggregator_core::bounded_list::{BoundedList, Room};
use aggregator_core::explanation_cache::ExplanationCache;
use aggregator_core::judgement::judge_again;
use aggregator_core::lister::{Changes, Dependency, agent_events_question};
use aggregator_core::report::ClusterReport;
use aggregator_core::shares::in_turns;
use aggregator_core::state::{
    AgentEvent, Answer, Answered, Detail, Facts, Fault, Kind as _, Meta, ObjectRef, Pod, Question, Resource, Scope,
    Select, State, Subject, known,
};
use findings::FaultKind;
use foldhash::HashSet;
use jiff::Timestamp;

use crate::neighbourhood::Neighbourhood;
use crate::query_schedule::{Schedule, is_lease_query, later};

/// What no judgement has asked for during so long is dropped.
const RETENTION: Duration = Duration::from_secs(120);
/// What is kept of one list: as many objects as agents write Events of 5,000 nodes, twice.
pub const ROOM: Room = Room { max_objects: 12_000, max_bytes: 12_000 << 10 };
/// What all other answers may take together.
const MAX_ANSWERS: MaxAnswers = MaxAnswers { cluster_bytes: 32 << 20, namespaces_bytes: 12 << 20 };
/// With less in it, a list of which something was left out is read anew.
const MAX_RELIST_PERCENT: usize = 75;
/// But not more often than this, and while it stays full not more often than the second.
const RELIST_INTERVAL: Duration = Duration::from_secs(30);
const FULL_RELIST_INTERVAL: Duration = Duration::from_secs(600);
/// So many questions at once: with more, what comes up meanwhile would wait behind them. At three requests a second they
/// take a quarter of a minute.
const MAX_BATCH: usize = 45;
/// So many of them are asked again however much is new: else an end would stay unnoticed.
const MIN_REPEATED: usize = MAX_BATCH / 3;
/// The first report waits no longer for what it lacks once all lists are there: one tenant's objects may need more questions
/// than are asked in ten minutes.
pub const MAX_FIRST_REPORT_DELAY: Duration = Duration::from_secs(30);
/// A watch that has failed for so long is not believed any more.
const WATCH_TIMEOUT: Duration = Duration::from_secs(60);

/// What is watched: the answers that thousands of objects' changes would make old at once.
pub fn watched() -> Vec<Question> {
    let all = |known, select| Question::objects(known, Scope::All, select, Detail::Full);
    let going = |known| Question::terminating_metadata(known, Scope::All);
    vec![
        all(known::NAMESPACES, Select::Fields("status.phase=Terminating".to_owned())),
        all(known::PODS, Select::Terminating),
        all(known::CLAIMS, Select::Terminating),
        all(known::NODES, Select::Terminating),
        agent_events_question(None),
        going(known::VOLUMES),
        going(known::ATTACHMENTS),
        going(known::CRDS),
    ]
}

/// What has come of a watch.
#[derive(Clone, Debug)]
pub enum Change {
    /// All there is, and from now on what changes.
    Listed(Answered),
    /// Objects as they are now.
    Applied(Question, Facts),
    /// The object with this uid is gone.
    Deleted(Question, String),
    /// It could not be followed.
    Failed(Question, Fault),
}

/// The state of the cluster, and when each part of it was seen.
#[derive(Debug)]
pub struct Judge {
    state: State,
    asked: BTreeMap<Question, Schedule>,
    /// Since when a watch has failed.
    failing: BTreeMap<Question, Timestamp>,
    /// What each watch has sent, as a bounded list: tens of thousands of Events may come at once.
    places: BTreeMap<Question, BoundedList>,
    /// What the answers take that are not watched.
    budget: AnswerBudget,
    /// The uids of what was seen to go from a list that is cut, since [`Judge::take_gone`].
    gone: HashSet<String>,
    /// When all lists were there for the first time.
    synced_at: Option<Timestamp>,
    /// When each list was read, or was to be read, the last time, and how often in a row it came cut.
    listed_at: BTreeMap<Question, (Timestamp, u32)>,
    changed: Changed,
    /// What was judged before, and what is known otherwise since.
    kept: ExplanationCache,
    changes: Changes,
    /// What the last judgement would have liked to know, in the order in which it came up.
    wanted: Vec<Question>,
}

/// What has changed since questions were last looked for.
#[derive(Debug, Default)]
struct Changed {
    /// Objects, those that are gone by the namespace they were in.
    objects: BTreeSet<ObjectRef>,
    /// Nodes of which an agent has said something.
    nodes: BTreeSet<String>,
}

impl Judge {
    pub fn new(now: Timestamp) -> Self {
        let state = State::new(Subject::Everything { namespace: None, all_kinds: false }, now);
        Judge {
            state,
            asked: BTreeMap::new(),
            failing: BTreeMap::new(),
            places: BTreeMap::new(),
            budget: AnswerBudget::new(MAX_ANSWERS),
            gone: HashSet::default(),
            synced_at: None,
            listed_at: BTreeMap::new(),
            changed: Changed::default(),
            kept: ExplanationCache::default(),
            changes: Changes::default(),
            wanted: Vec::new(),
        }
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    /// Whether each watch has listed what there is.
    pub fn is_synced(&self) -> bool {
        watched().iter().all(|question| self.state.answers.contains_key(question))
    }

    /// Whether something was never answered: it is asked for the first time, or will be.
    pub fn is_waiting(&self) -> bool {
        let is_unasked = |question: &Question| !self.asked.contains_key(question) && !watched().contains(question);
        self.asked.iter().any(|(question, asked)| asked.pending && !self.state.answers.contains_key(question))
            || self.wanted.iter().any(is_unasked)
    }

    /// Whether the first report would lack what is likely to be known soon.
    pub fn is_too_early(&self, now: Timestamp) -> bool {
        self.is_waiting() && self.synced_at.is_none_or(|since| now < later(since, MAX_FIRST_REPORT_DELAY))
    }

    /// Whether every watch is believed and has listed what there is.
    pub fn is_believed(&self) -> bool {
        let is_seen = |answered: &Answered| !matches!(answered.answer, Answer::Failed(_));
        watched().iter().all(|question| self.state.answers.get(question).is_some_and(is_seen))
    }

    /// The watched lists of which something was left out, with what of the object is in it.
    pub fn cut_lists(&self) -> BTreeSet<Resource> {
        let resource = |question: Question| match question {
            Question::Objects { resource, .. } => Some(resource),
            _ => None,
        };
        let is_cut = |question: &Question| self.state.answers.get(question).is_some_and(|answered| answered.cut);
        watched().into_iter().filter(is_cut).filter_map(resource).collect()
    }

    /// Answers that are left out because all of them together take too much memory.
    pub fn answers_left_out(&self) -> usize {
        self.budget.left_out()
    }

    /// The uids of what was seen to go from a list that is cut, since this was last asked.
    pub fn take_gone(&mut self) -> HashSet<String> {
        std::mem::take(&mut self.gone)
    }

    /// Takes in a change that a watch sends.
    pub fn changed(&mut self, change: Change, now: Timestamp) {
        match change {
            Change::Listed(answered) => {
                self.failing.remove(&answered.question);
                let places = answered.answer.as_ref().seen().map(|facts| BoundedList::index(ROOM, facts));
                let places = places.unwrap_or_else(|| BoundedList::new(ROOM));
                let has_room = places.used_percent() < MAX_RELIST_PERCENT;
                self.places.insert(answered.question.clone(), places);
                let before = self.listed_at.get(&answered.question).map_or(0, |(_, cut)| *cut);
                let cut = if answered.cut && has_room { before.saturating_add(1) } else { 0 };
                self.listed_at.insert(answered.question.clone(), (now, cut));
                self.add(answered);
            }
            Change::Applied(question, facts) => {
                match AgentEvent::among(&facts) {
                    Some(events) if self.changed.nodes.len() < ROOM.max_objects => {
                        self.changed.nodes.extend(events.iter().map(|event| event.regarding.name.clone()));
                    }
                    Some(_) => {}
                    None => facts.metas().into_iter().for_each(|meta| self.has_changed(&question, meta)),
                }
                self.applied(&question, facts);
            }
            Change::Deleted(question, uid) => {
                // Of a list that is whole what is not in it has gone.
                let is_cut = self.state.answers.get(&question).is_some_and(|answered| answered.cut);
                if is_cut && self.gone.len() < ROOM.max_objects && question != agent_events_question(None) {
                    self.gone.insert(uid.clone());
                }
                let taken = self.watched(&question).and_then(|(known, places)| places.take(known, &uid));
                if let Some(gone) = taken {
                    self.changes.objects(&question, &gone);
                    if AgentEvent::among(&gone).is_none() {
                        gone.metas().into_iter().for_each(|meta| self.has_changed(&question, meta));
                    }
                }
            }
            Change::Failed(question, fault) => {
                let since = self.failing.entry(question.clone()).or_insert(now);
                *since = (*since).min(now);
                if later(*since, WATCH_TIMEOUT) <= now {
                    self.add(Answered::whole(question, Answer::Failed(fault)));
                }
            }
        }
    }

    /// Keeps an object as it is now. What finds no room is missed: the list is cut.
    fn applied(&mut self, question: &Question, facts: Facts) {
        self.changes.objects(question, &facts);
        let Some((known, places)) = self.watched(question) else { return };
        let put = places.put(known, facts);
        // An Event may have been about another node before.
        put.before.iter().chain(&put.left_out).for_each(|changed| self.changes.objects(question, changed));
        if put.is_cut {
            self.cut(question);
        }
    }

    /// The lists to read anew: of which something was left out that there is room for now, or perhaps.
    pub fn relists(&mut self, now: Timestamp) -> Vec<Question> {
        let is_due = |question: &Question| {
            let Some((at, cut)) = self.listed_at.get(question) else { return true };
            let has_room = |places: &BoundedList| places.used_percent() < MAX_RELIST_PERCENT;
            let pause = match self.places.get(question).is_some_and(has_room) {
                true => (RELIST_INTERVAL * 2_u32.pow((*cut).min(5))).min(FULL_RELIST_INTERVAL),
                false => FULL_RELIST_INTERVAL,
            };
            later(*at, pause) <= now || *at > now
        };
        let cut = watched().into_iter().filter(|one| self.state.answers.get(one).is_some_and(|answered| answered.cut));
        let due: Vec<Question> = cut.filter(is_due).collect();
        for question in &due {
            self.listed_at.entry(question.clone()).or_default().0 = now;
        }
        due
    }

    fn cut(&mut self, question: &Question) {
        let Some(answered) = self.state.answers.get_mut(question) else { return };
        if !std::mem::replace(&mut answered.cut, true) {
            self.changes.answer(question);
        }
    }

    fn add(&mut self, answered: Answered) {
        self.changes.answer(&answered.question);
        self.state.add(answered);
    }

    /// What a watch has sent, and where it stands. It sends again, so it has not failed.
    fn watched(&mut self, question: &Question) -> Option<(&mut Facts, &mut BoundedList)> {
        self.failing.remove(question);
        let places = self.places.get_mut(question)?;
        match &mut self.state.answers.get_mut(question)?.answer {
            Answer::Seen(facts) => Some((facts, places)),
            _ => None,
        }
    }

    /// With the next questions what is near to it and what its judgement rests on is asked again.
    fn has_changed(&mut self, question: &Question, meta: &Meta) {
        let Question::Objects { resource, .. } = question else { return };
        let known = known::find(resource);
        let namespace = meta.namespace.as_deref();
        if self.changed.objects.len() < ROOM.max_objects {
            let within = namespace.map(|namespace| ObjectRef::cluster_wide(known::NAMESPACES, namespace));
            let object = known.map(|known| match namespace {
                Some(namespace) => ObjectRef::namespaced(known, namespace, &meta.name),
                None => ObjectRef::cluster_wide(known, &meta.name),
            });
            self.changed.objects.extend(within.into_iter().chain(object));
        }
    }

    /// What is near to all that has changed, and what its judgement rests on, is asked again soon.
    fn follow_changes(&mut self, now: Timestamp) {
        let Changed { mut objects, nodes } = std::mem::take(&mut self.changed);
        let near = Neighbourhood::new(&objects);
        if !nodes.is_empty() {
            let seen = self.state.answers.values().filter_map(|answered| Pod::among(answered.answer.as_ref().seen()?));
            let said_of = seen.flatten().filter(|pod| nodes.contains(&pod.spec.node_name));
            objects.extend(
                said_of.filter_map(|pod| Some(ObjectRef::pod(pod.metadata.namespace.as_deref()?, &pod.metadata.name))),
            );
        }
        if objects.is_empty() {
            return;
        }
        let dependencies = self.kept.dependencies(objects);
        for (question, asked) in &mut self.asked {
            if near.contains(question) || dependencies.contains(&Dependency::answer(question)) {
                asked.soon(question, self.state.answers.get(question), now);
            }
        }
    }

    /// Of these objects, each with when its deletion was asked for, those whose judgement rests on an answer of before: what it
    /// shows may have ended by then. Such answers are asked for again soon. Scans are not: they say what else is deleted.
    pub fn judged_on_older<'o>(
        &mut self,
        deleted: impl Iterator<Item = (&'o ObjectRef, Timestamp)>,
        now: Timestamp,
    ) -> BTreeSet<&'o ObjectRef> {
        let deleted: Vec<(&ObjectRef, Timestamp)> = deleted.collect();
        let Some(latest) = deleted.iter().map(|(_, at)| *at).max() else { return BTreeSet::new() };
        let is_older = |(question, asked): &(&Question, &mut Schedule)| asked.seen < latest && !question.is_scan();
        let mut older: Vec<(&Question, &mut Schedule)> = self.asked.iter_mut().filter(is_older).collect();
        let mut found = BTreeSet::new();
        for (object, at) in deleted {
            let dependencies = self.kept.dependencies([object.clone()]);
            for (question, asked) in &mut older {
                if asked.seen < at && dependencies.contains(&Dependency::answer(question)) {
                    asked.soon(question, self.state.answers.get(question), now);
                    found.insert(object);
                }
            }
        }
        found
    }

    /// Takes in an answer.
    pub fn answered(&mut self, answered: Answered, now: Timestamp) {
        let before = self.state.answers.get(&answered.question);
        let is_same = before.is_some_and(|before| (&before.answer, before.cut) == (&answered.answer, answered.cut));
        let is_known = before.is_some_and(|before| matches!(before.answer, Answer::Seen(_)));
        let asked = self.asked.get(&answered.question);
        // What could be seen a moment ago is not unknown because one request was lost.
        let is_lost =
            |fault: &Fault| matches!(fault.kind, FaultKind::TimedOut | FaultKind::Refused | FaultKind::Failed);
        let lost_since = match &answered.answer {
            Answer::Failed(fault) if is_known && is_lost(fault) => {
                asked.and_then(|asked| asked.lost_since).filter(|since| *since <= now).or(Some(now))
            }
            _ => None,
        };
        // What was too large is asked for no more often than what stays the same.
        let is_no_news = is_same || self.budget.is_left_out(&answered.question);
        let asked = Schedule::answered(asked, &answered, is_no_news, lost_since, now);
        self.asked.insert(answered.question.clone(), asked);
        if !is_same && lost_since.is_none_or(|since| later(since, WATCH_TIMEOUT) <= now) {
            self.changes.answer(&answered.question);
            let left_out = self.budget.add(&mut self.state, answered);
            left_out.iter().for_each(|question| self.changes.answer(question));
        }
    }

    /// What to ask after a judgement, new questions first, and a part of it where it is much: then the namespaces whose
    /// objects need it take turns. Each is to be answered before it comes up again.
    pub fn questions(&mut self, now: Timestamp) -> Vec<Question> {
        self.follow_changes(now);
        let is_pending = |question: &Question| self.asked.get(question).is_some_and(|asked| asked.pending);
        let is_new = |question: &&Question| !watched().contains(question) && !is_pending(question);
        let mut new: Vec<Question> = self.wanted.iter().filter(is_new).cloned().collect();
        // What was asked in a time that has not come yet was asked before the clock was set back.
        let due_at = |asked: &Schedule| if asked.at > now { Timestamp::MIN } else { asked.due };
        let due =
            self.asked.iter().filter(|(_, asked)| !asked.pending).map(|(question, asked)| (due_at(asked), question));
        let mut due: Vec<(Timestamp, &Question)> = due.filter(|(at, _)| *at <= now).collect();
        due.sort();
        let mut due: Vec<Question> = due.into_iter().map(|(_, question)| question.clone()).collect();
        if new.len() + due.len() > MAX_BATCH {
            let namespaces = self.kept.namespaces();
            let needed_by = |question: &Question| namespaces.get(&Dependency::answer(question)).copied().unwrap_or("");
            (new, due) = (in_turns(new, needed_by), in_turns(due, needed_by));
        }
        let most_new = MAX_BATCH - due.len().min(MIN_REPEATED);
        let all: Vec<Question> = new.into_iter().take(most_new).chain(due).take(MAX_BATCH).collect();
        for question in &all {
            let asked = self.asked.entry(question.clone()).and_modify(|asked| asked.again(now));
            asked.or_insert_with(|| Schedule::first(now));
        }
        all
    }

    /// Judges what is known.
    pub fn judge(&mut self, now: Timestamp) -> ClusterReport {
        self.state.at = now;
        if self.is_synced() {
            // It may be in a time that has not come yet, before the clock was set back.
            self.synced_at = self.synced_at.filter(|since| *since <= now).or(Some(now));
        }
        let is_known = |question: &Question| is_lease_query(question) && self.state.answers.contains_key(question);
        let leases = self.asked.iter().filter(|(question, _)| is_known(question));
        self.state.leases_at = leases.map(|(question, asked)| (question.clone(), asked.seen.min(now))).collect();
        let changes = std::mem::take(&mut self.changes);
        let (report, wanted) = judge_again(&self.state, &mut self.kept, &changes);
        let mut wanted: BTreeSet<Question> = wanted.into_iter().collect();
        self.wanted.retain(|question| wanted.remove(question));
        self.wanted.extend(wanted);
        report
    }

    /// Whether the last judgement left for the next what has grown old.
    pub fn is_behind(&self) -> bool {
        self.kept.is_behind()
    }

    /// Drops what no judgement needs any more.
    pub fn prune(&mut self) {
        let used: BTreeSet<Question> = self.kept.used(&self.state).cloned().chain(watched()).collect();
        self.state.answers.retain(|question, _| used.contains(question));
        let answers = &self.state.answers;
        self.budget.retain(|question| answers.contains_key(question));
        self.asked.retain(|question, asked| asked.pending || answers.contains_key(question));
    }

    /// When the kind was scanned whose last scan is the oldest: what was deleted of it since is not known.
    pub fn oldest_scan(&self) -> Option<Timestamp> {
        let is_scan =
            |question: &Question| question.is_scan() && matches!(question, Question::Objects { scope: Scope::All, .. });
        let is_seen = |question: &Question| {
            self.state.answers.get(question).is_some_and(|answered| matches!(answered.answer, Answer::Seen(_)))
        };
        let scans = self.asked.iter().filter(|(question, _)| is_scan(question) && is_seen(question));
        scans.map(|(_, asked)| asked.seen).min()
    }

    /// How often to [`Judge::prune`].
    pub const PRUNE_INTERVAL: Duration = RETENTION;

    /// Since when no watch has sent anything, once none is trusted any more.
    pub fn silent_since(&self, now: Timestamp) -> Option<Timestamp> {
        let blind = self.failing.values().copied().filter(|since| later(*since, WATCH_TIMEOUT) <= now);
        (blind.clone().count() == watched().len()).then(|| blind.max())?
    }
}

#[cfg(test)]
mod tests;
