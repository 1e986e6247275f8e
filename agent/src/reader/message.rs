//! What the two halves say to each other.

use serde::{Deserialize, Serialize};

use super::Judged;
use crate::host::api::{ApiAnswer, ApiQuestion};
use crate::host::scan::ScanOptions;
use crate::observation::{Fault, Observation};

/// What the talker says, in bytes: the API server's word of a node of several thousand pods.
pub(super) const MAX_TO_READER_BYTES: usize = 4 << 20;
/// What the reader sends: the findings of some thousand pods. Only `check` gets more.
pub(super) const MAX_TO_TALKER_BYTES: usize = 4 << 20;
const MAX_OBSERVATION_BYTES: usize = 64 << 20;

/// What the talker says.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToReader {
    Scan(Box<ScanOptions>, Wanted),
    /// The answer to [`ToTalker::Ask`].
    Answer(ApiAnswer),
}

/// What the answer to a scan contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wanted {
    /// What follows from it.
    Judged,
    Observation,
}

impl Wanted {
    /// How long the answer may be, in bytes.
    pub(super) fn max_bytes(self) -> usize {
        match self {
            Wanted::Judged => MAX_TO_TALKER_BYTES,
            Wanted::Observation => MAX_OBSERVATION_BYTES,
        }
    }
}

/// What the reader says.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToTalker {
    /// Ask the API server.
    Ask(ApiQuestion),
    /// What follows from the scan.
    Judged(Box<Judged>),
    Observation(Box<Observation>),
    /// Why there is no answer.
    Failed(Fault),
}
