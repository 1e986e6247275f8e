//! <https://github.com/rancher/rancher/issues/40456>: virtual machines were removed by hand; the cluster waits for a machine, that
//! for the object of its infrastructure, and the deletion of that fails.

use crate::support::*;

const FLEET: &str = "fleet-default";

fn world() -> World {
    let failed = "failed deleting server [fleet-default/dc1-pool1-abc] of kind (VmwarevsphereMachine): vm not found";
    let world = healthy().active(FLEET).active("cattle-system");
    let then = world.ago(600);
    let going = |version: &str, kind: &str, name: &str, finalizer: &str, spec: Value, conditions: Value| {
        json!({
            "apiVersion": version, "kind": kind,
            "metadata": {
                "name": name, "namespace": FLEET, "uid": format!("{kind}-{name}"), "deletionTimestamp": then,
                "creationTimestamp": "2026-01-01T00:00:00Z", "finalizers": [finalizer]
            },
            "spec": spec, "status": {"conditions": conditions}
        })
    };
    let objects = json!([
        going(
            "provisioning.cattle.io/v1",
            "Cluster",
            "dc1",
            "wrangler.cattle.io/rke-cluster-remove",
            json!({}),
            json!([{"type": "Removed", "status": "Unknown", "reason": "Waiting", "message": "waiting for machine [dc1-pool1-abc] to delete"}])
        ),
        going(
            "cluster.x-k8s.io/v1",
            "Machine",
            "dc1-pool1-abc",
            "machine.cluster.x-k8s.io",
            json!({"clusterName": "dc1", "infrastructureRef": {
                "apiVersion": "rke-machine.cattle.io/v1", "kind": "VmwarevsphereMachine", "name": "dc1-pool1-abc"
            }}),
            json!([{"type": "InfrastructureReady", "status": "False", "reason": "Deleting"}])
        ),
        going(
            "rke-machine.cattle.io/v1",
            "VmwarevsphereMachine",
            "dc1-pool1-abc",
            "wrangler.cattle.io/machine-provision-remove",
            json!({}),
            json!([{"type": "DeleteJob", "status": "False", "message": failed}])
        )
    ]);
    world
        .with_custom("provisioning.cattle.io", "clusters", "Cluster")
        .with_custom("cluster.x-k8s.io", "machines", "Machine")
        .with_custom("rke-machine.cattle.io", "vmwarevspheremachines", "VmwarevsphereMachine")
        .with(objects)
        .deployment("cattle-system", "rancher", 1, 1)
        .grants("rancher", &["*"], &["*"], &["*"], json!([sa("cattle-system", "rancher")]))
        .deployment("cattle-system", "capi-controller-manager", 1, 1)
        .may_change("cattle-system", "capi-controller-manager", "cluster.x-k8s.io", "machines")
}

#[test]
fn what_the_cluster_waits_for_is_followed_to_the_machine_that_fails() {
    let looked = look(world(), object("clusters.provisioning.cattle.io", FLEET, "dc1"));
    assert_eq!(looked.causes(), ["ControllerCleanupPending"], "{:#?}", looked.report);
    looked.assert_chain(
        0,
        &[
            "Cluster fleet-default/dc1: ",
            "Machine fleet-default/dc1-pool1-abc: ",
            "VmwarevsphereMachine fleet-default/dc1-pool1-abc: ",
        ],
    );
    assert!(looked.chain(0)[2].contains("vm not found"), "{:?}", looked.chain(0));
}

/// What is waited for and is gone, or not being deleted, is no link.
#[test]
fn words_of_what_is_gone_lead_nowhere() {
    let world = world().without("/apis/cluster.x-k8s.io/v1/machines", "dc1-pool1-abc");
    let looked = look(world, object("clusters.provisioning.cattle.io", FLEET, "dc1"));
    assert_eq!(looked.chain(0).len(), 1, "{:?}", looked.chain(0));
}
