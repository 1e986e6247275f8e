//! <https://github.com/tigera/operator/issues/3413>: the Installation is deleted in the foreground and waits for
//! the service accounts that it owns; their finalizer is the operator's, which runs.

use crate::support::*;

#[test]
fn the_installation_waits_for_service_accounts_that_the_operator_holds() {
    let group = "operator.tigera.io";
    let owner = json!([{
        "apiVersion": "operator.tigera.io/v1", "kind": "Installation", "name": "default", "uid": "i",
        "controller": true, "blockOwnerDeletion": true
    }]);
    let world = healthy()
        .with_cluster_wide(group, "installations", "Installation")
        .with(json!({"kind": "Namespace", "metadata": {"name": "calico-system"}}));
    let then = world.ago(3600);
    let mut world = world
        .with(json!({
            "apiVersion": "operator.tigera.io/v1", "kind": "Installation",
            "metadata": {"name": "default", "uid": "i", "deletionTimestamp": then, "finalizers": ["foregroundDeletion"]}
        }))
        .grants(
            "tigera-operator",
            &[group, ""],
            &["installations", "installations/finalizers", "installations/status", "serviceaccounts"],
            &["create", "delete", "get", "list", "patch", "update", "watch"],
            json!([sa("tigera-operator", "tigera-operator")]),
        )
        .deployment("tigera-operator", "tigera-operator", 1, 1);
    for name in ["calico-cni-plugin", "calico-node"] {
        world = world.held("v1", "ServiceAccount", "calico-system", name, &["tigera.io/cni-protector"]);
        world = world.change("/api/v1/serviceaccounts", name, |one| one["metadata"]["ownerReferences"] = owner.clone());
    }
    let looked = look(world, object("installation", "", "default"));
    looked.assert_chain(
        0,
        &[
            "Installation default: ",
            "ServiceAccount calico-system/calico-cni-plugin: ",
            "Deployment tigera-operator/tigera-operator: runs (1 of 1 pods ready)",
        ],
    );
}
