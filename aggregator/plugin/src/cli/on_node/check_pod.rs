//! The pod that runs the check.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use client::{AGENT_PROGRAM, ApiClient, Content, Response, part};
use findings::{clean, quote_for_shell};
use http::Method;
use serde_json::{Value, json};

/// How long it may take until the image is pulled and the container runs.
const MAX_PENDING: Duration = Duration::from_secs(60);
/// The check gives up before.
const MAX_RUNNING: Duration = Duration::from_secs(45);
/// The kubelet ends the pod then, should the plugin be killed.
const ACTIVE_DEADLINE_SECONDS: u64 = 120;
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Of a pod that a killed plugin left behind.
const LABELS: &str = "app.kubernetes.io/name=why-terminating,app.kubernetes.io/component=node-check";

/// It exists until it is deleted.
pub struct CheckPod {
    api: ApiClient,
    namespace: String,
    name: String,
    image: String,
}

impl CheckPod {
    /// Creates it on this node. It is bound without the scheduler, so that no taint keeps it away.
    pub async fn create(api: ApiClient, namespace: &str, node: &str, image: &str, pod: (&str, &str)) -> Result<Self> {
        let sent = api.send(Method::POST, &pods(namespace), Content::Json(&manifest(node, image, pod))).await;
        let created = sent.and_then(Response::success).and_then(|answer| answer.json::<Value>());
        let created = created.with_context(|| {
            format!("creating a privileged pod in namespace {namespace} (--on-node-namespace names another)")
        })?;
        let name = created["metadata"]["name"].as_str().context("the API server named no pod")?.to_owned();
        Ok(CheckPod { api, namespace: namespace.to_owned(), name, image: image.to_owned() })
    }

    /// What the check wrote, once it has ended.
    pub async fn log(&self) -> Result<String> {
        let created = Instant::now();
        let mut started = None;
        loop {
            let now = self.api.get::<Value>(&self.path()).await.context("reading the pod of the check")?;
            let now = now.context("the pod of the check was deleted while it ran")?;
            let container = &now["status"]["containerStatuses"][0]["state"];
            match now["status"]["phase"].as_str() {
                // 2: something holds the pod.
                Some("Succeeded" | "Failed") if !container["terminated"].is_null() => {
                    return self.read_log(&container["terminated"]).await;
                }
                Some("Failed") => bail!("the pod of the check failed: {}", reason(&now["status"])),
                _ => {}
            }
            if !container["running"].is_null() {
                started.get_or_insert_with(Instant::now);
            }
            match started {
                None if created.elapsed() > MAX_PENDING => {
                    let why = reason(&container["waiting"]);
                    bail!("its pod did not start within {} s: {why}{}", MAX_PENDING.as_secs(), self.about_image())
                }
                Some(started) if started.elapsed() > MAX_RUNNING => {
                    bail!("the check did not end within {} s", MAX_RUNNING.as_secs())
                }
                _ => tokio::time::sleep(POLL_INTERVAL).await,
            }
        }
    }

    /// The image of a checkout can be pulled from nowhere.
    fn about_image(&self) -> &'static str {
        match self.image.starts_with("why-terminating.invalid/") {
            true => "; this build has no published image: name one with --agent-image, or import it on the node",
            false => "",
        }
    }

    async fn read_log(&self, ended: &Value) -> Result<String> {
        let path = format!("{}/log?container=check", self.path());
        let log = self.api.send(Method::GET, &path, Content::Nothing).await.and_then(Response::success);
        let log = String::from_utf8_lossy(&log.context("reading the log of the check")?.body).into_owned();
        if log.trim().is_empty() {
            bail!("it wrote nothing and ended: {}", reason(ended));
        }
        Ok(log)
    }

    /// Deletes it; the namespace and name that it had.
    pub async fn delete(self) -> Result<(String, String)> {
        let sent = self.api.send(Method::DELETE, &self.path(), Content::Nothing).await;
        let (namespace, name) = (self.namespace, self.name);
        sent.and_then(
            |answer| if answer.status == http::StatusCode::NOT_FOUND { Ok(answer) } else { answer.success() },
        )
        .with_context(|| {
            format!(
                "deleting the pod of the check; it ends by itself, delete it: kubectl -n {namespace} delete pod {name}"
            )
        })?;
        Ok((namespace, name))
    }

    fn path(&self) -> String {
        format!("{}/{}", pods(&self.namespace), part(&self.name))
    }
}

/// The names of those that were not deleted; none where they may not be listed.
pub async fn left_behind(api: &ApiClient, namespace: &str) -> Vec<String> {
    let listed = api.get::<Value>(&format!("{}?labelSelector={}&limit=10", pods(namespace), part(LABELS))).await;
    let listed = listed.ok().flatten().unwrap_or_default();
    let pods = listed["items"].as_array().into_iter().flatten();
    let left = pods.filter(|pod| pod["metadata"]["deletionTimestamp"].is_null());
    let names = left.filter_map(|pod| pod["metadata"]["name"].as_str());
    // It stands in a command.
    names.filter_map(quote_for_shell).map(|name| clean(&name, 253)).collect()
}

fn pods(namespace: &str) -> String {
    format!("/api/v1/namespaces/{}/pods", part(namespace))
}

fn reason(status: &Value) -> String {
    let words: Vec<&str> = ["reason", "message"].iter().filter_map(|key| status[key].as_str()).collect();
    if words.is_empty() { "its node says nothing about it".to_owned() } else { clean(&words.join(": "), 300) }
}

/// The rights of the DaemonSet's reader and no more. No hostPath: a mounted copy of a pod's volume would hold that pod. The
/// node's network, so that the check can ask the API server as the kubelet, and a broken CNI plugin does not stop it.
fn manifest(node: &str, image: &str, (namespace, name): (&str, &str)) -> Value {
    let labels: serde_json::Map<String, Value> = LABELS
        .split(',')
        .filter_map(|label| label.split_once('='))
        .map(|(key, value)| (key.to_owned(), json!(value)))
        .collect();
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": "why-terminating-check-",
            "labels": labels,
            // Servers before 1.30 know no appArmorProfile.
            "annotations": {"container.apparmor.security.beta.kubernetes.io/check": "unconfined"},
        },
        "spec": {
            "nodeName": node,
            "hostPID": true,
            "hostNetwork": true,
            "restartPolicy": "Never",
            "activeDeadlineSeconds": ACTIVE_DEADLINE_SECONDS,
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "tolerations": [{"operator": "Exists"}],
            "containers": [{
                "name": "check",
                "image": image,
                "command": [AGENT_PROGRAM, "check", "--pod", format!("{namespace}/{name}"), "--output", "json"],
                "env": [{"name": "RUST_LOG", "value": "off"}],
                "securityContext": {
                    "runAsUser": 0,
                    "runAsGroup": 0,
                    "allowPrivilegeEscalation": false,
                    "readOnlyRootFilesystem": true,
                    "capabilities": {"drop": ["ALL"], "add": ["SYS_PTRACE", "DAC_READ_SEARCH"]},
                    "seLinuxOptions": {"type": "spc_t"},
                },
            }],
        },
    })
}
