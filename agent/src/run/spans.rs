//! Spans around what takes time. They cost nothing while nobody collects them; see the feature `otel`.

use findings::NodeReport;
use tracing::{Instrument, Span, field::Empty};

use super::{api::Cluster, brain::Wrote, ledger::Kind};
use crate::report::event::Draft;

/// Around one look at the node.
pub fn look() -> Span {
    tracing::info_span!(
        "look",
        why_terminating.pods = Empty,
        why_terminating.findings = Empty,
        why_terminating.sources_failed = Empty
    )
}

/// What the look that is going on has seen. Only counts and our own words: no name of a pod.
pub fn looked(report: &NodeReport, failed: &[&str]) {
    let findings = report.pods.iter().map(|pod| pod.findings.len()).sum::<usize>() + report.node_findings.len();
    let span = Span::current();
    span.record("why_terminating.pods", report.pods.len());
    span.record("why_terminating.findings", findings);
    span.record("why_terminating.sources_failed", failed.join(","));
}

/// Writes an Event, within a span.
pub async fn write(cluster: &Cluster, kind: Option<Kind>, draft: &Draft) -> Wrote {
    let span = tracing::info_span!(
        "write event",
        otel.kind = "client",
        otel.status_code = Empty,
        why_terminating.kind = kind.map(Kind::as_str),
        why_terminating.reason = draft.reason,
        why_terminating.result = Empty
    );
    let wrote = cluster.write(draft).instrument(span.clone()).await;
    span.record("why_terminating.result", wrote.as_str());
    if !matches!(wrote, Wrote::Done { .. }) {
        span.record("otel.status_code", "ERROR");
    }
    wrote
}
