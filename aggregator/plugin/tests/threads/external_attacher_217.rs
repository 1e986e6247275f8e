//! <https://github.com/kubernetes-csi/external-attacher/issues/217>: the volume of a migrated driver has no `spec.csi`; the attacher
//! runs.

use crate::support::*;

#[test]
fn the_attacher_that_the_finalizer_names_runs() {
    let world = healthy();
    let (asked, now) = (world.ago(9000), world.ago(5));
    let world = world.with(json!([
        {
            "kind": "PersistentVolume",
            "metadata": {
                "name": "pvc-old", "uid": "pvc-old", "deletionTimestamp": asked,
                "finalizers": ["external-attacher/ebs-csi-aws-com"]
            },
            "spec": {"persistentVolumeReclaimPolicy": "Delete"}, "status": {"phase": "Released"}
        },
        {
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "external-attacher-leader-ebs-csi-aws-com", "namespace": "kube-system"},
            "spec": {"holderIdentity": "ebs-csi-controller-1", "leaseDurationSeconds": 15, "renewTime": now}
        }
    ]));
    let looked = look(world, object("pv", "", "pvc-old"));
    let last = looked.chain(0).pop().unwrap();
    assert!(last.contains("has no spec.csi") && last.contains("ebs-csi-aws-com runs"), "{last}");
    let steps = &looked.report.roots[0].finding.remedy.steps;
    assert!(!steps.iter().any(|step| step.text.contains("CSI controller again")), "{steps:#?}");
}
