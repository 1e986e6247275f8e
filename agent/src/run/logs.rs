//! One line per thing that happens, as text or JSON.

use std::{collections::BTreeSet, io::IsTerminal};

use crate::observation::Fault;
use clap::ValueEnum;
use findings::Unknown;
use reconcile::tracker::{Entry, Transition};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// How lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// For collectors.
    Json,
}

/// What is logged unless `RUST_LOG` says otherwise: our own words. The libraries log every request
/// that fails, with as much of the answer as they have read.
const DEFAULT_LEVEL: (&str, LevelFilter) = ("agent", LevelFilter::INFO);

/// Begins to log, as `RUST_LOG` says.
pub fn start(format: Format) {
    // By target and level alone: filters on the fields of spans would bring an engine for regular expressions along.
    let asked = std::env::var("RUST_LOG").ok().and_then(|asked| asked.parse().ok());
    let filter: Targets = asked.unwrap_or_else(|| Targets::from_iter([DEFAULT_LEVEL]));
    let lines = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE);
    let lines = lines.with_writer(std::io::stderr).with_target(false);
    // A second start within one process (a test) keeps the first.
    let _ = match format {
        Format::Text => lines.with_ansi(std::io::stderr().is_terminal()).finish().with(filter).try_init(),
        Format::Json => {
            let lines = lines.json().flatten_event(true).with_current_span(false).with_span_list(false);
            lines.finish().with(filter).try_init()
        }
    };
}

/// What has changed, a line each.
pub fn transition(transition: &Transition) {
    let (Transition::Opened(entry) | Transition::Over(entry, _) | Transition::Merged(entry)) = transition;
    let (cause, pod, is_of_node) = (entry.finding.cause.0.id, pods(entry), entry.pods.is_empty());
    let gate = entry.finding.gate.map_or("", |gate| gate.as_str());
    let root = entry.finding.chain.iter().rfind(|link| link.root).map_or("", |link| link.subject.as_str());
    match transition {
        Transition::Opened(_) => {
            let what = if is_of_node { "the node has a finding" } else { "a pod is held" };
            tracing::warn!(cause, gate, root, %pod, "{what}");
        }
        Transition::Over(_, why) => {
            let what = if is_of_node { "a finding of the node has ended" } else { "a pod is no longer held" };
            tracing::info!(cause, gate, root, %pod, %why, "{what}");
        }
        Transition::Merged(_) => {
            tracing::info!(cause, gate, root, %pod, "reported once for the node from now on");
        }
    }
}

/// Sources that did not answer at the last scan: each is said once, and once more when it answers.
#[derive(Debug, Default)]
pub struct Silent(BTreeSet<String>);

impl Silent {
    /// Takes in what the last scan could not see. What hides nothing by itself (a process that
    /// ended in between) is not worth a line.
    pub fn take(&mut self, unknown: &[Unknown]) {
        let silent: Vec<&Unknown> = unknown.iter().filter(|unknown| !unknown.hides.is_empty()).collect();
        for Unknown { source, why, hides, .. } in &silent {
            if !self.0.contains(source) {
                tracing::warn!(%source, %why, %hides, "a source does not answer");
            }
        }
        let now: BTreeSet<String> = silent.iter().map(|unknown| unknown.source.clone()).collect();
        for source in self.0.difference(&now) {
            tracing::info!(%source, "a source answers again");
        }
        self.0 = now;
    }
}

/// What the API server was asked for in vain: each kind is said once, and once more when it answers.
#[derive(Debug, Default)]
pub struct Asked(BTreeSet<&'static str>);

impl Asked {
    /// Takes in one answer: why there is none, if there is none.
    pub fn take(&mut self, what: &'static str, failed: Option<&Fault>) {
        match failed {
            Some(Fault { says, .. }) if self.0.insert(what) => {
                let why = findings::clean(says, 300);
                tracing::warn!(what, %why, "the API server was asked in vain; going on with what the node shows");
            }
            None if self.0.remove(what) => tracing::info!(what, "the API server answers again"),
            _ => {}
        }
    }
}

/// A scan hangs, or has ended after all.
pub fn hangs(hangs: bool) {
    if hangs {
        tracing::error!(
            "a scan of the node does not end: a local disk or /proc hangs; nothing new is seen until it does"
        );
    } else {
        tracing::info!("the scan that hung has ended");
    }
}

fn pods(entry: &Entry) -> String {
    match &entry.pods[..] {
        [] => String::new(),
        [pod] => pod.to_string(),
        [pod, rest @ ..] => format!("{pod} and {} more", rest.len()),
    }
}
