//! The pods of one node, and the Node.

use std::ops::ControlFlow;

use findings::FaultKind;
use kube::api::ListParams;
use reconcile::index::NodeInfo;

use super::{
    ApiClient,
    pages::PAGE,
    types::{Node, Pod},
};
use crate::{
    host::pod_filter::PodFilter,
    observation::{ApiPod, Fault, Source},
};

/// Even with a selector the server ignores, no more than this is read.
const MOST: usize = 5000;

/// How new an answer has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// As of now.
    Consistent,
    /// As the API server's cache has it, which spares it a search through all pods of the cluster.
    Cached,
}

/// With `spec.nodeName` in it a kubelet's own identity may ask too.
pub fn of_node(node: &str) -> String {
    format!("spec.nodeName={node}")
}

impl ApiClient {
    /// The pods of `node`, or with a name in `only` the one that is called so there; and as of which version.
    pub async fn pods(
        &self,
        node: &str,
        only: Option<&PodFilter>,
        freshness: Freshness,
    ) -> Result<(Vec<ApiPod>, String), Fault> {
        let (namespace, fields) = match only {
            Some(PodFilter::Name(namespace, name)) => {
                (Some(namespace.as_str()), format!("{},metadata.name={name}", of_node(node)))
            }
            Some(PodFilter::Uid(_)) | None => (None, of_node(node)),
        };
        let page = ListParams::default().fields(&fields);
        let page = if freshness == Freshness::Cached { page.match_any() } else { page.limit(PAGE) };
        let mut found = Vec::new();
        let take = |pods: Vec<Pod>| {
            found.extend(pods.into_iter().filter_map(Pod::reduce));
            if found.len() > MOST { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let version = self.list(namespace, page, take).await?;
        let too_many = || (FaultKind::TooLarge, format!("lists more than {MOST} pods for this node"));
        Ok((found, version.ok_or_else(|| Fault::new(Source::ApiServer, too_many()))?))
    }

    /// The Node, if there is one of this name.
    pub async fn node(&self, name: &str) -> Result<Option<NodeInfo>, Fault> {
        Ok(self.get::<Node>(None, name).await?.map(NodeInfo::from))
    }
}
