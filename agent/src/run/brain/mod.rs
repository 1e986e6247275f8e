//! Decides what the agent does next. Pure: answers and the time go in, commands come out, so that
//! an hour without the API server, a clock that jumps or five hundred pods in one second are tests
//! of milliseconds.

#[cfg(test)]
mod tests;
mod types;

use std::{collections::BTreeSet, time::Duration};

use findings::{PodUid, Verdict};

use crate::report::event::Of;

use super::{
    Moment, Settings,
    bucket::Bucket,
    index::{Change, Index, Told},
    ledger::{Existing, Key, Kind, Ledger, Sight, Turn, Write},
    patience::Patience,
    schedule::Schedule,
};
pub use types::{Answer, Command, Looked, OwnEvent, Wrote};

/// The Node object may have been made anew; before something is written it is asked for again when
/// the last answer is older than this.
const NODE_FRESH: Duration = Duration::from_secs(600);
/// While a look hangs, nothing is gained by looking at the clock all the time.
const NOT_AT_ONCE: Duration = Duration::from_secs(10);
/// What the API server refuses is tried again after this.
const PUT_OFF: Duration = Duration::from_secs(900);
/// A look that takes longer hangs: a local disk or /proc does not answer.
const LOOK_HANGS: Duration = Duration::from_secs(30);

/// The agent's state.
pub struct Brain {
    node: String,
    asks_api: bool,
    index: Index,
    schedule: Schedule,
    ledger: Ledger,
    bucket: Bucket,
    looking: Option<Moment>,
    /// A look that found pods the API server has forgotten, until a fresh list has confirmed it.
    doubted: Option<Box<Looked>>,
    confirmed: BTreeSet<PodUid>,
    listing: bool,
    /// How often the watch has told something, and how often when the list was asked for.
    told_count: u64,
    list_asked: u64,
    /// A list was tried for the look that is due.
    listed_for_look: bool,
    node_asked: Patience,
    own_asked: Patience,
    own_read: bool,
    node_answered: Option<Moment>,
    writing: Option<Write>,
    reading_existing: bool,
    writes: Patience,
    /// What was just found to stand there in other words.
    adopted: Option<Key>,
    spread: Duration,
    /// Since there are news, they wait until then.
    held_until: Option<Duration>,
    random: fastrand::Rng,
    turns: Vec<Turn>,
    throttled: u64,
    waits_for_budget: bool,
    /// So many writes are left for the agent's end.
    last_writes: u32,
}

impl Brain {
    /// An agent of `node` that has seen nothing yet. `asks_api` is false when there is no API server
    /// to ask.
    pub fn new(node: &str, settings: Settings, asks_api: bool, seed: u64, now: Moment) -> Self {
        Brain {
            node: node.to_owned(),
            asks_api,
            index: Index::default(),
            schedule: Schedule::new(settings.intervals, seed, now),
            ledger: Ledger::new(settings.rules, seed),
            bucket: Bucket::new(settings.burst, settings.refill, now),
            looking: None,
            doubted: None,
            confirmed: BTreeSet::new(),
            listing: false,
            told_count: 0,
            list_asked: 0,
            listed_for_look: false,
            node_asked: Patience::new(seed),
            own_asked: Patience::new(seed.wrapping_add(1)),
            own_read: false,
            node_answered: None,
            writing: None,
            reading_existing: false,
            writes: Patience::new(seed.wrapping_add(2)),
            adopted: None,
            spread: settings.spread,
            held_until: None,
            random: fastrand::Rng::with_seed(seed.wrapping_add(3)),
            turns: Vec::new(),
            throttled: 0,
            waits_for_budget: false,
            last_writes: settings.burst,
        }
    }

    /// Takes in an answer; says what is to be done now.
    pub fn take(&mut self, answer: Answer, now: Moment) -> Vec<Command> {
        match answer {
            Answer::Time => {}
            Answer::Told(told) => self.told(told, now),
            Answer::Listed(list) => self.listed(list, now),
            Answer::Node(node) => self.node(node, now),
            Answer::Own(own) => self.own(own, now),
            Answer::Looked(looked) => self.looked(looked, now),
            Answer::Wrote(wrote) => self.wrote(wrote, now),
            Answer::Existing(existing) => self.existing(existing, now),
        }
        self.next(now)
    }

    /// When something is due by itself, at the latest.
    pub fn wake(&mut self, now: Moment) -> Duration {
        let mut wake = Duration::from_secs(600);
        if let Some(since) = self.looking {
            wake = wake.min((LOOK_HANGS + Duration::from_secs(1)).saturating_sub(now.since(since)).max(NOT_AT_ONCE));
        } else if self.doubted.is_none() {
            wake = wake.min(self.schedule.next().saturating_sub(now.steady));
        }
        if self.asks_api {
            wake = wake.min(self.wake_for_api(now));
        }
        wake
    }

    fn wake_for_api(&mut self, now: Moment) -> Duration {
        let never = Duration::MAX;
        let due = self.ledger.next_due(now);
        let held = self.held_until.map_or(Duration::ZERO, |until| until.saturating_sub(now.steady));
        if self.node_is_old(due, now) {
            let held = if self.node_answered.is_some() { held } else { Duration::ZERO };
            return self.node_asked.wait(now).max(held);
        }
        if !self.own_read {
            return self.own_asked.wait(now);
        }
        match due {
            None => never,
            Some(_) if self.writing.is_some() => never,
            Some(due) if due.is_zero() => self.writes.wait(now).max(self.bucket.wait(now)).max(held),
            Some(due) => due.max(self.writes.wait(now)),
        }
    }

    /// Whether the Node must be asked for before anything is written.
    fn node_is_old(&self, due: Option<Duration>, now: Moment) -> bool {
        let has_news = due.is_some_and(|due| due.is_zero());
        self.node_answered.is_none_or(|at| has_news && now.since(at) > NODE_FRESH)
    }

    /// What has changed since this was asked last, for the log.
    pub fn turns(&mut self) -> Vec<Turn> {
        std::mem::take(&mut self.turns)
    }

    /// All findings.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The API server's word.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Whether the look that is under way hangs.
    pub fn look_hangs(&self, now: Moment) -> bool {
        self.looking.is_some_and(|since| now.since(since) > LOOK_HANGS)
    }

    /// What may still be written before the agent ends: the bucket does not hold it back, but it is
    /// no more than its burst, or a rollout over many stuck pods would be a storm.
    pub fn last_write(&mut self, now: Moment) -> Option<Write> {
        if !self.may_write() || self.last_writes == 0 || self.writes.is_asked_to_wait(now) {
            return None;
        }
        self.last_writes -= 1;
        self.writing = None;
        let of = self.of()?;
        let write = self.ledger.next_write(&of, now).filter(|write| write.kind <= Kind::Over)?;
        self.writing = Some(write.clone());
        Some(write)
    }

    /// Why something is being written, if anything is.
    pub fn writing(&self) -> Option<Kind> {
        self.writing.as_ref().map(|write| write.kind)
    }

    /// How often a write that was due had to wait for the budget.
    pub fn throttled(&self) -> u64 {
        self.throttled
    }

    /// How many findings and ends the API server was not told of.
    pub fn unwritten(&self) -> usize {
        self.ledger.unwritten()
    }

    fn told(&mut self, told: Told, now: Moment) {
        // A list that begins and a watch that breaks tell nothing of a pod.
        if !matches!(told, Told::Broken(_) | Told::Begin) {
            self.told_count += 1;
        }
        let changes = self.index.take(told, now);
        self.changed(changes, now);
    }

    fn changed(&mut self, changes: Vec<Change>, now: Moment) {
        for change in changes {
            match change {
                Change::Terminating(uid, deadline) => self.schedule.terminating(uid, deadline, now),
                Change::Moved(uid) => self.schedule.moved(&uid, now),
                Change::Gone(uid) => {
                    let was_told = self.ledger.tells(&uid);
                    self.schedule.gone(&uid, was_told, now);
                }
            }
        }
    }

    fn listed(&mut self, list: Result<Vec<crate::observation::ApiPod>, String>, now: Moment) {
        self.listing = false;
        match list {
            Ok(pods) => {
                let listed: BTreeSet<PodUid> = pods.iter().map(|pod| pod.uid.clone()).collect();
                // What the watch has told since the question is newer than the answer.
                if self.told_count == self.list_asked {
                    let changes = self.index.listed(pods, now);
                    self.changed(changes, now);
                }
                if let Some(looked) = self.doubted.take() {
                    self.listed_for_look = false;
                    let known = |uid: &PodUid| listed.contains(uid) || self.index.knows(uid);
                    self.confirmed = looked.forgotten.iter().filter(|uid| !known(uid)).cloned().collect();
                    // If the API server knows one after all, the watch had missed it and the whole
                    // look is wrong; the next one is better.
                    if self.confirmed.len() == looked.forgotten.len() {
                        self.judge(*looked, now);
                    }
                }
            }
            Err(why) => {
                self.told(Told::Broken(why), now);
                if let Some(mut looked) = self.doubted.take() {
                    let forgotten = std::mem::take(&mut looked.forgotten);
                    looked.report.pods.retain(|pod| !forgotten.contains(&pod.pod.uid));
                    looked.complete = false;
                    self.judge(*looked, now);
                }
            }
        }
    }

    fn node(&mut self, node: Result<Option<super::index::NodeWord>, String>, now: Moment) {
        match node {
            Ok(Some(node)) => {
                self.node_asked.succeeded();
                self.node_answered = Some(now);
                let anew = self.index.node().is_some_and(|known| known.uid != node.uid);
                self.index.take_node(node);
                if anew {
                    self.ledger.forget_written();
                }
            }
            Ok(None) | Err(_) => self.node_asked.failed(None, now),
        }
    }

    fn own(&mut self, own: Result<Vec<OwnEvent>, String>, now: Moment) {
        match own {
            Ok(events) => {
                self.own_read = true;
                if let Some(of) = self.of() {
                    types::restore(&mut self.ledger, events, &of, now);
                }
            }
            Err(_) => self.own_asked.failed(None, now),
        }
    }

    fn looked(&mut self, looked: Box<Looked>, now: Moment) {
        self.looking = None;
        self.listed_for_look = false;
        self.schedule.looked(looked.took, looked.began, now);
        let known = |uid: &PodUid| self.confirmed.contains(uid) || self.ledger.tells(uid);
        if self.asks_api && looked.forgotten.iter().any(|uid| !known(uid)) {
            self.doubted = Some(looked);
        } else {
            self.judge(*looked, now);
        }
    }

    fn judge(&mut self, looked: Looked, now: Moment) {
        let of_interest: BTreeSet<&PodUid> = looked.report.pods.iter().map(|pod| &pod.pod.uid).collect();
        let pods = looked.report.pods.iter().filter(|pod| pod.verdict != Verdict::Clear);
        pods.for_each(|pod| self.schedule.follow(&pod.pod.uid, now));
        let index = &self.index;
        self.schedule.keep(|uid| index.knows(uid) || of_interest.contains(uid));
        self.confirmed.retain(|uid| of_interest.contains(uid));
        let sight = Sight { at: looked.at, report: &looked.report, complete: looked.complete };
        self.turns.extend(self.ledger.take(&sight));
    }

    fn wrote(&mut self, wrote: Wrote, now: Moment) {
        let Some(write) = self.writing.take() else { return };
        match wrote {
            Wrote::Done { event_time } => {
                self.writes.succeeded();
                self.adopted = None;
                self.ledger.was_written(&write, event_time, now);
            }
            Wrote::Differs => {
                self.writes.succeeded();
                self.ledger.was_not_taken(&write);
                // Once; what differs even from what stands there is given up.
                if self.adopted.take().is_some_and(|key| key == write.key) {
                    self.ledger.give_up(&write, now);
                } else {
                    self.reading_existing = true;
                    self.writing = Some(write);
                }
            }
            Wrote::Busy { after } => {
                self.ledger.was_not_taken(&write);
                self.writes.failed(after, now);
            }
            Wrote::Unknown { after } => {
                self.ledger.may_stand(&write);
                self.writes.failed(after, now);
            }
            Wrote::Refused => {
                self.ledger.was_not_taken(&write);
                // It may be this one alone, by some policy; if it is all of them, the tries grow apart.
                self.ledger.put_off(&write, now.later(PUT_OFF));
                self.writes.failed(None, now);
            }
        }
    }

    fn existing(&mut self, existing: Result<Option<Existing>, String>, now: Moment) {
        self.reading_existing = false;
        let Some(write) = self.writing.take() else { return };
        match existing {
            Ok(Some(existing)) => match write.kind {
                Kind::Over | Kind::Merge => self.ledger.give_up(&write, now),
                Kind::Open | Kind::Update | Kind::Renew => {
                    self.ledger.adopt(&write, existing, now);
                    self.adopted = Some(write.key);
                }
            },
            // It has just expired, and the next try makes it anew; or something else in it is refused.
            Ok(None) => {
                self.ledger.put_off(&write, now.later(PUT_OFF));
                self.writes.failed(None, now);
            }
            Err(_) => self.writes.failed(None, now),
        }
    }

    fn may_write(&self) -> bool {
        self.asks_api && self.own_read && self.index.node().is_some()
    }

    fn of(&self) -> Option<Of> {
        self.index.node().map(|node| Of { node: self.node.clone(), uid: node.uid.clone() })
    }

    fn next(&mut self, now: Moment) -> Vec<Command> {
        let mut commands = Vec::new();
        if self.asks_api {
            self.ask(&mut commands, now);
        }
        let due = self.schedule.next() <= now.steady && self.looking.is_none() && self.doubted.is_none();
        // A broken watch does not say when it is whole again, so the list is asked for.
        let list_first = self.asks_api && !self.index.is_fresh(now) && !self.listed_for_look;
        if self.doubted.is_some() || (due && list_first) {
            if !self.listing {
                self.listing = true;
                self.listed_for_look = true;
                self.list_asked = self.told_count;
                commands.push(Command::List { consistent: self.doubted.is_some() });
            }
        } else if due && !self.listing {
            self.looking = Some(now);
            commands.push(Command::Look(if self.asks_api { Some(self.index.facts(now)) } else { None }));
        }
        commands
    }

    /// Whether news still wait for their time.
    fn hold(&mut self, has_news: bool, now: Moment) -> bool {
        if !has_news {
            self.held_until = None;
            return false;
        }
        let until = self.held_until.get_or_insert_with(|| now.steady + self.spread.mul_f64(self.random.f64()));
        now.steady < *until
    }

    fn ask(&mut self, commands: &mut Vec<Command>, now: Moment) {
        let due = self.ledger.next_due(now);
        let has_news = due.is_some_and(|due| due.is_zero());
        let old = self.node_is_old(due, now);
        let is_held = self.hold(has_news, now);
        // A read before a write is spread as the write is.
        let may_ask = self.node_answered.is_none() || !is_held;
        if old && may_ask && self.node_asked.try_now(now) {
            commands.push(Command::GetNode);
        }
        if self.index.node().is_some() && !self.own_read && self.own_asked.try_now(now) {
            commands.push(Command::ReadOwn);
        }
        if self.reading_existing {
            if let Some(write) = &self.writing {
                self.reading_existing = false;
                commands.push(Command::ReadExisting(write.draft.name.clone()));
            }
            return;
        }
        let free = self.may_write() && !old && !is_held && self.writing.is_none() && self.writes.wait(now).is_zero();
        if let (true, true, Some(of)) = (free, has_news, self.of())
            && let Some(write) = self.ledger.next_write(&of, now)
        {
            if !self.bucket.take(now) {
                self.throttled += u64::from(!std::mem::replace(&mut self.waits_for_budget, true));
                return;
            }
            self.waits_for_budget = false;
            self.ledger.is_sent(&write);
            commands.push(Command::Write(Box::new(write.draft.clone())));
            self.writing = Some(write);
        }
    }
}
