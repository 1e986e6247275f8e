//! A pod with one container and one volume.

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::situation::POD;

/// Sleeps, and ends when it is asked to.
pub const SLEEPS: &str = "trap 'exit 0' TERM; sleep 100000 & wait";

/// Makes it, on the node that this machine is, and waits until it runs this.
pub fn run(cluster: &Cluster, namespace: &str, runs: &str, volume: &Value) -> anyhow::Result<()> {
    let mount = json!({"name": "data", "mountPath": "/data"});
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
