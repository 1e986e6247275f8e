//! Stand-ins for kubelets: they renew the Leases of Nodes, run pods by saying so, and end those that are deleted.
//!
//! A pod says in an annotation what else becomes of it: `e2e/never-starts`, `e2e/never-ends`, `e2e/crashes`, `e2e/phase`, `e2e/address`; a
//! Node with `e2e/not-ready` that its kubelet reports so.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::cluster::list;

/// Where `kubectl proxy` listens.
const PROXY: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 8001);
/// Of the Nodes that have a stand-in.
pub const LABEL: &str = "e2e-kubelet";
/// The address of every pod: this machine.
const ADDRESS: &str = "10.244.0.1";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// A Node; whether it has a kubelet.
pub fn node(name: &str, has_kubelet: bool) -> Value {
    let kubelet = if has_kubelet { "yes" } else { "no" };
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {LABEL: kubelet, "kubernetes.io/hostname": name}}
    })
}

/// Does the kubelets' work until the program ends.
pub fn start() {
    std::thread::spawn(|| {
        loop {
            // The next turn does what this one could not.
            let _ = turn();
            std::thread::sleep(Duration::from_secs(2));
        }
    });
}

fn turn() -> anyhow::Result<()> {
    let nodes = call("GET", &format!("/api/v1/nodes?labelSelector={LABEL}%3Dyes"), "", &Value::Null)?;
    let names: Vec<&str> = list(&nodes).iter().filter_map(|node| node["metadata"]["name"].as_str()).collect();
    for node in list(&nodes) {
        reports(node)?;
    }
    let pods = call("GET", "/api/v1/pods", "", &Value::Null)?;
    for pod in list(&pods).iter().filter(|pod| names.contains(&pod["spec"]["nodeName"].as_str().unwrap_or_default())) {
        lives(pod)?;
    }
    Ok(())
}

/// The Lease of a node, and its status.
fn reports(node: &Value) -> anyhow::Result<()> {
    let name = node["metadata"]["name"].as_str().context("a node without a name")?;
    let now = now()?;
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    let spec = json!({"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now.replace('Z', ".000000Z")});
    let renewed = json!({"spec": spec});
    if call("PATCH", &format!("{leases}/{name}"), "application/merge-patch+json", &renewed)?["code"] == 404 {
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": name, "namespace": "kube-node-lease"}, "spec": spec
        });
        call("POST", leases, "application/json", &lease)?;
    }
    let condition = |kind: &str, status: &str, reason: &str| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": "", "lastHeartbeatTime": now,
            "lastTransitionTime": node["metadata"]["creationTimestamp"]
        })
    };
    let room = json!({"cpu": "8", "memory": "16Gi", "pods": "110"});
    let status = json!({"status": {
        "capacity": room, "allocatable": room, "nodeInfo": {"kubeletVersion": "v1.36.2"},
        "addresses": [{"type": "InternalIP", "address": ADDRESS}],
        "conditions": [
            match node["metadata"]["annotations"]["e2e/not-ready"].is_string() {
                true => condition("Ready", "False", "KubeletNotReady"),
                false => condition("Ready", "True", "KubeletReady"),
            },
            condition("MemoryPressure", "False", "KubeletHasSufficientMemory")
        ]
    }});
    call("PATCH", &format!("/api/v1/nodes/{name}/status"), STRATEGIC, &status)?;
    Ok(())
}

/// What becomes of a pod.
fn lives(pod: &Value) -> anyhow::Result<()> {
    let meta = &pod["metadata"];
    let says = |annotation: &str| meta["annotations"][annotation].as_str();
    let path = format!(
        "/api/v1/namespaces/{}/pods/{}",
        meta["namespace"].as_str().unwrap_or_default(),
        meta["name"].as_str().unwrap_or_default()
    );
    if says("e2e/never-starts").is_some() {
        return Ok(());
    }
    let phase = says("e2e/phase").unwrap_or("Running");
    let has_ended = phase != "Running";
    if meta["deletionTimestamp"].is_string() {
        let is_done = meta["deletionGracePeriodSeconds"] == 0 && meta["finalizers"].is_array();
        if says("e2e/never-ends").is_some() || is_done {
            return Ok(());
        }
        if !has_ended {
            call("PATCH", &format!("{path}/status"), STRATEGIC, &status(pod, "Succeeded", false)?)?;
        }
        let at_once = json!({"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}});
        call("DELETE", &path, "application/json", &at_once)?;
    } else if pod["status"]["phase"] != phase || !pod["status"]["containerStatuses"].is_array() {
        call("PATCH", &format!("{path}/status"), STRATEGIC, &status(pod, phase, says("e2e/crashes").is_some())?)?;
    }
    Ok(())
}

fn status(pod: &Value, phase: &str, crashes: bool) -> anyhow::Result<Value> {
    let now = now()?;
    let address = pod["metadata"]["annotations"]["e2e/address"].as_str().unwrap_or(ADDRESS);
    let runs = phase == "Running" && !crashes;
    let state = match (phase, crashes) {
        ("Running", true) => json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}}),
        ("Running", false) => json!({"running": {"startedAt": now}}),
        _ => json!({"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}}),
    };
    let containers: Vec<Value> = pod["spec"]["containers"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|container| {
            json!({
                "name": container["name"], "image": container["image"], "imageID": "", "ready": runs, "started": runs,
                "restartCount": if crashes { 7 } else { 0 }, "state": state, "containerID": "containerd://1"
            })
        })
        .collect();
    let condition = |kind: &str, is: bool| json!({"type": kind, "status": if is { "True" } else { "False" }, "lastTransitionTime": now});
    Ok(json!({"status": {
        "phase": phase, "startTime": now, "podIP": address, "podIPs": [{"ip": address}],
        "conditions": [condition("Initialized", true), condition("ContainersReady", runs), condition("Ready", runs)],
        "containerStatuses": containers
    }}))
}

/// The time, as the API writes it.
pub fn now() -> anyhow::Result<String> {
    let output = std::process::Command::new("date").args(["-u", "+%FT%TZ"]).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// One request by way of `kubectl proxy`. What the API server refuses is a Status, with its code.
fn call(method: &str, path: &str, content: &str, body: &Value) -> anyhow::Result<Value> {
    let mut stream = TcpStream::connect(PROXY)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let body = if body.is_null() { String::new() } else { body.to_string() };
    // With HTTP/1.0 the answer comes in one piece.
    let head = format!(
        "{method} {path} HTTP/1.0\r\nHost: localhost\r\nContent-Type: {content}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    let (_, body) = answer.split_once("\r\n\r\n").context("no answer")?;
    serde_json::from_str(body).with_context(|| format!("{method} {path}: {body}"))
}
