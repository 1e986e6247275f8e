//! From one snapshot of the cluster to the next.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

use aggregator_core::access::Reads;
use aggregator_core::report::{ClusterReport, Root};
use aggregator_core::shares::{Places, namespace};
use aggregator_core::state::{ObjectRef, Resource};
use findings::{CauseRef, Confidence, Gate, Link, Verdict};
use foldhash::{HashMap, HashMapExt as _};
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};

use crate::incidents::{End, Hold, Incident, LeftBehind, Snapshot, Terminating};

/// What is kept at most.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Incidents that have ended.
    pub ended: usize,
    /// Incidents that are not; of what is stuck beyond that nothing is kept.
    pub open: usize,
    /// How long an incident is kept after its end.
    pub age: SignedDuration,
    /// Holds of one incident.
    pub holds: usize,
    /// Links of one chain, counted from the root.
    pub links: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { ended: 500, open: 4_000, age: SignedDuration::from_hours(7 * 24), holds: 32, links: 12 }
    }
}

/// How long an agent may take to report an end: its earlier report says nothing of afterwards.
const AGENT_REPORT_DELAY: SignedDuration = SignedDuration::from_mins(2);

/// What is stuck or not, as far as is known, is remembered after so long.
const MAX_UNEXPLAINED: SignedDuration = SignedDuration::from_mins(10);

/// What was not seen for less than this was not looked at rather than over: a list had failed, say.
const MAX_GAP: SignedDuration = SignedDuration::from_mins(5);

/// Remembers what was stuck.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    limits: Limits,
    /// By uid.
    open: BTreeMap<String, Arc<Incident>>,
    /// The open ones by namespace, the latest last.
    places: Places<(Timestamp, String)>,
    /// The earliest end first.
    ended: VecDeque<Arc<Incident>>,
    /// Whether the next snapshot is the first: what is gone by then went unseen.
    is_new: bool,
    /// The kinds of which the last snapshot had not all: what is gone since may have gone earlier.
    was_cut: BTreeSet<Resource>,
}

impl Recorder {
    /// Goes on with what an earlier run has kept.
    pub fn new(limits: Limits, kept: Vec<Incident>) -> Self {
        let (ended, open): (Vec<_>, Vec<_>) =
            kept.into_iter().map(Arc::new).partition(|incident| incident.end.is_some());
        let mut recorder = Recorder { limits, ended: ended.into(), is_new: true, ..Recorder::default() };
        open.into_iter().for_each(|incident| recorder.open(incident));
        recorder
    }

    fn open(&mut self, incident: Arc<Incident>) {
        self.places.take(namespace(&incident.object), place(&incident), 1);
        self.open.insert(incident.uid.clone(), incident);
    }

    fn close(&mut self, uid: &str) -> Option<Arc<Incident>> {
        let incident = self.open.remove(uid)?;
        self.places.release(namespace(&incident.object), &place(&incident));
        Some(incident)
    }

    /// Whether there is room for one more of the namespace of this object, be it in place of the latest of the namespace that
    /// has most.
    fn has_room(&mut self, object: &ObjectRef) -> bool {
        if self.open.len() < self.limits.open {
            return true;
        }
        let displaced = self.places.displaced_by(namespace(object), 1);
        displaced.is_some_and(|(_, uid)| self.close(&uid).is_some())
    }

    /// All incidents, what has not ended first, then the latest end first. A copy of them stays as they are now.
    pub fn incidents(&self) -> impl Iterator<Item = &Arc<Incident>> {
        self.open.values().chain(self.ended.iter().rev())
    }

    /// The uids of what has gone, of which agents may still see something.
    pub fn gone(&self) -> BTreeSet<&str> {
        self.ended.iter().map(|incident| incident.uid.as_str()).collect()
    }

    /// Takes in what the cluster shows. Returns whether anything has changed that is worth writing down.
    pub fn observe(&mut self, snapshot: &Snapshot) -> bool {
        let held = Holdings::new(snapshot.report);
        let unexplained = &snapshot.report.unexplained;
        let unexplained: HashMap<Key, Verdict> =
            unexplained.iter().map(|held| (Key::new(&held.thing), held.verdict)).collect();
        let told_by_then = snapshot.at.checked_sub(MAX_UNEXPLAINED).unwrap_or(Timestamp::MIN);
        let mut changed = self.end(snapshot);
        let (now, limits) = (snapshot.at, self.limits);
        for (uid, going) in snapshot.going {
            let key = Key::from_terminating(going);
            let holds = held.find(&key);
            if !self.open.contains_key(*uid) {
                let is_stuck = |verdict: &Verdict| match verdict {
                    Verdict::Stuck => true,
                    Verdict::CannotTell => going.deletion_timestamp <= told_by_then,
                    Verdict::Progressing | Verdict::Clear => false,
                };
                let mut verdicts = holds.clone().map(|held| &held.verdict).chain(unexplained.get(&key));
                if !verdicts.any(is_stuck) || !self.has_room(&going.object()) {
                    continue;
                }
                changed = true;
                self.open(Arc::new(begin(uid, going, now)));
            }
            let Some(incident) = self.open.get_mut(*uid) else { continue };
            if !is_kept(incident, holds.clone(), now, limits) {
                update(Arc::make_mut(incident), holds, now, limits);
                changed = true;
            }
        }
        changed |= self.record_left_behind(snapshot);
        changed |= self.forget(snapshot.at);
        self.is_new = false;
        self.was_cut.clone_from(snapshot.cut);
        changed
    }

    /// What does not go any more has gone. Of a kind of which some are left out that is so only of what was seen to go.
    fn end(&mut self, snapshot: &Snapshot) -> bool {
        let is_over = |(uid, incident): &(&String, &Arc<Incident>)| {
            let is_seen = snapshot.gone.contains(*uid) || !snapshot.cut.contains(&incident.object.resource);
            is_seen && !snapshot.going.contains_key(uid.as_str())
        };
        let gone: Vec<String> = self.open.iter().filter(is_over).map(|(uid, _)| uid.clone()).collect();
        let is_any = !gone.is_empty();
        for uid in gone {
            let Some(mut incident) = self.close(&uid) else { continue };
            let was_known = !self.is_new && !self.was_cut.contains(&incident.object.resource);
            let seen = was_known || snapshot.gone.contains(&uid);
            Arc::make_mut(&mut incident).end = Some(End { at: snapshot.at, seen, left_behind: Vec::new() });
            self.ended.push_back(incident);
        }
        is_any
    }

    /// What agents still see of pods that have gone.
    fn record_left_behind(&mut self, snapshot: &Snapshot) -> bool {
        let mut changed = false;
        for incident in &mut self.ended {
            let Some(seen) = snapshot.on_nodes.get(&incident.uid) else { continue };
            let Some(end) = &incident.end else { continue };
            let after = end.at.checked_add(AGENT_REPORT_DELAY).unwrap_or(end.at);
            for left in seen.iter().filter(|left| left.seen > after) {
                let Some(end) = &incident.end else { continue };
                let is_told = |one: &LeftBehind| one.cause == left.cause && one.root.subject == left.root.subject;
                if end.left_behind.iter().any(is_told) || end.left_behind.len() >= self.limits.holds {
                    continue;
                }
                if let Some(end) = &mut Arc::make_mut(incident).end {
                    end.left_behind.push(left.clone());
                    changed = true;
                }
            }
        }
        changed
    }

    /// Keeps to the limits.
    fn forget(&mut self, now: Timestamp) -> bool {
        let before = self.ended.len();
        let oldest = now.checked_sub(self.limits.age).unwrap_or(Timestamp::MIN);
        self.ended.retain(|incident| incident.end.as_ref().is_some_and(|end| end.at >= oldest));
        let excess = self.ended.len().saturating_sub(self.limits.ended);
        self.ended.drain(..excess);
        before != self.ended.len()
    }
}

/// Where an open incident stands among those of its namespace.
fn place(incident: &Incident) -> (Timestamp, String) {
    (incident.stuck_since, incident.uid.clone())
}

/// An object by its names; two of them identify the kind.
#[derive(PartialEq, Eq)]
struct Key<'a> {
    group: &'a str,
    plural: &'a str,
    namespace: Option<&'a str>,
    name: &'a str,
}

/// As of an [`ObjectRef`]: objects of one name are few.
impl Hash for Key<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.namespace, self.name).hash(state);
    }
}

impl<'a> Key<'a> {
    fn new(object: &'a ObjectRef) -> Self {
        let ObjectRef { resource, namespace, name, .. } = object;
        Key { group: &resource.group, plural: &resource.plural, namespace: namespace.as_deref(), name }
    }

    fn from_terminating(going: &Terminating<'a>) -> Self {
        let Terminating { known, namespace, name, .. } = *going;
        Key { group: known.group, plural: known.plural, namespace, name }
    }
}

struct Holding<'r> {
    root: &'r Root,
    /// Of the object.
    verdict: Verdict,
    /// What holds the object itself.
    cause: CauseRef,
    gate: Option<Gate>,
    chain: Chain<'r>,
    reads: &'r Reads,
    /// Where what holds the same object besides stands.
    next: Option<usize>,
}

/// From an object down to the root.
#[derive(Clone)]
enum Chain<'r> {
    Own(&'r [Arc<Link>]),
    /// That of the root itself, made once for all objects on the way to it.
    OfRoot(Rc<OnceCell<Vec<Arc<Link>>>>),
}

/// What holds which object. It is made for each snapshot, of thousands: no object has a list of its own.
#[derive(Default)]
struct Holdings<'r> {
    all: Vec<Holding<'r>>,
    /// Where the first of each object stands.
    first: HashMap<Key<'r>, usize>,
}

impl<'r> Holdings<'r> {
    fn new(report: &'r ClusterReport) -> Self {
        let count = report.roots.iter().map(|root| root.victims.len() + root.on_the_way.len()).sum();
        let mut held = Holdings { all: Vec::with_capacity(count), first: HashMap::with_capacity(count) };
        // The last first, so that the first root of an object is found first.
        for root in report.roots.iter().rev() {
            let verdict = if root.verdict == Verdict::Stuck { Verdict::Stuck } else { Verdict::Clear };
            let of_root = Chain::OfRoot(Rc::default());
            for object in root.on_the_way.iter().rev() {
                let (cause, gate, reads) = (root.finding.cause, root.finding.gate, &root.reads);
                let chain = of_root.clone();
                held.add(object, Holding { root, verdict, cause, gate, chain, reads, next: None });
            }
            for victim in root.victims.iter().rev() {
                let (verdict, cause, gate) = (victim.held.verdict, victim.cause, victim.gate);
                let (chain, reads) = (Chain::Own(&victim.chain), &victim.held.reads);
                let holding = Holding { root, verdict, cause, gate, chain, reads, next: None };
                held.add(&victim.held.thing, holding);
            }
        }
        held
    }

    fn add(&mut self, object: &'r ObjectRef, holding: Holding<'r>) {
        let next = self.first.insert(Key::new(object), self.all.len());
        self.all.push(Holding { next, ..holding });
    }

    /// What holds one, by the order of the roots.
    fn find(&self, object: &Key) -> impl Iterator<Item = &Holding<'r>> + Clone {
        let at = |at: usize| self.all.get(at);
        let first = self.first.get(object).copied().and_then(at);
        std::iter::successors(first, move |held| held.next.and_then(at))
    }
}

fn last(chain: &Chain, root: &Root, most: usize) -> Vec<Arc<Link>> {
    let chain = match chain {
        Chain::Own(chain) => chain,
        Chain::OfRoot(made) => {
            made.get_or_init(|| root.finding.chain.iter().cloned().map(Arc::new).collect()).as_slice()
        }
    };
    chain[chain.len().saturating_sub(most)..].to_vec()
}

fn begin(uid: &str, going: &Terminating, now: Timestamp) -> Incident {
    Incident {
        id: id(uid),
        object: going.object(),
        uid: uid.to_owned(),
        asked: going.asked(),
        stuck_since: now,
        holds: Vec::new(),
        has_more_holds: false,
        end: None,
    }
}

/// The first half of a SHA-256: uids are the word of the API, and an id stands in a path.
fn id(uid: &str) -> String {
    Sha256::digest(uid.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// What every judgement may change of a hold.
fn news(root: &Root) -> (Confidence, Verdict, Option<Timestamp>) {
    (root.finding.confidence, root.verdict, None)
}

fn is_same(hold: &Hold, root: &Root, now: Timestamp) -> bool {
    let recently = now.checked_sub(MAX_GAP).unwrap_or(Timestamp::MIN);
    hold.root == root.id.to_string() && hold.until.is_none_or(|until| until >= recently)
}

/// Whether all of this is kept already.
fn is_kept<'h, 'r: 'h>(
    incident: &Incident,
    holds: impl Iterator<Item = &'h Holding<'r>> + Clone,
    now: Timestamp,
    limits: Limits,
) -> bool {
    let is_held = |hold: &Hold| holds.clone().any(|held| held.root.id.to_string() == hold.root);
    let is_kept = |held: &Holding| match incident.holds.iter().find(|hold| is_same(hold, held.root, now)) {
        Some(hold) if hold.cause != held.cause => false,
        Some(hold) => (hold.confidence, hold.verdict, hold.until) == news(held.root),
        None => incident.has_more_holds && incident.holds.len() >= limits.holds,
    };
    incident.last_held_by().all(is_held) && holds.clone().all(is_kept)
}

fn update<'h, 'r: 'h>(
    incident: &mut Incident,
    holds: impl Iterator<Item = &'h Holding<'r>> + Clone,
    now: Timestamp,
    limits: Limits,
) {
    for hold in incident.holds.iter_mut().filter(|hold| hold.until.is_none()) {
        if !holds.clone().any(|held| held.root.id.to_string() == hold.root) {
            hold.until = Some(now);
        }
    }
    for Holding { root, cause, gate, chain, reads, .. } in holds {
        let finding = &root.finding;
        let is_full = incident.holds.len() >= limits.holds;
        match incident.holds.iter_mut().find(|hold| is_same(hold, root, now)) {
            Some(hold) => {
                (hold.confidence, hold.verdict, hold.until) = news(root);
                // The cause of the same root is known better.
                hold.reads.add(reads);
                if hold.cause != *cause {
                    (hold.cause, hold.gate, hold.reads) = (*cause, *gate, (*reads).clone());
                    hold.chain = last(chain, root, limits.links);
                }
            }
            None if is_full => incident.has_more_holds = true,
            None => incident.holds.push(Hold {
                cause: *cause,
                gate: *gate,
                confidence: finding.confidence,
                verdict: root.verdict,
                root: root.id.to_string(),
                chain: last(chain, root, limits.links),
                told_by: root.told_by.as_ref().map(|by| by.node.clone()),
                since: now,
                until: None,
                reads: (*reads).clone(),
            }),
        }
    }
}

#[cfg(test)]
mod tests;
