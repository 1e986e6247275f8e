//! <https://github.com/actions/actions-runner-controller/issues/1369>: a runner's node was deleted; the pod has
//! ended, and the controller waits for GitHub to call the runner done before it takes its finalizer off.

use crate::support::*;

#[test]
fn the_controller_of_the_runners_is_named_and_not_the_node() {
    let group = "actions.summerwind.dev";
    let world = healthy()
        .with_custom(group, "runners", "Runner")
        .going_pod("monorepo", "runner", "node-gone", "Running")
        .change("/api/v1/pods", "runner", |pod| {
            pod["metadata"]["deletionGracePeriodSeconds"] = 0.into();
            pod["metadata"]["finalizers"] = json!(["actions.summerwind.dev/runner-pod"]);
            pod["status"]["containerStatuses"] =
                json!([{"name": "runner", "containerID": "docker://1", "state": {"terminated": {"exitCode": 127}}}]);
        })
        .grants(
            "actions-runner-controller-manager",
            &[group, ""],
            &["runners", "runners/finalizers", "runners/status", "pods", "pods/finalizers"],
            &["create", "delete", "get", "list", "patch", "update", "watch"],
            json!([sa("actions-runner-system", "actions-runner-controller")]),
        )
        .deployment("actions-runner-system", "actions-runner-controller", 1, 1);
    let looked = look(world, object("pod", "monorepo", "runner"));
    assert_eq!(looked.report.verdict, Verdict::Stuck, "{:#?}", looked.report);
    assert_eq!(looked.causes().len(), 1, "{:#?}", looked.report);
    looked.assert_chain(
        0,
        &[
            "Pod monorepo/runner: ",
            "Deployment actions-runner-system/actions-runner-controller: runs (1 of 1 pods ready)",
        ],
    );
}
