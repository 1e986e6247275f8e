//! The API server: the one client of `check` and `run`, and the pods of this node in small types of our own.

mod conversation;
mod credentials;
mod kubelet;
mod kubelet_kubeconfig;
mod pods;
mod relay;
mod types;

pub use conversation::Conversation;
pub use credentials::Credentials;
pub use kubelet::CounterHistory;
pub use pods::{PODS, node, of_node, pods};
pub use relay::{ApiAnswer, ApiQuestion, Relay, Relayed};
pub use types::Pod;

use std::{io, time::Duration};

use client::{Freshness, Limits, part};
use conversation::Server;
use findings::FaultKind;
use reconcile::index::NodeInfo;
use types::Volume;

use super::{kubelet::KubeletListener, pod_filter::PodFilter};
use crate::observation::{ApiFacts, CounterRead, Fault, Heard, PersistentVolume, Seen, Source};

/// No answer and no page is read further, in bytes.
pub const MAX_ANSWER_BYTES: usize = 4 << 20;
/// While a user waits at a terminal. Retries run inside it.
pub const CHECK: Limits = Limits::new(Duration::from_millis(1500), MAX_ANSWER_BYTES);
/// For the agent in the background.
pub const RUN: Limits =
    Limits { list_timeout: Duration::from_secs(45), ..Limits::new(Duration::from_secs(10), MAX_ANSWER_BYTES) };

/// Whatever failed on the way to an answer.
pub fn fault(error: impl Into<anyhow::Error>) -> Fault {
    let error = error.into();
    let kind = error.chain().find_map(|cause| match cause.downcast_ref::<client::Fault>() {
        Some(fault) => Some(fault.kind),
        None => cause.downcast_ref::<io::Error>().map(FaultKind::from_io),
    });
    Fault::new(Source::ApiServer, (kind.unwrap_or_default(), findings::clean(&format!("{error:#}"), 300)))
}

impl Conversation {
    /// Asks for the pods of `node`, or with a name in `only` for the one that is called so there.
    pub async fn facts(&self, node: &str, only: Option<&PodFilter>) -> Seen<ApiFacts> {
        let (node, only) = (node.to_owned(), only.cloned());
        self.ask(move |server| async move {
            let at = |fault: Fault| Fault { says: format!("{}: {}", server.url, fault.says), ..fault };
            facts(&server, &node, only.as_ref()).await.map_err(at)
        })
        .await
    }

    /// Asks for these PersistentVolumes; one that does not exist or is not CSI's is left out.
    pub async fn volumes(&self, names: Vec<String>) -> Seen<Vec<PersistentVolume>> {
        self.ask(|server| async move {
            let mut found = Vec::new();
            for name in names {
                // Asked again with the next look; a busy API server is not asked eight times in a second.
                let path = format!("/api/v1/persistentvolumes/{}", part(&name));
                let volume = server.once.get::<Volume>(&path).await.map_err(fault)?;
                found.extend(volume.and_then(|volume| volume.reduce(name)));
            }
            Ok(found)
        })
        .await
    }

    /// What the kubelet of this node counts; asked of the kubelet itself.
    pub async fn kubelet_counters(&self, node: &str, listener: KubeletListener) -> Result<CounterRead, Fault> {
        let node = node.to_owned();
        let asked = self.ask(move |server| async move {
            let addresses =
                server.once.get::<kubelet::NodeAddresses>(&pods::path_of_node(&node)).await.map_err(fault)?;
            let nowhere =
                || Fault::new(Source::ApiServer, (FaultKind::Gone, format!("Node {node:?} has no InternalIP")));
            let address = addresses.and_then(|node| node.internal()).ok_or_else(nowhere)?;
            kubelet::counters(&server.config, address, &listener, CHECK).await
        });
        match asked.await {
            Seen::Seen(read) => Ok(read),
            Seen::Failed(fault) => Err(fault),
            Seen::Missing | Seen::NotAsked => {
                Err(Fault::new(Source::ApiServer, (FaultKind::NotAsked, "was not asked")))
            }
        }
    }
}

async fn facts(server: &Server, name: &str, only: Option<&PodFilter>) -> Result<ApiFacts, Fault> {
    let api = &server.patient;
    let node = async {
        match self::node(api, name).await {
            // Not being allowed to see it leaves its facts empty.
            Err(fault) if fault.kind == FaultKind::Denied => Ok(Some(NodeInfo::default())),
            answer => answer,
        }
    };
    let pods = self::pods(api, name, only, Freshness::Consistent);
    // Two questions at once are two connections, each with its handshake: too dear for one pod.
    let (node, pods) = if only.is_some() { (node.await, pods.await) } else { tokio::join!(node, pods) };
    // A list for a name that does not exist is empty, and every pod here would seem forgotten.
    let nobody = || (FaultKind::Gone, format!("there is no Node {name:?}; name this node with --node-name"));
    let NodeInfo { kubelet_version, boot_id, not_ready, ready_since_ms, server_ahead_ms, .. } =
        node?.ok_or_else(|| Fault::new(Source::ApiServer, nobody()))?;
    Ok(ApiFacts {
        pods: pods?.0,
        kubelet_version,
        boot_id,
        not_ready,
        heard: Box::new(Heard { ready_since_ms, server_ahead_ms, ..Heard::default() }),
        volumes: Vec::new(),
        stale: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_pod_is_asked_for_by_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let store = apiserver::Store::new(dir.path().join("api"));
        let node = serde_json::json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-a"}, "status": {"nodeInfo": {"bootID": "b"}}
        });
        store.put_node("node-a", &node).unwrap();
        for (number, (namespace, name, node)) in [
            ("shop", "db-0", "node-a"),
            ("shop", "db-1", "node-a"),
            ("till", "db-0", "node-a"),
            ("shop", "db-2", "node-b"),
        ]
        .into_iter()
        .enumerate()
        {
            let pod = serde_json::json!({
                "apiVersion": "v1", "kind": "Pod", "spec": {"nodeName": node}, "metadata": {
                    "namespace": namespace, "name": name, "uid": format!("96fb425e-919e-44f9-8b42-b1254a602ba{number}")
                }
            });
            store.put_pod(namespace, name, &pod).unwrap();
        }
        let fake = apiserver::FakeApiServer::start(store).unwrap();
        let kubeconfig = dir.path().join("kubeconfig");
        std::fs::write(&kubeconfig, fake.kubeconfig_json().unwrap()).unwrap();
        let conversation = Conversation::open(Credentials::Kubeconfig(kubeconfig)).unwrap();
        let asked = |only: Option<PodFilter>| {
            let conversation = &conversation;
            async move {
                let facts = conversation.facts("node-a", only.as_ref()).await.get().cloned().unwrap();
                assert_eq!(facts.boot_id.as_deref(), Some("b"));
                facts.pods.iter().map(|pod| format!("{}/{}", pod.namespace, pod.name)).collect::<Vec<String>>()
            }
        };
        let named = |name: &str| Some(PodFilter::Name("shop".into(), name.into()));
        assert_eq!(asked(None).await.len(), 3);
        assert_eq!(asked(named("db-0")).await, ["shop/db-0"]);
        assert_eq!(asked(named("db-2")).await, [""; 0], "it is on another node");
        assert_eq!(conversation.volumes(vec!["pv-a".to_owned()]).await, Seen::Seen(Vec::new()), "it is not there");
        fake.stop().unwrap();
    }

    #[tokio::test]
    async fn a_server_that_accepts_and_is_silent_is_a_fault() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let file = tempfile::NamedTempFile::new().unwrap();
        let config = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": format!("http://127.0.0.1:{port}")}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]
        });
        std::fs::write(file.path(), config.to_string()).unwrap();
        let before = std::time::Instant::now();
        let conversation = Conversation::open(Credentials::Kubeconfig(file.path().to_owned())).unwrap();
        let seen = conversation.facts("node-a", None).await;
        assert!(seen.fault().is_some(), "{seen:?}");
        assert!(before.elapsed() < CHECK.request_timeout * 2);
    }
}
