//! What the agent itself costs, under the names that every Prometheus client library gives these metrics.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

use crate::host::usage;

/// Reads it anew for each scrape.
#[derive(Debug)]
pub struct ProcessMetrics;

impl Collector for ProcessMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let Some(usage) = usage::usage() else { return Ok(()) };
        for (name, help, value) in [
            ("process_resident_memory_bytes", "Resident memory of the agent", usage.resident as f64),
            ("process_start_time_seconds", "When the agent started", usage.started),
            ("process_open_fds", "Descriptors the agent has open", usage.descriptors as f64),
        ] {
            ConstGauge::new(value).encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)?;
        }
        let help = "Processor time the agent has used";
        let cpu = encoder.encode_descriptor("process_cpu", help, Some(&Unit::Seconds), MetricType::Counter)?;
        ConstCounter::new(usage.cpu).encode(cpu)
    }
}
