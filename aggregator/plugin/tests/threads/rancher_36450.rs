//! <https://github.com/rancher/rancher/issues/36450>: "After registering a cluster with Rancher, it's impossible to remove
//! the cluster from Rancher and delete the cattle-system namespace without manual intervention since it has a finalizer."

use crate::support::*;

#[test]
fn a_namespace_of_a_cluster_that_rancher_has_left() {
    let world = healthy().going("cattle-system", all_false()).change("/api/v1/namespaces", "cattle-system", |one| {
        one["spec"]["finalizers"] = json!(null);
        one["metadata"]["finalizers"] = json!(["controller.cattle.io/namespace-auth"]);
    });
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["ControllerCleanupPending"], "{:#?}", looked.report);
    let finding = &looked.report.roots[0].finding;
    let root = looked.chain(0).pop().unwrap();
    assert!(root.contains("(Rancher removes it when"), "{root}");
    assert!(finding.remedy.breaks.contains("Rancher's project roles"), "{}", finding.remedy.breaks);
}
