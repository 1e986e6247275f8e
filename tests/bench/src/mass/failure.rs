//! What fails: a CSI driver goes away under every node while pods with its volumes are deleted.
//!
//! Of all causes one that rests on nothing that passes: it is told after the first look, and so by all
//! nodes most closely together.

use std::time::Duration;

use agent_core::observation::{ApiPod, Deletion};
use anyhow::Context as _;
use findings::{
    CauseRef, Confidence, Evidence, Finding, Gate, Link, NodeReport, Placeholder, PodReport, PodUid, Remedy, Values,
    Verdict, cause,
};
use reconcile::Instant;

/// The driver that is gone.
const DRIVER: &str = "csi.example.com";

/// The grace period of the pods.
pub const GRACE: Duration = Duration::from_secs(30);

/// The name of a node.
pub fn node_name(node: usize) -> String {
    format!("node-{node:05}.example.com")
}

/// The uid of a node.
pub fn node_uid(node: usize) -> String {
    format!("6f1d1a3e-3f0c-4a53-9a5f-{node:012x}")
}

/// The pods of a node, as the API server tells them; `deadline` when they are to go.
pub fn pods(node: usize, count: usize, deadline: Option<Instant>) -> anyhow::Result<Vec<ApiPod>> {
    let pod = |number: usize| {
        Ok(ApiPod {
            namespace: "shop".to_owned(),
            name: format!("db-{node}-{number}"),
            uid: PodUid::parse(&format!("96fb425e-919e-44f9-{number:04x}-{node:012x}")).context("too many pods")?,
            deletion: deadline.map(|at| Deletion { deadline_ms: at.wall_ms, grace_s: GRACE.as_secs() }),
            phase: "Running".to_owned(),
            finalizers: Vec::new(),
            finished_ms: None,
            mirror: false,
            claims: Vec::new(),
            volume_claims: Vec::new(),
            volumes: vec![format!("pvc-{node}-{number}")],
            controller: None,
            ready: false,
            asks_for_cpu: false,
        })
    };
    (0..count).map(pod).collect()
}

/// What a look at `node` says while these pods are stuck.
pub fn report(node: usize, stuck: &[ApiPod], now: Instant) -> NodeReport {
    NodeReport {
        schema: NodeReport::SCHEMA,
        node: node_name(node),
        at: now.stamp(),
        verdict: if stuck.is_empty() { Verdict::Clear } else { Verdict::Stuck },
        pods: stuck.iter().map(held).collect(),
        node_findings: Vec::new(),
        unknown: Vec::new(),
        notes: Vec::new(),
        not_looked_for: Vec::new(),
    }
}

fn held(pod: &ApiPod) -> PodReport {
    PodReport {
        before: false,
        pod: pod.to_ref(),
        verdict: Verdict::Stuck,
        gate: Some(Gate::VolumesUnmounted),
        gone_because: "deletion requested, deadline passed".to_owned(),
        overdue_seconds: None,
        gates: Vec::new(),
        findings: vec![finding(pod)],
        force: None,
        unknown: Vec::new(),
    }
}

/// As the agent words it.
fn finding(pod: &ApiPod) -> Finding {
    let cause = &cause::CSI_DRIVER_NOT_REGISTERED;
    let volume = pod.volumes.first().map_or("data", String::as_str);
    let dir = format!("/var/lib/kubelet/pods/{}/volumes/kubernetes.io~csi/{volume}", pod.uid);
    let mut driver = Link::new(format!("CSI driver {DRIVER}"), "no registration socket of it in plugins_registry");
    driver.root = true;
    let says = |source: String, says: String| Evidence { source, says };
    let values = Values::new()
        .with(Placeholder::Driver, DRIVER)
        .with(Placeholder::PluginDir, format!("/var/lib/kubelet/plugins/{DRIVER}"));
    Finding {
        cause: CauseRef(cause),
        gate: Some(Gate::VolumesUnmounted),
        confidence: Confidence::Proven,
        missing: None,
        chain: vec![Link::new(format!("volume {volume}"), "mounted"), driver],
        evidence: vec![
            says(format!("{dir}/vol_data.json"), format!("driverName {DRIVER}")),
            says("/var/lib/kubelet/plugins_registry".to_owned(), "no driver is registered".to_owned()),
        ],
        remedy: Remedy::fill(cause, &values),
        must_end_too: None,
        root: format!("{}:{DRIVER}", cause.id),
    }
}
