//! <https://github.com/rook/rook/issues/12218>: the namespace of Rook was deleted with its operator in it, and the
//! Ceph objects in it wait for that operator.

use crate::support::*;

#[test]
fn an_operator_that_died_with_its_namespace() {
    let group = "ceph.rook.io";
    let remaining = "Some resources are remaining: cephblockpools.ceph.rook.io has 1 resource instances, \
        cephclusters.ceph.rook.io has 1 resource instances";
    let world = healthy()
        .with_custom(group, "cephblockpools", "CephBlockPool")
        .with_custom(group, "cephclusters", "CephCluster")
        .going("rook-ceph", failing("NamespaceContentRemaining", remaining))
        .held("ceph.rook.io/v1", "CephBlockPool", "rook-ceph", "replicapool", &["cephblockpool.ceph.rook.io"])
        .held("ceph.rook.io/v1", "CephCluster", "rook-ceph", "rook-ceph", &["cephcluster.ceph.rook.io"])
        .grants("rook-ceph-global", &[group], &["*"], &["*"], json!([sa("rook-ceph", "rook-ceph-system")]));
    let looked = look(world, object("ns", "", "rook-ceph"));
    let causes = looked.causes();
    assert!(!causes.is_empty() && causes.iter().all(|one| *one == "FinalizerOwnerInSameNamespace"), "{causes:?}");
    assert_eq!(looked.report.verdict, Verdict::Stuck);
    let root = looked.chain(0).pop().unwrap();
    assert!(
        root.starts_with("ServiceAccount rook-ceph/rook-ceph-system: may remove it and is of the namespace"),
        "{root}"
    );
}
