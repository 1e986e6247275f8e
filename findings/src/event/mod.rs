//! How a finding travels inside an `events.k8s.io/v1` Event.
//!
//! An Event regards the Node and lives in `default`: a namespace that is being deleted accepts no
//! new objects. Everything but `series` and the metadata of an Event is immutable, so its `note`
//! holds stable words only, and what changes travels as JSON in an annotation ([`FindingAnnotation`]).

mod annotation;
mod name;
mod note;

pub use annotation::{FindingAnnotation, MAX_ANNOTATION_BYTES, Phase, ReadError};
pub use name::{EventName, Subjects};
pub use note::{Affected, MAX_NOTE_BYTES, end_note, opening_note};

/// `reportingController` of the agents' Events; a field selector of lists and watches.
pub const CONTROLLER: &str = "why-terminating/agent";
/// The annotation that holds [`FindingAnnotation`].
pub const ANNOTATION: &str = "why-terminating/finding";
/// Where Events that regard a Node live: `kubectl describe node` and `kubectl get events` look here.
pub const NAMESPACE: &str = "default";
/// `action`: what the kubelet was doing.
pub const ACTION: &str = "TerminatePod";
