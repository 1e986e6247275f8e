//! <https://github.com/apache/flink-kubernetes-operator/pull/1110>: an Event about one object names another of its group, which is
//! stuck as well and says why.

use crate::support::*;

#[test]
fn the_object_that_must_go_first_is_followed() {
    let group = "flink.apache.org";
    let world = healthy()
        .active("flink")
        .with_custom(group, "flinkdeployments", "FlinkDeployment")
        .with_custom(group, "flinksessionjobs", "FlinkSessionJob")
        .held(
            "flink.apache.org/v1",
            "FlinkDeployment",
            "flink",
            "session",
            &["flinkdeployments.flink.apache.org/finalizer"],
        )
        .held(
            "flink.apache.org/v1",
            "FlinkSessionJob",
            "flink",
            "job-a",
            &["flinksessionjobs.flink.apache.org/finalizer"],
        )
        .reports("/apis/flink.apache.org/v1/flinksessionjobs", "job-a", json!({"error": "Could not cancel job 12"}))
        .deployment("flink", "flink-operator", 1, 1)
        .may_change("flink", "flink-operator", group, "*");
    let now = world.ago(20);
    let world = world.with(json!({
        "kind": "Event", "metadata": {"name": "e1", "namespace": "flink"}, "type": "Warning", "reason": "CleanupFailed",
        "message": "The session jobs [job-a] should be deleted first", "lastTimestamp": now,
        "involvedObject": {"kind": "FlinkDeployment", "namespace": "flink", "name": "session"}
    }));
    let looked = look(world, object("flinkdeployment", "flink", "session"));
    let chain = looked.chain(0);
    assert!(chain[1].starts_with("FlinkSessionJob flink/job-a: "), "{chain:#?}");
}
