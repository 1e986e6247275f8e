//! A pod with one container and one volume.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::situation::POD;

/// Sleeps, and ends when it is asked to.
pub const SLEEPS: &str = "trap 'exit 0' TERM; sleep 100000 & wait";

/// Makes it, on the node that this machine is, and waits until it runs this.
pub fn run(cluster: &Cluster, namespace: &str, runs: &str, volume: &Value) -> anyhow::Result<()> {
    mounting(cluster, namespace, runs, volume, &json!({"mountPath": "/data"}))
}

/// The same, with this in its mount of the volume.
pub fn mounting(cluster: &Cluster, namespace: &str, runs: &str, volume: &Value, mount: &Value) -> anyhow::Result<()> {
    let mut mount = mount.clone();
    mount["name"] = json!("data");
    let mut volume = volume.clone();
    volume["name"] = json!("data");
    cluster.apply(&[json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": POD, "namespace": namespace},
        "spec": {
            "terminationGracePeriodSeconds": 2, "nodeName": cluster.node,
            "tolerations": [{"operator": "Exists"}],
            "containers": [{
                "name": "main", "image": lab::image::BUSYBOX, "imagePullPolicy": "Never",
                "command": ["sh", "-c", runs], "volumeMounts": [mount]
            }],
            "volumes": [volume]
        }
    })])?;
    cluster.wait_ready(namespace, POD)
}

/// The kubelet's directory of it.
pub fn dir(cluster: &Cluster, namespace: &str) -> anyhow::Result<PathBuf> {
    let pod = cluster.json(&["get", "pod", "-n", namespace, POD])?;
    Ok(Path::new("/var/lib/kubelet/pods").join(pod["metadata"]["uid"].as_str().context("a pod without a uid")?))
}
