//! What the agents of the nodes report.

use std::sync::OnceLock;

use findings::clean;
use findings::event::{ANNOTATION, FindingAnnotation, ReadError};
use jiff::Timestamp;

use super::{Involved, Meta, lite};

lite! {
    /// An Event of an agent, as `events.k8s.io` has it. Every account with the right to write Events could have written it.
    AgentEvent {
        /// Its metadata; the finding is an annotation of it.
        metadata: Meta,
        /// `Warning` while the finding holds, `Normal` when it has ended.
        #[serde(rename = "type")]
        kind: String,
        regarding: Involved,
        /// The pod, when it is about one.
        related: Option<Involved>,
        /// The node of its writer, as the writer says.
        reporting_instance: String,
        /// That it was renewed.
        series: Option<Series>,
        /// When it was first written.
        event_time: Option<Timestamp>,
        /// The annotation, once it was read: every pod of the node asks for it.
        #[serde(skip)]
        read: OnceLock<Box<Result<FindingAnnotation, String>>>,
    }

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

    /// The finding, or why it cannot be read.
    pub fn carried(&self) -> Result<&FindingAnnotation, &str> {
        let read = || Box::new(self.read_anew().map_err(|error| clean(&error.to_string(), 300)));
        self.read.get_or_init(read).as_ref().as_ref().map_err(String::as_str)
    }

    /// The same, kept by the caller and not here.
    pub fn read_anew(&self) -> Result<FindingAnnotation, ReadError> {
        FindingAnnotation::parse(self.metadata.annotations.get(ANNOTATION).map_or("", String::as_str))
    }
}
