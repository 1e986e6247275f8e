//! One line per thing that happens, as text or JSON.

use std::io::IsTerminal;

use clap::ValueEnum;
use tokio::runtime::Handle;
use tracing_subscriber::{
    EnvFilter, Layer, Registry,
    filter::{FilterExt, filter_fn},
    fmt,
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use super::ledger::{Entry, Turn};

/// How lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// For collectors.
    Json,
}

/// Whatever takes lines or spans.
pub(super) type Layers = Vec<Box<dyn Layer<Registry> + Send + Sync>>;

/// What is to be ended when the agent ends.
#[must_use = "what is not written yet is lost unless it is ended"]
pub struct Logs {
    #[cfg(feature = "otel")]
    export: super::otel::Export,
}

impl Logs {
    /// Begins to log, at the level that `RUST_LOG` names, else `info`. With the feature `otel` spans and lines
    /// go to a collector too, if the environment names one; `runtime` sends them.
    #[cfg_attr(not(feature = "otel"), expect(unused_variables))]
    pub fn start(format: Format, node: &str, runtime: &Handle) -> Self {
        #[cfg(feature = "otel")]
        {
            let (export, wrong) = match super::otel::Export::start(node, runtime) {
                Ok(export) => (export, None),
                Err(error) => (super::otel::Export::default(), Some(error)),
            };
            start(format, export.layers());
            if let Some(why) = wrong {
                tracing::warn!(%why, "nothing is exported to OpenTelemetry");
            }
            Logs { export }
        }
        #[cfg(not(feature = "otel"))]
        {
            start(format, Layers::new());
            Logs {}
        }
    }

    /// Sends what is not sent yet; takes less than half a second.
    pub async fn end(self) {
        #[cfg(feature = "otel")]
        self.export.end().await;
    }
}

fn start(format: Format, mut layers: Layers) {
    let lines = fmt::layer().with_writer(std::io::stderr).with_target(false);
    let lines = match format {
        Format::Text => lines.with_ansi(std::io::stderr().is_terminal()).boxed(),
        Format::Json => lines.json().flatten_event(true).boxed(),
    };
    // A line says all by itself: it does not repeat the span that it is said in.
    layers.push(lines.with_filter(filter().and(filter_fn(|of| of.is_event()))).boxed());
    // A second start within one process (a test) keeps the first.
    let _ = tracing_subscriber::registry().with(layers).try_init();
}

/// What `RUST_LOG` lets through.
pub(super) fn filter() -> EnvFilter {
    EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"))
}

/// What has changed, a line each.
pub fn turn(turn: &Turn) {
    match turn {
        Turn::Opened(entry) => {
            let (cause, gate, root) = told(entry);
            tracing::warn!(cause, gate, root, pod = %pods(entry), "a pod is held");
        }
        Turn::Over(entry, why) => {
            let (cause, gate, root) = told(entry);
            tracing::info!(cause, gate, root, pod = %pods(entry), %why, "a pod is no longer held");
        }
        Turn::Merged(entry) => {
            let (cause, gate, root) = told(entry);
            tracing::info!(cause, gate, root, pod = %pods(entry), "told once for the node from now on");
        }
    }
}

fn told(entry: &Entry) -> (&'static str, &'static str, &str) {
    let gate = entry.finding.gate.map_or("", |gate| gate.as_str());
    let root = entry.finding.chain.iter().rfind(|link| link.root).map_or("", |link| link.subject.as_str());
    (entry.finding.cause.0.id, gate, root)
}

fn pods(entry: &Entry) -> String {
    match &entry.pods[..] {
        [] => String::new(),
        [pod] => pod.to_string(),
        [pod, rest @ ..] => format!("{pod} and {} more", rest.len()),
    }
}
