//! <https://github.com/rancher/rancher/issues/38442>: a Node whose machine is gone keeps a finalizer of Rancher that no
//! controller of a newer version removes.

use crate::support::*;

#[test]
fn a_node_that_is_being_deleted_is_not_asked_to_come_back() {
    let world = healthy()
        .node_ready("node-a", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
        .change("/api/v1/nodes", "node-a", |node| {
            node["metadata"]["finalizers"] = json!(["clusterscoped.controller.cattle.io/user-node-remove_c-abcde"]);
        });
    let asked = world.ago(7200);
    let world = world.change("/api/v1/nodes", "node-a", |node| node["metadata"]["deletionTimestamp"] = asked.into());
    let looked = look(world, object("node", "", "node-a"));
    assert_eq!(looked.causes(), ["ControllerCleanupPending"], "{:#?}", looked.report);
    let steps = &looked.report.roots[0].finding.remedy.steps;
    assert!(steps.iter().any(|step| step.text.contains("nothing is left to clean up")), "{steps:#?}");
    assert!(looked.chain(0)[0].contains("user-node-remove_c-abcde"), "{:?}", looked.chain(0));
}
