//! <https://github.com/kubernetes-csi/external-snapshotter/issues/349>: a snapshot could not be made because its claim was being
//! deleted by then. Now both are deleted: the claim waits for the snapshot, and that for a controller that keeps it.

use crate::support::*;

#[test]
fn the_snapshot_that_never_became_ready_is_the_root_of_its_claim() {
    let group = "snapshot.storage.k8s.io";
    let world = healthy()
        .active("shop")
        .with_custom(group, "volumesnapshots", "VolumeSnapshot")
        .with_cluster_wide(group, "volumesnapshotcontents", "VolumeSnapshotContent")
        .held("v1", "PersistentVolumeClaim", "shop", "data", &["snapshot.storage.kubernetes.io/pvc-as-source-protection"])
        .held(
            "snapshot.storage.k8s.io/v1",
            "VolumeSnapshot",
            "shop",
            "s",
            &[
                "snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection",
                "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection",
            ],
        )
        .change("/apis/snapshot.storage.k8s.io/v1/volumesnapshots", "s", |one| {
            one["spec"] = json!({"source": {"persistentVolumeClaimName": "data"}});
            one["status"] = json!({"readyToUse": false, "error": {"message": "Failed to create snapshot content with error \
                snapshot controller failed to update data on API server: cannot add finalizer on claim because it is being deleted"}});
        })
        .deployment("kube-system", "snapshot-controller", 1, 1)
        .may_change("kube-system", "snapshot-controller", group, "volumesnapshots");
    let looked = look(world, object("pvc", "shop", "data"));
    let chain = looked.chain(0);
    assert!(chain[1].starts_with("VolumeSnapshot shop/s: "), "{chain:#?}");
    assert!(chain.iter().any(|link| link.contains("cannot add finalizer on claim")), "{chain:#?}");
}
