//! What every caller is served from: one judgement, whole and unchangeable.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::incidents::Incident;
use aggregator_core::report::ClusterReport;
use aggregator_core::state::Resource;
use jiff::Timestamp;

#[derive(Clone, Debug, Default)]
pub struct Published {
    /// What was judged; none before the first time.
    pub report: Option<Arc<ClusterReport>>,
    pub incidents: Arc<Vec<Arc<Incident>>>,
    /// Findings of agents that are younger than an hour, and those that should have been renewed.
    pub findings: Findings,
    /// The uids of namespaces that are judged by something older than their deletion, for now.
    pub unconfirmed: BTreeSet<String>,
    /// Watched lists that had more than there is room for.
    pub cut_lists: BTreeSet<Resource>,
    /// Answers that are left out because all of them together take too much memory.
    pub answers_left_out: usize,
    /// Since when the API server has not been heard; none while it is.
    pub silent_since: Option<Timestamp>,
    /// When the kind was scanned whose last scan is the oldest.
    pub oldest_scan: Option<Timestamp>,
    /// Counts up with each judgement that differs.
    pub version: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Findings {
    /// Said in time.
    pub fresh: u32,
    /// Not said again when it should have been, by an agent whose node is not lost.
    pub late: u32,
}
