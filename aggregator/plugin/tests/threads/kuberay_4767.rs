//! <https://github.com/ray-project/kuberay/issues/4767>: the operator cleans up by a Job that it makes for the deletion. The Job
//! has failed, and the RayCluster says nothing of it. In kuberay#4773 Kueue keeps the Job suspended, and a RayService owns the
//! RayCluster.

use crate::support::*;

fn world(job: Value) -> World {
    let owner = json!([{"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "x1", "uid": "RayCluster-x1"}]);
    let world = healthy().active("ml").active("ray-system");
    let made = world.ago(500);
    let world = world
        .with_custom("ray.io", "rayclusters", "RayCluster")
        .with_custom("ray.io", "rayservices", "RayService")
        .held("ray.io/v1", "RayCluster", "ml", "x1", &["ray.io/gcs-ft-redis-cleanup-finalizer"])
        .reports(
            "/apis/ray.io/v1/rayclusters",
            "x1",
            json!({"conditions": [{"type": "HeadPodReady", "status": "False", "reason": "HeadPodNotFound"}]}),
        )
        .deployment("ray-system", "kuberay-operator", 1, 1)
        .may_change("ray-system", "kuberay-operator", "ray.io", "*");
    let mut job = job;
    job["apiVersion"] = "batch/v1".into();
    job["kind"] = "Job".into();
    job["metadata"] =
        json!({"name": "x1-redis-cleanup", "namespace": "ml", "ownerReferences": owner, "creationTimestamp": made});
    world.with(job)
}

#[test]
fn the_job_that_failed_is_the_root() {
    let failed =
        json!([{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "too often"}]);
    let looked = look(world(json!({"status": {"conditions": failed}})), object("raycluster", "ml", "x1"));
    assert_eq!(looked.causes(), ["FinalizerControllerNeedsMissing"], "{:#?}", looked.report);
    let last = looked.chain(0).pop().unwrap();
    assert!(last.starts_with("Job ml/x1-redis-cleanup: ") && last.contains("BackoffLimitExceeded"), "{last}");
    let describe = "kubectl describe job/x1-redis-cleanup -n ml";
    assert!(looked.commands().iter().any(|one| one == describe), "{:?}", looked.commands());
    // One that has ended well is no reason, nor is one of before the deletion.
    let complete = json!([{"type": "Complete", "status": "True"}]);
    let looked = look(world(json!({"status": {"conditions": complete}})), object("raycluster", "ml", "x1"));
    assert!(!looked.chain(0).iter().any(|link| link.starts_with("Job")), "{:#?}", looked.chain(0));
    let old =
        world(json!({"status": {"conditions": failed}})).change("/apis/batch/v1/jobs", "x1-redis-cleanup", |job| {
            job["status"]["conditions"][0]["lastTransitionTime"] = "2026-01-01T00:00:00Z".into();
        });
    let looked = look(old, object("raycluster", "ml", "x1"));
    assert!(!looked.chain(0).iter().any(|link| link.starts_with("Job")), "{:#?}", looked.chain(0));
}

#[test]
fn what_it_owns_and_is_deleted_too_leads_to_the_job_that_is_suspended() {
    let owned = json!([{"apiVersion": "ray.io/v1", "kind": "RayService", "name": "serve", "uid": "RayService-serve"}]);
    let world = world(json!({"spec": {"suspend": true}}))
        .held("ray.io/v1", "RayService", "ml", "serve", &["ray.io/rayservice-finalizer"])
        .change("/apis/ray.io/v1/rayclusters", "x1", |one| one["metadata"]["ownerReferences"] = owned);
    let looked = look(world, object("rayservice", "ml", "serve"));
    looked
        .assert_chain(0, &["RayService ml/serve: ", "RayCluster ml/x1: ", "Deployment ray-system/", "Job ml/x1-redis"]);
    assert!(looked.chain(0)[3].contains("suspended"), "{:?}", looked.chain(0));
}
