//! What Prometheus may know: counts by gate and cause. No name and no uid of a pod.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use findings::Verdict;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use reconcile::{Instant, Reconciler, tracker::Kind};

use super::{api::Requests, process_metrics::ProcessMetrics};
use crate::clock;
use crate::reader::{Judged, SOURCES};

pub struct Metrics {
    registry: Registry,
    now: Arc<Now>,
    scans: Histogram,
    faults: Family<Labels<1>, Counter>,
    events: Family<Labels<2>, Counter>,
    /// Requests to the API server.
    pub requests: Arc<Requests>,
}

/// The names and values of a series' labels.
type Labels<const N: usize> = [(&'static str, &'static str); N];

/// What holds at this moment; rendered anew for each scrape, so that an ended finding leaves no series behind.
#[derive(Debug, Default)]
struct Now(Mutex<Values>);

#[derive(Clone, Debug, Default)]
struct Values {
    findings: BTreeMap<Labels<2>, (u32, Instant)>,
    pods: BTreeMap<Labels<1>, u32>,
    terminating: usize,
    helpers_hung: usize,
    scan_hangs: bool,
    api_fresh: bool,
    dropped: u64,
    throttled: u64,
    pending: usize,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut all = Registry::default();
        all.register_collector(Box::new(ProcessMetrics));
        let registry = all.sub_registry_with_prefix("why_terminating");
        let now = Arc::new(Now::default());
        let scans = Histogram::new(exponential_buckets(0.004, 2.0, 12));
        let (faults, events, requests) = (Family::default(), Family::default(), Arc::<Requests>::default());
        registry.register_with_unit("scan_duration", "Time a scan of the node took", Unit::Seconds, scans.clone());
        registry.register("source_failures", "Sources that did not answer a scan", faults.clone());
        registry.register("events", "Events by why they were to be written and what came of it", events.clone());
        registry.register("api_requests", "Requests to the API server", (*requests).clone());
        registry.register_collector(Box::new(now.clone()));
        Metrics { registry: all, now, scans, faults, events, requests }
    }
}

impl Metrics {
    /// A scan has ended.
    pub fn scanned(&self, took: Duration, judged: &Judged) {
        for source in SOURCES.into_iter().filter(|source| judged.failed.iter().any(|failed| failed == source)) {
            self.faults.get_or_create(&[("source", source)]).inc();
        }
        if !judged.is_of_a_scan() {
            // What was seen last still stands.
            return;
        }
        self.scans.observe(took.as_secs_f64());
        let mut values = self.now.lock();
        values.helpers_hung = judged.helpers_hung;
        values.pods.clear();
        for pod in judged.report.pods.iter().filter(|pod| pod.verdict != Verdict::Clear) {
            *values.pods.entry([("verdict", pod.verdict.as_str())]).or_default() += 1;
        }
    }

    /// A write has ended in this way.
    pub fn wrote(&self, kind: Kind, result: &'static str) {
        self.events.get_or_create(&[("kind", kind.as_str()), ("result", result)]).inc();
    }

    /// How things stand.
    pub fn stand(&self, reconciler: &Reconciler, now: Instant) {
        let tracker = reconciler.tracker();
        let mut findings: BTreeMap<Labels<2>, (u32, Instant)> = BTreeMap::new();
        for entry in tracker.holding() {
            let gate = entry.finding.gate.map_or("", |gate| gate.as_str());
            let labels = [("gate", gate), ("cause", entry.finding.cause.0.id)];
            let (count, oldest) = findings.entry(labels).or_insert((0, entry.since));
            *count += 1;
            *oldest = entry.since.min(*oldest);
        }
        let mut values = self.now.lock();
        (values.findings, values.terminating) = (findings, reconciler.index().terminating());
        (values.api_fresh, values.scan_hangs) = (reconciler.index().is_fresh(now), reconciler.scan_hangs(now));
        (values.dropped, values.throttled, values.pending) =
            (tracker.dropped(), reconciler.throttled(), reconciler.unwritten());
    }

    pub fn render(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::with_capacity(8 << 10);
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

impl Now {
    fn lock(&self) -> std::sync::MutexGuard<'_, Values> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Collector for Now {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let values = self.lock().clone();
        let now = clock::now();
        let mut family = encoder.encode_descriptor("findings", "Findings that hold", None, MetricType::Gauge)?;
        for (labels, (count, _)) in &values.findings {
            ConstGauge::new(i64::from(*count)).encode(family.encode_family(labels)?)?;
        }
        let help = "How long the oldest finding of this kind has held";
        let mut family = encoder.encode_descriptor("oldest_finding", help, Some(&Unit::Seconds), MetricType::Gauge)?;
        for (labels, (_, since)) in &values.findings {
            ConstGauge::new(now.duration_since(*since).as_secs_f64()).encode(family.encode_family(labels)?)?;
        }
        let help = "Pods that should be gone, by the verdict of the last scan";
        let mut family = encoder.encode_descriptor("pods", help, None, MetricType::Gauge)?;
        for (labels, count) in &values.pods {
            ConstGauge::new(i64::from(*count)).encode(family.encode_family(labels)?)?;
        }
        let mut gauge = |name: &str, help: &str, value: f64| {
            ConstGauge::new(value).encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)
        };
        gauge("terminating_pods", "Pods of this node with a deletion request", values.terminating as f64)?;
        gauge("helpers_hung", "Helper processes that hang and cannot be killed", values.helpers_hung as f64)?;
        gauge("scan_hangs", "1 while a scan of the node does not end", f64::from(u8::from(values.scan_hangs)))?;
        gauge("api_fresh", "1 while the API server's word is fresh", f64::from(u8::from(values.api_fresh)))?;
        gauge("events_pending", "Events that are due and not written yet", values.pending as f64)?;
        let mut counter = |name: &str, help: &str, value: f64| {
            ConstCounter::new(value).encode(encoder.encode_descriptor(name, help, None, MetricType::Counter)?)
        };
        let help = "Findings and ends for which there was no room";
        counter("findings_dropped", help, values.dropped as f64)?;
        let help = "Times an Event that was due had to wait for the budget of writes";
        counter("events_throttled", help, values.throttled as f64)?;
        let mut info = encoder.encode_descriptor("build_info", "The agent's version", None, MetricType::Gauge)?;
        ConstGauge::new(1i64).encode(info.encode_family(&[("version", env!("CARGO_PKG_VERSION"))])?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{gates::judge, observation::sample};
    use reconcile::Settings;
    use reconcile::reconciler::{Input, Scan};

    #[test]
    fn it_counts_by_gate_and_cause_and_names_no_pod() {
        let mut seen = sample::deleted();
        seen.api.get_mut().unwrap().pods[0].finalizers.push("example.com/hold".into());
        let (report, metrics) = (judge(&seen), Metrics::default());
        let now = clock::now();
        let mut reconciler = Reconciler::new("node-7", Settings::default(), false, 7, now);
        let looked = Scan {
            began: now,
            at: now,
            took: Duration::ZERO,
            report: report.clone(),
            complete: true,
            forgotten: Default::default(),
        };
        reconciler.handle(Input::Scanned(Box::new(looked)), now);
        let mut judged = Judged {
            report,
            complete: true,
            forgotten: Default::default(),
            failed: Vec::new(),
            volumes: Vec::new(),
            cpu_ms: 0,
            helpers_hung: 0,
        };
        metrics.scanned(Duration::from_millis(40), &judged);
        metrics.stand(&reconciler, now);
        metrics.wrote(Kind::Open, "written");
        let text = metrics.render().unwrap();
        for line in [
            "why_terminating_findings{gate=\"ObjectRemoved\",cause=\"FinalizersRemain\"} 1",
            "why_terminating_pods{verdict=\"Stuck\"} 1",
            "why_terminating_events_total{kind=\"open\",result=\"written\"} 1",
            "why_terminating_scan_duration_seconds_count 1",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert!(!text.contains("db-0") && !text.contains("96fb425e"), "{text}");
        judged.failed = vec!["cri".to_owned(), "db-0".to_owned()];
        metrics.scanned(Duration::from_millis(40), &judged);
        let text = metrics.render().unwrap();
        assert!(text.contains("source_failures_total{source=\"cri\"} 1"));
        assert!(!text.contains("db-0"), "a reader names what it likes");
        let fault = crate::observation::Fault::new("reader", (findings::FaultKind::Gone, "nothing listens"));
        metrics.scanned(Duration::ZERO, &Judged::nothing("node-7", &fault));
        let text = metrics.render().unwrap();
        assert!(text.contains("source_failures_total{source=\"reader\"} 1"), "{text}");
        assert!(text.contains("why_terminating_pods{verdict=\"Stuck\"} 1"), "nothing was seen to have gone: {text}");
    }

    /// The dashboard and the alerts are tested against this file: it holds each series that there is, one of each kind.
    #[test]
    fn what_it_exports_is_what_dashboard_and_alerts_were_tested_with() {
        let metrics = Metrics::default();
        metrics.scans.observe(0.04);
        metrics.faults.get_or_create(&[("source", "cri")]).inc();
        metrics.wrote(Kind::Open, "written");
        metrics.requests.get_or_create(&[("verb", "patch".into()), ("code", "200".into())]).inc();
        {
            let mut values = metrics.now.lock();
            let label = [("gate", "VolumesUnmounted"), ("cause", "VolumeHeldByProcess")];
            values.findings.insert(label, (1, clock::now()));
            values.pods.insert([("verdict", Verdict::Stuck.as_str())], 1);
            (values.terminating, values.api_fresh) = (1, true);
        }
        let text = metrics.render().unwrap();
        let stored = include_str!("../../../tests/chart/metrics/agent.prom");
        let series = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            // The next version is not another metric.
            let plain = lines.map(|line| line.replace(env!("CARGO_PKG_VERSION"), "0.1.0"));
            plain.filter_map(|line| Some(line.rsplit_once(' ')?.0.to_owned())).collect()
        };
        assert_eq!(series(stored), series(&text), "tests/chart/metrics/agent.prom should hold:\n{text}");
    }
}
