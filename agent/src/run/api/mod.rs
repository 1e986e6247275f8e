//! What `run` says and asks beside lists: one watch, and Events.

mod events;
#[cfg(test)]
mod tests;
mod watch;
mod write;

use std::sync::Arc;

use client::{ApiClient, Client, Freshness, counted};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use reconcile::index::NodeInfo;

pub use watch::watch;

use crate::host::api::{self, Credentials, RUN};
use crate::observation::{ApiPod, Fault};

/// Requests by verb and answer.
pub type Requests = Family<[(&'static str, String); 2], Counter>;

/// The API server, as one node's agent knows it.
#[derive(Clone)]
pub struct Cluster {
    api: ApiClient,
    node: String,
}

impl Cluster {
    /// Takes the credentials; nothing is asked yet, so it succeeds while the API server is away.
    pub async fn new(credentials: Credentials, node: &str, requests: Arc<Requests>) -> anyhow::Result<Self> {
        let client = Client::try_from(credentials.config(RUN).await?)?;
        let client = counted(client, move |verb, status| {
            let code = status.map_or("none".to_owned(), |status| status.as_u16().to_string());
            requests.get_or_create(&[("verb", verb.to_owned()), ("code", code)]).inc();
        });
        Ok(Cluster { api: ApiClient::new(client, RUN), node: node.to_owned() })
    }

    /// The pods of this node.
    pub async fn pods(&self, consistent: bool) -> Result<Vec<ApiPod>, Fault> {
        let freshness = if consistent { Freshness::Consistent } else { Freshness::Cached };
        Ok(api::pods(&self.api, &self.node, None, freshness).await?.0)
    }

    pub async fn node(&self) -> Result<Option<NodeInfo>, Fault> {
        api::node(&self.api, &self.node).await
    }
}
