//! <https://github.com/kubernetes-csi/external-attacher/issues/235>: an attachment that should be
//! detached names a volume that does not exist any more, so that no detach succeeds.

use crate::support::*;

#[test]
fn the_volume_that_is_gone_is_named() {
    let pv = "pvc-e06d0abb-ec5f-4a82-8033-5069a48eca9d";
    let name = "csi-53bd2bc2f91e210ef617a85fa64d5d281728edda5e632aa04ec58cae4c826008";
    let world = healthy();
    let asked = world.ago(7200);
    let looked = look(
        world.with(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
            "metadata": {"name": name, "deletionTimestamp": asked, "finalizers": ["external-attacher/csi-example"]},
            "spec": {"attacher": "csi.example", "nodeName": "node-a", "source": {"persistentVolumeName": pv}},
            "status": {"attached": true, "detachError": {
                "message": format!("failed to detach: persistentvolume \"{pv}\" not found")
            }}
        })),
        everything(),
    );
    assert_eq!(looked.causes(), ["VolumeDetachFails"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Stuck);
    let root = looked.chain(0).pop().unwrap();
    assert!(root.contains("failed to detach: persistentvolume"), "{root}");
    assert!(root.contains(&format!("PersistentVolume {pv} does not exist")), "{root}");
}
