//! Pods that do not go, and a volume that is not detached.

use apiserver::Prepared;
use serde_json::{Value, json};

use super::{Conditions, LOST, Stage};
use crate::cluster::crowd::Crowd;
use crate::cluster::text::{object, uid};

/// A node on which the driver of a volume has gone; it is Ready.
const WITHOUT_DRIVER: &str = "node-0011";

/// A pod that is asked to go with its namespace, changed.
fn pod(
    stage: &Stage,
    namespace: &str,
    name: &str,
    node: &str,
    add: &mut dyn FnMut(Prepared),
    change: impl FnOnce(&mut Value),
) {
    let leaving = stage.crowd.pod.with(|pod| {
        pod["metadata"]["deletionTimestamp"] = stage.crowd.ago(7160).into();
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(30);
        change(pod);
    });
    add(leaving.fill(
        namespace,
        name,
        &Crowd::pod_values(node, "web-5d4f8c7b9f", &uid("replicasets", namespace, "web")),
    ));
}

/// Says that its containers have ended.
fn ended(pod: &mut Value) {
    pod["status"]["phase"] = json!("Failed");
    pod["status"]["containerStatuses"][0]["state"] =
        json!({"terminated": {"exitCode": 137, "reason": "Error", "startedAt": null, "finishedAt": null}});
}

fn takes_claim(pod: &mut Value, claim: &str) {
    pod["spec"]["volumes"][0] = json!({"name": "data", "persistentVolumeClaim": {"claimName": claim}});
}

/// Claims that are held by pods on a node that is silent.
pub fn silent_node(stage: &Stage, add: &mut dyn FnMut(Prepared)) -> anyhow::Result<()> {
    let (since, heard) = (stage.crowd.ago(7400), stage.crowd.ago(7450));
    let silent = stage.crowd.node.with(|node| {
        let unknown = |kind: &str| {
            json!({
                "type": kind, "status": "Unknown", "reason": "NodeStatusUnknown", "lastHeartbeatTime": heard,
                "lastTransitionTime": since, "message": "Kubelet stopped posting node status."
            })
        };
        node["status"]["conditions"] =
            ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"].map(unknown).to_vec().into();
        let taint =
            |effect: &str| json!({"key": "node.kubernetes.io/unreachable", "effect": effect, "timeAdded": since});
        node["spec"]["taints"] = json!([taint("NoSchedule"), taint("NoExecute")]);
    });
    add(silent.fill("", LOST, &[]));
    add(stage.crowd.lease.fill(
        "kube-node-lease",
        LOST,
        &[("owner_uid", &uid("nodes", "", LOST)), ("renewed", &heard)],
    ));
    let claim = stage.crowd.claim.with(|claim| {
        claim["metadata"]["deletionTimestamp"] = stage.crowd.ago(7190).into();
        claim["metadata"]["deletionGracePeriodSeconds"] = json!(0);
    });
    stage.namespaces(&Conditions::default(), add, |namespace, add| {
        let volume = format!("pvc-{}", uid("persistentvolumeclaims", namespace, "data"));
        add(claim.fill(namespace, "data", &[("volume", &volume)]));
        pod(stage, namespace, "web-0", LOST, add, |pod| takes_claim(pod, "data"));
    });
    Ok(())
}

/// Pods of a node that was removed ten minutes ago.
pub fn node_gone(stage: &Stage, add: &mut dyn FnMut(Prepared)) -> anyhow::Result<()> {
    add(object(
        "events",
        json!({
            "metadata": {"name": "node-gone.18a1", "namespace": "default"},
            "regarding": {"kind": "Node", "name": "node-gone", "uid": "node-gone"},
            "reason": "RemovingNode", "type": "Normal", "note": "Node node-gone event: Removing Node node-gone from Controller",
            "deprecatedSource": {"component": "node-controller"}, "reportingController": "node-controller",
            "deprecatedFirstTimestamp": stage.crowd.ago(600), "deprecatedLastTimestamp": stage.crowd.ago(600), "deprecatedCount": 1
        }),
    ));
    stage.namespaces(&Conditions::default(), add, |namespace, add| {
        pod(stage, namespace, "web-0", "node-gone", add, |_| {})
    });
    Ok(())
}

/// A container that does not stop on a node that is well.
pub fn running(stage: &Stage, add: &mut dyn FnMut(Prepared)) -> anyhow::Result<()> {
    stage.namespaces(&Conditions::default(), add, |namespace, add| {
        pod(stage, namespace, "web-0", "node-0009", add, |_| {})
    });
    Ok(())
}

/// Pods that the node is done with, with a finalizer that no known program takes off.
pub fn finalizer(stage: &Stage, add: &mut dyn FnMut(Prepared)) -> anyhow::Result<()> {
    stage.namespaces(&Conditions::default(), add, |namespace, add| {
        pod(stage, namespace, "batch-0", "node-0010", add, |pod| {
            ended(pod);
            pod["metadata"]["finalizers"] = json!(["billing.example.com/account"]);
            pod["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        });
    });
    Ok(())
}

/// Pods whose containers have ended, with volumes of a driver that their node does not have any more.
pub fn csi(stage: &Stage, add: &mut dyn FnMut(Prepared)) -> anyhow::Result<()> {
    stage.namespaces(&Conditions::default(), add, |namespace, add| {
        let claim_uid = uid("persistentvolumeclaims", namespace, "share");
        let volume = format!("pvc-{claim_uid}");
        add(stage.crowd.claim.fill(namespace, "share", &[("volume", &volume)]));
        let nfs = stage.crowd.volume.with(|volume| volume["spec"]["csi"]["driver"] = json!("nfs.csi.example.com"));
        add(nfs.fill("", &volume, &[("namespace", namespace), ("claim", "share"), ("claim_uid", &claim_uid)]));
        pod(stage, namespace, "web-0", WITHOUT_DRIVER, add, |pod| {
            ended(pod);
            takes_claim(pod, "share");
        });
    });
    Ok(())
}

/// A volume that is being deleted and cannot be detached.
pub fn detach_fails(crowd: &Crowd, add: &mut dyn FnMut(Prepared)) {
    let going = |object: &mut Value| object["metadata"]["deletionTimestamp"] = crowd.ago(3600).into();
    let volume = crowd.volume.with(|volume| {
        going(volume);
        volume["metadata"]["finalizers"] = json!(["external-attacher/disk-csi-example-com"]);
        volume["status"]["phase"] = json!("Released");
    });
    add(volume.fill("", "pvc-stuck", &[("namespace", "team-00001"), ("claim", "gone"), ("claim_uid", "gone")]));
    let attachment = crowd.attachment.with(|attachment| {
        going(attachment);
        attachment["status"]["detachError"] =
            json!({"time": crowd.ago(60), "message": "rpc error: code = Internal desc = disk is busy"});
    });
    add(attachment.fill("", "csi-stuck", &[("node", "node-0012"), ("volume", "pvc-stuck")]));
}
