//! Spans and log lines for an OpenTelemetry collector, by OTLP over HTTP.
//!
//! The standard environment variables say where to; without them nothing is exported. A thread per signal
//! takes from a bounded queue: when the collector does not keep up or does not answer, what does not fit is
//! dropped, and the agent goes on.

mod client;

use std::{env, time::Duration};

use opentelemetry::{KeyValue, trace::TracerProvider as _};
use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
use opentelemetry_otlp::{ExporterBuildError, LogExporter, Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{Resource, logs::SdkLoggerProvider, trace::SdkTracerProvider};
use tokio::runtime::Handle;
use tracing::Metadata;
use tracing_subscriber::{
    Layer,
    filter::{FilterExt, filter_fn},
};

use super::logs::{self, Layers};
use client::Client;

/// Where all signals go; `/v1/traces` and `/v1/logs` are added.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// Where spans go, as it is.
const TRACES: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
/// Where log lines go, as it is.
const LOGS: &str = "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT";
/// How long one export may take, in milliseconds.
const TIMEOUT: &str = "OTEL_EXPORTER_OTLP_TIMEOUT";
/// Unless [`TIMEOUT`] says otherwise; the specification's.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the last export may take. After SIGTERM, the last Events come first.
const LAST_EXPORT: Duration = Duration::from_millis(400);

/// Why nothing is exported.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no TLS for it.
    #[error("{0} is not http://…: only plain HTTP is spoken, to a collector on this node")]
    NotHttp(&'static str),
    /// One of the other variables.
    #[error("{0}")]
    Variables(#[from] ExporterBuildError),
}

/// What exports.
#[derive(Default)]
pub struct Export {
    spans: Option<SdkTracerProvider>,
    lines: Option<SdkLoggerProvider>,
}

impl Export {
    /// As the environment says. `runtime` does the network's work.
    pub fn start(node: &str, runtime: &Handle) -> Result<Self, Error> {
        if env::var("OTEL_SDK_DISABLED").is_ok_and(|value| value.eq_ignore_ascii_case("true")) {
            return Ok(Export::default());
        }
        let (has_spans, has_lines) = (goes(TRACES)?, goes(LOGS)?);
        let resource = resource(node);
        let mut export = Export::default();
        if has_spans {
            let exporter =
                SpanExporter::builder().with_http().with_http_client(Client::new("spans", runtime, timeout()));
            let exporter = exporter.with_protocol(Protocol::HttpBinary).build()?;
            let provider = SdkTracerProvider::builder().with_resource(resource.clone()).with_batch_exporter(exporter);
            export.spans = Some(provider.build());
        }
        if has_lines {
            let exporter =
                LogExporter::builder().with_http().with_http_client(Client::new("log lines", runtime, timeout()));
            let exporter = exporter.with_protocol(Protocol::HttpBinary).build()?;
            let provider = SdkLoggerProvider::builder().with_resource(resource).with_batch_exporter(exporter);
            export.lines = Some(provider.build());
        }
        Ok(export)
    }

    /// What takes the agent's own spans, and the lines that `RUST_LOG` lets through.
    pub fn layers(&self) -> Layers {
        let mut layers = Layers::new();
        if let Some(provider) = &self.spans {
            let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer(env!("CARGO_PKG_NAME")));
            let layer =
                layer.with_location(false).with_threads(false).with_target(false).with_tracked_inactivity(false);
            layers.push(layer.with_filter(filter_fn(|of| of.is_span() && is_own(of))).boxed());
        }
        if let Some(provider) = &self.lines {
            let layer = OpenTelemetryTracingBridge::new(provider);
            layers.push(layer.with_filter(logs::filter().and(filter_fn(|of| of.is_event() && is_own(of)))).boxed());
        }
        layers
    }

    /// Exports what is left, for as long as there is time.
    pub async fn end(self) {
        let (ended, wait) = tokio::sync::oneshot::channel();
        // Shutting down blocks; and this thread has to do the network's work meanwhile.
        let shut_down = move || {
            std::thread::scope(|scope| {
                scope.spawn(|| self.lines.as_ref().map(|lines| lines.shutdown_with_timeout(LAST_EXPORT)));
                self.spans.as_ref().map(|spans| spans.shutdown_with_timeout(LAST_EXPORT));
            });
            let _ = ended.send(());
        };
        if std::thread::Builder::new().name("otel-end".to_owned()).spawn(shut_down).is_ok() {
            let _ = tokio::time::timeout(LAST_EXPORT, wait).await;
        }
    }
}

/// Whether this signal has somewhere to go.
fn goes(own: &'static str) -> Result<bool, Error> {
    for variable in [own, ENDPOINT] {
        match env::var(variable) {
            Ok(endpoint) if endpoint.trim().is_empty() => {}
            // What it says is not repeated: there may be a password in it.
            Ok(endpoint) => match endpoint.parse::<http::Uri>() {
                Ok(uri) if uri.scheme_str() == Some("http") => return Ok(true),
                _ => return Err(Error::NotHttp(variable)),
            },
            Err(_) => {}
        }
    }
    Ok(false)
}

fn timeout() -> Duration {
    let milliseconds = env::var(TIMEOUT).ok().and_then(|text| text.trim().parse().ok());
    milliseconds.map_or(DEFAULT_TIMEOUT, Duration::from_millis)
}

/// Who speaks. What the environment says goes before what we know.
fn resource(node: &str) -> Resource {
    let from_environment = Resource::builder().build();
    let known = |key: &'static str| from_environment.get(&key.into()).map(|value| value.to_string());
    let mut resource = Resource::builder();
    if known("service.name").is_none_or(|name| name.starts_with("unknown_service")) {
        resource = resource.with_service_name(env!("CARGO_PKG_NAME"));
    }
    for (key, value) in [("service.version", env!("CARGO_PKG_VERSION")), ("k8s.node.name", node)] {
        if known(key).is_none() {
            resource = resource.with_attribute(KeyValue::new(key, value.to_owned()));
        }
    }
    resource.build()
}

/// Not what the libraries say: those that export would export what they say about exporting.
fn is_own(of: &Metadata<'_>) -> bool {
    of.target() == "agent" || of.target().starts_with("agent::")
}
