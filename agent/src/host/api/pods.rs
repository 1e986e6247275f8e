//! The pods of one node, and the Node.

use std::ops::ControlFlow;

use client::{ApiClient, Form, Freshness, List, Selector, part};
use findings::FaultKind;
use reconcile::index::NodeInfo;

use super::fault;
use super::types::{Node, Pod};
use crate::host::pod_filter::PodFilter;
use crate::observation::{ApiPod, Fault, Source};

/// Even with a selector the server ignores, no more than this is read.
const MOST: usize = 5000;
/// Pods per page.
const PAGE: u32 = 500;
/// The pods of all namespaces.
pub const PODS: &str = "/api/v1/pods";

/// With `spec.nodeName` in it a kubelet's own identity may ask too.
pub fn of_node(node: &str) -> String {
    format!("spec.nodeName={node}")
}

/// The pods of `node`, or with a name in `only` the one that is called so there; and as of which version.
pub async fn pods(
    api: &ApiClient,
    node: &str,
    only: Option<&PodFilter>,
    freshness: Freshness,
) -> Result<(Vec<ApiPod>, String), Fault> {
    let (path, fields) = match only {
        Some(PodFilter::Name(namespace, name)) => {
            let path = format!("/api/v1/namespaces/{}/pods", part(namespace));
            (path, format!("{},metadata.name={name}", of_node(node)))
        }
        Some(PodFilter::Uid(_)) | None => (PODS.to_owned(), of_node(node)),
    };
    let mut found = Vec::new();
    let take = |pods: Vec<Pod>| {
        found.extend(pods.into_iter().filter_map(Pod::reduce));
        if found.len() > MOST { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    // A pod that is missing in a list would seem forgotten.
    let form = Form::WholeOrMetadata;
    let list = List { freshness, form, ..List::new(&path, Selector::Fields(&fields), PAGE) };
    let version = api.list(list, take).await.map_err(fault)?;
    let too_many = || (FaultKind::TooLarge, format!("lists more than {MOST} pods for this node"));
    Ok((found, version.ok_or_else(|| Fault::new(Source::ApiServer, too_many()))?))
}

/// The Node, if there is one of this name.
pub async fn node(api: &ApiClient, name: &str) -> Result<Option<NodeInfo>, Fault> {
    Ok(api.get::<Node>(&path_of_node(name)).await.map_err(fault)?.map(NodeInfo::from))
}

pub(super) fn path_of_node(name: &str) -> String {
    format!("/api/v1/nodes/{}", part(name))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::super::{MAX_ANSWER_BYTES, RUN};
    use super::*;

    const UID: &str = "96fb425e-919e-44f9-8b42-b1254a602ba";
    /// The pod whose object is longer than anything that is read.
    const FAT: usize = 2;
    const PODS: usize = 5;

    /// Serves pages of pods like an API server, as whole objects or as their metadata.
    fn serve() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| drop(answer(stream))));
        url
    }

    fn answer(mut stream: TcpStream) -> std::io::Result<()> {
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let path = lines.next().unwrap()?;
        let head: Vec<String> = lines.map_while(|line| line.ok().filter(|line| !line.is_empty())).collect();
        let metadata_only = head.iter().any(|line| line.contains("PartialObjectMetadataList"));
        let number = |name: &str| {
            let (_, rest) = path.split_once(&format!("{name}="))?;
            rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<usize>().ok()
        };
        let (first, limit) = (number("continue").unwrap_or(0), number("limit").unwrap_or(PODS));
        let last = (first + limit).min(PODS);
        let pod = |n: usize| {
            let metadata = serde_json::json!({
                "name": format!("p{n}"), "namespace": "shop", "uid": format!("{UID}{n}"),
                "deletionTimestamp": "2026-08-01T10:00:00Z", "finalizers": ["example.com/hold"]
            });
            let filler = if n == FAT { "x".repeat(MAX_ANSWER_BYTES + 1) } else { String::new() };
            match metadata_only {
                true => serde_json::json!({"metadata": metadata}),
                false => serde_json::json!({
                    "metadata": metadata, "status": {"phase": "Running"}, "spec": {"filler": filler, "volumes": [{"name": "v"}]}
                }),
            }
        };
        let next = if last < PODS { last.to_string() } else { String::new() };
        let body = serde_json::json!({
            "metadata": {"resourceVersion": "7", "continue": next}, "items": (first..last).map(pod).collect::<Vec<_>>()
        })
        .to_string();
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
        )?;
        stream.write_all(body.as_bytes())
    }

    fn client(url: &str) -> ApiClient {
        let config = client::Config::new(url.parse().unwrap());
        ApiClient::new(client::Client::try_from(config).unwrap(), RUN)
    }

    /// A pod that is too long cannot make the node's other pods unknown, nor itself forgotten.
    #[tokio::test]
    async fn one_pod_that_is_too_long_is_known_by_its_metadata() {
        let api = client(&serve());
        for freshness in [Freshness::Consistent, Freshness::Cached] {
            let (found, version) = pods(&api, "node-a", None, freshness).await.unwrap();
            assert_eq!((found.len(), version.as_str()), (PODS, "7"));
            for (n, pod) in found.iter().enumerate() {
                assert_eq!((pod.name.clone(), pod.deletion.is_some()), (format!("p{n}"), true));
                assert_eq!(pod.finalizers, ["example.com/hold"]);
                let read_whole = (pod.phase.as_str(), pod.volumes.len()) == ("Running", 1);
                assert_eq!(read_whole, n != FAT, "{pod:?}");
                assert_eq!(pod.phase.is_empty(), n == FAT, "{pod:?}");
            }
        }
    }

    #[test]
    fn the_metadata_of_a_pod_is_a_pod() {
        let json = format!(r#"{{"metadata":{{"name":"p","namespace":"n","uid":"{UID}0"}}}}"#);
        assert_eq!(serde_json::from_str::<Pod>(&json).unwrap().reduce().unwrap().phase, "");
    }
}
