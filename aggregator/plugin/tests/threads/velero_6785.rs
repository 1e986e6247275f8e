//! <https://github.com/velero-io/velero/issues/6785>: the Secret that the driver needs to delete a snapshot is gone. The Event about the
//! content says less than its status.

use crate::support::*;

#[test]
fn the_secret_that_the_status_names_in_its_namespace_is_the_root() {
    let group = "snapshot.storage.k8s.io";
    let says = "Failed to delete snapshot: cannot get credentials for snapshot content: error getting secret disk-key in \
        namespace storage: secrets \\\"disk-key\\\" not found";
    let world = healthy()
        .active("storage")
        .with_cluster_wide(group, "volumesnapshotcontents", "VolumeSnapshotContent")
        .held_cluster_wide(
            "snapshot.storage.k8s.io/v1",
            "VolumeSnapshotContent",
            "content-a",
            "snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection",
        )
        .reports(
            "/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents",
            "content-a",
            json!({"readyToUse": false, "error": {"message": says}}),
        )
        .event(
            ("VolumeSnapshotContent", "", "content-a"),
            "Warning",
            "SnapshotDeleteError",
            "Failed to delete snapshot",
        )
        .deployment("storage", "disk-controller", 1, 1)
        .may_change("storage", "disk-controller", group, "volumesnapshotcontents");
    let looked = look(world, object("volumesnapshotcontent", "", "content-a"));
    assert_eq!(looked.causes(), ["FinalizerControllerNeedsMissing"], "{:#?}", looked.report);
    let last = looked.chain(0).pop().unwrap();
    assert!(last.starts_with("Secret storage/disk-key: is not found, as the controller reports"), "{last}");
}
