//! What the agents of the nodes tell.

use jiff::Timestamp;

use super::{Involved, Meta, lite};

lite! {
    /// An Event of an agent, as `events.k8s.io` has it. Whoever may write Events could have written it.
    AgentEvent {
        /// Its metadata; the finding is an annotation of it.
        metadata: Meta,
        /// `Warning` while the finding holds, `Normal` when it is over.
        #[serde(rename = "type")]
        kind: String,
        /// The node.
        regarding: Involved,
        /// The pod, when it is about one.
        related: Option<Involved>,
        /// That it was renewed.
        series: Option<Series>,
        /// When it was first written.
        event_time: Option<Timestamp>,
    }
}

lite! {
    /// That an Event was said again.
    Series {
        /// When it was said last.
        last_observed_time: Option<Timestamp>,
    }
}

impl AgentEvent {
    /// When it was last written, as its writer says.
    pub fn written(&self) -> Option<Timestamp> {
        self.series.as_ref().and_then(|series| series.last_observed_time).or(self.event_time)
    }

    /// The finding as it came.
    pub fn annotation(&self) -> &str {
        self.metadata.annotations.get(findings::event::ANNOTATION).map_or("", String::as_str)
    }
}
