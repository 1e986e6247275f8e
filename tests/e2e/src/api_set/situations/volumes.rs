//! PersistentVolumes and their claims, and what a node or a driver still does with them.

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
            "claim-of-completed-pod",
            claim_of_completed_pod,
            [ask("pvc/data -n {ns}", "PvcUsedByPod", "Pod {ns}/user")
                .proven()
                .then_typing(&["kubectl -n {ns} delete pod user"], &["pvc data -n {ns}"])],
        ),
        Situation::new(
            "volume-bound",
            volume_bound,
            [ask("pv/e2e-bound", "PvBoundToClaim", "PersistentVolumeClaim {ns}/data")
                .proven()
                .then_doing(&["delete pvc data -n {ns}"], &["pv e2e-bound"])],
        ),
        Situation::new(
            "volume-disk",
            disk_not_deleted,
            [
                ask("pv/e2e-disk", "PvBackendDeleteFails", "PersistentVolume e2e-disk")
                    .proven()
                    .saying(&["volume is still attached to another instance"]),
                ask("pv/e2e-kept", "PvProvisionerNotDue", "PersistentVolume e2e-kept"),
                ask("pv/e2e-in-tree", "PvDeletionPending", "PersistentVolume e2e-in-tree"),
            ],
        ),
        Situation::new(
            "volume-mounted",
            volume_mounted,
            [ask("pv/e2e-mounted", "VolumeStillMounted", "Node e2e-mounted")],
        ),
        Situation::new(
            "never-attached",
            never_attached,
            [ask("pv/e2e-left", "VolumeAttachmentNotDeleted", "csi-e2e-left")
                .then_typing(&["kubectl delete volumeattachment csi-e2e-left"], &["volumeattachment csi-e2e-left"])],
        ),
        Situation::new(
            "detach-secret",
            detach_secret,
            [ask("volumeattachment/csi-e2e-secret", "DetachSecretGone", "csi-e2e-secret")],
        ),
        Situation::new(
            "local-volume",
            local_volume,
            [ask("pvc/data -n {ns}", "NodeUnreachable", "Node e2e-local-volume").saying(&["LocalVolumeOnLostNode"])],
        ),
        Situation::new(
            "completed-pod-volume",
            completed_pod_volume,
            [ask("pod/waits -n {ns}", "CompletedPodHoldsVolume", "Node e2e-completed")],
        ),
    ]
}

pub(super) fn claim(namespace: &str, volume: &str) -> Value {
    // Larger than each volume of the others here: the controller would bind it to the first that is free.
    let storage = if volume.is_empty() { "2Gi" } else { "1Gi" };
    with(
        held("v1", "PersistentVolumeClaim", namespace, "data", &[]),
        "spec",
        json!({
            "storageClassName": "", "accessModes": ["ReadWriteOnce"], "volumeName": volume,
            "resources": {"requests": {"storage": storage}}
        }),
    )
}

/// Of this driver.
fn volume(name: &str, driver: &str, policy: &str, finalizers: &[&str]) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name, "finalizers": finalizers},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "",
            "persistentVolumeReclaimPolicy": policy, "csi": {"driver": driver, "volumeHandle": name}
        }
    })
}

/// Makes the claim and its volume, and waits until they are bound.
fn bound(namespace: &str, volume: Value) -> anyhow::Result<()> {
    let name = volume["metadata"]["name"].as_str().unwrap_or_default();
    create(&[volume.clone(), claim(namespace, name)])?;
    kubectl(&format!("wait --for=jsonpath={{.status.phase}}=Bound pvc/data -n {namespace} --timeout=60s")).map(drop)
}

fn user(namespace: &str, name: &str, node: &str, annotations: &Value) -> Value {
    let mut pod = pod(namespace, name, node, annotations);
    pod["spec"]["volumes"] = json!([{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]);
    pod
}

fn attachment(name: &str, driver: &str, node: &str, finalizers: &[&str]) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
        "metadata": {"name": format!("csi-{name}"), "finalizers": finalizers},
        "spec": {"attacher": driver, "nodeName": node, "source": {"persistentVolumeName": name}}
    })
}

fn claim_of_completed_pod(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    create(&[claim(namespace, ""), user(namespace, "user", "node-a", &json!({"e2e/phase": "Succeeded"}))])?;
    kubectl(&format!("wait --for=jsonpath={{.status.phase}}=Succeeded pod/user -n {namespace} --timeout=60s"))?;
    delete(&format!("pvc data -n {namespace}"))?;
    Ok(Staged::default())
}

fn volume_bound(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    bound(namespace, volume("e2e-bound", "csi.bound.e2e.example.com", "Retain", &[]))?;
    delete("pv e2e-bound")?;
    Ok(Staged::default())
}

const PROVISIONER: &str = "external-provisioner.volume.kubernetes.io/finalizer";

/// One whose driver fails, one whose disk is kept, and one that the controller manager itself should delete.
fn disk_not_deleted(_: &Cluster, _: &str) -> anyhow::Result<Staged> {
    let driver = "csi.disk.e2e.example.com";
    let mut released = volume("e2e-disk", driver, "Delete", &[PROVISIONER]);
    released["spec"]["claimRef"] =
        json!({"kind": "PersistentVolumeClaim", "namespace": "e2e-volume-disk", "name": "gone", "uid": "1-2-3"});
    released["metadata"]["annotations"] = json!({"pv.kubernetes.io/provisioned-by": driver});
    let in_tree = volume("e2e-in-tree", driver, "Retain", &["kubernetes.io/pv-controller"]);
    create(&[released.clone(), volume("e2e-kept", driver, "Retain", &[PROVISIONER]), in_tree])?;
    kubectl("wait --for=jsonpath={.status.phase}=Released pv/e2e-disk --timeout=60s")?;
    let says = "rpc error: code = Internal desc = volume is still attached to another instance";
    let event = warning(&released, &uid("pv e2e-disk")?, "VolumeFailedDelete", says)?;
    create(&[event])?;
    delete("pv e2e-disk e2e-kept e2e-in-tree")?;
    Ok(Staged::default())
}

/// The kubelet of the node lists it as in use.
fn volume_mounted(_: &Cluster, _: &str) -> anyhow::Result<Staged> {
    let (driver, finalizer) = ("csi.mounted.e2e.example.com", "external-attacher/csi-mounted-e2e-example-com");
    create(&[
        node("e2e-mounted", true),
        volume("e2e-mounted", driver, "Retain", &[finalizer]),
        attachment("e2e-mounted", driver, "e2e-mounted", &[finalizer]),
    ])?;
    set_status("volumeattachment csi-e2e-mounted", &json!({"attached": true}))?;
    set_status("node e2e-mounted", &json!({"volumesInUse": [format!("kubernetes.io/csi/{driver}^e2e-mounted")]}))?;
    delete("pv e2e-mounted")?;
    Ok(Staged::default())
}

fn never_attached(_: &Cluster, _: &str) -> anyhow::Result<Staged> {
    let driver = "csi.left.e2e.example.com";
    create(&[
        volume("e2e-left", driver, "Retain", &["external-attacher/csi-left-e2e-example-com"]),
        attachment("e2e-left", driver, "node-b", &[]),
    ])?;
    let error = json!({"attached": false, "attachError": {"message": "no such disk"}});
    set_status("volumeattachment csi-e2e-left", &error)?;
    delete("pv e2e-left")?;
    Ok(Staged::default())
}

fn detach_secret(_: &Cluster, _: &str) -> anyhow::Result<Staged> {
    let (driver, finalizer) = ("csi.secret.e2e.example.com", "external-attacher/csi-secret-e2e-example-com");
    let mut volume = volume("e2e-secret", driver, "Retain", &[finalizer]);
    volume["spec"]["csi"]["controllerPublishSecretRef"] = json!({"name": "login", "namespace": "e2e-uninstalled"});
    create(&[volume, attachment("e2e-secret", driver, "node-b", &[finalizer])])?;
    let says = "failed to load secret \"e2e-uninstalled/login\": secrets \"login\" not found";
    set_status("volumeattachment csi-e2e-secret", &json!({"attached": true, "detachError": {"message": says}}))?;
    delete("volumeattachment csi-e2e-secret")?;
    Ok(Staged::default())
}

/// A claim whose data lies on the disk of a node that is gone.
fn local_volume(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let mut volume = volume("e2e-local", "local.e2e.example.com", "Retain", &[]);
    let on = json!([{"key": "kubernetes.io/hostname", "operator": "In", "values": ["e2e-local-volume"]}]);
    volume["spec"]["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [{"matchExpressions": on}]}});
    volume["spec"]["csi"] = Value::Null;
    volume["spec"]["local"] = json!({"path": "/mnt/data"});
    create(&[node("e2e-local-volume", true)])?;
    bound(namespace, volume)?;
    create(&[user(namespace, "user", "e2e-local-volume", &json!({"e2e/never-ends": ""}))])?;
    kubectl(&format!("wait --for=condition=Ready pod/user -n {namespace} --timeout=60s"))?;
    delete(&format!("pvc data -n {namespace}"))?;
    delete(&format!("pod user -n {namespace}"))?;
    kubectl("label node e2e-local-volume e2e-kubelet=no --overwrite")?;
    // Before that it is a node that is silent.
    std::thread::sleep(std::time::Duration::from_secs(120));
    Ok(Staged::default())
}

/// The next pod waits on another node.
fn completed_pod_volume(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let driver = "csi.completed.e2e.example.com";
    bound(namespace, volume("e2e-completed", driver, "Retain", &[]))?;
    create(&[
        node("e2e-completed", true),
        user(namespace, "done", "e2e-completed", &json!({"e2e/phase": "Succeeded"})),
        attachment("e2e-completed", driver, "e2e-completed", &[]),
    ])?;
    kubectl(&format!("wait --for=jsonpath={{.status.phase}}=Succeeded pod/done -n {namespace} --timeout=60s"))?;
    set_status("volumeattachment csi-e2e-completed", &json!({"attached": true}))?;
    set_status("node e2e-completed", &json!({"volumesInUse": [format!("kubernetes.io/csi/{driver}^e2e-completed")]}))?;
    create(&[user(namespace, "waits", "node-b", &json!({"e2e/never-starts": ""}))])?;
    std::thread::sleep(std::time::Duration::from_secs(120));
    Ok(Staged::default())
}
