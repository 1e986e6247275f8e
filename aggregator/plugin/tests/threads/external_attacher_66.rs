//! <https://github.com/kubernetes-csi/external-attacher/issues/66>: an attach failed because the volume was marked for
//! deletion; the attachment is not being deleted, and the volume waits for it.

use crate::support::*;

#[test]
fn an_attachment_that_nobody_deletes_holds_the_volume() {
    let pv = "pvc-c39b0473-a0f2-11e8-a4ee-42010a800002";
    let world = healthy();
    let asked = world.ago(7200);
    let looked = look(
        world.with(json!([
            {
                "kind": "PersistentVolume",
                "metadata": {"name": pv, "deletionTimestamp": asked, "finalizers": ["external-attacher/com-google-csi-gcepd"]},
                "spec": {"csi": {"driver": "com.google.csi.gcepd", "volumeHandle": "v"}}, "status": {"phase": "Released"}
            },
            {
                "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
                "metadata": {"name": "csi-d4935b83", "finalizers": ["external-attacher/com-google-csi-gcepd"]},
                "spec": {
                    "attacher": "com.google.csi.gcepd", "nodeName": "kubernetes-minion-group-11bk",
                    "source": {"persistentVolumeName": pv}
                },
                "status": {"attached": false, "attachError": {
                    "message": format!("PersistentVolume \"{pv}\" is marked for deletion")
                }}
            }
        ])),
        object("pv", "default", pv),
    );
    assert_eq!(looked.causes(), ["VolumeAttachmentNotDeleted"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Stuck);
    assert_eq!(looked.victims(0), [format!("PersistentVolume {pv}")]);
    assert!(looked.chain(0).pop().unwrap().contains("attached: false, attachError"), "{:?}", looked.chain(0));
    assert!(looked.commands().contains(&"kubectl delete volumeattachment csi-d4935b83".to_owned()));
}
