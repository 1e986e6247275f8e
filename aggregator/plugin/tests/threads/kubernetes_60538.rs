//! <https://github.com/kubernetes/kubernetes/issues/60538>: a CustomResourceDefinition is deleted while one of its objects
//! has a finalizer, and the program that would take that off is gone: its clean-up waits for ever.

use crate::support::*;

#[test]
fn a_crd_waits_for_the_finalizer_of_its_object() {
    let world = healthy().with_custom("example.com", "crontabs", "CronTab").active("team");
    let asked = world.ago(600);
    let world = world
        .with(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {
                "name": "crontabs.example.com", "deletionTimestamp": asked,
                "finalizers": ["customresourcecleanup.apiextensions.k8s.io"]
            },
            "spec": {
                "group": "example.com", "scope": "Namespaced", "names": {"kind": "CronTab", "plural": "crontabs"},
                "versions": [{"name": "v1", "served": true, "storage": true}],
                // What converted is gone with the program, and of one version nothing is converted.
                "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {
                    "service": {"namespace": "ops", "name": "crontab-webhook", "path": "/convert"}
                }}}
            },
            "status": {"storedVersions": ["v1"], "conditions": [{
                "type": "Terminating", "status": "True", "reason": "InstanceDeletionInProgress",
                "message": "CustomResource deletion is in progress"
            }]}
        }))
        .held("example.com/v1", "CronTab", "team", "my-new-cron-object", &["finalizer.stable.example.com"]);
    let looked = look(world, object("crd", "default", "crontabs.example.com"));
    assert_eq!(looked.causes(), ["FinalizerControllerGone"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Stuck);
    looked.assert_chain(
        0,
        &["CustomResourceDefinition crontabs.example.com: Terminating", "CronTab team/my-new-cron-object: Terminating"],
    );
    assert!(looked.chain(0)[1].contains("finalizer.stable.example.com"), "{:?}", looked.chain(0));
}
