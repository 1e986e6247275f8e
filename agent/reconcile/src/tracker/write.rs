//! What the API server is to be reported next.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use super::{Ending, Entry, ExistingEvent, Key, Name, Stage, Tracker, Written, single_pod};
use crate::Instant;
use crate::event::{Draft, Identity, NodeRef};
use findings::event::{Affected, EventName, Phase, Subjects};
use findings::{Confidence, PodUid};

/// Of so many names that were taken one Event is given up until its renewal: who takes names that cannot be
/// guessed may do what it likes with Events.
const MAX_TAKEN_NAMES: u32 = 3;

/// `--request-timeout` of an API server by default.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

findings::named! {
    /// Why something is written. In the order of importance.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Kind {
        /// A finding is reported for the first time.
        Open = "open",
        Over = "over",
        /// It is reported by the node's Event.
        Merge = "merge",
        /// It holds other pods now.
        Update = "update",
        Renew = "renew",
    }
}

/// The Warning whose end is written, where it was sent and no answer came.
#[derive(Clone, Debug, PartialEq)]
pub struct Unanswered {
    /// What it would be called.
    pub name: EventName,
    /// What it would say that cannot be changed.
    pub identity: Identity,
    /// The API server has worked at no request for longer, so from then on it stands there or never will.
    pub settled: Instant,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    pub kind: Kind,
    pub key: Key,
    pub draft: Draft,
    /// What has to be read before: an end is not written without its beginning.
    pub unanswered: Option<Unanswered>,
    count: i32,
    pods: BTreeSet<PodUid>,
}

impl Tracker {
    /// What is to be written now, the most important first; it stays due until
    /// [`Tracker::was_written`].
    pub fn next_write(&self, of: &NodeRef, now: Instant) -> Option<Write> {
        let due = self.entries.iter().filter_map(|(key, entry)| Some((self.due(key, entry, now)?, key, entry)));
        // Renewals take transitions: what was written longest ago comes first.
        let since = |kind: Kind, entry: &Entry| match (kind, entry.written()) {
            (Kind::Renew | Kind::Update, Some(written)) => written.at,
            _ => entry.since,
        };
        // Among findings that are not written yet the proven ones come first.
        let waits = |kind: Kind, entry: &Entry| kind == Kind::Open && entry.finding.confidence != Confidence::Proven;
        let first = due.min_by_key(|(kind, _, entry)| (*kind, waits(*kind, entry), since(*kind, entry)));
        let ending = self.endings.iter().find(|ending| !is_postponed(ending.not_before, now));
        match (first, ending) {
            (Some((kind, key, entry)), ending) if kind == Kind::Open || ending.is_none() => {
                Some(warning(kind, key, entry, of, now, entry.seen))
            }
            (_, Some(ending)) => Some(end(ending, of)),
            (_, None) => None,
        }
    }

    /// How long until something becomes due by itself.
    pub fn next_due(&self, now: Instant) -> Option<Duration> {
        if self.endings.iter().any(|ending| !is_postponed(ending.not_before, now)) {
            return Some(Duration::ZERO);
        }
        self.entries
            .iter()
            .filter_map(|(key, entry)| match (self.due(key, entry, now), entry.written()) {
                (Some(_), _) => Some(Duration::ZERO),
                // Put off, or not seen for long: it is asked for again with the next scan.
                (None, Some(written)) if now.duration_since(written.at) >= self.renewal(key) => None,
                (None, Some(written)) => Some(self.renewal(key).saturating_sub(now.duration_since(written.at))),
                (None, None) => None,
            })
            .min()
    }

    /// How many findings and ends are not written yet.
    pub fn unwritten(&self) -> usize {
        let stands = |entry: &&Entry| entry.written().is_some_and(|written| written.count > 0);
        self.holding().filter(|entry| !stands(entry)).count() + self.endings.len()
    }

    /// It is being sent: from now on it may stand there, and must be ended, even if no answer comes.
    /// Tried again it is the same Event, word for word.
    pub fn is_sent(&mut self, write: &Write) {
        if write.kind == Kind::Open
            && let Some(Entry { stage: Stage::Holds { written: written @ None }, .. }) =
                self.entries.get_mut(&write.key)
        {
            *written = Some(Written {
                at: Instant::default(),
                event_time: write.draft.event_time.clone(),
                count: 0,
                pods: BTreeSet::new(),
                note: write.draft.note.clone(),
                may_stand: false,
            });
        }
    }

    /// There was no answer: from now on it may stand there.
    pub fn may_stand(&mut self, write: &Write) {
        let of_ending =
            self.endings.iter_mut().filter(|ending| ending.key == write.key).map(|ending| &mut ending.entry);
        for entry in self.entries.get_mut(&write.key).into_iter().chain(of_ending) {
            if let Stage::Holds { written: Some(written) } = &mut entry.stage {
                written.may_stand = true;
            }
        }
    }

    /// The API server has said that it did not take it. What was sent before without an answer may
    /// stand there all the same.
    pub fn was_not_taken(&mut self, write: &Write) {
        if write.kind != Kind::Open {
            return;
        }
        let stands = |entry: &Entry| entry.written().is_some_and(|written| written.count > 0 || written.may_stand);
        if let Some(entry) = self.entries.get_mut(&write.key).filter(|entry| entry.holds() && !stands(entry)) {
            entry.stage = Stage::Holds { written: None };
        }
        self.endings.retain(|ending| ending.key != write.key || stands(&ending.entry));
    }

    pub fn was_written(&mut self, write: &Write, event_time: String, now: Instant) {
        match write.kind {
            Kind::Over | Kind::Merge => {
                // Not simply the first: the endings may have been cleared meanwhile.
                self.endings.retain(|ending| !is_end(ending, write));
            }
            Kind::Open | Kind::Update | Kind::Renew => {
                let Some(entry) = self.entries.get_mut(&write.key).filter(|entry| entry.holds()) else { return };
                // Its words cannot be changed, and the finding's may: a renewal says it as it was said.
                let note = write.draft.note.clone();
                let written = Written {
                    at: now,
                    event_time,
                    count: write.count,
                    pods: write.pods.clone(),
                    note,
                    may_stand: true,
                };
                entry.stage = Stage::Holds { written: Some(written) };
            }
        }
    }

    /// What was sent without an answer was stored after all, so its end must be written.
    pub fn stands(&mut self, write: &Write) {
        for ending in self.endings.iter_mut().filter(|ending| is_end(ending, write)) {
            if let Stage::Holds { written: Some(written) } = &mut ending.entry.stage {
                written.count = 1;
            }
        }
    }

    /// What was sent without an answer never came, so there is nothing to end.
    pub fn never_came(&mut self, write: &Write) {
        self.endings.retain(|ending| !is_end(ending, write));
    }

    /// The API server will not take it whatever is tried: it is not tried again before its renewal.
    pub fn give_up(&mut self, write: &Write, now: Instant) {
        self.was_written(write, now.micro_stamp(), now);
    }

    /// Under this name stands what is not ours. Anybody who may write Events can put something under a name
    /// that can be reckoned, so it is written under one that cannot.
    pub fn rename(&mut self, write: &Write, now: Instant) {
        let secret = self.seed;
        let next = |name: &mut Name, first: EventName| {
            let may = name.taken < MAX_TAKEN_NAMES;
            if may {
                name.taken += 1;
                name.salted = Some(first.salted(secret, name.taken));
            }
            may
        };
        let is_renamed = match write.kind {
            Kind::Open | Kind::Update | Kind::Renew => self.entries.get_mut(&write.key).is_some_and(|entry| {
                entry.stage = Stage::Holds { written: None };
                let first = first_name(&write.key, entry, &write.draft.of);
                next(&mut entry.name, first)
            }),
            Kind::Over => self.endings.iter_mut().find(|ending| is_end(ending, write)).is_some_and(|ending| {
                let first = name(&ending.key, &ending.entry, &write.draft.of).end_name(ending.entry.since.wall_s());
                next(&mut ending.name, first)
            }),
            // The Warning itself: there is none of ours any more.
            Kind::Merge => false,
        };
        if !is_renamed {
            self.give_up(write, now);
        }
    }

    /// The API server has an Event of this name whose immutable parts differ: continue with those of the server. The start
    /// of the finding is not among them: earlier findings that still hold were restored when the agent began.
    pub fn adopt(&mut self, write: &Write, existing: ExistingEvent, now: Instant) {
        let Some(entry) = self.entries.get_mut(&write.key).filter(|entry| entry.holds()) else { return };
        let ExistingEvent { event_time, note, count, identity: _ } = existing;
        let at = Instant { steady: Duration::ZERO, ..now };
        let written = Written { at, event_time, count, pods: BTreeSet::new(), note, may_stand: true };
        entry.stage = Stage::Holds { written: Some(written) };
    }

    /// The API server does not take this one; others have their turn before it is tried again.
    pub fn postpone(&mut self, write: &Write, until: Instant) {
        match write.kind {
            Kind::Over | Kind::Merge => {
                let same = |ending: &&mut Ending| is_end(ending, write);
                self.endings.iter_mut().filter(same).for_each(|ending| ending.not_before = Some(until));
            }
            Kind::Open | Kind::Update | Kind::Renew => {
                if let Some(entry) = self.entries.get_mut(&write.key) {
                    entry.not_before = Some(until);
                }
            }
        }
    }

    fn due(&self, key: &Key, entry: &Entry, now: Instant) -> Option<Kind> {
        let Stage::Holds { written } = &entry.stage else { return None };
        if is_postponed(entry.not_before, now) {
            return None;
        }
        let Some(written) = written.as_ref().filter(|written| written.count > 0) else { return Some(Kind::Open) };
        // What has not been seen for so long is not reported again: its Event is left to expire.
        if now.duration_since(entry.seen) > self.rules.renewal * 2 {
            return None;
        }
        let age = now.duration_since(written.at);
        if age >= self.renewal(key) {
            return Some(Kind::Renew);
        }
        let has_changed = key.pod.is_none() && entry.uids() != written.pods;
        (age >= self.rules.update && has_changed).then_some(Kind::Update)
    }

    /// Never sooner than the interval, and up to a fifth later by node and entry, so that what was
    /// opened together is not renewed together for ever.
    fn renewal(&self, key: &Key) -> Duration {
        let mut hash = DefaultHasher::new();
        (self.seed, &key.root).hash(&mut hash);
        self.rules.renewal + self.rules.renewal / 5000 * u32::try_from(hash.finish() % 1000).unwrap_or(0)
    }
}

fn is_postponed(not_before: Option<Instant>, now: Instant) -> bool {
    not_before.is_some_and(|until| now < until)
}

/// Whether this is the end that was written.
fn is_end(ending: &Ending, write: &Write) -> bool {
    ending.key == write.key && end(ending, &write.draft.of).draft == write.draft
}

/// As it stands there, which cannot be changed, else in the words of today.
fn note(key: &Key, entry: &Entry) -> String {
    let words = || findings::event::opening_note(affected(key, entry), &entry.finding);
    entry.written().map_or_else(words, |written| written.note.clone())
}

/// What says that a finding holds. It is written now, for the first time or anew; `seen` is when it was so.
fn warning(kind: Kind, key: &Key, entry: &Entry, of: &NodeRef, now: Instant, seen: Instant) -> Write {
    let written = entry.written();
    let (phase, least) = if kind == Kind::Merge { (Phase::Merged, 2) } else { (Phase::Holds, 1) };
    let count = written.map_or(least, |written| written.count.saturating_add(1)).max(least);
    let draft = Draft {
        name: name(key, entry, of),
        of: of.clone(),
        warning: true,
        reason: entry.finding.cause.event_reason.to_owned(),
        note: note(key, entry),
        related: single_pod(key, &entry.pods).cloned(),
        event_time: written.map_or_else(|| now.micro_stamp(), |written| written.event_time.clone()),
        series: (count > 1).then(|| (count, seen.micro_stamp())),
        annotation: annotation(phase, entry, seen),
    };
    Write { kind, key: key.clone(), draft, unanswered: None, count, pods: entry.uids() }
}

fn end(ending: &Ending, of: &NodeRef) -> Write {
    let Ending { key, entry, at, ended_by, name: over, .. } = ending;
    let Some(why) = ended_by else { return warning(Kind::Merge, key, entry, of, *at, *at) };
    let pod = single_pod(key, &entry.pods);
    let name = name(key, entry, of);
    let lasted = at.duration_since(entry.since).as_secs();
    let unanswered = entry.written().filter(|written| written.count == 0).map(|_| Unanswered {
        name: name.clone(),
        identity: Identity::new(of, true, entry.finding.cause.event_reason, pod),
        settled: at.later(REQUEST_TIMEOUT),
    });
    let draft = Draft {
        name: over.salted.clone().unwrap_or_else(|| name.end_name(entry.since.wall_s())),
        of: of.clone(),
        warning: false,
        reason: affected(key, entry).end_reason().to_owned(),
        note: findings::event::end_note(affected(key, entry), &entry.finding, lasted, why),
        related: pod.cloned(),
        event_time: at.micro_stamp(),
        series: None,
        annotation: annotation(Phase::Over, entry, *at),
    };
    Write { kind: Kind::Over, key: key.clone(), draft, unanswered, count: 1, pods: entry.uids() }
}

fn affected<'a>(key: &Key, entry: &'a Entry) -> Affected<'a> {
    match single_pod(key, &entry.pods) {
        Some(pod) => Affected::Pod(pod),
        None if entry.pods.is_empty() => Affected::Node,
        None => Affected::Pods,
    }
}

fn name(key: &Key, entry: &Entry, of: &NodeRef) -> EventName {
    entry.name.salted.clone().unwrap_or_else(|| first_name(key, entry, of))
}

fn first_name(key: &Key, entry: &Entry, of: &NodeRef) -> EventName {
    let subjects = key.pod.as_ref().map_or(Subjects::Node, Subjects::Pod);
    EventName::new(&of.node, &of.uid, subjects, &entry.finding)
}

fn annotation(phase: Phase, entry: &Entry, seen: Instant) -> findings::event::FindingAnnotation {
    findings::event::FindingAnnotation::new(phase, &entry.finding, &entry.pods, entry.since.stamp(), seen.stamp())
}
