//! What the API server is to be told next.

use std::{collections::BTreeSet, time::Duration};

use super::{Ending, Entry, Key, Ledger, Stage, Written, one_pod};
use crate::{
    report::event::{Draft, Note},
    run::Moment,
};
use findings::{
    PodUid,
    event::{EventName, Phase, Subjects},
};

/// Whose Events: the node's name and uid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Of {
    /// `metadata.name` of the Node.
    pub node: String,
    /// `metadata.uid` of the Node.
    pub uid: String,
}

/// Why something is written. In the order of importance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A finding is told for the first time.
    Open,
    /// It is over.
    Over,
    /// It is told by the node's Event.
    Merge,
    /// It holds other pods now.
    Update,
    /// It still holds.
    Renew,
}

impl Kind {
    /// As metrics and spans have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Open => "open",
            Kind::Over => "over",
            Kind::Merge => "merge",
            Kind::Update => "update",
            Kind::Renew => "renew",
        }
    }
}

/// One write.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// Why.
    pub kind: Kind,
    /// Of what.
    pub key: Key,
    /// What is sent.
    pub draft: Draft,
    count: i32,
    pods: BTreeSet<PodUid>,
}

impl Ledger {
    /// What is to be written now, the most important first; it stays due until
    /// [`Ledger::was_written`].
    pub fn next_write(&self, of: &Of, now: Moment) -> Option<Write> {
        let due = self.entries.iter().filter_map(|(key, entry)| Some((self.due(key, entry, now)?, key, entry)));
        let first = due.min_by_key(|(kind, _, entry)| (*kind, entry.since));
        match (first, self.endings.front()) {
            (Some((Kind::Open, key, entry)), _) | (Some((_, key, entry)), None) => {
                Some(self.tell(first.map_or(Kind::Renew, |(kind, ..)| kind), key, entry, of, now))
            }
            (_, Some(ending)) => Some(end(ending, of)),
            (None, None) => None,
        }
    }

    /// How long until something becomes due by itself.
    pub fn next_due(&self, now: Moment) -> Option<Duration> {
        if !self.endings.is_empty() {
            return Some(Duration::ZERO);
        }
        self.entries
            .iter()
            .filter_map(|(key, entry)| match (self.due(key, entry, now), entry.written()) {
                (Some(_), _) => Some(Duration::ZERO),
                (None, Some(written)) => Some(self.renewal(key).saturating_sub(now.since(written.at))),
                (None, None) => None,
            })
            .min()
    }

    /// How many findings and ends are not written yet.
    pub fn unwritten(&self, now: Moment) -> usize {
        let open = self.entries.iter().filter(|(key, entry)| self.due(key, entry, now) == Some(Kind::Open));
        open.count() + self.endings.len()
    }

    /// It was written.
    pub fn was_written(&mut self, write: &Write, event_time: String, now: Moment) {
        match write.kind {
            Kind::Over | Kind::Merge => {
                self.endings.pop_front();
            }
            Kind::Open | Kind::Update | Kind::Renew => {
                let Some(entry) = self.entries.get_mut(&write.key) else { return };
                let note = match &write.draft.note {
                    Note::Kept(note) => Some(note.clone()),
                    Note::New(_) => None,
                };
                let written = Written { at: now, event_time, count: write.count, pods: write.pods.clone(), note };
                entry.stage = Stage::Holds { written: Some(written) };
            }
        }
    }

    /// The API server will not take it whatever is tried: it is not tried again before its renewal.
    pub fn give_up(&mut self, write: &Write, now: Moment) {
        self.was_written(write, now.micro_stamp(), now);
    }

    /// The API server has an Event of this name that says something else in the parts that cannot
    /// be changed: go on with those.
    pub fn adopt(&mut self, write: &Write, event_time: String, note: String, count: i32, now: Moment) {
        if let Some(Entry { stage: stage @ Stage::Holds { .. }, .. }) = self.entries.get_mut(&write.key) {
            let long_ago = Moment { steady: Duration::ZERO, ..now };
            let pods = Default::default();
            *stage =
                Stage::Holds { written: Some(Written { at: long_ago, event_time, count, pods, note: Some(note) }) };
        }
    }

    fn due(&self, key: &Key, entry: &Entry, now: Moment) -> Option<Kind> {
        let Stage::Holds { written } = &entry.stage else { return None };
        let Some(written) = written else { return Some(Kind::Open) };
        let age = now.since(written.at);
        match () {
            () if age >= self.renewal(key) => Some(Kind::Renew),
            () if age >= self.rules.update && entry.uids() != written.pods && key.pod.is_none() => Some(Kind::Update),
            () => None,
        }
    }

    /// A tenth of the interval is spread over the entries, so that what was opened together is not
    /// renewed together for ever.
    fn renewal(&self, key: &Key) -> Duration {
        let spread = key.root.bytes().fold(0u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte))) % 100;
        self.rules.renewal - self.rules.renewal / 1000 * spread
    }

    fn tell(&self, kind: Kind, key: &Key, entry: &Entry, of: &Of, now: Moment) -> Write {
        let pod = one_pod(key, &entry.pods);
        let written = entry.written();
        let count = written.map_or(1, |written| written.count.saturating_add(1));
        let note = match written.and_then(|written| written.note.clone()) {
            Some(kept) => Note::Kept(kept),
            None => Note::New(findings::event::holds(pod, &entry.finding)),
        };
        let draft = Draft {
            name: name(key, entry, of),
            of: of.clone(),
            warning: true,
            reason: entry.finding.cause.event_reason.to_owned(),
            note,
            related: pod.cloned(),
            event_time: written.map_or_else(|| now.micro_stamp(), |written| written.event_time.clone()),
            series: (count > 1).then(|| (count, now.micro_stamp())),
            carried: carried(Phase::Holds, entry, entry.seen),
        };
        Write { kind, key: key.clone(), draft, count, pods: entry.uids() }
    }
}

fn end(ending: &Ending, of: &Of) -> Write {
    let Ending { key, entry, at, ended_by } = ending;
    let pod = one_pod(key, &entry.pods);
    let name = name(key, entry, of);
    match ended_by {
        Some(why) => {
            let lasted = at.since(entry.since).as_secs();
            let draft = Draft {
                name: name.over(entry.since.wall_s()),
                of: of.clone(),
                warning: false,
                reason: findings::event::REASON_OVER.to_owned(),
                note: Note::New(findings::event::is_over(pod, &entry.finding, lasted, why)),
                related: pod.cloned(),
                event_time: at.micro_stamp(),
                series: None,
                carried: carried(Phase::Over, entry, *at),
            };
            Write { kind: Kind::Over, key: key.clone(), draft, count: 1, pods: entry.uids() }
        }
        None => {
            let written = entry.written();
            let count = written.map_or(2, |written| written.count.saturating_add(1)).max(2);
            let kept = written.and_then(|written| written.note.clone());
            let draft = Draft {
                name,
                of: of.clone(),
                warning: true,
                reason: entry.finding.cause.event_reason.to_owned(),
                note: kept.map_or_else(|| Note::New(findings::event::holds(pod, &entry.finding)), Note::Kept),
                related: pod.cloned(),
                event_time: written.map_or_else(|| at.micro_stamp(), |written| written.event_time.clone()),
                series: Some((count, at.micro_stamp())),
                carried: carried(Phase::Merged, entry, *at),
            };
            Write { kind: Kind::Merge, key: key.clone(), draft, count, pods: entry.uids() }
        }
    }
}

fn name(key: &Key, entry: &Entry, of: &Of) -> EventName {
    let subjects = key.pod.as_ref().map_or(Subjects::Node, Subjects::Pod);
    EventName::of(&of.node, &of.uid, subjects, &entry.finding)
}

fn carried(phase: Phase, entry: &Entry, seen: Moment) -> findings::event::Carried {
    findings::event::Carried::new(phase, &entry.finding, &entry.pods, entry.since.stamp(), seen.stamp())
}
