//! What the plugin is asked in other ways than for one object, and how it ends.

use serde_json::json;

use super::super::objects::*;
use super::super::{Line, Situation, ask, line};
use crate::cluster::{Cluster, deleted_afterwards};
use crate::situation::Staged;

/// All of them.
pub fn all() -> Vec<Situation> {
    vec![
        Situation::new(
            "usage",
            usage,
            // An attachment in the middle of a chain is itself being deleted.
            [ask("pv/e2e-usage", "VolumeDetachFails", "csi-e2e-usage").saying(&["\"stuck\":2"])],
        )
        .then_typing([
            line("pv/e2e-usage -o name", 2, &["persistentvolume/e2e-usage", "volumeattachment/csi-e2e-usage"]),
            line("-n {ns}", 2, &["1 object stuck", "pup/p"]),
            line("-n {ns} -o name", 2, &["pups.usage.e2e.example.com/p -n {ns}"]),
            Line {
                never: &["is being deleted", "Terminating for"],
                ..line("--before ns/{ns}", 2, &["would be stuck", "once deleted", "ConfigMap {ns}/x"])
            },
            Line {
                never: &["Nothing"],
                ..line("podz -n {ns}", 1, &["doesn't have a resource type \"podz\"", "whose API does not answer"])
            },
            line("podz/x -n {ns}", 1, &["doesn't have a resource type \"podz\""]),
            line("pods,svc -n {ns}", 0, &["Nothing is stuck"]),
            line("pods -l app=x -n {ns}", 0, &["Nothing is stuck"]),
            line("-l app=x", 1, &["give the TYPE"]),
            line("--as system:serviceaccount:{ns}:nobody", 3, &["Unknown", "kubectl auth can-i"]),
            line("pod/x -n {ns} --as system:serviceaccount:{ns}:nobody", 3, &["Unknown", "kubectl auth can-i"]),
            line("-o json --as system:serviceaccount:{ns}:nobody", 3, &["\"verdict\": \"CannotTell\""]),
        ])
        // Its dead API would hold every other namespace.
        .on_cluster(6),
    ]
}

fn usage(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let driver = "csi.usage.e2e.example.com";
    let attacher = "external-attacher/csi-usage-e2e-example-com";
    define("pups.usage.e2e.example.com", "Pup", "Namespaced")?;
    create(&[
        api_service("dead-usage.e2e.example.com", "dead-usage", None),
        held("v1", "ConfigMap", namespace, "x", &["usage.e2e.example.com/keep"]),
        held("usage.e2e.example.com/v1", "Pup", namespace, "p", &["usage.e2e.example.com/f"]),
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": driver},
            "spec": {"attachRequired": true}
        }),
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "e2e-usage", "finalizers": [attacher]},
            "spec": {
                "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Delete", "csi": {"driver": driver, "volumeHandle": "h"}
            }
        }),
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
            "metadata": {"name": "csi-e2e-usage", "finalizers": [attacher]},
            "spec": {"attacher": driver, "nodeName": "node-b", "source": {"persistentVolumeName": "e2e-usage"}}
        }),
    ])?;
    let failed = json!({"status": {"attached": true, "detachError": {"message": "busy"}}});
    kubectl(&format!("patch volumeattachment csi-e2e-usage --subresource=status --type=merge -p {failed}"))?;
    for held in
        ["volumeattachment csi-e2e-usage".to_owned(), "pv e2e-usage".to_owned(), format!("pup p -n {namespace}")]
    {
        delete(&held)?;
    }
    // A minute later everything is stuck.
    std::thread::sleep(std::time::Duration::from_secs(75));
    Ok(deleted_afterwards("apiservice", "v1.dead-usage.e2e.example.com"))
}
