//! Decides what the agent does next. Pure: answers and the time go in, commands come out, so that
//! an hour without the API server, a clock that jumps or five hundred pods in one second are tests
//! of milliseconds.

#[cfg(test)]
mod tests;
mod types;

use std::{collections::BTreeSet, time::Duration};

use agent_core::observation::{ApiPod, Fault};
use findings::{PodUid, TokenBucket, Verdict};

use crate::event::NodeRef;

use super::backoff::Backoff;
use super::index::{Change, Index, WatchEvent};
use super::schedule::Schedule;
use super::tracker::{ExistingEvent, Key, Kind, RestsOn, Snapshot, Tracker, Transition, Write};
use super::{Instant, Settings};
pub use types::{Command, Input, OwnEvent, Scan, WriteOutcome};

/// The Node object may have been made anew; before something is written it is asked for again when
/// the last answer is older than this.
const NODE_FRESH: Duration = Duration::from_secs(600);
/// While a scan hangs, nothing is gained by looking at the clock all the time.
const NOT_AT_ONCE: Duration = Duration::from_secs(10);
/// What is proven of single pods waits for this part of the spread, so that it is known 25 s after the deadline.
const LASTING_SHARE: u32 = 4;
/// The same of what had to be seen twice.
const PASSING_SHARE: u32 = 8;
/// What the API server refuses is tried again after this.
const POSTPONED: Duration = Duration::from_secs(900);
/// A scan that takes longer hangs: a local disk or /proc does not answer.
const SCAN_HANGS: Duration = Duration::from_secs(30);

pub struct Reconciler {
    node: String,
    asks_api: bool,
    index: Index,
    schedule: Schedule,
    tracker: Tracker,
    bucket: TokenBucket,
    scanning: Option<Instant>,
    /// A scan that found pods the API server has forgotten, until a fresh list has confirmed it.
    unconfirmed: Option<Box<Scan>>,
    confirmed: BTreeSet<PodUid>,
    listing: bool,
    /// How often the watch has reported something, and how often when the list was asked for.
    watch_events: u64,
    list_asked: u64,
    /// A list was tried for the scan that is due.
    listed_for_scan: bool,
    node_asked: Backoff,
    own_asked: Backoff,
    own_read: bool,
    node_answered: Option<Instant>,
    writing: Option<Write>,
    reading_existing: bool,
    writes: Backoff,
    /// What was just found to stand there in other words.
    adopted: Option<Key>,
    spread: Duration,
    /// Since there are news, they wait until then.
    held_until: Option<Duration>,
    random: fastrand::Rng,
    transitions: Vec<Transition>,
    throttled: u64,
    waits_for_budget: bool,
    /// So many writes are left for the agent's end.
    last_writes: u32,
}

impl Reconciler {
    /// An agent of `node` that has seen nothing yet. `asks_api` is false when there is no API server
    /// to ask.
    pub fn new(node: &str, settings: Settings, asks_api: bool, seed: u64, now: Instant) -> Self {
        Reconciler {
            node: node.to_owned(),
            asks_api,
            index: Index::default(),
            schedule: Schedule::new(settings.intervals, seed, now),
            tracker: Tracker::new(settings.rules, seed),
            bucket: TokenBucket::new(settings.burst, settings.refill),
            scanning: None,
            unconfirmed: None,
            confirmed: BTreeSet::new(),
            listing: false,
            watch_events: 0,
            list_asked: 0,
            listed_for_scan: false,
            node_asked: Backoff::new(seed),
            own_asked: Backoff::new(seed.wrapping_add(1)),
            own_read: false,
            node_answered: None,
            writing: None,
            reading_existing: false,
            writes: Backoff::new(seed.wrapping_add(2)),
            adopted: None,
            spread: settings.spread,
            held_until: None,
            random: fastrand::Rng::with_seed(seed.wrapping_add(3)),
            transitions: Vec::new(),
            throttled: 0,
            waits_for_budget: false,
            last_writes: settings.burst,
        }
    }

    /// Takes in an answer; says what is to be done now.
    pub fn handle(&mut self, input: Input, now: Instant) -> Vec<Command> {
        match input {
            Input::Tick => {}
            Input::Watch(event) => self.watched(event, now),
            Input::Listed(list) => self.listed(list, now),
            Input::Node(node) => self.node(node, now),
            Input::OwnEvents(own) => self.own(own, now),
            Input::Scanned(scanned) => self.scanned(scanned, now),
            Input::Wrote(wrote) => self.wrote(wrote, now),
            Input::Existing(existing) => self.existing(existing, now),
        }
        self.next(now)
    }

    /// When something is due by itself, at the latest.
    pub fn next_wake(&mut self, now: Instant) -> Duration {
        let mut wake = Duration::from_secs(600);
        if let Some(since) = self.scanning {
            wake = wake
                .min((SCAN_HANGS + Duration::from_secs(1)).saturating_sub(now.duration_since(since)).max(NOT_AT_ONCE));
        } else if self.unconfirmed.is_none() {
            wake = wake.min(self.schedule.next().saturating_sub(now.steady));
        }
        if self.asks_api {
            wake = wake.min(self.wake_for_api(now));
        }
        wake
    }

    fn wake_for_api(&mut self, now: Instant) -> Duration {
        let never = Duration::MAX;
        let due = self.tracker.next_due(now);
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
            Some(due) if due.is_zero() => self.writes.wait(now).max(self.bucket.wait(now.steady)).max(held),
            Some(due) => due.max(self.writes.wait(now)),
        }
    }

    /// Whether the Node must be asked for before anything is written.
    fn node_is_old(&self, due: Option<Duration>, now: Instant) -> bool {
        let has_news = due.is_some_and(|due| due.is_zero());
        self.node_answered.is_none_or(|at| has_news && now.duration_since(at) > NODE_FRESH)
    }

    /// What has changed since this was asked last, for the log.
    pub fn transitions(&mut self) -> Vec<Transition> {
        std::mem::take(&mut self.transitions)
    }

    pub fn tracker(&self) -> &Tracker {
        &self.tracker
    }

    /// The API server's word.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Whether the scan that is under way hangs.
    pub fn scan_hangs(&self, now: Instant) -> bool {
        self.scanning.is_some_and(|since| now.duration_since(since) > SCAN_HANGS)
    }

    /// What may still be written before the agent ends: the bucket does not hold it back, but it is
    /// no more than its burst, or a rollout over many stuck pods would be a storm.
    pub fn last_write(&mut self, now: Instant) -> Option<Write> {
        if !self.may_write() || self.last_writes == 0 || self.writes.is_asked_to_wait(now) {
            return None;
        }
        self.last_writes -= 1;
        self.writing = None;
        let of = self.node_ref()?;
        let write =
            self.tracker.next_write(&of, now).filter(|write| write.kind <= Kind::Over && write.unanswered.is_none())?;
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

    /// How many findings and ends the API server was not reported of.
    pub fn unwritten(&self) -> usize {
        self.tracker.unwritten()
    }

    fn watched(&mut self, event: WatchEvent, now: Instant) {
        // A list that begins and a watch that breaks say nothing of a pod.
        if !matches!(event, WatchEvent::Failed(_) | WatchEvent::Init) {
            self.watch_events += 1;
        }
        let changes = self.index.take(event, now);
        self.changed(changes, now);
    }

    fn changed(&mut self, changes: Vec<Change>, now: Instant) {
        for change in changes {
            match change {
                Change::Terminating { uid, deadline, needs_drivers } => {
                    self.schedule.terminating(uid, deadline, needs_drivers, now);
                }
                Change::Updated(uid) => self.schedule.changed(&uid, now),
                Change::Deleted(uid) => {
                    let was_reported = self.tracker.reports(&uid);
                    self.schedule.deleted(&uid, was_reported, now);
                }
            }
        }
    }

    fn listed(&mut self, list: Result<Vec<ApiPod>, Fault>, now: Instant) {
        self.listing = false;
        match list {
            Ok(pods) => {
                let listed: BTreeSet<PodUid> = pods.iter().map(|pod| pod.uid.clone()).collect();
                // What the watch has reported since the question is newer than the answer.
                if self.watch_events == self.list_asked {
                    let changes = self.index.listed(pods, now);
                    self.changed(changes, now);
                }
                if let Some(scanned) = self.unconfirmed.take() {
                    self.listed_for_scan = false;
                    let known = |uid: &PodUid| listed.contains(uid) || self.index.knows(uid);
                    self.confirmed = scanned.forgotten.iter().filter(|uid| !known(uid)).cloned().collect();
                    // If the API server knows one after all, the watch had missed it and the whole
                    // scan is wrong; the next one is better.
                    if self.confirmed.len() == scanned.forgotten.len() {
                        self.judge(*scanned, now);
                    }
                }
            }
            Err(fault) => {
                self.watched(WatchEvent::Failed(fault), now);
                if let Some(mut scanned) = self.unconfirmed.take() {
                    let forgotten = std::mem::take(&mut scanned.forgotten);
                    scanned.report.pods.retain(|pod| !forgotten.contains(&pod.pod.uid));
                    scanned.complete = false;
                    self.judge(*scanned, now);
                }
            }
        }
    }

    fn node(&mut self, node: Result<Option<super::index::NodeInfo>, Fault>, now: Instant) {
        match node {
            Ok(Some(node)) => {
                self.node_asked.succeeded();
                self.node_answered = Some(now);
                let anew = self.index.node.as_ref().is_some_and(|known| known.uid != node.uid);
                self.index.node = Some(node);
                if anew {
                    self.tracker.forget_written();
                }
            }
            Ok(None) | Err(_) => self.node_asked.failed(None, now),
        }
    }

    fn own(&mut self, own: Result<Vec<OwnEvent>, Fault>, now: Instant) {
        match own {
            Ok(events) => {
                self.own_read = true;
                if let Some(of) = self.node_ref() {
                    types::restore(&mut self.tracker, events, &of, now);
                }
            }
            Err(_) => self.own_asked.failed(None, now),
        }
    }

    fn scanned(&mut self, scanned: Box<Scan>, now: Instant) {
        self.scanning = None;
        self.listed_for_scan = false;
        self.schedule.scanned(scanned.took, scanned.began, now);
        let known = |uid: &PodUid| self.confirmed.contains(uid) || self.tracker.reports(uid);
        if self.asks_api && scanned.forgotten.iter().any(|uid| !known(uid)) {
            self.unconfirmed = Some(scanned);
        } else {
            self.judge(*scanned, now);
        }
    }

    fn judge(&mut self, scanned: Scan, now: Instant) {
        self.index.judged(&scanned.report, scanned.at);
        let of_interest: BTreeSet<&PodUid> = scanned.report.pods.iter().map(|pod| &pod.pod.uid).collect();
        let pods = scanned.report.pods.iter().filter(|pod| pod.verdict != Verdict::Clear);
        pods.for_each(|pod| self.schedule.follow(&pod.pod.uid, now));
        let index = &self.index;
        self.schedule.retain(|uid| index.knows(uid) || of_interest.contains(uid));
        self.confirmed.retain(|uid| of_interest.contains(uid));
        let snapshot = Snapshot { at: scanned.at, report: &scanned.report, complete: scanned.complete };
        self.transitions.extend(self.tracker.take(&snapshot));
        self.tracker.to_confirm().for_each(|(uid, is_proven)| self.schedule.confirm(uid, is_proven, now));
    }

    fn wrote(&mut self, wrote: WriteOutcome, now: Instant) {
        let Some(write) = self.writing.take() else { return };
        match wrote {
            WriteOutcome::Done { event_time } => {
                self.writes.succeeded();
                self.adopted = None;
                self.tracker.was_written(&write, event_time, now);
            }
            WriteOutcome::Differs => {
                self.writes.succeeded();
                self.tracker.was_not_taken(&write);
                // Once; what differs even from what stands there is not to be had under this name.
                if self.adopted.take().is_some_and(|key| key == write.key) {
                    self.tracker.rename(&write, now);
                } else {
                    self.reading_existing = true;
                    self.writing = Some(write);
                }
            }
            WriteOutcome::Busy { after } => {
                self.tracker.was_not_taken(&write);
                self.writes.failed(after, now);
            }
            WriteOutcome::Unknown { after } => {
                self.tracker.may_stand(&write);
                self.writes.failed(after, now);
            }
            WriteOutcome::Refused => {
                self.tracker.was_not_taken(&write);
                // It may be this one alone, by some policy; if it is all of them, the tries grow apart.
                self.tracker.postpone(&write, now.later(POSTPONED));
                self.writes.failed(None, now);
            }
        }
    }

    fn existing(&mut self, existing: Result<Option<Box<ExistingEvent>>, Fault>, now: Instant) {
        self.reading_existing = false;
        let Some(write) = self.writing.take() else { return };
        if let Some(unanswered) = &write.unanswered {
            match existing {
                Ok(Some(existing)) if existing.identity == unanswered.identity => self.tracker.stands(&write),
                Ok(_) if now.duration_since(unanswered.settled).is_zero() => {
                    self.tracker.postpone(&write, unanswered.settled)
                }
                Ok(_) => self.tracker.never_came(&write),
                Err(_) => self.writes.failed(None, now),
            }
            return;
        }
        match existing {
            Ok(Some(existing)) if existing.identity != write.draft.identity() => self.tracker.rename(&write, now),
            Ok(Some(existing)) => match write.kind {
                Kind::Over if existing.note != write.draft.note => self.tracker.rename(&write, now),
                Kind::Over | Kind::Merge => self.tracker.give_up(&write, now),
                Kind::Open | Kind::Update | Kind::Renew => {
                    self.tracker.adopt(&write, *existing, now);
                    self.adopted = Some(write.key);
                }
            },
            // It has just expired, and the next try makes it anew; or something else in it is refused.
            Ok(None) => {
                self.tracker.postpone(&write, now.later(POSTPONED));
                self.writes.failed(None, now);
            }
            Err(_) => self.writes.failed(None, now),
        }
    }

    fn may_write(&self) -> bool {
        self.asks_api && self.own_read && self.index.node.is_some()
    }

    fn node_ref(&self) -> Option<NodeRef> {
        self.index.node.as_ref().map(|node| NodeRef { node: self.node.clone(), uid: node.uid.clone() })
    }

    fn next(&mut self, now: Instant) -> Vec<Command> {
        let mut commands = Vec::new();
        if self.asks_api {
            self.ask(&mut commands, now);
        }
        let due = self.schedule.next() <= now.steady && self.scanning.is_none() && self.unconfirmed.is_none();
        // A broken watch does not say when it is whole again, so the list is asked for.
        let list_first = self.asks_api && !self.index.is_fresh(now) && !self.listed_for_scan;
        if self.unconfirmed.is_some() || (due && list_first) {
            if !self.listing {
                self.listing = true;
                self.listed_for_scan = true;
                self.list_asked = self.watch_events;
                commands.push(Command::List { consistent: self.unconfirmed.is_some() });
            }
        } else if due && !self.listing {
            self.scanning = Some(now);
            commands.push(Command::Scan(if self.asks_api { Some(self.index.facts(now)) } else { None }));
        }
        commands
    }

    /// Whether news still wait for their time.
    fn hold(&mut self, has_news: bool, now: Instant) -> bool {
        if !has_news {
            self.held_until = None;
            return false;
        }
        // What was looked at twice has less time left.
        let spread = match self.tracker.proven_news() {
            Some(RestsOn::Lasting) => self.spread / LASTING_SHARE,
            Some(RestsOn::Passing | RestsOn::Uninterruptible) => self.spread / PASSING_SHARE,
            None => self.spread,
        };
        let until = self.held_until.get_or_insert_with(|| now.steady + spread.mul_f64(self.random.f64()));
        *until = (*until).min(now.steady + spread);
        now.steady < *until
    }

    fn ask(&mut self, commands: &mut Vec<Command>, now: Instant) {
        let due = self.tracker.next_due(now);
        let has_news = due.is_some_and(|due| due.is_zero());
        let old = self.node_is_old(due, now);
        let is_held = self.hold(has_news, now);
        // A read before a write is spread as the write is.
        let may_ask = self.node_answered.is_none() || !is_held;
        if old && may_ask && self.node_asked.try_now(now) {
            commands.push(Command::GetNode);
        }
        if self.index.node.is_some() && !self.own_read && self.own_asked.try_now(now) {
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
        if let (true, true, Some(of)) = (free, has_news, self.node_ref())
            && let Some(write) = self.tracker.next_write(&of, now)
        {
            if !self.bucket.take(now.steady) {
                self.throttled += u64::from(!std::mem::replace(&mut self.waits_for_budget, true));
                return;
            }
            self.waits_for_budget = false;
            if let Some(unanswered) = &write.unanswered {
                commands.push(Command::ReadExisting(unanswered.name.clone()));
                self.writing = Some(write);
                return;
            }
            self.tracker.is_sent(&write);
            commands.push(Command::Write(Box::new(write.draft.clone())));
            self.writing = Some(write);
        }
    }
}
