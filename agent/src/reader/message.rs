//! What the two halves say to each other.

use serde::{Deserialize, Serialize};

use super::Judged;
use crate::{
    host::{
        PodFilter,
        api::{ApiAnswer, ApiQuestion},
    },
    observation::{ApiFacts, Fault, Observation, Seen},
};

/// What the talker says, in bytes: the API server's word of a node of several thousand pods.
pub(super) const MAX_TO_READER_BYTES: usize = 4 << 20;
/// What the reader sends: the findings of some thousand pods. Only `check` gets more.
pub(super) const MAX_TO_TALKER_BYTES: usize = 4 << 20;
/// A whole observation.
pub(super) const MAX_OBSERVATION_BYTES: usize = 64 << 20;

/// What the talker says.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToReader {
    /// Scan the node.
    Scan(Box<Scan>),
    /// The answer to [`ToTalker::Ask`].
    Answer(ApiAnswer),
}

/// A scan that is asked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Scan {
    /// The node's name.
    pub node: Option<String>,
    /// What the API server says.
    pub api: Api,
    /// Look into this pod only.
    pub only: Option<PodFilter>,
    /// As [`scan::Options::before`](crate::host::scan::Options::before).
    #[serde(default)]
    pub before: bool,
    /// As [`scan::Options::watches_counters`](crate::host::scan::Options::watches_counters).
    #[serde(default)]
    pub watches_counters: bool,
    /// As [`scan::Options::probe_fuse`](crate::host::scan::Options::probe_fuse).
    pub probe_fuse: bool,
    /// As [`scan::Options::list_all`](crate::host::scan::Options::list_all).
    pub list_all: bool,
    /// What the answer must contain.
    pub wanted: Wanted,
}

/// What the API server says.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub enum Api {
    /// It is not to be asked.
    #[default]
    Off,
    /// The talker asks when the reader wants it to.
    Ask,
    /// This.
    Known(Seen<ApiFacts>),
}

/// What the answer to a scan contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wanted {
    /// What follows from it.
    #[default]
    Judged,
    /// All that was seen.
    Observation,
}

/// What the reader says.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToTalker {
    /// Ask the API server.
    Ask(ApiQuestion),
    /// What follows from the scan.
    Judged(Box<Judged>),
    /// All that was seen.
    Observation(Box<Observation>),
    /// Why there is no answer.
    Failed(Fault),
}
