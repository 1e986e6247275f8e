//! <https://github.com/NetApp/trident/issues/572>: the driver answers that the volume is not mounted, and the kubelet
//! tries for ever; only its log says so, and the driver is there.

use crate::support::*;

#[test]
fn the_driver_is_not_blamed_for_being_away() {
    let world = healthy().going_pod("mon", "elasticsearch-master-0", "node-a", "Failed");
    let world = world
        .change("/api/v1/pods", "elasticsearch-master-0", |pod| {
            pod["spec"]["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "mon-elasticsearch-master"}}]);
        })
        .with(json!([
            {
                "kind": "PersistentVolumeClaim", "metadata": {"name": "mon-elasticsearch-master", "namespace": "mon"},
                "spec": {"volumeName": "pvc-80a43fd6"}
            },
            {
                "kind": "PersistentVolume", "metadata": {"name": "pvc-80a43fd6"},
                "spec": {"csi": {"driver": "csi.trident.netapp.io", "volumeHandle": "pvc-80a43fd6"}}, "status": {"phase": "Bound"}
            }
        ]))
        .without("/apis/storage.k8s.io/v1/csinodes", "node-a")
        .with(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "node-a"},
            "spec": {"drivers": [{"name": "csi.trident.netapp.io"}]}
        }));
    let looked = look(world, object("pod", "mon", "elasticsearch-master-0"));
    assert_eq!(looked.causes(), ["PodCleanupNotFinished"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Stuck);
    assert!(looked.commands().contains(&check_once("mon/elasticsearch-master-0")));
}
