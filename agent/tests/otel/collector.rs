//! A collector as small as can be: it keeps what it is sent.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::Context;
use axum::{Router, body::Bytes, extract::State, http::StatusCode, routing::post};
use opentelemetry_proto::tonic::{
    collector::{logs::v1::ExportLogsServiceRequest, trace::v1::ExportTraceServiceRequest},
    common::v1::{AnyValue, KeyValue, any_value::Value},
};
use prost::Message;

/// Attributes as text.
pub type Attributes = BTreeMap<String, String>;

/// A span or a log line.
#[derive(Clone, Debug)]
pub struct Received {
    /// Of the span, or what the line says.
    pub name: String,
    /// Its own.
    pub attributes: Attributes,
    /// Of whoever sent it.
    pub resource: Attributes,
    /// How long the span was; nothing for a line.
    pub took: Duration,
}

#[derive(Debug, Default)]
struct Kept {
    spans: Vec<Received>,
    lines: Vec<Received>,
}

/// Listens until the process ends.
pub struct Collector {
    /// For `OTEL_EXPORTER_OTLP_ENDPOINT`.
    pub endpoint: String,
    kept: Arc<Mutex<Kept>>,
}

impl Collector {
    /// Listens on this address of the node.
    pub fn start(address: SocketAddr) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(tokio::net::TcpListener::bind(address));
        let listener = listener.with_context(|| format!("the collector of the test needs {address}"))?;
        let endpoint = format!("http://{}", listener.local_addr()?);
        let kept = Arc::<Mutex<Kept>>::default();
        let router = Router::new().route("/v1/traces", post(traces)).route("/v1/logs", post(logs));
        let router = router.with_state(kept.clone());
        std::thread::spawn(move || runtime.block_on(async { axum::serve(listener, router).await }));
        Ok(Collector { endpoint, kept })
    }

    /// The spans so far.
    pub fn spans(&self) -> Vec<Received> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).spans.clone()
    }

    /// The log lines so far.
    pub fn lines(&self) -> Vec<Received> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).lines.clone()
    }
}

async fn traces(State(kept): State<Arc<Mutex<Kept>>>, body: Bytes) -> StatusCode {
    let Ok(request) = ExportTraceServiceRequest::decode(body) else { return StatusCode::BAD_REQUEST };
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    for of_resource in request.resource_spans {
        let resource = attributes(of_resource.resource.map(|resource| resource.attributes).unwrap_or_default());
        for span in of_resource.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            let took = Duration::from_nanos(span.end_time_unix_nano.saturating_sub(span.start_time_unix_nano));
            let (name, attributes) = (span.name, attributes(span.attributes));
            kept.spans.push(Received { name, attributes, resource: resource.clone(), took });
        }
    }
    StatusCode::OK
}

async fn logs(State(kept): State<Arc<Mutex<Kept>>>, body: Bytes) -> StatusCode {
    let Ok(request) = ExportLogsServiceRequest::decode(body) else { return StatusCode::BAD_REQUEST };
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    for of_resource in request.resource_logs {
        let resource = attributes(of_resource.resource.map(|resource| resource.attributes).unwrap_or_default());
        for line in of_resource.scope_logs.into_iter().flat_map(|scope| scope.log_records) {
            let (name, attributes) = (line.body.map(text).unwrap_or_default(), attributes(line.attributes));
            kept.lines.push(Received { name, attributes, resource: resource.clone(), took: Duration::ZERO });
        }
    }
    StatusCode::OK
}

fn attributes(pairs: Vec<KeyValue>) -> Attributes {
    pairs.into_iter().map(|pair| (pair.key, pair.value.map(text).unwrap_or_default())).collect()
}

fn text(value: AnyValue) -> String {
    match value.value {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::BoolValue(is)) => is.to_string(),
        other => format!("{other:?}"),
    }
}
