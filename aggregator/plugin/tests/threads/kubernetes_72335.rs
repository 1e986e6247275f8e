//! <https://github.com/kubernetes/kubernetes/issues/72335>: a volume that was attached to a node which left the
//! cluster: its driver cannot detach, since the node is not found.

use crate::support::*;

#[test]
fn the_node_that_is_gone_is_named() {
    let world = healthy();
    let asked = world.ago(4 * 86_400);
    let looked = look(
        world.with(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
            "metadata": {"name": "csi-ec16a736", "deletionTimestamp": asked, "finalizers": ["external-attacher/csi-djplugin"]},
            "spec": {"attacher": "csi-djplugin", "nodeName": "ubuntu-node5", "source": {"persistentVolumeName": "pvc-1"}},
            "status": {"attached": true, "detachError": {"message": "node \"ubuntu-node5\" not found"}}
        })),
        object("volumeattachment", "default", "csi-ec16a736"),
    );
    assert_eq!(looked.causes(), ["VolumeDetachFails"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Stuck);
    let root = looked.chain(0).pop().unwrap();
    assert!(root.contains("'ubuntu-node5' not found") && root.contains("Node ubuntu-node5 does not exist"), "{root}");
}
