//! The few things that are asked for.

use std::time::{Duration, Instant};

use kube::{Api, api::ListParams};

use reconcile::index::NodeInfo;

use super::{Cluster, Failure, in_time};
use crate::{
    host::api::{LiteNode, LitePod, pod},
    observation::ApiPod,
};

/// Pods per page.
const PODS: u32 = 500;
/// More pods than this no node has.
const MOST_PODS: usize = 5000;
/// All pages together take no longer.
pub(super) const ALL_PAGES: Duration = Duration::from_secs(45);

impl Cluster {
    /// The pods of this node: as they are now, or as the API server's cache has them, which spares
    /// it a search through all pods of the cluster.
    pub async fn pods(&self, consistent: bool) -> Result<Vec<ApiPod>, String> {
        let api: Api<LitePod> = Api::all(self.client.clone());
        let page = ListParams::default().fields(&format!("spec.nodeName={}", self.node)).limit(PODS);
        let page = if consistent { page } else { page.match_any() };
        let (pods, all) = self.pages(&api, page, MOST_PODS).await.map_err(Failure::into_words)?;
        if !all {
            return Err(format!("it lists more than {MOST_PODS} pods for this node"));
        }
        Ok(pods.into_iter().filter_map(pod).collect())
    }

    /// The Node.
    pub async fn node(&self) -> Result<Option<NodeInfo>, String> {
        let api: Api<LiteNode> = Api::all(self.client.clone());
        let node = in_time(api.get_opt(&self.node)).await.map_err(Failure::into_words)?;
        Ok(node.map(|node| NodeInfo {
            uid: node.metadata.uid.unwrap_or_default(),
            kubelet_version: node.status.node_info.kubelet_version,
            boot_id: node.status.node_info.boot_id.filter(|id| !id.is_empty()),
        }))
    }

    /// Page by page, and whether that was all.
    async fn pages<K>(&self, api: &Api<K>, mut page: ListParams, most: usize) -> Result<(Vec<K>, bool), Failure>
    where
        K: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
    {
        let end = Instant::now() + ALL_PAGES;
        let mut found = Vec::new();
        while Instant::now() < end {
            let list = in_time(api.list(&page)).await?;
            found.extend(list.items);
            match list.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) if found.len() < most => page.continue_token = Some(token),
                Some(_) => return Ok((found, false)),
                None => return Ok((found, true)),
            }
        }
        Err(Failure::Other(format!("its pages took longer than {ALL_PAGES:?}")))
    }
}
