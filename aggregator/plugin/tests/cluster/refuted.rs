//! Steps that what is known would refute: they are left out, and what helps instead is said.

use crate::support::*;

fn steps(looked: &Looked) -> String {
    format!("{:#?}", looked.report.roots[0].finding.remedy.steps)
}

/// vsphere-csi-driver#502: the driver looks for what is gone.
#[test]
fn what_the_storage_has_no_more_is_not_detached_again() {
    let world = |message: &str| {
        let world = healthy();
        let asked = world.ago(7200);
        world.with(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
            "metadata": {"name": "csi-1", "uid": "csi-1", "deletionTimestamp": asked,
                "finalizers": ["external-attacher/csi-example"]},
            "spec": {"attacher": "csi.example", "nodeName": "node-a", "source": {"persistentVolumeName": "pv-1"}},
            "status": {"attached": true, "detachError": {"message": message}}
        }))
    };
    let looked = look(world("CNS: The object or item referred to could not be found"), everything());
    assert_eq!(looked.causes(), ["VolumeDetachFails"], "{:#?}", looked.report);
    assert!(
        steps(&looked).contains("nothing to detach") && steps(&looked).contains("Last resort"),
        "{}",
        steps(&looked)
    );
    assert!(!steps(&looked).contains("the driver tries again by itself"), "{}", steps(&looked));
    let looked = look(world("permission denied"), everything());
    assert!(!steps(&looked).contains("Last resort"), "{}", steps(&looked));
}

/// external-provisioner#1277: nothing is at risk where the disk is gone already.
#[test]
fn a_disk_that_the_storage_has_no_more_is_not_at_risk() {
    let world = |message: &str| {
        let world = healthy();
        let asked = world.ago(7200);
        world.with(json!({
            "kind": "PersistentVolume",
            "metadata": {"name": "pv-1", "uid": "pv-1", "deletionTimestamp": asked,
                "finalizers": ["external-provisioner.volume.kubernetes.io/finalizer"]},
            "spec": {"persistentVolumeReclaimPolicy": "Delete", "csi": {"driver": "csi.example", "volumeHandle": "h"}},
            "status": {"phase": "Released", "message": message}
        }))
    };
    let looked = look(world("rpc error: code = NotFound desc = no access point h"), everything());
    assert_eq!(looked.causes(), ["PvBackendDeleteFails"], "{:#?}", looked.report);
    assert!(steps(&looked).contains("that the storage has no such disk"), "{}", steps(&looked));
    assert!(!format!("{:?}", looked.report).contains("persistentVolumeReclaimPolicy: Delete"), "{:#?}", looked.report);
    let looked = look(world("rpc error: code = Internal"), everything());
    assert!(steps(&looked).contains("Repair what the storage answers"), "{}", steps(&looked));
}
