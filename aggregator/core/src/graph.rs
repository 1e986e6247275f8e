//! What waits for what.

use std::collections::BTreeMap;

use crate::diagnosis::Diagnosis;
use crate::state::ObjectRef;

/// Everything that was looked into.
pub struct Graph {
    /// What the user asked about, or all that should be gone.
    pub victims: Vec<ObjectRef>,
    /// What is known of each object.
    pub objects: BTreeMap<ObjectRef, Diagnosis>,
    /// What could not be looked at and belongs to no object.
    pub about: Diagnosis,
    /// The kinds that were looked at for something that is being deleted.
    pub looked_at: Vec<String>,
    /// Whether there was more than could be looked into.
    pub cut: bool,
}
