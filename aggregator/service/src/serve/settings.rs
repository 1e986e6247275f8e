//! The settings of the service.

use std::net::SocketAddr;
use std::path::PathBuf;

use client::Connection;

use super::LeaseName;
use crate::http::Certificate;

/// What the service is started with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How to reach the API server.
    pub connection: Connection,
    pub listen: SocketAddr,
    pub certificate: Certificate,
    /// Where incidents are kept over restarts; none to keep them in memory only.
    pub incidents: Option<PathBuf>,
    /// The Lease that says which of several replicas writes; none when this is the only one.
    pub lease: Option<LeaseName>,
    /// Whether namespaces get Events.
    pub events: bool,
    /// Whether names of namespaces may stand in metrics.
    pub names_in_metrics: bool,
    /// How people call the cluster, for the page; empty where it has no name.
    pub cluster_name: String,
    /// Whether tokens that are made for the API server are taken for all that is served.
    pub accepts_api_tokens: bool,
}
