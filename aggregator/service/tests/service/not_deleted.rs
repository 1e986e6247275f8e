//! What the service shows of what was not deleted, and of what empties slowly.

use std::time::Duration;

use apiserver::Store;
use serde_json::{Value, json};

use crate::api::until;
use crate::cluster::{ago, going, still_alive};
use crate::running::Running;

fn node(store: &Store, name: &str, in_use: &[&str]) {
    let ready = json!([{"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": ago(7200)}]);
    let status = json!({"conditions": ready, "volumesInUse": in_use});
    store.put_node(name, &json!({"metadata": {"name": name, "uid": name}, "status": status})).unwrap();
    let renewed = ago(-600).replace('Z', ".000000Z");
    let spec = json!({"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": renewed});
    let lease = json!({"metadata": {"name": name, "uid": format!("lease-{name}")}, "spec": spec});
    store.put("leases", Some("kube-node-lease"), name, &lease).unwrap();
}

/// A pod of a Job ended an hour ago; its node has the volume still. The next one waits for that on another node.
fn completed_pod_with_volume(store: &Store) {
    still_alive(store);
    node(store, "node-x", &["kubernetes.io/csi/ebs.csi.aws.com^vol-1"]);
    node(store, "node-y", &[]);
    store.put_namespace("jobs", &json!({"metadata": {"name": "jobs", "uid": "jobs"}})).unwrap();
    let claim = json!({
        "metadata": {"name": "data", "namespace": "jobs", "uid": "c"},
        "spec": {"volumeName": "pv-1"}, "status": {"phase": "Bound"}
    });
    store.put("persistentvolumeclaims", Some("jobs"), "data", &claim).unwrap();
    let volume = json!({
        "metadata": {"name": "pv-1", "uid": "pv-1"}, "status": {"phase": "Bound"},
        "spec": {"csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"}}
    });
    store.put_persistent_volume("pv-1", &volume).unwrap();
    let attachment = json!({
        "metadata": {"name": "csi-x", "uid": "csi-x"}, "status": {"attached": true},
        "spec": {"attacher": "ebs.csi.aws.com", "nodeName": "node-x", "source": {"persistentVolumeName": "pv-1"}}
    });
    store.put("volumeattachments", None, "csi-x", &attachment).unwrap();
    let pod = |name: &str, node: &str, status: Value| {
        let spec =
            json!({"nodeName": node, "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]});
        let metadata = json!({"name": name, "namespace": "jobs", "uid": name, "creationTimestamp": ago(3600)});
        store.put_pod("jobs", name, &json!({"metadata": metadata, "spec": spec, "status": status})).unwrap();
    };
    pod(
        "done",
        "node-x",
        json!({"phase": "Succeeded", "containerStatuses": [
            {"name": "c", "containerID": "containerd://1", "state": {"terminated": {"finishedAt": ago(3600)}}}
        ]}),
    );
    pod(
        "next",
        "node-y",
        json!({"phase": "Pending", "containerStatuses": [
            {"name": "c", "containerID": "", "state": {"waiting": {"reason": "ContainerCreating"}}}
        ]}),
    );
}

/// Nothing is Terminating: report and metric show it all the same, and the alert `WhyTerminatingStuck` rests on that series.
#[test]
fn a_completed_pod_whose_volume_the_next_one_waits_for_is_reported_and_counted() {
    let running = Running::start_with("baseline", completed_pod_with_volume);
    let of_root = |root: &&Value| root["cause"] == "CompletedPodHoldsVolume";
    let mut found = Value::Null;
    until(Duration::from_secs(60), || {
        let (_, answer) = running.json("/api/v1/roots", "admin");
        found = answer["roots"].as_array().into_iter().flatten().find(of_root).cloned().unwrap_or_default();
        !found.is_null()
    });
    assert_eq!(found["root"], "Node node-x", "{found}");
    let (_, metrics) = running.get("/metrics", "admin");
    let series = "why_terminating_cluster_root_victims{cause=\"CompletedPodHoldsVolume\"";
    let counted = metrics.lines().find(|line| line.starts_with(series)).unwrap_or_else(|| panic!("{metrics}"));
    assert!(counted.ends_with(" 1"), "{counted}");
    let (_, stuck) = running.get("/api/v1/stuck", "admin");
    assert!(stuck.contains("waits for volume pv-1"), "{stuck}");
    // The volume is unmounted: both end.
    node(&running.api.store, "node-x", &[]);
    until(Duration::from_secs(60), || !running.get("/metrics", "admin").1.contains(series));
}

/// Two counts distinguish slow from stuck: as long as it falls nothing is called a root.
#[test]
fn a_namespace_that_empties_is_slow_and_counted_as_terminating_normally() {
    let put = |store: &Store, n: usize| {
        let name = format!("c-{n}");
        let object =
            json!({"metadata": {"name": name, "namespace": "big", "uid": name, "creationTimestamp": ago(7200)}});
        store.put("configmaps", Some("big"), &name, &object).unwrap();
    };
    let running = Running::start_with("baseline", |store| {
        still_alive(store);
        (0..400).for_each(|n| put(store, n));
        let object = json!({
            "metadata": going("big"), "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Terminating", "conditions": [{
                "type": "NamespaceContentRemaining", "status": "True", "reason": "SomeResourcesRemain",
                "lastTransitionTime": ago(3600),
                "message": "Some resources are remaining: configmaps. has 400 resource instances"
            }]}
        });
        store.put_namespace("big", &object).unwrap();
    });
    let mut left = 400;
    let mut words = String::new();
    until(Duration::from_secs(60), || {
        // It falls by some objects each time that this looks.
        left -= 2;
        running.api.store.remove("configmaps", Some("big"), &format!("c-{left}")).unwrap();
        running.api.store.remove("configmaps", Some("big"), &format!("c-{}", left + 1)).unwrap();
        words = running.get("/api/v1/objects/-/Namespace/-/big", "admin").1;
        words.contains("ConfigMaps left, about") || left < 100
    });
    assert!(words.contains("of 400 ConfigMaps left, about"), "{words}");
    let (_, metrics) = running.get("/metrics", "admin");
    let series = "why_terminating_cluster_objects{kind=\"Namespace\",cause=\"NamespaceStillEmptying\",verdict=\"Progressing\"} 1";
    assert!(metrics.contains(series), "{metrics}");
}
