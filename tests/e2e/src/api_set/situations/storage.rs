//! Claims, volumes, attachments, and what uses them.

use serde_json::{Value, json};

use super::super::objects::*;
use super::super::{Situation, ask};
use crate::cluster::Cluster;
use crate::situation::Staged;

/// All of them.
pub fn all() -> Vec<Situation> {
    vec![
        Situation::new(
            "snapshot",
            snapshot,
            [ask("pvc/data -n {ns}", "SnapshotFinalizer", "VolumeSnapshot {ns}/snap-1").proven()],
        ),
        Situation::new(
            "attachment-node-gone",
            node_gone,
            [ask("volumeattachment/csi-e2e-gone", "VolumeAttacherGone", "csi-e2e-gone")
                .never(&["repair the node", "kubectl describe node node-gone"])],
        ),
        Situation::new(
            "detach-fails",
            detach_fails,
            [ask("pv/e2e-detach", "VolumeDetachFails", "csi-e2e-detach").saying(&["volume busy"])],
        ),
        Situation::new("claim-used", claim_used, [ask("pvc/data -n {ns}", "PvcUsedByPod", "Pod {ns}/user")]),
        Situation::new(
            "no-namespace",
            no_namespace,
            [ask("pod/lost -n {ns}", "ContentWithoutNamespace", "Pod {ns}/lost")],
        ),
    ]
}

fn claim(namespace: &str, finalizers: &[&str]) -> Value {
    with(
        held("v1", "PersistentVolumeClaim", namespace, "data", finalizers),
        "spec",
        json!({
            "storageClassName": "none", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}
        }),
    )
}

fn snapshot(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    define("volumesnapshots.snapshot.storage.k8s.io", "VolumeSnapshot", "Namespaced")?;
    create(&[
        claim(namespace, &["snapshot.storage.kubernetes.io/pvc-as-source-protection"]),
        with(
            held("snapshot.storage.k8s.io/v1", "VolumeSnapshot", namespace, "snap-1", &[]),
            "spec",
            json!({"source": {"persistentVolumeClaimName": "data"}}),
        ),
    ])?;
    let status = json!({"status": {"readyToUse": false}});
    kubectl(&format!("-n {namespace} patch volumesnapshot snap-1 --subresource=status --type=merge -p {status}"))?;
    delete(&format!("pvc data -n {namespace}"))?;
    Ok(Staged::default())
}

fn driver(name: &str) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": name}, "spec": {"attachRequired": true}
    })
}

fn attachment(name: &str, driver: &str, node: &str, volume: &str) -> Value {
    let finalizer = format!("external-attacher/{}", driver.replace('.', "-"));
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
        "metadata": {"name": name, "finalizers": [finalizer]},
        "spec": {"attacher": driver, "nodeName": node, "source": {"persistentVolumeName": volume}}
    })
}

fn node_gone(_: &Cluster, _: &str) -> anyhow::Result<Staged> {
    let name = "csi.gone.e2e.example.com";
    create(&[driver(name), attachment("csi-e2e-gone", name, "node-gone", "e2e-gone")])?;
    delete("volumeattachment csi-e2e-gone")?;
    Ok(Staged::default())
}

fn detach_fails(_: &Cluster, _: &str) -> anyhow::Result<Staged> {
    let name = "csi.detach.e2e.example.com";
    create(&[
        driver(name),
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": "e2e-detach", "finalizers": ["external-attacher/csi-detach-e2e-example-com"]},
            "spec": {
                "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Delete", "csi": {"driver": name, "volumeHandle": "h"}
            }
        }),
        attachment("csi-e2e-detach", name, "node-b", "e2e-detach"),
    ])?;
    let status = json!({"status": {"attached": true, "detachError": {"message": "volume busy"}}}).to_string();
    let output = std::process::Command::new("kubectl")
        .args(["patch", "volumeattachment", "csi-e2e-detach", "--subresource=status", "--type=merge", "-p", &status])
        .output()?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    delete("volumeattachment csi-e2e-detach")?;
    delete("pv e2e-detach")?;
    Ok(Staged::default())
}

fn claim_used(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let mut pod = held("v1", "Pod", namespace, "user", &[]);
    pod["spec"] = json!({
        "nodeName": "node-a", "containers": [{"name": "main", "image": "registry.invalid/none"}],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    });
    create(&[claim(namespace, &[]), pod])?;
    delete(&format!("pvc data -n {namespace}"))?;
    Ok(Staged::default())
}

/// The namespace is gone from etcd while a pod is in it.
fn no_namespace(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let mut pod = held("v1", "Pod", namespace, "lost", &[]);
    pod["metadata"]["annotations"] = json!({"e2e/never-ends": ""});
    pod["spec"] = json!({
        "nodeName": "node-b", "terminationGracePeriodSeconds": 5,
        "containers": [{"name": "main", "image": "registry.invalid/none"}]
    });
    create(&[pod])?;
    kubectl(&format!("wait --for=condition=Ready pod/lost -n {namespace} --timeout=30s"))?;
    delete(&format!("pod lost -n {namespace}"))?;
    etcd(&format!("/registry/namespaces/{namespace}"), b"")?;
    Ok(Staged::default())
}
