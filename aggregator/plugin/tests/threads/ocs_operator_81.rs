//! <https://github.com/red-hat-storage/ocs-operator/issues/81>: the condition names only the kind that is waited for. One of it, of
//! another group, belongs to the object and says what it waits for in turn.

use crate::support::*;

#[test]
fn what_it_owns_of_the_kind_that_its_words_name_is_followed() {
    let owner = json!([{"apiVersion": "ocs.openshift.io/v1", "kind": "StorageCluster", "name": "ocs", "uid": "StorageCluster-ocs"}]);
    let world = healthy()
        .active("storage")
        .with_custom("ocs.openshift.io", "storageclusters", "StorageCluster")
        .with_custom("ceph.rook.io", "cephclusters", "CephCluster")
        .held("ocs.openshift.io/v1", "StorageCluster", "storage", "ocs", &["storagecluster.ocs.openshift.io"])
        .reports(
            "/apis/ocs.openshift.io/v1/storageclusters",
            "ocs",
            json!({"conditions": [{
                "type": "ReconcileComplete", "status": "False", "reason": "ReconcileFailed",
                "message": "uninstall: Waiting for CephCluster to be deleted"
            }]}),
        )
        .held("ceph.rook.io/v1", "CephCluster", "storage", "ocs-cephcluster", &["cephcluster.ceph.rook.io"])
        .change("/apis/ceph.rook.io/v1/cephclusters", "ocs-cephcluster", |one| {
            one["metadata"]["ownerReferences"] = owner
        })
        .deployment("storage", "ocs-operator", 1, 1)
        .may_change("storage", "ocs-operator", "ocs.openshift.io", "storageclusters");
    let looked = look(world, everything());
    assert_eq!(looked.report.roots.len(), 1, "{:#?}", looked.report);
    let looked_again = looked.chain(0);
    assert!(looked_again.last().unwrap().contains("cephcluster.ceph.rook.io"), "{looked_again:#?}");
}
