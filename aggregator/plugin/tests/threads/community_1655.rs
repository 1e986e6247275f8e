//! <https://github.com/aws-controllers-k8s/community/issues/1655>: a bucket that is not empty. The controller says so in a
//! condition that is `True`, beside another that is `False` and says nothing.

use crate::support::*;

#[test]
fn the_condition_that_has_words_is_quoted() {
    let group = "s3.services.k8s.aws";
    let says = "BucketNotEmpty: The bucket you tried to delete is not empty\n\tstatus code: 409, request id: J1";
    let world = healthy()
        .active("ack-system")
        .with_custom(group, "buckets", "Bucket")
        .held("s3.services.k8s.aws/v1", "Bucket", "ack-system", "assets", &["finalizers.s3.services.k8s.aws/Bucket"])
        .reports(
            "/apis/s3.services.k8s.aws/v1/buckets",
            "assets",
            json!({"conditions": [
                {"type": "ACK.ResourceSynced", "status": "False"},
                {"type": "ACK.Recoverable", "status": "True", "message": says}
            ]}),
        )
        .deployment("ack-system", "ack-s3-controller", 1, 1)
        .may_change("ack-system", "ack-s3-controller", group, "buckets");
    let looked = look(world, object("bucket", "ack-system", "assets"));
    assert_eq!(looked.causes(), ["ExternalResourceFinalizer"], "{:#?}", looked.report);
    let steps = &looked.report.roots[0].finding.remedy.steps;
    assert!(!steps.iter().any(|step| step.text.contains("credentials")), "{steps:#?}");
    let keep = "kubectl annotate buckets.s3.services.k8s.aws assets -n ack-system \
        'services.k8s.aws/deletion-policy=retain' --overwrite";
    assert!(looked.commands().iter().any(|one| one == keep), "{:?}", looked.commands());
    let root = looked.chain(0).pop().unwrap();
    assert!(
        root.contains("ACK.Recoverable=True: \"BucketNotEmpty: The bucket you tried to delete is not empty"),
        "{root}"
    );
}
