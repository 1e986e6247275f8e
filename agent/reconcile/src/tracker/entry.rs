//! One finding from its first snapshot to its end.

use std::collections::BTreeSet;

use findings::{Confidence, Entity, Finding, Gate, PodRef, PodUid, event::EventName};

use crate::{Instant, event::Identity};

/// What makes two findings the same: whom they hold, where, by what.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The pod; none when it is reported once for the whole node.
    pub pod: Option<PodUid>,
    pub gate: Option<Gate>,
    /// [`Finding::root`], which begins with the cause.
    pub root: String,
}

impl Key {
    /// Of a finding that holds one pod.
    pub fn pod(pod: &PodUid, finding: &Finding) -> Self {
        Key { pod: Some(pod.clone()), gate: finding.gate, root: finding.root.clone() }
    }

    /// Of a finding that is reported once for the node.
    pub fn node(finding: &Finding) -> Self {
        Key { pod: None, gate: finding.gate, root: finding.root.clone() }
    }
}

/// A finding that is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// As it was last seen.
    pub finding: Finding,
    pub pods: Vec<PodRef>,
    /// When it was first seen.
    pub since: Instant,
    /// When it was last seen.
    pub seen: Instant,
    pub stage: Stage,
    /// It is not written before, because the API server did not take it.
    pub not_before: Option<Instant>,
    /// What its Event is called.
    pub name: Name,
}

/// What an Event is called when it is not by its first name, which anybody can reckon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Name {
    pub salted: Option<EventName>,
    /// Names under which something else stood.
    pub taken: u32,
}

/// Whether a finding has been seen often enough to be reported.
#[derive(Clone, Debug, PartialEq)]
pub enum Stage {
    /// Seen, and not yet often enough.
    Suspected { scans: u32, counted: Instant },
    Holds {
        /// The Event, once it is written.
        written: Option<Written>,
    },
}

/// What the API server has of an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// When it was last written.
    pub at: Instant,
    /// `eventTime`, which cannot be changed.
    pub event_time: String,
    /// How often it was written: `series.count` from the second time on. 0 while the outcome of the first write is unknown.
    pub count: i32,
    pub pods: BTreeSet<PodUid>,
    /// The note that stands there, which cannot be changed.
    pub note: String,
    /// Whether it stands there, or may: it was sent, and no answer has said that it was not taken.
    pub may_stand: bool,
}

/// An Event that stands where ours is to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExistingEvent {
    /// Who speaks of whom.
    pub identity: Identity,
    /// `eventTime`.
    pub event_time: String,
    pub note: String,
    /// `series.count`, 1 without a series.
    pub count: i32,
}

impl Entry {
    /// Seen for the first time.
    pub fn first(finding: Finding, pods: Vec<PodRef>, now: Instant) -> Self {
        let stage = Stage::Suspected { scans: 0, counted: now };
        Entry { finding, pods, since: now, seen: now, stage, not_before: None, name: Name::default() }
    }

    /// Whether it is reported.
    pub fn holds(&self) -> bool {
        matches!(self.stage, Stage::Holds { .. })
    }

    /// What the API server has of it.
    pub fn written(&self) -> Option<&Written> {
        match &self.stage {
            Stage::Holds { written } => written.as_ref(),
            Stage::Suspected { .. } => None,
        }
    }

    pub fn uids(&self) -> BTreeSet<PodUid> {
        self.pods.iter().map(|pod| pod.uid.clone()).collect()
    }
}

/// On what a finding rests, and so how often it must be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestsOn {
    /// A task in D: every disk makes some, for moments. One that was killed and is proven to wait for what does not end
    /// by itself ([`Cause::stays`](findings::Cause::stays)) passes like any other.
    Uninterruptible,
    /// What a process does just now, such as holding a file open, or what could not be proven.
    Passing,
    /// What does not change by itself.
    Lasting,
}

/// The tasks in D that a finding rests on.
pub fn waiting_tasks(finding: &Finding) -> BTreeSet<(u32, Option<u32>)> {
    let task = |what: &Entity| match what {
        Entity::Process { pid, thread, state: 'D', .. } => Some((*pid, *thread)),
        _ => None,
    };
    finding.chain.iter().filter_map(|link| link.what.as_ref().and_then(task)).collect()
}

impl RestsOn {
    /// On what this finding rests.
    pub fn new(finding: &Finding) -> Self {
        let states = finding.chain.iter().filter_map(|link| match &link.what {
            Some(Entity::Process { state, .. }) => Some(*state),
            _ => None,
        });
        let states: Vec<char> = states.collect();
        let stays = finding.confidence == Confidence::Proven && finding.cause.stays;
        if states.contains(&'D') && !stays {
            RestsOn::Uninterruptible
        } else if !states.is_empty() || finding.confidence == Confidence::Probable {
            RestsOn::Passing
        } else {
            RestsOn::Lasting
        }
    }
}
