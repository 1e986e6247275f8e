//! Lists, page by page.

use std::{ops::ControlFlow, time::Instant};

use kube::{Resource, api::ListParams, core::Request};
use serde::Deserialize;

use super::{
    client::{ApiClient, fault, parse, timed_out, too_long},
    types::Small,
};
use crate::observation::Fault;

/// Objects per page, unless they are too long.
pub const PAGE: u32 = 500;

/// A page of a list.
#[derive(Deserialize)]
struct Page<K> {
    metadata: PageMeta,
    items: Vec<K>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct PageMeta {
    resource_version: String,
    r#continue: String,
}

impl ApiClient {
    /// Page by page through a list; each is made small by `take` before the next is asked for. The version
    /// that the list is of; none when `take` has broken off.
    ///
    /// A page that is too long is asked for again with half as many objects. With `resourceVersion=0` the
    /// server may give all of them at once whatever the limit, which kube therefore leaves out: a list that is
    /// too long is asked for again without it, page by page. Of one object that is too long by itself only the metadata
    /// is asked for, where that is worth something.
    pub async fn list<K: Small>(
        &self,
        namespace: Option<&str>,
        mut page: ListParams,
        mut take: impl FnMut(Vec<K>) -> ControlFlow<()>,
    ) -> Result<Option<String>, Fault> {
        let (path, end) = (Request::new(K::Of::url_path(&(), namespace)), Instant::now() + self.deadlines().list);
        let mut metadata_only = false;
        while Instant::now() < end {
            let request = if metadata_only { path.list_metadata(&page) } else { path.list(&page) };
            let Some(body) = self.read(request.map_err(fault)?).await? else {
                if page.resource_version.take().is_some() {
                    // Of all that a node may have a page of that many would be as long again.
                    (page.version_match, page.limit) = (None, Some(PAGE / 4));
                } else {
                    match page.limit.map(|limit| limit / 2).filter(|limit| *limit > 0) {
                        Some(fewer) => page.limit = Some(fewer),
                        None if K::IS_KNOWN_BY_METADATA && !metadata_only => metadata_only = true,
                        None => return Err(too_long("one object of a list")),
                    }
                }
                continue;
            };
            if std::mem::take(&mut metadata_only) {
                page.limit = Some(PAGE / 4);
            }
            let Page { metadata, items } = parse(&body)?;
            drop(body);
            let is_last = metadata.r#continue.is_empty();
            match take(items) {
                ControlFlow::Continue(()) if is_last => return Ok(Some(metadata.resource_version)),
                ControlFlow::Break(()) => return Ok(None),
                ControlFlow::Continue(()) => {
                    // A token says which version it goes on with.
                    (page.resource_version, page.version_match) = (None, None);
                    page.continue_token = Some(metadata.r#continue);
                }
            }
        }
        Err(timed_out("the pages took longer than", self.deadlines().list))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead as _, BufReader, Write as _},
        net::{TcpListener, TcpStream},
    };

    use super::{
        super::{
            client::{LONGEST, RUN},
            pods::Freshness,
            types::Pod,
        },
        *,
    };

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
            let filler = if n == FAT { "x".repeat(LONGEST + 1) } else { String::new() };
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
        let config = kube::Config::new(url.parse().unwrap());
        ApiClient::new(kube::Client::try_from(config).unwrap(), RUN)
    }

    /// Whoever makes a pod that is too long cannot make the node's other pods unknown, nor itself forgotten.
    #[tokio::test]
    async fn one_pod_that_is_too_long_is_known_by_its_metadata() {
        let api = client(&serve());
        for freshness in [Freshness::Consistent, Freshness::Cached] {
            let (pods, version) = api.pods("node-a", None, freshness).await.unwrap();
            assert_eq!((pods.len(), version.as_str()), (PODS, "7"));
            for (n, pod) in pods.iter().enumerate() {
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
