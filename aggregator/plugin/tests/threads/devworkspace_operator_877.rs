//! <https://github.com/devfile/devworkspace-operator/issues/877>: the status names a clean-up Job, whose pod cannot start; beside
//! it stands a condition that is `False` without a word.

use crate::support::*;

#[test]
fn the_pod_of_the_job_that_the_status_names_is_the_root() {
    let group = "workspace.devfile.io";
    let owner = json!([{"apiVersion": "workspace.devfile.io/v1", "kind": "DevWorkspace", "name": "ws", "uid": "DevWorkspace-ws"}]);
    let says = "Failed to clean up workspace storage: see logs for job cleanup-4a1b";
    let world = healthy()
        .active("dev")
        .active("ops")
        .with_custom(group, "devworkspaces", "DevWorkspace")
        .held("workspace.devfile.io/v1", "DevWorkspace", "dev", "ws", &["storage.controller.devfile.io"])
        .reports(
            "/apis/workspace.devfile.io/v1/devworkspaces",
            "ws",
            json!({"phase": "Error", "message": says, "conditions": [{"type": "Started", "status": "False"}]}),
        )
        .deployment("ops", "devworkspace-controller-manager", 1, 1)
        .may_change("ops", "devworkspace-controller-manager", group, "devworkspaces")
        .with(json!([
            {
                "apiVersion": "batch/v1", "kind": "Job",
                "metadata": {"name": "cleanup-4a1b", "namespace": "dev", "ownerReferences": owner}
            },
            {
                "kind": "Pod",
                "metadata": {"name": "cleanup-4a1b-x", "namespace": "dev", "labels": {"job-name": "cleanup-4a1b"}},
                "spec": {"nodeName": "node-a"},
                "status": {"phase": "Pending", "containerStatuses": [
                    {"name": "c", "state": {"waiting": {"reason": "CreateContainerError"}}}
                ]}
            }
        ]));
    let looked = look(world, object("devworkspace", "dev", "ws"));
    let chain = looked.chain(0);
    assert!(chain[1].contains("see logs for job cleanup-4a1b") && !chain[1].contains("Started"), "{chain:#?}");
    assert!(
        chain[2].starts_with("Pod dev/cleanup-4a1b-x: ") && chain[2].contains("CreateContainerError"),
        "{chain:#?}"
    );
}
