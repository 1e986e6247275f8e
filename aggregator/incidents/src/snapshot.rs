//! What the recorder is shown of the cluster at one moment.

use std::collections::BTreeMap;

use aggregator_core::report::ClusterReport;
use aggregator_core::state::ObjectRef;
use foldhash::HashMap;
use jiff::Timestamp;

use crate::LeftBehind;

/// An object with a deletion timestamp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Going {
    /// Which object.
    pub object: ObjectRef,
    /// `metadata.deletionTimestamp`: when it was asked to go plus its grace period.
    pub deletion_timestamp: Timestamp,
    /// `metadata.deletionGracePeriodSeconds`, of pods.
    pub grace_seconds: i64,
}

impl Going {
    /// When its deletion was asked for. A later deletion with a shorter grace period moves it.
    pub fn asked(&self) -> Timestamp {
        let grace = jiff::SignedDuration::from_secs(self.grace_seconds.clamp(0, 1 << 31));
        self.deletion_timestamp.checked_sub(grace).unwrap_or(self.deletion_timestamp)
    }
}

/// The cluster at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot<'a> {
    /// When that was, by the API server's clock.
    pub at: Timestamp,
    /// All that goes, by uid.
    pub going: &'a HashMap<String, Going>,
    /// What was judged. It may be a little older than `going`.
    pub report: &'a ClusterReport,
    /// What agents still see on nodes, by the pod's uid.
    pub on_nodes: &'a BTreeMap<String, Vec<LeftBehind>>,
}
