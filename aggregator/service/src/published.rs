//! What everybody is served from: one judgement, whole and unchangeable.

use std::collections::BTreeMap;
use std::sync::Arc;

use aggregator_core::report::ClusterReport;
use aggregator_core::state::ObjectRef;
use incidents::Incident;
use jiff::Timestamp;

/// One judgement.
#[derive(Clone, Debug)]
pub struct Published {
    /// What was judged; none before the first time.
    pub report: Option<Arc<ClusterReport>>,
    /// What was stuck.
    pub incidents: Arc<Vec<Incident>>,
    /// When each object that goes was asked to.
    pub asked: Arc<BTreeMap<ObjectRef, Timestamp>>,
    /// The kinds behind the words in a chain, for the question who may see them.
    pub nodes: Arc<Nodes>,
    /// Since when the API server has not been heard; none while it is.
    pub silent_since: Option<Timestamp>,
    /// Counts up with each judgement that differs.
    pub version: u64,
}

/// What is known of the nodes that hold something.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    /// Findings of agents, by node: how many are younger than an hour, and how many are late.
    pub findings: BTreeMap<String, (u32, u32)>,
}

impl Default for Published {
    fn default() -> Self {
        Published {
            report: None,
            incidents: Arc::default(),
            asked: Arc::default(),
            nodes: Arc::default(),
            silent_since: None,
            version: 0,
        }
    }
}
