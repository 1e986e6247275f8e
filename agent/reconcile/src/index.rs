//! What the watch has reported of the pods of this node.

use std::{collections::BTreeMap, time::Duration};

use findings::{NodeReport, PodUid};

use super::Instant;
use agent_core::causes::csi;
use agent_core::observation::{ApiFacts, ApiPod, Deletion, Fault, FaultKind, Heard, Seen, Source};

/// A watch that is broken for so long is no word of now.
const FRESH: Duration = Duration::from_secs(20);

/// One step of the watch, named as in kube's watcher.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent {
    /// A list begins: what it does not name is gone.
    Init,
    /// A pod, as part of a list.
    InitApply(ApiPod),
    InitDone,
    /// A pod was made or has changed.
    Apply(ApiPod),
    Delete(PodUid),
    /// The watch is broken; it is being tried again.
    Failed(Fault),
}

/// A pod and when its time is up.
#[derive(Clone, Debug, PartialEq)]
struct IndexedPod {
    pod: ApiPod,
    /// When its deadline is, or was, on the steady clock. Reckoned once, when it became known, so
    /// that a clock that is set later does not move it.
    deadline: Option<Instant>,
}

/// The pods of this node by the API server's word.
#[derive(Debug, Default)]
pub struct Index {
    pods: BTreeMap<PodUid, IndexedPod>,
    listing: Option<BTreeMap<PodUid, IndexedPod>>,
    synced: bool,
    broken: Option<(Instant, Fault)>,
    /// The Node, as far as it is known.
    pub node: Option<NodeInfo>,
    /// When the last of the pods that are gone was gone, by the wall.
    forgotten: BTreeMap<PodUid, u64>,
    /// When the first list was complete, by the wall.
    heard_since_ms: Option<u64>,
    /// When the CSI driver that a pod waits for was first seen to be just back, by the wall.
    driver_back: BTreeMap<PodUid, u64>,
}

/// Of more pods that are gone it is not remembered when; nothing of most is left here.
const MAX_FORGOTTEN: usize = 1000;

/// What the API server says of the Node itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeInfo {
    /// `metadata.uid`.
    pub uid: String,
    /// `status.nodeInfo.kubeletVersion`.
    pub kubelet_version: Option<String>,
    /// `status.nodeInfo.bootID`.
    pub boot_id: Option<String>,
    /// The message of its Ready condition, when that is False.
    pub not_ready: Option<String>,
    /// Since when its condition Ready is true, in milliseconds.
    pub ready_since_ms: Option<u64>,
    /// How far the API server's clock is ahead of the node's, in milliseconds.
    pub server_ahead_ms: Option<i64>,
}

/// What a step of the watch means for the schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A pod is to go, and its deadline is then.
    Terminating {
        uid: PodUid,
        deadline: Instant,
        /// Whether a CSI or DRA driver may have to give something back.
        needs_drivers: bool,
    },
    /// A pod that was to go has changed: its phase or its finalizers.
    Updated(PodUid),
    /// A pod that was to go is gone.
    Deleted(PodUid),
}

impl Index {
    /// Takes in one step; says what it means.
    pub fn take(&mut self, event: WatchEvent, now: Instant) -> Vec<Change> {
        // A list that begins is only asked for: each try of a broken watch begins with one.
        if !matches!(event, WatchEvent::Failed(_) | WatchEvent::Init) {
            self.broken = None;
        }
        match event {
            WatchEvent::Init => self.listing = Some(BTreeMap::new()),
            WatchEvent::InitApply(pod) => {
                let known = self.known(pod, now);
                self.listing.get_or_insert_default().insert(known.pod.uid.clone(), known);
            }
            WatchEvent::InitDone => {
                let listed = self.listing.take();
                return listed.map(|listed| self.replace(listed, now)).unwrap_or_default();
            }
            WatchEvent::Apply(pod) => {
                let known = self.known(pod, now);
                let uid = known.pod.uid.clone();
                self.forgotten.remove(&uid);
                let before = self.pods.insert(uid, known.clone());
                return change(before.as_ref(), &known).into_iter().collect();
            }
            WatchEvent::Delete(uid) => {
                self.forget(uid.clone(), now);
                let was = self.pods.remove(&uid);
                return was
                    .filter(|known| known.deadline.is_some())
                    .map(|_| Change::Deleted(uid))
                    .into_iter()
                    .collect();
            }
            WatchEvent::Failed(fault) => {
                self.broken.get_or_insert((now, fault));
            }
        }
        Vec::new()
    }

    /// Takes in a list that was asked for beside the watch, which may be in the middle of one of
    /// its own.
    pub fn listed(&mut self, pods: Vec<ApiPod>, now: Instant) -> Vec<Change> {
        self.broken = None;
        let listed = pods.into_iter().map(|pod| (pod.uid.clone(), self.known(pod, now))).collect();
        self.replace(listed, now)
    }

    fn forget(&mut self, uid: PodUid, now: Instant) {
        self.forgotten.insert(uid, now.wall_ms);
        if self.forgotten.len() > MAX_FORGOTTEN {
            let first = self.forgotten.iter().min_by_key(|(_, at)| **at).map(|(uid, _)| uid.clone());
            first.map(|uid| self.forgotten.remove(&uid));
        }
    }

    fn replace(&mut self, listed: BTreeMap<PodUid, IndexedPod>, now: Instant) -> Vec<Change> {
        self.forgotten.retain(|uid, _| !listed.contains_key(uid));
        let lost: Vec<PodUid> = self.pods.keys().filter(|uid| !listed.contains_key(*uid)).cloned().collect();
        lost.into_iter().for_each(|uid| self.forget(uid, now));
        let gone = self.pods.iter().filter(|(uid, known)| known.deadline.is_some() && !listed.contains_key(*uid));
        let mut changes: Vec<Change> = gone.map(|(uid, _)| Change::Deleted(uid.clone())).collect();
        changes.extend(listed.values().filter_map(|known| change(self.pods.get(&known.pod.uid), known)));
        self.pods = listed;
        self.synced = true;
        self.heard_since_ms.get_or_insert(now.wall_ms);
        changes
    }

    /// Reckons the deadline once per deletion.
    fn known(&self, pod: ApiPod, now: Instant) -> IndexedPod {
        let before = self.pods.get(&pod.uid).filter(|before| before.pod.deletion == pod.deletion);
        let deadline = match (before, pod.deletion) {
            (Some(before), _) => before.deadline,
            (None, Some(deletion)) => Some(reckon(deletion, now)),
            (None, None) => None,
        };
        IndexedPod { pod, deadline }
    }

    /// Takes in what was judged: a driver that comes back again and again is not to be waited for each time.
    pub fn judged(&mut self, report: &NodeReport, now: Instant) {
        let judged = |uid: &PodUid| report.pods.iter().any(|pod| pod.pod.uid == *uid);
        self.driver_back.retain(|uid, _| self.pods.contains_key(uid) || judged(uid));
        for pod in report.pods.iter().filter(|pod| csi::is_awaited(&pod.findings)) {
            self.driver_back.entry(pod.pod.uid.clone()).or_insert(now.wall_ms);
        }
    }

    /// Whether a complete list was ever seen and the watch has not been broken for long.
    pub fn is_fresh(&self, now: Instant) -> bool {
        self.synced && self.broken.as_ref().is_none_or(|(since, _)| now.duration_since(*since) < FRESH)
    }

    /// Whether the API server has a pod of this uid, as far as is known.
    pub fn knows(&self, uid: &PodUid) -> bool {
        self.pods.contains_key(uid)
    }

    /// How many pods are to go.
    pub fn terminating(&self) -> usize {
        self.pods.values().filter(|known| known.deadline.is_some()).count()
    }

    /// The API server's word for a scan of the node. Deadlines are put where the steady clock says
    /// that they are, so that a clock that was set does not make a pod overdue.
    pub fn facts(&self, now: Instant) -> Seen<ApiFacts> {
        let why = self.broken.as_ref().map_or("it has not answered yet", |(_, fault)| &fault.says);
        if !self.synced {
            return Seen::failed(Source::ApiServer, (FaultKind::Stale, why));
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
            boot_id: node.as_ref().and_then(|node| node.boot_id.clone()),
            // The Node is not watched, and what it said then may be over.
            not_ready: None,
            volumes: Vec::new(),
            heard: Box::new(Heard {
                forgotten: self.forgotten.clone(),
                since_ms: self.heard_since_ms,
                ready_since_ms: node.as_ref().and_then(|node| node.ready_since_ms),
                server_ahead_ms: node.and_then(|node| node.server_ahead_ms),
                driver_back: self.driver_back.clone(),
            }),
            stale,
        })
    }
}

fn reckon(deletion: Deletion, now: Instant) -> Instant {
    let ahead = Duration::from_millis(deletion.deadline_ms.saturating_sub(now.wall_ms));
    let behind = Duration::from_millis(now.wall_ms.saturating_sub(deletion.deadline_ms));
    Instant { steady: (now.steady + ahead).saturating_sub(behind), wall_ms: deletion.deadline_ms }
}

fn change(before: Option<&IndexedPod>, now: &IndexedPod) -> Option<Change> {
    let uid = now.pod.uid.clone();
    let needs_drivers = !now.pod.volume_claims.is_empty() || !now.pod.claims.is_empty();
    match (before.and_then(|before| before.deadline), now.deadline) {
        (None, Some(deadline)) => Some(Change::Terminating { uid, deadline, needs_drivers }),
        (Some(old), Some(deadline)) if old != deadline => Some(Change::Terminating { uid, deadline, needs_drivers }),
        (Some(_), Some(_)) => before
            .is_some_and(|before| before.pod.phase != now.pod.phase || before.pod.finalizers != now.pod.finalizers)
            .then_some(Change::Updated(uid)),
        (_, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instant::tests::moment;
    use agent_core::observation::sample;

    fn fault(says: &str) -> Fault {
        Fault::new(Source::ApiServer, (FaultKind::Refused, says))
    }

    fn pod(deadline: Option<Instant>) -> ApiPod {
        let Seen::Seen(facts) = sample::deleted().api else { unreachable!() };
        let deletion = deadline.map(|at| Deletion { deadline_ms: at.wall_ms, grace_s: 30 });
        ApiPod { deletion, ..facts.pods[0].clone() }
    }

    fn listed(pods: Vec<ApiPod>, now: Instant) -> (Index, Vec<Change>) {
        let mut index = Index::default();
        index.take(WatchEvent::Init, now);
        pods.into_iter().for_each(|pod| drop(index.take(WatchEvent::InitApply(pod), now)));
        let changes = index.take(WatchEvent::InitDone, now);
        (index, changes)
    }

    #[test]
    fn a_deletion_a_change_and_the_end_are_told() {
        let (mut index, changes) = listed(vec![pod(None)], moment(0));
        assert!(changes.is_empty() && index.terminating() == 0);
        let uid = pod(None).uid;
        let terminating = pod(Some(moment(30)));
        assert_eq!(
            index.take(WatchEvent::Apply(terminating.clone()), moment(0)),
            [Change::Terminating { uid: uid.clone(), deadline: moment(30), needs_drivers: false }]
        );
        assert!(index.take(WatchEvent::Apply(terminating.clone()), moment(1)).is_empty());
        let failed = ApiPod { phase: "Succeeded".into(), ..terminating };
        assert_eq!(index.take(WatchEvent::Apply(failed), moment(2)), [Change::Updated(uid.clone())]);
        assert_eq!(index.take(WatchEvent::Delete(uid.clone()), moment(3)), [Change::Deleted(uid)]);
    }

    #[test]
    fn it_is_remembered_since_when_a_pod_is_gone() {
        let uid = pod(None).uid;
        let (mut index, _) = listed(vec![pod(None)], moment(0));
        let forgotten = |index: &Index| {
            let Seen::Seen(facts) = index.facts(moment(90)) else { unreachable!() };
            assert_eq!(facts.heard.since_ms, Some(moment(0).wall_ms));
            facts.heard.forgotten.get(&uid).copied()
        };
        assert_eq!(forgotten(&index), None);
        index.take(WatchEvent::Delete(uid.clone()), moment(10));
        assert_eq!(forgotten(&index), Some(moment(10).wall_ms));
        index.take(WatchEvent::Apply(pod(None)), moment(20));
        assert_eq!(forgotten(&index), None);
        index.listed(Vec::new(), moment(30));
        assert_eq!(forgotten(&index), Some(moment(30).wall_ms));
        for number in 0..MAX_FORGOTTEN {
            let other = PodUid::parse(&format!("96fb425e-919e-44f9-8b42-{number:012}")).unwrap();
            index.take(WatchEvent::Delete(other), moment(40));
        }
        assert_eq!(forgotten(&index), None, "it was the first");
    }

    #[test]
    fn what_a_new_list_lacks_is_gone() {
        let (mut index, changes) = listed(vec![pod(Some(moment(30)))], moment(0));
        assert_eq!(changes.len(), 1);
        index.take(WatchEvent::Init, moment(9));
        assert!(index.knows(&pod(None).uid), "until the list is complete nothing is missing");
        assert_eq!(index.take(WatchEvent::InitDone, moment(9)), [Change::Deleted(pod(None).uid)]);
    }

    #[test]
    fn a_list_beside_the_watch_does_not_cut_the_watchs_own_short() {
        let other = ApiPod { uid: PodUid::parse("96fb425e-919e-44f9-8b42-000000000002").unwrap(), ..pod(None) };
        let (first, second) = (pod(Some(moment(30))), other);
        let (mut index, _) = listed(vec![first.clone(), second.clone()], moment(0));
        index.take(WatchEvent::Init, moment(9));
        index.take(WatchEvent::InitApply(first.clone()), moment(9));
        assert!(index.listed(vec![first.clone(), second.clone()], moment(9)).is_empty());
        index.take(WatchEvent::InitApply(second.clone()), moment(9));
        assert!(index.take(WatchEvent::InitDone, moment(9)).is_empty(), "both are there");
        assert!(index.knows(&first.uid) && index.knows(&second.uid));
    }

    #[test]
    fn a_watch_that_only_tries_again_is_still_broken() {
        let (mut index, _) = listed(vec![pod(None)], moment(0));
        for second in (10..60).step_by(5) {
            index.take(WatchEvent::Init, moment(second));
            index.take(WatchEvent::Failed(fault("refused")), moment(second));
        }
        assert!(!index.is_fresh(moment(60)));
        index.take(WatchEvent::Init, moment(61));
        assert!(!index.is_fresh(moment(61)), "nothing was answered yet");
        index.take(WatchEvent::InitDone, moment(62));
        assert!(index.is_fresh(moment(62)));
    }

    #[test]
    fn a_clock_that_is_set_moves_no_deadline() {
        let (mut index, _) = listed(vec![pod(Some(moment(30)))], moment(0));
        let jumped = Instant { wall_ms: moment(10).wall_ms + 86_400_000, ..moment(10) };
        index.take(WatchEvent::Apply(pod(Some(moment(30)))), jumped);
        let Seen::Seen(facts) = index.facts(jumped) else { unreachable!() };
        assert_eq!(facts.pods[0].deletion.unwrap().deadline_ms, jumped.wall_ms + 20_000);
        let later = Instant { wall_ms: moment(50).wall_ms - 3_600_000, ..moment(50) };
        let Seen::Seen(facts) = index.facts(later) else { unreachable!() };
        assert_eq!(facts.pods[0].deletion.unwrap().deadline_ms, later.wall_ms - 20_000);
    }

    #[test]
    fn a_broken_watch_makes_the_word_old_and_no_word_is_a_fault() {
        let mut index = Index::default();
        assert!(index.facts(moment(0)).fault().is_some());
        index.take(WatchEvent::Failed(fault("refused")), moment(0));
        assert_eq!(index.facts(moment(0)).fault().unwrap().says, "refused");
        let (mut index, _) = listed(vec![], moment(0));
        index.take(WatchEvent::Failed(fault("refused")), moment(0));
        assert!(index.is_fresh(moment(5)), "a watch is renewed every few minutes");
        index.take(WatchEvent::Failed(fault("still refused")), moment(60));
        let Seen::Seen(facts) = index.facts(moment(60)) else { unreachable!() };
        assert_eq!(facts.stale.unwrap().says, "refused");
        index.take(WatchEvent::Init, moment(61));
        index.take(WatchEvent::InitDone, moment(61));
        assert!(index.is_fresh(moment(999)));
    }
}
