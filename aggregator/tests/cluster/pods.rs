//! Pods and their nodes, as far as the API shows them.

use findings::Verdict;
use serde_json::json;

use crate::support::*;

fn causes_of(world: World) -> Vec<&'static str> {
    let looked = look(world, everything());
    assert!(!looked.commands().iter().any(|command| command.contains("--force")));
    looked.causes()
}

fn on(phase: &str) -> World {
    healthy().going_pod("a", "p", "node-a", phase)
}

#[test]
fn at_a_healthy_node_the_phase_tells() {
    assert_eq!(causes_of(on("Running")), ["PodContainersNotStopped"]);
    assert_eq!(causes_of(on("Failed")), ["PodCleanupNotFinished"]);
    assert_eq!(causes_of(on("Pending")), ["PodNeverStarted"]);
}

#[test]
fn pods_that_no_kubelet_has() {
    assert_eq!(causes_of(healthy().going_pod("a", "p", "", "Pending")), ["PodNeverScheduled"]);
    let mirror = on("Running").change("/api/v1/pods", "p", |pod| {
        pod["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "0123"});
    });
    assert_eq!(causes_of(mirror), ["StaticPod"]);
}

#[test]
fn a_forced_pod_with_a_finalizer_may_run() {
    let forced = on("Running").change("/api/v1/pods", "p", |pod| {
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        pod["metadata"]["finalizers"] = json!(["example.com/hold"]);
    });
    assert_eq!(causes_of(forced), ["PodForceDeleted", "FinalizerOwnerUnknown"]);
}

#[test]
fn a_collector_that_is_refused() {
    let world = healthy().going_pod("a", "p", "node-x", "Running");
    let marked = world.ago(400);
    let world = world.change("/api/v1/pods", "p", |pod| {
        pod["status"]["conditions"] = json!([{
            "type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC", "lastTransitionTime": marked
        }]);
    });
    assert_eq!(causes_of(world), ["PodGcRefused"]);
}

#[test]
fn a_node_that_went_long_ago_should_have_freed_its_pods() {
    let world = |seconds| {
        let world = healthy().going_pod("a", "p", "node-x", "Running");
        let then = world.ago(seconds);
        world.with(json!({
            "kind": "Event", "metadata": {"name": "e", "namespace": "default"}, "reason": "RemovingNode",
            "involvedObject": {"kind": "Node", "name": "node-x"}, "lastTimestamp": then
        }))
    };
    assert_eq!(causes_of(world(30)), ["NodeObjectGone"]);
    assert_eq!(causes_of(world(600)), ["PodGcRefused"]);
}

#[test]
fn nodes_tell_what_they_can() {
    let unknown = "Kubelet stopped posting node status.";
    let silent = || on("Running").node_ready("node-a", "Unknown", "NodeStatusUnknown", unknown);
    assert_eq!(causes_of(silent()), ["NodeUnreachable"]);
    assert_eq!(
        causes_of(silent().taint("node-a", "node.cloudprovider.kubernetes.io/shutdown", "NoSchedule")),
        ["NodeShutDown"]
    );
    assert_eq!(
        causes_of(silent().taint("node-a", "node.kubernetes.io/out-of-service", "NoExecute")),
        ["OutOfServiceNotEffective"]
    );
    let never =
        on("Pending").node_ready("node-a", "Unknown", "NodeStatusNeverUpdated", "Kubelet never posted node status.");
    assert_eq!(causes_of(never), ["NodeNeverReported"]);
    let down = on("Running").node_ready("node-a", "False", "KubeletNotReady", "container runtime is down");
    let looked = look(down, everything());
    assert_eq!(looked.causes(), ["NodeNotReady"]);
    assert!(looked.chain(0).last().unwrap().contains("container runtime is down"));
}

#[test]
fn one_silent_node_holds_many_pods_once() {
    let mut world = healthy().node_ready("node-a", "Unknown", "NodeStatusUnknown", "");
    for number in 0..11 {
        world = world.going_pod("a", &format!("p{number}"), "node-a", "Running");
    }
    let looked = look(world, object("node", "default", "node-a"));
    assert_eq!(looked.causes(), ["NodeUnreachable"]);
    assert_eq!(looked.victims(0).len(), 11);
}

#[test]
fn a_node_that_is_well_holds_nothing() {
    let looked = look(healthy(), object("node", "default", "node-a"));
    assert_eq!(looked.report.verdict, Verdict::Clear, "{:#?}", looked.report);
}

#[test]
fn a_node_that_may_not_be_seen_leaves_the_answer_probable() {
    let world = on("Running").refuse("/api/v1/nodes", 403, "nodes is forbidden");
    let looked = look(world, object("pod", "a", "p"));
    assert_eq!(looked.causes(), ["PodContainersNotStopped"]);
    assert_eq!(looked.report.roots[0].finding.confidence, findings::Confidence::Probable);
    assert_eq!(looked.report.unknown.len(), 1, "{:#?}", looked.report.unknown);
}
