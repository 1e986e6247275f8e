//! What one scan of the node says, as the tracker needs it.

use std::collections::BTreeMap;

use agent_core::observation::{Observation, Seen};
use findings::{Confidence, Finding, GateState, NodeReport, PodRef, PodReport, PodUid, Verdict};

use super::{Key, entry::Entry};
use crate::Instant;

pub struct Snapshot<'a> {
    pub at: Instant,
    pub report: &'a NodeReport,
    /// Whether every source answered that would show a pod, and the API server's word is of now:
    /// only then is a pod that is not in the report really gone. Without that word a pod that was
    /// deleted by force looks like any other.
    pub complete: bool,
}

/// A finding and whom it holds.
pub type SeenFinding = (Finding, Vec<PodRef>);

/// What a scan means for a finding that it did not see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It cannot be reported: it is kept as it is.
    Kept,
    /// It has ended, for this reason.
    Over(String),
    /// It is reported by the node's entry from now on.
    Merged,
}

impl<'a> Snapshot<'a> {
    /// A scan and its judgement.
    pub fn new(at: Instant, seen: &Observation, report: &'a NodeReport) -> Self {
        let answered = seen.runtime.get().is_some() && seen.pod_dirs.get().is_some() && seen.cgroups.get().is_some();
        let asked = match &seen.api {
            Seen::Missing | Seen::NotAsked => true,
            Seen::Seen(api) => api.stale.is_none(),
            Seen::Failed(_) => false,
        };
        Snapshot { at, report, complete: answered && asked && seen.mounts.kubelet.get().is_some() }
    }

    /// What holds something. A root that holds more than `fan_in` pods is reported once for the node,
    /// and so is one that already was.
    pub fn seen_findings(&self, fan_in: usize, entries: &BTreeMap<Key, Entry>) -> BTreeMap<Key, SeenFinding> {
        let mut by_root: BTreeMap<Key, Vec<(&PodRef, &Finding)>> = BTreeMap::new();
        for pod in self.report.pods.iter().filter(|pod| pod.verdict == Verdict::Stuck) {
            for finding in &pod.findings {
                let held = by_root.entry(Key::node(finding)).or_default();
                if held.iter().all(|(known, _)| known.uid != pod.pod.uid) {
                    held.push((&pod.pod, finding));
                }
            }
        }
        let mut findings = BTreeMap::new();
        for (key, held) in &by_root {
            if held.len() > fan_in || entries.contains_key(key) {
                let pods = held.iter().map(|(pod, _)| (*pod).clone()).collect();
                // What must end beside it is another thing for each pod.
                let finding = Finding { must_end_too: None, ..held[0].1.clone() };
                findings.insert(key.clone(), (finding, pods));
            } else {
                let single = held
                    .iter()
                    .map(|(pod, finding)| (Key::pod(&pod.uid, finding), ((*finding).clone(), vec![(*pod).clone()])));
                findings.extend(single);
            }
        }
        for node in &self.report.node_findings {
            let key = Key::node(&node.finding);
            if !by_root.contains_key(&key) && is_reported(&node.finding, &node.pods) {
                findings.entry(key).or_insert_with(|| (node.finding.clone(), node.pods.clone()));
            }
        }
        findings
    }

    /// What becomes of an entry that is not among the seen_findings.
    pub fn outcome(&self, key: &Key, entry: &Entry, seen_findings: &BTreeMap<Key, SeenFinding>) -> Outcome {
        let node = Key { pod: None, ..key.clone() };
        match &key.pod {
            Some(uid) if seen_findings.get(&node).is_some_and(|(_, pods)| pods.iter().any(|pod| pod.uid == *uid)) => {
                Outcome::Merged
            }
            Some(uid) => self.pod_outcome(uid, entry),
            None if entry.pods.is_empty() && (!self.complete || self.was_not_looked_for(entry)) => Outcome::Kept,
            None => {
                let mut outcomes = entry.pods.iter().map(|pod| self.pod_outcome(&pod.uid, entry)).peekable();
                let last = "it was not found any more".to_owned();
                if outcomes.peek().is_none() {
                    return Outcome::Over(last);
                }
                outcomes
                    .reduce(|one, other| if one == Outcome::Kept { one } else { other })
                    .unwrap_or(Outcome::Over(last))
            }
        }
    }

    fn was_not_looked_for(&self, entry: &Entry) -> bool {
        self.report.not_looked_for.iter().any(|cause| cause.id == entry.finding.cause.id)
    }

    fn pod_outcome(&self, uid: &PodUid, entry: &Entry) -> Outcome {
        let Some(pod) = self.report.pods.iter().find(|pod| pod.pod.uid == *uid) else {
            return if self.complete {
                Outcome::Over("nothing of the pod is left here".to_owned())
            } else {
                Outcome::Kept
            };
        };
        let Some(gate) = entry.finding.gate else { return self.gateless_outcome(pod) };
        match pod.gates.iter().find(|view| view.gate == gate).map(|view| view.state) {
            Some(GateState::Met) => {
                Outcome::Over(match pod.gates.iter().find(|view| view.state == GateState::Blocked) {
                    Some(next) => format!("{gate} is met, the kubelet waits at {} now", next.gate),
                    None => format!("{gate} is met"),
                })
            }
            Some(GateState::Blocked) if pod.verdict == Verdict::Stuck && pod.unknown.is_empty() => {
                let other = pod.findings.iter().find(|finding| finding.gate == Some(gate));
                other.map_or(Outcome::Kept, |other| {
                    Outcome::Over(match other.confidence {
                        Confidence::Proven => format!("it is held by {} now", other.cause.id),
                        // The finding may really have ended, and the kubelet has not tried again.
                        Confidence::Probable => "it was not found any more".to_owned(),
                    })
                })
            }
            Some(_) => Outcome::Kept,
            // The API server does not know the pod any more, so it has no such gate.
            None => Outcome::Over(format!("{gate} is met")),
        }
    }

    /// A state of the node, such as a kubelet that does not run, was there and is not seen.
    fn gateless_outcome(&self, pod: &PodReport) -> Outcome {
        let known = self.complete && self.report.unknown.is_empty() && pod.unknown.is_empty();
        if known { Outcome::Over("it was not found any more".to_owned()) } else { Outcome::Kept }
    }
}

/// States of the node that hold no pod here are reported only when they hold a volume back from other
/// nodes.
fn is_reported(finding: &Finding, pods: &[PodRef]) -> bool {
    !pods.is_empty() || finding.cause.keeps_attached
}
