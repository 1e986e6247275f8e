//! What follows from one scan, and what it cost: all that the talker learns of it.

use std::collections::BTreeSet;

use findings::{NodeReport, PodUid, Verdict};
use reconcile::tracker::Snapshot;
use serde::{Deserialize, Serialize};

use crate::host::prober::Prober;
use crate::host::scan;
use crate::observation::{Fault, Observation, PersistentVolume, Seen};
use crate::{clock, gates, sys};

/// Sources that may not answer; a fixed set, because it becomes a label.
pub const SOURCES: [&str; 9] =
    ["api", "cri", "pod_directories", "cgroups", "mounts", "kubelet", "csi", "other", READER];
const READER: &str = "reader";

/// What follows from one scan.
#[derive(Debug, Serialize, Deserialize)]
pub struct Judged {
    pub report: NodeReport,
    /// See [`Snapshot::complete`].
    pub complete: bool,
    /// Pods that are held here and that the API server does not have.
    pub forgotten: BTreeSet<PodUid>,
    /// Which of [`SOURCES`] did not answer.
    pub failed: Vec<String>,
    /// The PersistentVolumes that were requested, to be sent with the next scan.
    pub volumes: Vec<PersistentVolume>,
    pub cpu_ms: u64,
    pub helpers_hung: usize,
}

impl Judged {
    /// Scans, and judges what was seen.
    pub async fn scan(options: &scan::Options, prober: &Prober) -> Self {
        let cpu = sys::thread_cpu_ms();
        let seen = scan::scan(options, prober).await;
        let report = gates::judge(&seen);
        let complete = Snapshot::new(clock::now(), &seen, &report).complete;
        let api = seen.api.get().filter(|api| api.stale.is_none());
        let is_forgotten = |uid: &&PodUid| api.is_some_and(|api| api.pods.iter().all(|pod| pod.uid != **uid));
        let forgotten = report.pods.iter().map(|pod| &pod.pod.uid).filter(is_forgotten);
        Judged {
            complete,
            forgotten: forgotten.cloned().collect(),
            failed: failed(&seen).into_iter().map(str::to_owned).collect(),
            volumes: match seen.api {
                Seen::Seen(api) => api.volumes,
                _ => Vec::new(),
            },
            report,
            cpu_ms: sys::thread_cpu_ms().saturating_sub(cpu),
            helpers_hung: prober.abandoned(),
        }
    }

    /// Nothing was seen: the reader did not answer.
    pub fn nothing(node: &str, fault: &Fault) -> Self {
        let report = NodeReport {
            schema: NodeReport::SCHEMA,
            node: node.to_owned(),
            at: jiff::Timestamp::now().to_string(),
            verdict: Verdict::CannotTell,
            pods: Vec::new(),
            node_findings: Vec::new(),
            unknown: vec![fault.unknown("everything on this node")],
            not_looked_for: Vec::new(),
            notes: Vec::new(),
        };
        Judged {
            report,
            complete: false,
            forgotten: BTreeSet::new(),
            failed: vec![READER.to_owned()],
            volumes: Vec::new(),
            cpu_ms: 0,
            helpers_hung: 0,
        }
    }

    /// Whether anything was seen.
    pub fn is_of_a_scan(&self) -> bool {
        !self.failed.iter().any(|source| source == READER)
    }
}

fn failed(seen: &Observation) -> Vec<&'static str> {
    let faults = [
        seen.api.fault().is_some() || seen.api.get().is_some_and(|api| api.stale.is_some()),
        seen.runtime.fault().is_some() || matches!(seen.node.cri_socket, Seen::Missing),
        seen.pod_dirs.fault().is_some(),
        seen.cgroups.fault().is_some(),
        seen.mounts.kubelet.fault().is_some(),
        seen.node.kubelet.fault().is_some(),
        seen.csi.fault().is_some(),
        !seen.faults.is_empty(),
    ];
    SOURCES.into_iter().zip(faults).filter_map(|(source, failed)| failed.then_some(source)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{FaultKind, sample};

    #[test]
    fn a_source_that_does_not_answer_is_named() {
        let mut seen = sample::deleted();
        seen.runtime = Seen::failed("CRI", (FaultKind::TimedOut, "silent"));
        assert!(failed(&seen).contains(&"cri"));
        assert!(!failed(&sample::deleted()).contains(&"cri"));
    }

    /// It writes them into Events: without them a reader of the Event gets no step with a name in it.
    #[test]
    fn what_the_steps_are_filled_with_reaches_the_talker() {
        let mut seen = sample::running();
        seen.processes[1].state = 'T';
        let fault = Fault::new("reader", (FaultKind::Refused, "nothing listens"));
        let judged = Judged { report: gates::judge(&seen), ..Judged::nothing("node-7", &fault) };
        assert_ne!(judged.report.pods[0].findings[0].values, findings::Values::new());
        let hears =
            |judged: &Judged| -> Judged { serde_json::from_slice(&serde_json::to_vec(judged).unwrap()).unwrap() };
        assert_eq!(hears(&judged).report, judged.report);
        // Where the paths are, too, if that is not where the steps are typed.
        let mut seen = sample::mounted("ext4");
        seen.node.init_mount_ns = Some(2);
        let nested = sample::table(&mut seen)[0].mount_point.join("inner");
        sample::table(&mut seen).push(sample::mount(51, "0:60", nested.as_str().unwrap(), "tmpfs"));
        let judged = Judged { report: gates::judge(&seen), ..Judged::nothing("node-7", &fault) };
        let heard = hears(&judged).report.pods.remove(0).findings.remove(0).values;
        assert_eq!(heard.get(findings::Placeholder::MountNamespacePid), Some("77"));
    }

    #[test]
    fn a_reader_that_does_not_answer_ends_nothing() {
        let fault = Fault::new("reader", (FaultKind::Refused, "nothing listens"));
        let nothing = Judged::nothing("node-7", &fault);
        assert!(!nothing.complete && !nothing.is_of_a_scan());
        assert_eq!(nothing.report.verdict, Verdict::CannotTell);
        assert_eq!(nothing.report.unknown[0].hides, "everything on this node");
    }
}
