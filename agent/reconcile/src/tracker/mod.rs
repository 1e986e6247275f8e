//! What is known to hold which pods, and what the API server has been reported of it.
//!
//! Pure: scans go in, transitions (a finding opens, a finding ends) and writes come out. The latest state wins: a finding
//! that ends before its turn is never written.

mod entry;
mod snapshot;
#[cfg(test)]
mod tests;
mod write;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use agent_core::view::UNMOUNT_RETRY_MS;
use findings::event::{EventName, FindingAnnotation};
use findings::{Confidence, Finding, Gate, PodRef, PodUid};

use entry::waiting_tasks;
pub use entry::{Entry, ExistingEvent, Key, Name, RestsOn, Stage, Written};
pub use snapshot::{Outcome, Snapshot};
pub use write::{Kind, Write};

use super::Instant;

/// Scans that follow one another more closely count as one.
const MIN_SCAN_DISTANCE: Duration = Duration::from_secs(10);
/// Of what is proven and rests on no task in D: a holder of a moment is gone by then.
const MIN_PROVEN_SCAN_DISTANCE: Duration = Duration::from_secs(3);
/// After a holder has gone, the kubelet tries again at most so much later: until then no other is blamed on suspicion.
const NEXT_TRY: Duration = Duration::from_millis(UNMOUNT_RETRY_MS);

/// How often something must be seen, and how often it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// With more pods than this behind one root, it is reported once for the node.
    pub fan_in: usize,
    /// How often a finding must be seen that rests on what a process does just now.
    pub scans: u32,
    /// How often one must be seen that rests on a task in D.
    pub d_state_scans: u32,
    /// A finding that holds is written again after this long; Events live for an hour.
    pub renewal: Duration,
    /// One whose pods have changed after this long.
    pub update: Duration,
    /// So many findings are kept, and so many ends that are not written yet.
    pub capacity: usize,
}

/// What a scan has changed.
#[derive(Clone, Debug, PartialEq)]
pub enum Transition {
    /// A finding was seen often enough.
    Opened(Entry),
    /// It has ended, for this reason.
    Over(Entry, String),
    /// It is reported by the node's entry from now on.
    Merged(Entry),
}

/// A finding that has ended and whose end is not written yet.
#[derive(Clone, Debug, PartialEq)]
struct Ending {
    key: Key,
    entry: Entry,
    at: Instant,
    /// None when it was merged.
    ended_by: Option<String>,
    /// What the Event of the end is called.
    name: Name,
    /// It is not written before, because the API server did not take it.
    not_before: Option<Instant>,
}

/// All findings of the node.
#[derive(Debug)]
pub struct Tracker {
    rules: Rules,
    seed: u64,
    entries: BTreeMap<Key, Entry>,
    endings: VecDeque<Ending>,
    /// Since when the reported holder does not hold volumes of a pod any more.
    freed: BTreeMap<PodUid, Instant>,
    dropped: u64,
}

impl Tracker {
    /// An empty one. By `seed` nodes differ in when they renew.
    pub fn new(rules: Rules, seed: u64) -> Self {
        Tracker { rules, seed, entries: BTreeMap::new(), endings: VecDeque::new(), freed: BTreeMap::new(), dropped: 0 }
    }

    /// Takes in one scan.
    pub fn take(&mut self, snapshot: &Snapshot) -> Vec<Transition> {
        let seen_findings = snapshot.seen_findings(self.rules.fan_in, &self.entries);
        self.freed.retain(|_, since| snapshot.at.duration_since(*since) < NEXT_TRY);
        let mut transitions = self.end(snapshot, &seen_findings);
        for (key, (finding, pods)) in seen_findings {
            let room = self.entries.len() < self.rules.capacity;
            if !room && !self.entries.contains_key(&key) {
                self.dropped += 1;
                continue;
            }
            let needed = self.needed(&finding);
            let awaits_try = self.awaits_try(&finding, &pods);
            let distance = if is_known_soon(&finding) { MIN_PROVEN_SCAN_DISTANCE } else { MIN_SCAN_DISTANCE };
            let entry =
                self.entries.entry(key).or_insert_with(|| Entry::first(finding.clone(), pods.clone(), snapshot.at));
            // Another task that waits is another wait, which has its own time.
            let is_same_wait = waiting_tasks(&entry.finding) == waiting_tasks(&finding);
            (entry.finding, entry.pods, entry.seen) = (finding, pods, snapshot.at);
            if let Stage::Suspected { scans, counted } = &mut entry.stage {
                if !is_same_wait {
                    *scans = 0;
                }
                if *scans == 0 || snapshot.at.duration_since(*counted) >= distance {
                    (*scans, *counted) = (*scans + 1, snapshot.at);
                }
                if *scans >= needed && !awaits_try {
                    entry.stage = Stage::Holds { written: None };
                    transitions.push(Transition::Opened(entry.clone()));
                }
            }
        }
        transitions
    }

    fn end(&mut self, snapshot: &Snapshot, seen_findings: &BTreeMap<Key, snapshot::SeenFinding>) -> Vec<Transition> {
        let absent = self.entries.iter().filter(|(key, _)| !seen_findings.contains_key(*key));
        let outcomes: Vec<(Key, Outcome)> =
            absent.map(|(key, entry)| (key.clone(), snapshot.outcome(key, entry, seen_findings))).collect();
        let mut transitions = Vec::new();
        for (key, outcome) in outcomes {
            let holds = self.entries.get(&key).is_some_and(Entry::holds);
            // What was only suspected has to be seen in every scan.
            if outcome == Outcome::Kept && (holds || !snapshot.complete) {
                continue;
            }
            let Some(entry) = self.entries.remove(&key).filter(Entry::holds) else { continue };
            let ended_by = match outcome {
                Outcome::Over(why) => Some(why),
                _ => None,
            };
            if ended_by.is_some() && entry.finding.gate == Some(Gate::VolumesUnmounted) {
                self.freed.extend(entry.pods.iter().map(|pod| (pod.uid.clone(), snapshot.at)));
            }
            transitions.push(match &ended_by {
                Some(why) => Transition::Over(entry.clone(), why.clone()),
                None => Transition::Merged(entry.clone()),
            });
            if entry.written().is_some() {
                self.endings.push_back(Ending {
                    key,
                    entry,
                    at: snapshot.at,
                    ended_by,
                    name: Name::default(),
                    not_before: None,
                });
                if self.endings.len() > self.rules.capacity {
                    self.endings.pop_front();
                    self.dropped += 1;
                }
            }
        }
        transitions
    }

    fn awaits_try(&self, finding: &Finding, pods: &[PodRef]) -> bool {
        let is_guess = finding.confidence == Confidence::Probable && finding.gate == Some(Gate::VolumesUnmounted);
        is_guess && pods.iter().any(|pod| self.freed.contains_key(&pod.uid))
    }

    fn needed(&self, finding: &Finding) -> u32 {
        match RestsOn::new(finding) {
            RestsOn::Uninterruptible => self.rules.d_state_scans,
            RestsOn::Passing => self.rules.scans,
            RestsOn::Lasting => 1,
        }
    }

    /// Continues an Event that an earlier run of the agent wrote under this name. The Event itself (`related`) distinguishes
    /// a pod's from the node's.
    pub fn restore(
        &mut self,
        name: EventName,
        annotation: FindingAnnotation,
        is_of_pod: bool,
        written: Written,
        since: Instant,
    ) {
        let name = Name { salted: Some(name), taken: 0 };
        let key = match annotation.pods.first().filter(|_| is_of_pod) {
            Some(pod) => Key::pod(&pod.uid, &annotation.finding),
            None => Key::node(&annotation.finding),
        };
        let entry = Entry {
            finding: annotation.finding,
            pods: annotation.pods,
            since,
            seen: written.at,
            stage: Stage::Holds { written: Some(written.clone()) },
            not_before: None,
            name: name.clone(),
        };
        if self.entries.len() >= self.rules.capacity && !self.entries.contains_key(&key) {
            self.dropped += 1;
            return;
        }
        let known = self.entries.entry(key).or_insert(entry);
        // It was seen again before the old Events could be read: both say the same. What was reported
        // is more than suspected, or its end would never be reported.
        if known.written().is_none() {
            (known.stage, known.since, known.name) = (Stage::Holds { written: Some(written) }, since, name);
        }
    }

    /// The Node was made anew: its old Events are not shown with it any more.
    pub fn forget_written(&mut self) {
        self.endings.clear();
        for entry in self.entries.values_mut() {
            entry.name = Name::default();
            if let Stage::Holds { written } = &mut entry.stage {
                *written = None;
            }
        }
    }

    /// What holds, with those that hold first.
    pub fn holding(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values().filter(|entry| entry.holds())
    }

    /// Pods of which something has to be seen again before it is reported, and whether it is proven and once is enough.
    pub fn to_confirm(&self) -> impl Iterator<Item = (&findings::PodUid, bool)> {
        let waiting = self.entries.values().filter(|entry| !entry.holds());
        waiting.flat_map(|entry| entry.pods.iter().map(|pod| (&pod.uid, is_known_soon(&entry.finding))))
    }

    /// What is new and proven of single pods, if anything is: on what the most momentary of it rests. What holds many
    /// pods of this node may well hold those of many nodes.
    pub fn proven_news(&self) -> Option<RestsOn> {
        let is_new = |entry: &&Entry| matches!(entry.stage, Stage::Holds { written: None }) && entry.pods.len() == 1;
        let news = self.entries.values().filter(is_new).filter(|entry| is_known_soon(&entry.finding));
        let rests: Vec<RestsOn> = news.map(|entry| RestsOn::new(&entry.finding)).collect();
        rests.iter().copied().find(|rests| *rests == RestsOn::Passing).or(rests.first().copied())
    }

    /// Whether this pod is reported of.
    pub fn reports(&self, uid: &findings::PodUid) -> bool {
        self.holding().any(|entry| entry.pods.iter().any(|pod| pod.uid == *uid))
    }

    /// How much did not fit.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

/// A finding that does not pass by itself within moments is reported without delay.
fn is_known_soon(finding: &Finding) -> bool {
    finding.confidence == Confidence::Proven && RestsOn::new(finding) != RestsOn::Uninterruptible
}

/// Who an Event is about, when it is about one pod.
fn single_pod<'a>(key: &Key, pods: &'a [PodRef]) -> Option<&'a PodRef> {
    pods.first().filter(|_| key.pod.is_some())
}
