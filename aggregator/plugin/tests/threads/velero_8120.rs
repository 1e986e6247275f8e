//! <https://github.com/velero-io/velero/issues/8120>: a snapshot has two finalizers, and its controller does nothing about the one
//! while the other is there.

use crate::support::*;

#[test]
fn of_two_finalizers_the_one_that_goes_first_is_the_answer() {
    let group = "snapshot.storage.k8s.io";
    let world = healthy()
        .active("app")
        .with_custom(group, "volumesnapshots", "VolumeSnapshot")
        .with_cluster_wide(group, "volumesnapshotcontents", "VolumeSnapshotContent")
        .held(
            "snapshot.storage.k8s.io/v1",
            "VolumeSnapshot",
            "app",
            "s",
            &[
                "snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection",
                "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection",
            ],
        )
        .with(json!({
            "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "app", "uid": "data"},
            "spec": {"dataSource": {"kind": "VolumeSnapshot", "name": "s"}}, "status": {"phase": "Pending"}
        }))
        .deployment("kube-system", "snapshot-controller", 1, 1)
        .may_change("kube-system", "snapshot-controller", group, "volumesnapshots");
    let looked = look(world, object("volumesnapshot", "app", "s"));
    assert_eq!(looked.causes(), ["SnapshotFinalizer"], "{:#?}", looked.report);
    assert!(looked.chain(0)[1].starts_with("PersistentVolumeClaim app/data: "), "{:?}", looked.chain(0));
}
