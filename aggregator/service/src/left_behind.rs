//! What agents still see of pods that have gone.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::incidents::{LeftBehind, Recorder};
use aggregator_core::state::{AgentEvent, Kind as _, State};
use findings::event::Phase;

/// By the pod's uid.
pub type OnNodes = BTreeMap<String, Vec<LeftBehind>>;

/// It may take this part of the time: what it finds is minutes old.
const SHARE: u32 = 2000;

/// Looks for it, the more rarely the more there is to read.
#[derive(Debug, Default)]
pub struct LeftBehindScan {
    /// When it was looked for, and how long that took.
    last: Option<(Instant, Duration)>,
    found: OnNodes,
}

impl LeftBehindScan {
    /// Looks again, if that is due.
    pub fn scan(&mut self, state: &State, recorder: &Recorder) {
        if self.last.is_some_and(|(at, took)| at.elapsed() < took * SHARE) {
            return;
        }
        let begin = Instant::now();
        let gone = recorder.gone();
        // Most Events regard one pod: those of others need not be read.
        let is_of_gone = |event: &&AgentEvent| match &event.related {
            Some(related) => gone.contains(related.uid.as_str()),
            None => !gone.is_empty(),
        };
        self.found.clear();
        for event in believed(state).filter(is_of_gone) {
            // Not kept as it was read: of most nothing else is ever asked, and there are thousands.
            let Ok(carried) = event.read_anew() else { continue };
            let Some(root) = carried.finding.chain.iter().find(|link| link.root) else { continue };
            let Some(seen) = event.written().filter(|_| carried.phase == Phase::Holds) else { continue };
            for pod in carried.pods.iter().filter(|pod| gone.contains(pod.uid.as_str())) {
                let left = LeftBehind {
                    node: event.regarding.name.clone(),
                    cause: carried.finding.cause,
                    root: root.clone(),
                    seen,
                };
                self.found.entry(pod.uid.as_str().to_owned()).or_default().push(left);
            }
        }
        self.last = Some((begin, begin.elapsed()));
    }

    /// What was found when it was last looked for.
    pub fn results(&self) -> &OnNodes {
        &self.found
    }
}

/// The Events of agents that hold: an agent speaks of its own node only.
pub fn believed(state: &State) -> impl Iterator<Item = &AgentEvent> {
    let answers = state.answers.values().filter_map(|answered| answered.answer.as_ref().seen());
    let events = answers.filter_map(|facts| AgentEvent::among(facts)).flatten();
    events.filter(|event| event.kind == "Warning" && event.reporting_instance == event.regarding.name)
}
