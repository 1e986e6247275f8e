//! <https://github.com/crossplane/crossplane/issues/5849>: a composite is deleted in the foreground, its
//! ProviderConfig goes first, and the Object that needs it to connect stays.

use crate::support::*;

#[test]
fn the_composite_waits_for_the_object_and_not_for_the_garbage_collector() {
    let group = "kubernetes.crossplane.io";
    let message =
        "connect failed: cannot get provider config: ProviderConfig.kubernetes.crossplane.io \"xr-1\" not found";
    let world = healthy()
        .with_cluster_wide("example.crossplane.io", "xclusters", "XCluster")
        .with_cluster_wide(group, "objects", "Object");
    let then = world.ago(3600);
    let owner = json!([{
        "apiVersion": "example.crossplane.io/v1", "kind": "XCluster", "name": "xr-1", "uid": "xr-1",
        "controller": true, "blockOwnerDeletion": true
    }]);
    let world = world
        .with(json!([
            {
                "apiVersion": "example.crossplane.io/v1", "kind": "XCluster",
                "metadata": {"name": "xr-1", "uid": "xr-1", "deletionTimestamp": then, "finalizers": ["foregroundDeletion"]}
            },
            {
                "apiVersion": "kubernetes.crossplane.io/v1", "kind": "Object",
                "metadata": {
                    "name": "xr-1-config", "uid": "o", "deletionTimestamp": then, "ownerReferences": owner,
                    "finalizers": ["finalizer.managedresource.crossplane.io"]
                },
                "status": {"conditions": [
                    {"type": "Synced", "status": "False", "reason": "ReconcileError", "message": message},
                    {"type": "Ready", "status": "False", "reason": "Deleting"}
                ]}
            }
        ]))
        .grants(
            "crossplane:provider:provider-kubernetes:system",
            &[group],
            &["objects", "objects/status"],
            &["get", "list", "watch", "update", "patch", "create"],
            json!([sa("crossplane-system", "provider-kubernetes")]),
        )
        .deployment("crossplane-system", "provider-kubernetes", 1, 1);
    let looked = look(world, object("xcluster", "", "xr-1"));
    assert!(!looked.causes().contains(&"GarbageCollectorNotWorking"), "{:#?}", looked.report);
    looked.assert_chain(
        0,
        &["XCluster xr-1: ", "Object xr-1-config: ", "Deployment crossplane-system/provider-kubernetes: runs"],
    );
    let quotes = |one: &findings::Evidence| one.says.contains("ProviderConfig.kubernetes.crossplane.io");
    assert!(looked.report.roots[0].finding.evidence.iter().any(quotes), "{:#?}", looked.report.roots[0].finding);
}
