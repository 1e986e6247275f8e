//! <https://github.com/rook/rook/issues/17059>: Rook does not delete a CephCluster that has pools, and says so in a condition
//! that is True.

use crate::support::*;

#[test]
fn the_dependents_that_block_it_are_told() {
    let status = json!({"phase": "Deleting", "conditions": [
        {"type": "Ready", "status": "True", "reason": "ClusterCreated", "message": "Cluster created successfully"},
        {"type": "DeletionIsBlocked", "status": "True", "reason": "ObjectHasDependents", "message":
            "CephCluster \"rook-ceph/af-rook-ceph-dev1\" will not be deleted until all dependents are removed: CephBlockPool: [ceph-blockpool]"}
    ]});
    let world = healthy()
        .with(json!({"kind": "Namespace", "metadata": {"name": "rook-ceph"}}))
        .with_custom("ceph.rook.io", "cephclusters", "CephCluster")
        .held("ceph.rook.io/v1", "CephCluster", "rook-ceph", "af-rook-ceph-dev1", &["cephcluster.ceph.rook.io"])
        .reports("/apis/ceph.rook.io/v1/cephclusters", "af-rook-ceph-dev1", status);
    let looked = look(world, object("cephcluster", "rook-ceph", "af-rook-ceph-dev1"));
    assert_eq!(looked.report.verdict, Verdict::Stuck, "{:#?}", looked.report);
    let root = looked.chain(0).pop().unwrap();
    assert!(
        root.contains("DeletionIsBlocked=True ObjectHasDependents") && root.contains("CephBlockPool: [ceph-blockpool]"),
        "{root}"
    );
    // It wipes the disks, and releases nothing (rook: pkg/operator/ceph/cluster/controller.go, `reconcileDelete`): that is
    // something to know before, and nothing to do.
    let remedy = &looked.report.roots[0].finding.remedy;
    assert!(remedy.note.as_ref().is_some_and(|note| note.contains("cleanupPolicy")), "{remedy:#?}");
    assert!(!remedy.steps.iter().any(|step| step.text.contains("cleanupPolicy")), "{remedy:#?}");
}
