//! What `run` says and asks beside lists: one watch, and Events.

mod count;
mod events;
#[cfg(test)]
mod tests;
mod watch;
mod write;

use std::sync::Arc;

use kube::client::ClientBuilder;
use reconcile::index::NodeInfo;

#[cfg(test)]
pub use count::Labels;
pub use count::Requests;
pub use watch::watch;

use crate::{
    host::api::{ApiClient, Credentials, Freshness, RUN},
    observation::{ApiPod, Fault},
};

/// The API server, as one node's agent knows it.
#[derive(Clone)]
pub struct Cluster {
    api: ApiClient,
    node: String,
}

impl Cluster {
    /// Takes the credentials; nothing is asked yet, so it succeeds while the API server is away.
    pub async fn new(credentials: Credentials, node: &str, requests: Arc<Requests>) -> anyhow::Result<Self> {
        let config = credentials.config(RUN).await?;
        let client = ClientBuilder::try_from(config)?.with_layer(&count::Layer(requests)).build();
        Ok(Cluster { api: ApiClient::new(client, RUN), node: node.to_owned() })
    }

    /// The pods of this node.
    pub async fn pods(&self, consistent: bool) -> Result<Vec<ApiPod>, Fault> {
        let freshness = if consistent { Freshness::Consistent } else { Freshness::Cached };
        Ok(self.api.pods(&self.node, None, freshness).await?.0)
    }

    /// The Node.
    pub async fn node(&self) -> Result<Option<NodeInfo>, Fault> {
        self.api.node(&self.node).await
    }
}
