//! What the watch has told of the pods of this node.

use std::{collections::BTreeMap, time::Duration};

use findings::PodUid;

use super::Moment;
use crate::observation::{ApiFacts, ApiPod, Deletion, Fault, FaultKind, Seen, Source};

/// A watch that is broken for so long is no word of now.
const FRESH: Duration = Duration::from_secs(20);

/// One step of the watch.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// A list begins: what it does not name is gone.
    Begin,
    /// A pod, as part of a list.
    Listed(ApiPod),
    /// The list is complete.
    Complete,
    /// A pod was made or has changed.
    Changed(ApiPod),
    /// A pod is gone.
    Gone(PodUid),
    /// The watch is broken; it is being tried again.
    Broken(String),
}

/// A pod and when its time is up.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    pod: ApiPod,
    /// When its deadline is, or was, on the steady clock. Reckoned once, when it became known, so
    /// that a clock that is set later does not move it.
    deadline: Option<Moment>,
}

/// The pods of this node by the API server's word.
#[derive(Debug, Default)]
pub struct Index {
    pods: BTreeMap<PodUid, Known>,
    listing: Option<BTreeMap<PodUid, Known>>,
    synced: bool,
    broken: Option<(Moment, String)>,
    node: Option<NodeWord>,
}

/// What the API server says of the Node itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeWord {
    /// `metadata.uid`.
    pub uid: String,
    /// `status.nodeInfo.kubeletVersion`.
    pub kubelet_version: Option<String>,
    /// `status.nodeInfo.bootID`.
    pub boot_id: Option<String>,
}

/// What a step of the watch means for the schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A pod is to go, and its deadline is then.
    Terminating(PodUid, Moment),
    /// A pod that was to go has changed: its phase or its finalizers.
    Moved(PodUid),
    /// A pod that was to go is gone.
    Gone(PodUid),
}

impl Index {
    /// Takes in one step; says what it means.
    pub fn take(&mut self, told: Told, now: Moment) -> Vec<Change> {
        // A list that begins is only asked for: each try of a broken watch begins with one.
        if !matches!(told, Told::Broken(_) | Told::Begin) {
            self.broken = None;
        }
        match told {
            Told::Begin => self.listing = Some(BTreeMap::new()),
            Told::Listed(pod) => {
                let known = self.known(pod, now);
                self.listing.get_or_insert_default().insert(known.pod.uid.clone(), known);
            }
            Told::Complete => {
                let listed = self.listing.take();
                return listed.map(|listed| self.replace(listed)).unwrap_or_default();
            }
            Told::Changed(pod) => {
                let known = self.known(pod, now);
                let uid = known.pod.uid.clone();
                let before = self.pods.insert(uid, known.clone());
                return change(before.as_ref(), &known).into_iter().collect();
            }
            Told::Gone(uid) => {
                let was = self.pods.remove(&uid);
                return was.filter(|known| known.deadline.is_some()).map(|_| Change::Gone(uid)).into_iter().collect();
            }
            Told::Broken(why) => {
                self.broken.get_or_insert((now, why));
            }
        }
        Vec::new()
    }

    /// Takes in a list that was asked for beside the watch, which may be in the middle of one of
    /// its own.
    pub fn listed(&mut self, pods: Vec<ApiPod>, now: Moment) -> Vec<Change> {
        self.broken = None;
        let listed = pods.into_iter().map(|pod| (pod.uid.clone(), self.known(pod, now))).collect();
        self.replace(listed)
    }

    fn replace(&mut self, listed: BTreeMap<PodUid, Known>) -> Vec<Change> {
        let gone = self.pods.iter().filter(|(uid, known)| known.deadline.is_some() && !listed.contains_key(*uid));
        let mut changes: Vec<Change> = gone.map(|(uid, _)| Change::Gone(uid.clone())).collect();
        changes.extend(listed.values().filter_map(|known| change(self.pods.get(&known.pod.uid), known)));
        self.pods = listed;
        self.synced = true;
        changes
    }

    /// Reckons the deadline once per deletion.
    fn known(&self, pod: ApiPod, now: Moment) -> Known {
        let before = self.pods.get(&pod.uid).filter(|before| before.pod.deletion == pod.deletion);
        let deadline = match (before, pod.deletion) {
            (Some(before), _) => before.deadline,
            (None, Some(deletion)) => Some(reckon(deletion, now)),
            (None, None) => None,
        };
        Known { pod, deadline }
    }

    /// Takes in what the API server says of the Node.
    pub fn take_node(&mut self, node: NodeWord) {
        self.node = Some(node);
    }

    /// The Node, as far as it is known.
    pub fn node(&self) -> Option<&NodeWord> {
        self.node.as_ref()
    }

    /// Whether a complete list was ever seen and the watch has not been broken for long.
    pub fn is_fresh(&self, now: Moment) -> bool {
        self.synced && self.broken.as_ref().is_none_or(|(since, _)| now.since(*since) < FRESH)
    }

    /// Whether the API server has a pod of this uid, as far as is known.
    pub fn knows(&self, uid: &PodUid) -> bool {
        self.pods.contains_key(uid)
    }

    /// How many pods are to go.
    pub fn terminating(&self) -> usize {
        self.pods.values().filter(|known| known.deadline.is_some()).count()
    }

    /// The API server's word for a look at the node. Deadlines are put where the steady clock says
    /// that they are, so that a clock that was set does not make a pod overdue.
    pub fn facts(&self, now: Moment) -> Seen<ApiFacts> {
        let why = self.broken.as_ref().map_or("it has not answered yet", |(_, why)| why);
        if !self.synced {
            return Seen::Failed(Fault::new(Source::ApiServer, (FaultKind::Stale, why)));
        }
        let stale = (!self.is_fresh(now)).then(|| Fault::new(Source::ApiServer, (FaultKind::Stale, why)));
        let pods = self.pods.values().map(|known| {
            let deletion = known.pod.deletion.zip(known.deadline).map(|(deletion, deadline)| {
                let ahead = deadline.steady.saturating_sub(now.steady).as_millis();
                let behind = now.steady.saturating_sub(deadline.steady).as_millis();
                let ms = |millis: u128| u64::try_from(millis).unwrap_or(u64::MAX);
                Deletion { deadline_ms: now.wall_ms.saturating_add(ms(ahead)).saturating_sub(ms(behind)), ..deletion }
            });
            ApiPod { deletion, ..known.pod.clone() }
        });
        let node = self.node.clone();
        Seen::Seen(ApiFacts {
            pods: pods.collect(),
            kubelet_version: node.as_ref().and_then(|node| node.kubelet_version.clone()),
            boot_id: node.and_then(|node| node.boot_id),
            volumes: Vec::new(),
            stale,
        })
    }
}

fn reckon(deletion: Deletion, now: Moment) -> Moment {
    let ahead = Duration::from_millis(deletion.deadline_ms.saturating_sub(now.wall_ms));
    let behind = Duration::from_millis(now.wall_ms.saturating_sub(deletion.deadline_ms));
    Moment { steady: (now.steady + ahead).saturating_sub(behind), wall_ms: deletion.deadline_ms }
}

fn change(before: Option<&Known>, now: &Known) -> Option<Change> {
    let uid = now.pod.uid.clone();
    match (before.and_then(|before| before.deadline), now.deadline) {
        (None, Some(deadline)) => Some(Change::Terminating(uid, deadline)),
        (Some(old), Some(new)) if old != new => Some(Change::Terminating(uid, new)),
        (Some(_), Some(_)) => before
            .is_some_and(|before| before.pod.phase != now.pod.phase || before.pod.finalizers != now.pod.finalizers)
            .then_some(Change::Moved(uid)),
        (_, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{observation::sample, run::moment::tests::at};

    fn pod(deadline: Option<Moment>) -> ApiPod {
        let Seen::Seen(facts) = sample::deleted().api else { unreachable!() };
        let deletion = deadline.map(|at| Deletion { deadline_ms: at.wall_ms, grace_s: 30 });
        ApiPod { deletion, ..facts.pods[0].clone() }
    }

    fn listed(pods: Vec<ApiPod>, now: Moment) -> (Index, Vec<Change>) {
        let mut index = Index::default();
        index.take(Told::Begin, now);
        pods.into_iter().for_each(|pod| drop(index.take(Told::Listed(pod), now)));
        let changes = index.take(Told::Complete, now);
        (index, changes)
    }

    #[test]
    fn a_deletion_a_change_and_the_end_are_told() {
        let (mut index, changes) = listed(vec![pod(None)], at(0));
        assert!(changes.is_empty() && index.terminating() == 0);
        let uid = pod(None).uid;
        let terminating = pod(Some(at(30)));
        assert_eq!(index.take(Told::Changed(terminating.clone()), at(0)), [Change::Terminating(uid.clone(), at(30))]);
        assert!(index.take(Told::Changed(terminating.clone()), at(1)).is_empty());
        let failed = ApiPod { phase: "Succeeded".into(), ..terminating };
        assert_eq!(index.take(Told::Changed(failed), at(2)), [Change::Moved(uid.clone())]);
        assert_eq!(index.take(Told::Gone(uid.clone()), at(3)), [Change::Gone(uid)]);
    }

    #[test]
    fn what_a_new_list_lacks_is_gone() {
        let (mut index, changes) = listed(vec![pod(Some(at(30)))], at(0));
        assert_eq!(changes.len(), 1);
        index.take(Told::Begin, at(9));
        assert!(index.knows(&pod(None).uid), "until the list is complete nothing is missing");
        assert_eq!(index.take(Told::Complete, at(9)), [Change::Gone(pod(None).uid)]);
    }

    #[test]
    fn a_list_beside_the_watch_does_not_cut_the_watchs_own_short() {
        let other = ApiPod { uid: PodUid::parse("96fb425e-919e-44f9-8b42-000000000002").unwrap(), ..pod(None) };
        let (first, second) = (pod(Some(at(30))), other);
        let (mut index, _) = listed(vec![first.clone(), second.clone()], at(0));
        index.take(Told::Begin, at(9));
        index.take(Told::Listed(first.clone()), at(9));
        assert!(index.listed(vec![first.clone(), second.clone()], at(9)).is_empty());
        index.take(Told::Listed(second.clone()), at(9));
        assert!(index.take(Told::Complete, at(9)).is_empty(), "both are there");
        assert!(index.knows(&first.uid) && index.knows(&second.uid));
    }

    #[test]
    fn a_watch_that_only_tries_again_is_still_broken() {
        let (mut index, _) = listed(vec![pod(None)], at(0));
        for second in (10..60).step_by(5) {
            index.take(Told::Begin, at(second));
            index.take(Told::Broken("refused".into()), at(second));
        }
        assert!(!index.is_fresh(at(60)));
        index.take(Told::Begin, at(61));
        assert!(!index.is_fresh(at(61)), "nothing was answered yet");
        index.take(Told::Complete, at(62));
        assert!(index.is_fresh(at(62)));
    }

    #[test]
    fn a_clock_that_is_set_moves_no_deadline() {
        let (mut index, _) = listed(vec![pod(Some(at(30)))], at(0));
        let jumped = Moment { wall_ms: at(10).wall_ms + 86_400_000, ..at(10) };
        index.take(Told::Changed(pod(Some(at(30)))), jumped);
        let Seen::Seen(facts) = index.facts(jumped) else { unreachable!() };
        assert_eq!(facts.pods[0].deletion.unwrap().deadline_ms, jumped.wall_ms + 20_000);
        let later = Moment { wall_ms: at(50).wall_ms - 3_600_000, ..at(50) };
        let Seen::Seen(facts) = index.facts(later) else { unreachable!() };
        assert_eq!(facts.pods[0].deletion.unwrap().deadline_ms, later.wall_ms - 20_000);
    }

    #[test]
    fn a_broken_watch_makes_the_word_old_and_no_word_is_a_fault() {
        let mut index = Index::default();
        assert!(index.facts(at(0)).fault().is_some());
        index.take(Told::Broken("refused".into()), at(0));
        assert_eq!(index.facts(at(0)).fault().unwrap().says, "refused");
        let (mut index, _) = listed(vec![], at(0));
        index.take(Told::Broken("refused".into()), at(0));
        assert!(index.is_fresh(at(5)), "a watch is renewed every few minutes");
        index.take(Told::Broken("still refused".into()), at(60));
        let Seen::Seen(facts) = index.facts(at(60)) else { unreachable!() };
        assert_eq!(facts.stale.unwrap().says, "refused");
        index.take(Told::Begin, at(61));
        index.take(Told::Complete, at(61));
        assert!(index.is_fresh(at(999)));
    }
}
