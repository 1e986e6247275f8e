//! The service, through a port-forward to one of its ready pods: at each connection again, since a pod can be replaced.

use std::ops::ControlFlow;

use anyhow::{Context as _, Result, bail};
use client::{ApiClient, Client, List, Selector, forwarded_tls};
use findings::clean;
use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::Value;

/// The labels of the service's pods, as `deploy/` sets them.
const SERVICE_PODS: &str = "app.kubernetes.io/name=why-terminating,app.kubernetes.io/component=aggregator";
/// Pods of the service that are read.
const PAGE_PODS: u32 = 50;

/// The service of a cluster.
pub struct Upstream {
    pub client: Client,
    pub api: ApiClient,
    pub namespace: String,
}

impl Upstream {
    pub async fn connect(&self) -> Result<SendRequest<Empty<Bytes>>> {
        let (pod, port) = self.pod().await?;
        let stream = forwarded_tls(&self.client, &self.namespace, &pod, port).await;
        let stream = stream.with_context(|| format!("forward port {port} of pod {}", clean(&pod, 253)))?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(sender)
    }

    /// A ready pod of the service, and its port.
    pub async fn pod(&self) -> Result<(String, u16)> {
        let Upstream { api, namespace, .. } = self;
        let mut found = None;
        let take = |pods: Vec<Value>| {
            found = pods.iter().filter(|pod| is_ready(pod)).find_map(named_port);
            if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let path = format!("/api/v1/namespaces/{}/pods", client::part(namespace));
        let listed = api.list(List::new(&path, Selector::Labels(SERVICE_PODS), PAGE_PODS), take).await;
        listed.with_context(|| format!("list pods in namespace {}", clean(namespace, 63)))?;
        match found {
            Some(found) => Ok(found),
            None => {
                bail!("no ready pod of the service in namespace {namespace}: install it, or give its namespace with -n")
            }
        }
    }
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    let is_ready = conditions.into_iter().flatten().any(|one| one["type"] == "Ready" && one["status"] == "True");
    is_ready && pod["metadata"]["deletionTimestamp"].is_null()
}

fn named_port(pod: &Value) -> Option<(String, u16)> {
    let port = pod["spec"]["containers"][0]["ports"][0]["containerPort"].as_u64()?;
    Some((pod["metadata"]["name"].as_str()?.to_owned(), u16::try_from(port).ok()?))
}
