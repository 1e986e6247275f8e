//! The node's side of the API: its Node object, its pods' objects, and how to reach them.

use std::{fs, time::Duration};

use anyhow::Context as _;
use serde_json::{Value, json};

use super::{Layout, NODE_NAME, VERSION_VARIABLE};
use crate::{Launch, Pod, PodSpec, agent_pod, wait_for};

/// The kubelet's version unless a test of an older one says otherwise.
const KUBELET_VERSION: &str = "v1.36.2";

/// The kubelet's version that the Node object shows.
pub fn kubelet_version() -> String {
    std::env::var(VERSION_VARIABLE).unwrap_or_else(|_| KUBELET_VERSION.to_owned())
}

/// The Node object's uid.
const NODE_UID: &str = "6f1d1a3e-3f0c-4a53-9a5f-0c8d5d1e7b11";

/// Starts the fake API server and writes the kubeconfig.
pub fn start(layout: &Layout) -> anyhow::Result<()> {
    let store = apiserver::Store::new(layout.api());
    store.put_node(NODE_NAME, &node_object(&kubelet_version()))?;
    put_event_policy(&store)?;
    Launch::stand_in("apiserver").args(["stand-in", "apiserver"]).start(layout)?;
    let address = wait_for("the fake API server listens", Duration::from_secs(10), || {
        Ok(fs::read_to_string(layout.api_address()).ok())
    })?;
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "lab",
        "clusters": [{"name": "lab", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "lab", "user": {}}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "lab"}}],
    });
    fs::write(layout.kubeconfig(), serde_json::to_vec_pretty(&kubeconfig)?).context("write the kubeconfig")
}

/// As deployed an hour ago: what the agent's Events say may then only be its own word.
fn put_event_policy(store: &apiserver::Store) -> anyhow::Result<()> {
    let made = stamp(jiff::Timestamp::now() - Duration::from_secs(3600));
    for mut object in agent_pod::event_policy()? {
        let is_binding = object["kind"] == "ValidatingAdmissionPolicyBinding";
        let kind = if is_binding { "validatingadmissionpolicybindings" } else { "validatingadmissionpolicies" };
        object["metadata"]["creationTimestamp"] = made.as_str().into();
        let name = object["metadata"]["name"].as_str().context("a policy has a name")?.to_owned();
        store.put(kind, None, &name, &object)?;
    }
    Ok(())
}

/// The Node object of a node whose kubelet has `version`.
pub fn node_object(version: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": NODE_NAME, "uid": NODE_UID, "resourceVersion": "1", "labels": {"kubernetes.io/hostname": NODE_NAME}},
        "spec": {},
        "status": {
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "nodeInfo": {
                "kubeletVersion": version, "containerRuntimeVersion": "containerd://1.6.20",
                "operatingSystem": "linux", "architecture": "amd64", "osImage": "lab",
                "kernelVersion": "", "machineID": "", "systemUUID": "", "bootID": boot_id(), "kubeProxyVersion": "",
            },
        },
    })
}

/// By this an answer is known to be about this machine.
fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// The PersistentVolume of a CSI volume of the lab.
pub fn volume_object(name: &str, driver: &str, handle: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": name, "resourceVersion": "1"},
        "spec": {
            "csi": {"driver": driver, "volumeHandle": handle}, "persistentVolumeReclaimPolicy": "Delete",
            // The lab's claims are called like their volumes.
            "claimRef": {"namespace": "lab", "name": name},
        },
        "status": {"phase": "Bound"},
    })
}

/// A pod's object while it runs.
pub fn pod_object(spec: &PodSpec, pod: &Pod) -> Value {
    let now = jiff::Timestamp::now();
    let statuses: Vec<Value> = pod
        .containers
        .iter()
        .map(|container| {
            json!({
                "name": container.name, "image": crate::image::BUSYBOX, "imageID": "", "restartCount": 0,
                "ready": true, "started": true, "containerID": format!("containerd://{}", container.id),
                "state": {"running": {"startedAt": stamp(now)}}, "lastState": {},
            })
        })
        .collect();
    let containers: Vec<Value> = pod
        .containers
        .iter()
        .map(|container| json!({"name": container.name, "image": crate::image::BUSYBOX, "resources": {}}))
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": pod.name(), "namespace": pod.namespace(), "uid": pod.uid(), "resourceVersion": "1",
            "creationTimestamp": stamp(now - Duration::from_secs(3600)),
        },
        "spec": {
            "nodeName": NODE_NAME, "containers": containers, "restartPolicy": "Always",
            "terminationGracePeriodSeconds": spec.grace.as_secs(), "volumes": spec.api_volumes,
        },
        "status": {"phase": "Running", "qosClass": "Burstable", "containerStatuses": statuses},
    })
}

/// Adds what the API server adds when a pod is deleted: the time at which its grace period ends.
pub fn mark_deleted(object: &mut Value, grace: Duration, deadline: jiff::Timestamp) {
    object["metadata"]["deletionTimestamp"] = json!(stamp(deadline));
    object["metadata"]["deletionGracePeriodSeconds"] = json!(grace.as_secs());
}

/// What the kubelet reports once no container runs any more.
pub fn mark_terminal(object: &mut Value) {
    mark_ended(object, "Failed", jiff::Timestamp::now());
}

/// What the kubelet reports of containers that ended then. What it has reported before stays.
pub fn mark_ended(object: &mut Value, phase: &str, at: jiff::Timestamp) {
    if matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed")) {
        return;
    }
    object["status"]["phase"] = json!(phase);
    let now = stamp(at);
    for status in object["status"]["containerStatuses"].as_array_mut().into_iter().flatten() {
        status["ready"] = json!(false);
        status["started"] = json!(false);
        status["state"] = json!({"terminated": {"exitCode": 137, "reason": "Error", "finishedAt": now}});
    }
}

/// API times have whole seconds.
fn stamp(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
