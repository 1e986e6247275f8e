//! What the recorder is shown of the cluster at one moment.

use std::collections::{BTreeMap, BTreeSet};

use aggregator_core::report::ClusterReport;
use aggregator_core::state::{ApiResource, ObjectRef, Resource};
use foldhash::{HashMap, HashSet};
use jiff::Timestamp;

use crate::incidents::LeftBehind;

/// An object with a deletion timestamp. There are thousands, at every judgement: nothing of them is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminating<'a> {
    pub known: ApiResource,
    /// Its namespace, if it lives in one.
    pub namespace: Option<&'a str>,
    pub name: &'a str,
    /// `metadata.deletionTimestamp`: when it was asked to go plus its grace period.
    pub deletion_timestamp: Timestamp,
    /// `metadata.deletionGracePeriodSeconds`, of pods.
    pub grace_seconds: i64,
}

impl Terminating<'_> {
    pub fn object(&self) -> ObjectRef {
        match self.namespace {
            Some(namespace) => ObjectRef::namespaced(self.known, namespace, self.name),
            None => ObjectRef::cluster_wide(self.known, self.name),
        }
    }

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
    pub going: &'a HashMap<&'a str, Terminating<'a>>,
    /// The uids of what was seen to be gone since the snapshot before.
    pub gone: &'a HashSet<String>,
    /// The kinds of which some are left out: what is not in `going` may still be there.
    pub cut: &'a BTreeSet<Resource>,
    /// What was judged. It may be a little older than `going`.
    pub report: &'a ClusterReport,
    /// What agents still see on nodes, by the pod's uid.
    pub on_nodes: &'a BTreeMap<String, Vec<LeftBehind>>,
}
