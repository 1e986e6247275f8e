//! Steps that what is known would refute: they are left out, and what helps instead is said.

use crate::admission::crd;
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

/// What the controller lacked is there again: it has not looked since.
#[test]
fn a_controller_that_has_not_looked_again_is_restarted() {
    for (group, plural, kind, finalizer, program, cause) in [
        (
            "s3.services.k8s.aws",
            "buckets",
            "Bucket",
            "finalizers.s3.services.k8s.aws/Bucket",
            "ack-s3-controller",
            "ExternalResourceFinalizer",
        ),
        (
            "acme.org",
            "databases",
            "Database",
            "finalizer.apiextensions.crossplane.io",
            "crossplane",
            "ControllerCleanupPending",
        ),
    ] {
        let world = healthy()
            .active("team")
            .active("ops")
            .with_custom(group, plural, kind)
            .held(&format!("{group}/v1"), kind, "team", "assets", &[finalizer])
            .reports(
                &format!("/apis/{group}/v1/{plural}"),
                "assets",
                json!({"conditions": [{"type": "Synced", "status": "False", "reason": "ReconcileError", "message": "namespaces \"ops\" not found"}]}),
            )
            .deployment("ops", program, 1, 1)
            .may_change("ops", program, group, plural);
        let looked = look(world, object(&format!("{plural}.{group}"), "team", "assets"));
        assert_eq!(looked.causes(), [cause], "{:#?}", looked.report);
        let restart = format!("kubectl -n ops rollout restart deployment/{program}");
        assert!(looked.commands().contains(&restart), "{:?}", looked.commands());
    }
}

/// kubernetes: staging/src/k8s.io/apiserver/pkg/storage/cacher/cacher.go.
#[test]
fn a_kind_whose_cache_is_made_anew_is_waited_for() {
    let says = "could not list instances: storage is (re)initializing";
    let world = healthy().with_custom("example.com", "widgets", "Widget").with(crd(json!(null), &["v1"]));
    let asked = world.ago(600);
    let world = world
        .change("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "widgets.example.com", |one| {
            one["metadata"]["deletionTimestamp"] = asked.into();
            one["metadata"]["finalizers"] = json!(["customresourcecleanup.apiextensions.k8s.io"]);
            one["status"]["conditions"] = json!([
                {"type": "Terminating", "status": "True", "reason": "InstanceDeletionFailed", "message": says}
            ]);
        })
        .refuse("/apis/example.com/v1/widgets", 429, "storage is (re)initializing");
    let looked = look(world, object("crd", "default", "widgets.example.com"));
    assert_eq!(looked.causes(), ["CrdInstancesRemain"], "{:#?}", looked.report);
    let texts: Vec<&str> = looked.report.roots[0].finding.remedy.steps.iter().map(|step| step.text.as_str()).collect();
    assert!(texts.iter().any(|text| text.starts_with("Wait: after a change of the CRD")), "{texts:#?}");
    assert!(!texts.iter().any(|text| text.starts_with("Let what holds each")), "{texts:#?}");
}
