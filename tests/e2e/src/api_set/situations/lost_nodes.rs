//! Nodes that are silent, and pods that were bound to them.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::nodes::node;
use super::super::objects::*;
use super::super::{Situation, ask};
use crate::cluster::Cluster;
use crate::situation::Staged;

/// All of them.
pub fn all() -> Vec<Situation> {
    vec![
        Situation::new(
            "node-never-reported",
            never_reported,
            [ask("pod/stays -n {ns}", "NodeNeverReported", "Node e2e-never-reported")
                .then_typing(&["kubectl delete node e2e-never-reported"], &["pod stays -n {ns}"])],
        ),
        Situation::new(
            "node-shut-down",
            shut_down,
            [ask("pod/stays -n {ns}", "NodeShutDown", "Node e2e-shut-down").then_typing(
                &["kubectl taint node e2e-shut-down node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"],
                &["pod stays -n {ns}"],
            )],
        ),
        Situation::new("zone-silent", zone_silent, [ask("pod/stays -n {ns}", "EvictionSuspended", "e2e-zone")]),
        Situation::new(
            "leases-expired",
            all_silent,
            [ask("pod/stays -n {ns}", "AllLeasesExpired", "Leases of all nodes")],
        )
        .on_cluster(8),
        Situation::new(
            "out-of-service-ready",
            out_of_service,
            [ask("node/e2e-serves", "OutOfServiceNotEffective", "Node e2e-serves")],
        ),
        Situation::new("collector-of-pods", collector_of_pods, [ask("pod/stays -n {ns}", "PodGcRefused", "")])
            .on_cluster(9),
        Situation::new("mirror-pod", mirror, [ask("pod/stays -n {ns}", "StaticPod", "Pod {ns}/stays")]),
        Situation::new("replacement", replaced, [ask("pod/db-0 -n {ns}", "ReplacementNotReady", "Pod {ns}/db-0")]),
        Situation::new(
            "node-not-ready",
            not_ready,
            [ask("pod/stays -n {ns}", "NodeNotReady", "Node e2e-not-ready").then_doing(
                &["annotate node e2e-not-ready e2e/not-ready-", "annotate pod stays e2e/never-ends- -n {ns}"],
                &["pod stays -n {ns}"],
            )],
        ),
        Situation::new(
            "pod-never-started",
            never_started,
            [ask("pod/stays -n {ns}", "PodNeverStarted", "Pod {ns}/stays")],
        ),
        Situation::new(
            "pod-events",
            events,
            [
                ask("pod/network -n {ns}", "PodKillFails", "").saying(&["failed to destroy network"]),
                ask("pod/volume -n {ns}", "PodUnmountFails", "").saying(&["device is busy"]),
            ],
        ),
        Situation::new(
            "pod-forced",
            forced,
            [ask("pod/forced -n {ns}", "PodForceDeleted", "Pod {ns}/forced").beside(&["FinalizerOwnerUnknown"])],
        ),
        Situation::new(
            "pod-unscheduled",
            unscheduled,
            [ask("pod/held -n {ns}", "FinalizerOwnerUnknown", "Pod {ns}/held")],
        ),
    ]
}

/// On a node of that name, which has a kubelet while the pod starts.
fn running_pod(namespace: &str, node_name: &str) -> anyhow::Result<()> {
    create(&[node(node_name, true), pod(namespace, "stays", node_name, &json!({"e2e/never-ends": ""}))])?;
    kubectl(&format!("wait --for=condition=Ready pod/stays -n {namespace} --timeout=60s")).map(drop)
}

/// Its kubelet reports no more.
fn stop_kubelet(node_name: &str) -> anyhow::Result<()> {
    kubectl(&format!("label node {node_name} e2e-kubelet=no --overwrite")).map(drop)
}

fn never_reported(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let name = "e2e-never-reported";
    create(&[node(name, false), pod(namespace, "stays", name, &json!({}))])?;
    delete(&format!("pod stays -n {namespace}"))?;
    Ok(Staged::default())
}

fn shut_down(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let name = "e2e-shut-down";
    running_pod(namespace, name)?;
    stop_kubelet(name)?;
    kubectl(&format!("taint node {name} node.cloudprovider.kubernetes.io/shutdown:NoSchedule"))?;
    delete(&format!("pod stays -n {namespace}"))?;
    Ok(Staged::default())
}

/// Of a small zone most of whose nodes are silent no pod is evicted.
fn zone_silent(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let names = ["e2e-zone-0", "e2e-zone-1", "e2e-zone-2", "e2e-zone-3"];
    create(&names.map(|name| {
        let mut node = node(name, true);
        node["metadata"]["labels"]["topology.kubernetes.io/zone"] = json!("e2e");
        node
    }))?;
    create(&[pod(namespace, "stays", names[2], &json!({}))])?;
    kubectl(&format!("wait --for=condition=Ready pod/stays -n {namespace} --timeout=60s"))?;
    names[..2].iter().try_for_each(|name| stop_kubelet(name))?;
    // Two of four are not most of them: the node of the pod is the last.
    std::thread::sleep(Duration::from_secs(10));
    stop_kubelet(names[2])?;
    std::thread::sleep(Duration::from_secs(120));
    Ok(Staged::default())
}

fn all_silent(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    create(&[pod(namespace, "stays", "node-a", &json!({"e2e/never-ends": ""}))])?;
    kubectl(&format!("wait --for=condition=Ready pod/stays -n {namespace} --timeout=60s"))?;
    ["node-a", "node-b"].iter().try_for_each(|name| stop_kubelet(name))?;
    delete(&format!("pod stays -n {namespace}"))?;
    // Until then they are two nodes that are silent.
    std::thread::sleep(Duration::from_secs(100));
    Ok(Staged::default())
}

fn out_of_service(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    running_pod(namespace, "e2e-serves")?;
    kubectl("taint node e2e-serves node.kubernetes.io/out-of-service=nodeshutdown:NoSchedule")?;
    Ok(Staged::default())
}

/// It may mark a pod of a node that is gone, and not delete it.
fn collector_of_pods(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    const ROLE: &str = "clusterrole system:controller:pod-garbage-collector";
    running_pod(namespace, "e2e-collected")?;
    let mut role: Value = serde_json::from_str(&kubectl(&format!("get {ROLE} -o json"))?)?;
    for verbs in role["rules"].as_array_mut().into_iter().flatten().filter_map(|rule| rule["verbs"].as_array_mut()) {
        verbs.retain(|verb| verb != "delete");
    }
    kubectl(&format!("patch {ROLE} --type=merge -p {}", json!({"rules": role["rules"]})))?;
    delete(&format!("pod stays -n {namespace}"))?;
    delete("node e2e-collected")?;
    std::thread::sleep(Duration::from_secs(60));
    Ok(Staged::default())
}

fn mirror(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let annotations = json!({"kubernetes.io/config.mirror": "1", "e2e/never-ends": ""});
    create(&[pod(namespace, "stays", "node-b", &annotations)])?;
    kubectl(&format!("wait --for=condition=Ready pod/stays -n {namespace} --timeout=60s"))?;
    delete(&format!("pod stays -n {namespace}"))?;
    Ok(Staged::default())
}

/// A StatefulSet's pod is made again, and may run on one node only, which is cordoned by then.
fn replaced(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let mut set =
        deployment(namespace, "db", &json!({"spec": {"nodeSelector": {"kubernetes.io/hostname": "e2e-set"}}}));
    set["kind"] = json!("StatefulSet");
    set["spec"]["serviceName"] = json!("db");
    create(&[node("e2e-set", true), set])?;
    kubectl(&format!("-n {namespace} rollout status statefulset db --timeout=60s"))?;
    kubectl("cordon e2e-set")?;
    delete(&format!("pod db-0 -n {namespace}"))?;
    std::thread::sleep(Duration::from_secs(125));
    Ok(Staged::default())
}

fn not_ready(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    running_pod(namespace, "e2e-not-ready")?;
    kubectl("annotate node e2e-not-ready e2e/not-ready=")?;
    delete(&format!("pod stays -n {namespace}"))?;
    Ok(Staged::default())
}

fn never_started(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    create(&[pod(namespace, "stays", "node-b", &json!({"e2e/never-starts": ""}))])?;
    delete(&format!("pod stays -n {namespace}"))?;
    Ok(Staged::default())
}

/// What a kubelet writes when it cannot finish.
fn events(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let network = "error killing pod: failed to \"KillPodSandbox\" with KillPodSandboxError: \"rpc error: code = Unknown desc = \
                   failed to destroy network for sandbox \\\"0a\\\": plugin type=\\\"calico\\\" failed (delete): Unauthorized\"";
    let unmount = "UnmountVolume.TearDown failed for volume \"data\" : rpc error: code = Internal desc = umount: target is \
                   busy: device is busy";
    let pods = ["network", "volume"].map(|name| pod(namespace, name, "node-b", &json!({"e2e/never-ends": ""})));
    create(&pods)?;
    kubectl(&format!("wait --for=condition=Ready pod --all -n {namespace} --timeout=60s"))?;
    delete(&format!("pod network volume -n {namespace}"))?;
    std::thread::sleep(Duration::from_secs(5));
    for (pod, reason, says) in [(&pods[0], "FailedKillPod", network), (&pods[1], "FailedUnMount", unmount)] {
        let uid = uid(&format!("pod {} -n {namespace}", pod["metadata"]["name"].as_str().unwrap_or_default()))?;
        create(&[warning(pod, &uid, reason, says)?])?;
    }
    Ok(Staged::default())
}

/// Its finalizer keeps the object of a pod that nothing has ended.
fn forced(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let mut pod = pod(namespace, "forced", "node-b", &json!({"e2e/never-ends": ""}));
    pod["metadata"]["finalizers"] = json!(["hold.e2e.example.com/it"]);
    create(&[pod])?;
    kubectl(&format!("wait --for=condition=Ready pod/forced -n {namespace} --timeout=60s"))?;
    delete(&format!("pod forced -n {namespace} --force --grace-period=0"))?;
    Ok(Staged::default())
}

/// One without a node goes at once, but for its finalizer.
fn unscheduled(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let mut pod = pod(namespace, "held", "", &json!({}));
    pod["metadata"]["finalizers"] = json!(["hold.e2e.example.com/it"]);
    pod["spec"]["nodeSelector"] = json!({"no": "such"});
    create(&[pod])?;
    delete(&format!("pod held -n {namespace}"))?;
    Ok(Staged::default())
}
