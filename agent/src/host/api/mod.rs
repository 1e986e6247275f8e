//! The API server: the pods of this node, into small types of our own.

mod conversation;
mod kubelet;
mod token;

use std::{path::PathBuf, time::Duration};

use anyhow::{Context, bail};
pub use conversation::Conversation;
use conversation::Server;
use findings::PodUid;
use http::HeaderValue;
use k8s_openapi::{
    api::core::v1::{Node, Pod},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    Api, Client, Config, Resource,
    api::ListParams,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde::{Deserialize, Serialize};

use super::{HostView, scan::PodFilter};
use crate::observation::{ApiFacts, ApiPod, Deletion, HostPath, PersistentVolume, Seen};

/// How long the whole conversation may take; kube's own retries run inside it.
pub const DEADLINE: Duration = Duration::from_millis(1500);
/// By this the API server's audit log and its fairness tell us from others.
const USER_AGENT: &str = concat!("why-terminating-agent/", env!("CARGO_PKG_VERSION"));
/// Pods per page.
const PAGE: u32 = 500;
/// Even with a selector the server ignores, no more than this is read.
const MAX_PODS: usize = 5000;

/// With which credentials to ask.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// A kubeconfig file the user named.
    Kubeconfig(PathBuf),
    /// The kubelet's own, and how the host is seen. Nothing it names is run.
    OfKubelet(HostView, HostPath),
    /// The service account of the pod the agent runs in.
    InCluster,
}

/// A pod, cut down to what is needed: a small type of our own keeps a watch small.
#[derive(Resource, Clone, Debug, Default, Serialize, Deserialize)]
#[resource(inherit = Pod)]
pub(crate) struct LitePod {
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    spec: LiteSpec,
    #[serde(default)]
    status: LiteStatus,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LiteSpec {
    resource_claims: Vec<Named>,
    volumes: Vec<Named>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Named {
    name: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LiteStatus {
    phase: String,
}

#[derive(Resource, Clone, Debug, Default, Serialize, Deserialize)]
#[resource(inherit = k8s_openapi::api::core::v1::PersistentVolume)]
struct LiteVolume {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: LiteVolumeSpec,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct LiteVolumeSpec {
    csi: Option<LiteCsi>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LiteCsi {
    driver: String,
    volume_handle: String,
}

#[derive(Resource, Clone, Debug, Default, Serialize, Deserialize)]
#[resource(inherit = Node)]
pub(crate) struct LiteNode {
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) status: LiteNodeStatus,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LiteNodeStatus {
    pub(crate) node_info: LiteNodeInfo,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LiteNodeInfo {
    pub(crate) kubelet_version: Option<String>,
    #[serde(rename = "bootID")]
    pub(crate) boot_id: Option<String>,
}

impl Conversation {
    /// Asks for the pods of `node`, or with a name in `only` for the one that is called so there.
    pub async fn look(&self, node: &str, only: Option<&PodFilter>) -> Seen<ApiFacts> {
        let (node, only) = (node.to_owned(), only.cloned());
        self.ask(move |server| async move { look(server, &node, only.as_ref()).await }).await
    }

    /// Asks for these PersistentVolumes; one that does not exist or is not CSI's is left out.
    pub async fn volumes(&self, names: Vec<String>) -> Seen<Vec<PersistentVolume>> {
        self.ask(|server| async move {
            // Asked again with the next look; a busy API server is not asked eight times in a second.
            let api: Api<LiteVolume> = Api::all(server.once);
            let mut found = Vec::new();
            for name in names {
                let csi = api.get_opt(&name).await?.and_then(|volume| volume.spec.csi);
                found.extend(csi.map(|csi| PersistentVolume { name, driver: csi.driver, handle: csi.volume_handle }));
            }
            Ok(found)
        })
        .await
    }
}

async fn look(server: Server, name: &str, only: Option<&PodFilter>) -> anyhow::Result<ApiFacts> {
    let Server { url, patient, .. } = server;
    let (node, pods) = (node(patient.clone(), name), pods(patient, name, only));
    // Two questions at once are two connections, each with its handshake: too dear for one pod.
    let (node, pods) = if only.is_some() { (node.await, pods.await) } else { tokio::join!(node, pods) };
    // A list for a name that does not exist is empty, and every pod here would seem forgotten.
    let Some(node) = node.with_context(|| url.clone())? else {
        bail!("{url} has no Node {name:?}; name this node with --node-name");
    };
    let pods = pods.with_context(|| url.clone())?;
    let LiteNodeInfo { kubelet_version, boot_id } = node.status.node_info;
    Ok(ApiFacts {
        pods,
        kubelet_version,
        boot_id: boot_id.filter(|id| !id.is_empty()),
        volumes: Vec::new(),
        stale: None,
    })
}

/// How to reach the API server with these credentials; nothing is asked yet.
pub(crate) async fn config(credentials: Credentials) -> anyhow::Result<Config> {
    let mut config = match credentials {
        Credentials::Kubeconfig(path) => from_kubeconfig(Kubeconfig::read_from(path)?).await?,
        Credentials::OfKubelet(view, path) => from_kubeconfig(kubelet::kubeconfig(&view, &path)?).await?,
        Credentials::InCluster => Config::incluster()?,
    };
    token::check(&config.auth_info)?;
    if config.cluster_url.scheme_str() == Some("http") {
        // Else every certificate of the machine would be loaded for nothing.
        config.root_cert = Some(Vec::new());
    }
    config.headers.push((http::header::USER_AGENT, HeaderValue::from_static(USER_AGENT)));
    config.connect_timeout = Some(DEADLINE);
    config.read_timeout = Some(DEADLINE);
    Ok(config)
}

async fn from_kubeconfig(kubeconfig: Kubeconfig) -> anyhow::Result<Config> {
    Ok(Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?)
}

async fn pods(client: Client, node: &str, only: Option<&PodFilter>) -> anyhow::Result<Vec<ApiPod>> {
    // With spec.nodeName in it a kubelet's own identity may ask either.
    let (api, fields): (Api<LitePod>, String) = match only {
        Some(PodFilter::Name(namespace, name)) => {
            (Api::namespaced(client, namespace), format!("spec.nodeName={node},metadata.name={name}"))
        }
        Some(PodFilter::Uid(_)) | None => (Api::all(client), format!("spec.nodeName={node}")),
    };
    let mut page = ListParams::default().fields(&fields).limit(PAGE);
    let mut found = Vec::new();
    loop {
        let list = api.list(&page).await?;
        found.extend(list.items.into_iter().filter_map(pod));
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) if found.len() < MAX_PODS => page.continue_token = Some(token),
            Some(_) => anyhow::bail!("lists more than {MAX_PODS} pods for this node"),
            None => return Ok(found),
        }
    }
}

/// The Node; not being allowed to see it leaves its facts empty.
async fn node(client: Client, name: &str) -> kube::Result<Option<LiteNode>> {
    match Api::<LiteNode>::all(client).get_opt(name).await {
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(Some(LiteNode::default())),
        answer => answer,
    }
}

/// What of a pod the judgement needs.
pub(crate) fn pod(pod: LitePod) -> Option<ApiPod> {
    let LitePod { metadata, spec, status } = pod;
    let annotation = |key: &str| metadata.annotations.as_ref()?.get(key).cloned();
    // The node knows a static pod by the hash of its manifest, not by its mirror's uid.
    let mirrored = annotation("kubernetes.io/config.mirror");
    let uid = mirrored.as_deref().and_then(PodUid::parse).or_else(|| PodUid::parse(metadata.uid.as_deref()?))?;
    let deletion = metadata.deletion_timestamp.as_ref().map(|time| Deletion {
        deadline_ms: u64::try_from(time.0.as_millisecond()).unwrap_or(0),
        grace_s: metadata.deletion_grace_period_seconds.and_then(|s| u64::try_from(s).ok()).unwrap_or(0),
    });
    let names = |list: Vec<Named>| list.into_iter().map(|named| named.name).collect();
    Some(ApiPod {
        uid,
        deletion,
        mirror: mirrored.is_some(),
        namespace: metadata.namespace.unwrap_or_default(),
        name: metadata.name.unwrap_or_default(),
        phase: status.phase,
        finalizers: metadata.finalizers.unwrap_or_default(),
        claims: names(spec.resource_claims),
        volumes: names(spec.volumes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_pod_has_the_uid_of_its_manifest() {
        let json = serde_json::json!({
            "metadata": {
                "name": "etcd-node-a", "namespace": "kube-system", "uid": "96fb425e-919e-44f9-8b42-b1254a602ba1",
                "annotations": {"kubernetes.io/config.mirror": "0123456789abcdef0123456789abcdef"},
                "deletionTimestamp": "2026-08-01T10:00:00Z", "deletionGracePeriodSeconds": 30
            },
            "spec": {"volumes": [{"name": "data", "emptyDir": {}}]}, "status": {"phase": "Running"}
        });
        let seen = pod(serde_json::from_value(json).unwrap()).unwrap();
        assert_eq!(seen.uid.as_str(), "0123456789abcdef0123456789abcdef");
        assert!(seen.mirror);
        assert_eq!(seen.deletion, Some(Deletion { deadline_ms: 1_785_578_400_000, grace_s: 30 }));
        assert_eq!(seen.volumes, ["data"]);
    }

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
        let double = apiserver::Double::start(store).unwrap();
        let kubeconfig = dir.path().join("kubeconfig");
        std::fs::write(&kubeconfig, double.kubeconfig_json().unwrap()).unwrap();
        let conversation = Conversation::open(Credentials::Kubeconfig(kubeconfig)).unwrap();
        let asked = |only: Option<PodFilter>| {
            let conversation = &conversation;
            async move {
                let facts = conversation.look("node-a", only.as_ref()).await.get().cloned().unwrap();
                assert_eq!(facts.boot_id.as_deref(), Some("b"));
                facts.pods.iter().map(|pod| format!("{}/{}", pod.namespace, pod.name)).collect::<Vec<String>>()
            }
        };
        let named = |name: &str| Some(PodFilter::Name("shop".into(), name.into()));
        assert_eq!(asked(None).await.len(), 3);
        assert_eq!(asked(named("db-0")).await, ["shop/db-0"]);
        assert_eq!(asked(named("db-2")).await, [""; 0], "it is on another node");
        double.stop().unwrap();
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
        let seen = conversation.look("node-a", None).await;
        assert!(seen.fault().is_some(), "{seen:?}");
        assert!(before.elapsed() < DEADLINE * 2);
    }
}
