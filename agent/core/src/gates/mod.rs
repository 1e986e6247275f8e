//! The kubelet's gates, in its order and by its version. Pure: what was seen goes in, what holds
//! each pod comes out.

mod before_deletion;
mod missing_rights;
mod node;
mod pod;
#[cfg(test)]
mod tests;

use self::missing_rights::Lacking;
use findings::{NodeFinding, NodeReport, PodReport, Unknown, Verdict};

use crate::causes::{cgroup, runtime};
use crate::counterfactual;
use crate::facts::Facts;
use crate::observation::{Observation, Seen};
use crate::view::{DeletionReason, PodView, candidates_by, kubelet_minor};

/// Judges a whole observation.
pub fn judge(seen: &Observation) -> NodeReport {
    judge_by(&Facts::complete(seen))
}

/// Judges by what is known by now, and asks for what is lacking.
pub(crate) fn judge_by(seen: &Facts<'_>) -> NodeReport {
    let kubelet = kubelet_minor(seen);
    let candidates = candidates_by(seen);
    // Of a pod that was not looked into only the lists are known: nothing is said of it.
    let looked_into = candidates.iter().filter(|candidate| seen.looked_into.contains(&candidate.pod.uid));
    let views: Vec<PodView> = looked_into.map(|candidate| PodView::new(seen, candidate, kubelet)).collect();
    let lacking = missing_rights::lacking(seen);
    let reports = views.iter().map(|view| judge_pod(view, &lacking));
    let mut pods: Vec<_> = reports.filter(|report| report.verdict != Verdict::Clear).collect();
    let node::Judged { findings: mut node_findings, not_looked_for, notes } = node::judge(seen, &mut pods);
    if !seen.is_recording() {
        counterfactual::weigh(seen, &candidates, kubelet, &mut pods, |view| {
            judge_pod(view, &missing_rights::lacking(view.seen))
        });
    }
    pods.sort_by(|a, b| (b.verdict, b.overdue_seconds, &a.pod).cmp(&(a.verdict, a.overdue_seconds, &b.pod)));
    let mut unknown = lacking.unknown.clone();
    unknown.extend(unknowns(seen, &lacking));
    let worst = pods.iter().map(|pod| pod.verdict).max().unwrap_or(Verdict::Clear);
    let verdict = if worst == Verdict::Stuck || node_findings.iter().any(node::is_stuck) {
        Verdict::Stuck
    } else if node_findings.is_empty() && unknown.is_empty() {
        worst
    } else {
        Verdict::CannotTell
    };
    // It holds nothing, so it says nothing of the verdict.
    for finding in views.iter().filter_map(cgroup::unknown_hierarchy) {
        if node_findings.iter().all(|known| known.finding.root != finding.root) {
            node_findings.push(NodeFinding { finding, pods: Vec::new() });
        }
    }
    #[cfg(test)]
    check_promised_steps(&pods, &node_findings);
    NodeReport {
        schema: NodeReport::SCHEMA,
        node: findings::clean(&seen.node.name, 253),
        at: time(seen.at_ms),
        verdict,
        pods,
        node_findings,
        unknown,
        not_looked_for,
        notes,
    }
}

#[cfg(test)]
fn check_promised_steps(pods: &[findings::PodReport], of_node: &[NodeFinding]) {
    let of_node = of_node.iter().map(|found| &found.finding);
    for finding in pods.iter().flat_map(|pod| &pod.findings).chain(of_node) {
        assert_eq!(finding.lacks(), [""; 0], "{}: a step is not filled, and its entry promises it", finding.cause.id);
    }
}

fn judge_pod(view: &PodView, lacking: &Lacking) -> PodReport {
    match view.why {
        DeletionReason::Assumed => before_deletion::judge(view, lacking),
        _ => pod::judge(view, lacking),
    }
}

fn time(ms: u64) -> String {
    let time = i64::try_from(ms / 1000).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    time.unwrap_or_default().to_string()
}

/// Sources that should have answered and did not.
fn unknowns(seen: &Facts<'_>, lacking: &Lacking) -> Vec<Unknown> {
    let mut unknown = Vec::new();
    let mut add = |fault: Option<&crate::observation::Fault>, hides: &str| {
        unknown.extend(fault.filter(|fault| !lacking.explains(fault)).map(|fault| fault.unknown(hides)));
    };
    add(seen.api.fault(), "which pods have a deletion request; use --api off to judge by what the node itself shows");
    add(seen.api.get().and_then(|api| api.stale.as_ref()), "which pods were deleted or have ended since");
    let untold = seen.runtime.fault().filter(|_| runtime::find(seen).is_none());
    add(untold, "containers and sandboxes; check --cri-endpoint");
    add(seen.pod_dirs.fault(), "volumes and orphaned pod directories");
    add(seen.cgroups.fault(), "the pods' cgroups and so their processes");
    add(seen.mounts.kubelet.fault(), "every mount");
    add(seen.node.kubelet.fault(), "the kubelet's settings; the defaults were used");
    let healthz = seen.node.kubelet.get().and_then(|kubelet| kubelet.healthz.fault());
    add(healthz, "whether the kubelet's sync loop runs");
    add(seen.node.cri_socket.fault(), "containers and sandboxes");
    add(seen.csi.fault(), "which CSI drivers are registered");
    if matches!(seen.node.cri_socket, Seen::Missing) && !lacking.blind {
        unknown.push(Unknown {
            source: "CRI".to_owned(),
            kind: None,
            why: "no socket of a container runtime was found; name it with --cri-endpoint".to_owned(),
            hides: "containers and sandboxes".to_owned(),
        });
    }
    unknown.extend(seen.faults.iter().filter(|fault| !lacking.explains(fault)).map(|fault| fault.unknown("")));
    unknown
}
