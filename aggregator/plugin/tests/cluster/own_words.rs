//! What objects say of themselves, and what Events say of them.

use crate::support::*;

const WIDGETS: &str = "/apis/example.com/v1/widgets";

/// A widget that is being deleted, whose controller runs.
fn widget(status: Value) -> World {
    healthy()
        .with(json!({"kind": "Namespace", "metadata": {"name": "a"}}))
        .with_custom("example.com", "widgets", "Widget")
        .held("example.com/v1", "Widget", "a", "w", &["example.com/cleanup"])
        .reports(WIDGETS, "w", status)
        .deployment("ops", "op", 1, 1)
        .may_change("ops", "op", "example.com", "widgets")
}

fn asked(world: World) -> Looked {
    look(world, object("widget", "a", "w"))
}

fn root(looked: &Looked) -> String {
    looked.chain(0).pop().unwrap()
}

fn conditions(all: Value) -> Value {
    json!({"conditions": all})
}

#[test]
fn the_condition_that_blocks_the_deletion_is_the_answer_and_not_one_that_is_well() {
    let looked = asked(widget(conditions(json!([
        {"type": "Ready", "status": "True", "reason": "ClusterCreated", "message": "created"},
        {"type": "Degraded", "status": "False", "reason": "AsExpected", "message": "All is well"},
        {"type": "DeletionIsBlocked", "status": "True", "reason": "ObjectHasDependents",
            "message": "will not be deleted until all dependents are removed: Pool: [replicapool]"}
    ]))));
    assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{:#?}", looked.report);
    let words = "DeletionIsBlocked=True ObjectHasDependents: \"will not be deleted until all dependents are removed";
    assert!(root(&looked).contains(words), "{:?}", looked.chain(0));
    assert!(!format!("{:?}", looked.report).contains("All is well"));
}

/// Cluster API reconciles nothing that is paused, not even its deletion (cluster-api: util/paused/paused.go).
#[test]
fn what_is_paused_waits_for_that_where_nothing_is_done_meanwhile() {
    for (group, plural, kind, is_told) in [
        ("cluster.x-k8s.io", "machines", "Machine", true),
        ("infrastructure.cluster.x-k8s.io", "awsmachines", "AWSMachine", true),
        ("keda.sh", "scaledobjects", "ScaledObject", false),
    ] {
        let world = healthy()
            .with(json!({"kind": "Namespace", "metadata": {"name": "c1"}}))
            .with_custom(group, plural, kind)
            .held(&format!("{group}/v1"), kind, "c1", "m", &[&format!("{plural}.{group}")])
            .reports(&format!("/apis/{group}/v1/{plural}"), "m", conditions(json!([
                {"type": "Available", "status": "False", "reason": "NotAvailable", "message": "1 of 2"},
                {"type": "Paused", "status": "True", "reason": "Paused", "message": "Cluster spec.paused is set to true"}
            ])));
        let looked = look(world, object(&plural[..plural.len() - 1], "c1", "m"));
        assert_eq!(root(&looked).contains("\"Cluster spec.paused is set to true\""), is_told, "{:?}", looked.chain(0));
    }
}

#[test]
fn a_condition_that_is_unknown_tells_what_the_deletion_waits_for() {
    let looked = asked(widget(conditions(json!([
        {"type": "Ready", "status": "True"},
        {"type": "Consolidatable", "status": "False", "reason": "NotConsolidatable"},
        {"type": "Drained", "status": "Unknown", "reason": "Draining"}
    ]))));
    assert!(root(&looked).contains("has not removed it: Drained=Unknown Draining"), "{:?}", looked.chain(0));
}

#[test]
fn a_controller_that_has_only_seen_the_deletion_is_told_as_that() {
    let triggered = |kind: &str, status: &str| json!({"type": kind, "status": status, "reason": "DeletionInProgress", "message": "Deletion was triggered"});
    let looked = asked(widget(conditions(json!([triggered("Available", "False"), triggered("Degraded", "True")]))));
    assert!(root(&looked).contains("it says no more than Available=False DeletionInProgress"), "{:?}", looked.chain(0));
    // Anything else is nearer.
    let failed =
        json!({"type": "Synchronized", "status": "False", "reason": "DeletionFailed", "message": "3 VMs exist"});
    let looked = asked(widget(conditions(json!([triggered("Available", "False"), failed]))));
    assert!(root(&looked).contains("Synchronized=False DeletionFailed: \"3 VMs exist\""), "{:?}", looked.chain(0));
}

#[test]
fn a_condition_without_a_status_is_read() {
    let message = "error executing pre-delete hooks: namespaces \"zookeeper-operator\" not found";
    let looked = asked(widget(conditions(json!([{"type": "DeletionError", "message": message}]))));
    let words = "DeletionError: \"error executing pre-delete hooks: namespaces 'zookeeper-operator' not found\"";
    assert!(looked.chain(0)[1].contains(words), "{:?}", looked.chain(0));
}

#[test]
fn a_sentence_of_the_status_outside_of_its_conditions_is_read() {
    for status in [
        json!({"reason": "CleanupFailed", "message": "bucket is not empty"}),
        json!({"failureReason": "CleanupFailed", "errorMessage": "bucket is not empty"}),
    ] {
        let looked = asked(widget(status));
        assert!(root(&looked).contains("CleanupFailed: \"bucket is not empty\""), "{:?}", looked.chain(0));
    }
    // A Challenge of cert-manager has no other field for it.
    let looked = asked(widget(json!({"reason": "bucket is not empty"})));
    assert!(root(&looked).contains("\"bucket is not empty\""), "{:?}", looked.chain(0));
    // A status may have any shape.
    let looked = asked(widget(json!({"conditions": {"Ready": "no"}, "message": {"text": "x"}})));
    assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{:#?}", looked.report);
    assert!(looked.report.unknown.is_empty(), "{:#?}", looked.report);
}

/// argo-workflows#16599, percona-server-mongodb-operator#2137: a mode that is off is no reason.
#[test]
fn a_condition_that_is_only_false_is_not_quoted() {
    let looked = asked(widget(conditions(json!([{"type": "PodRunning", "status": "False"}]))));
    assert!(root(&looked).ends_with("has not removed it"), "{:?}", looked.chain(0));
}

/// devworkspace-operator#877, flink-kubernetes-operator#1110, external-snapshotter's status.error.
#[test]
fn the_sentence_of_a_failure_comes_before_a_condition_that_speaks_of_something_else() {
    let ready = json!({"type": "Ready", "status": "False", "reason": "Stopped", "message": "stopped by its user"});
    for failed in [
        json!({"phase": "Error", "message": "Failed to clean up: see logs for job cleanup-a"}),
        json!({"error": "Failed to clean up: see logs for job cleanup-a"}),
        json!({"deleteError": {"message": "Failed to clean up: see logs for job cleanup-a"}}),
    ] {
        let mut status = failed.clone();
        status["conditions"] = json!([ready]);
        let looked = asked(widget(status));
        assert!(root(&looked).contains("\"Failed to clean up: see logs"), "{failed}: {:?}", looked.chain(0));
    }
    // An Event is the beginning of what the status says.
    let status = json!({"error": {"message": "Failed to delete: rpc error: DeadlineExceeded"}});
    let looked = asked(widget(status).event(("Widget", "a", "w"), "Warning", "DeleteError", "Failed to delete"));
    assert!(root(&looked).contains("\"Failed to delete: rpc error: DeadlineExceeded\""), "{:?}", looked.chain(0));
}

/// hive#923, karpenter-provider-gcp#334, kubevirt#18724.
#[test]
fn what_is_of_the_making_or_of_before_or_a_default_comes_last() {
    let world = || widget(json!({}));
    let (before, since) = (world().ago(90_000), world().ago(60));
    let of = |kind: &str, status: &str, reason: &str, message: &str, at: &str| json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": at});
    let idle =
        of("InstanceTerminating", "Unknown", "AwaitingReconciliation", "object is awaiting reconciliation", &since);
    let quota = of("Launched", "Unknown", "LaunchFailed", "Quota exceeded", &since);
    let looked = asked(widget(conditions(json!([idle, quota]))));
    assert!(root(&looked).contains("Launched=Unknown LaunchFailed: \"Quota exceeded\""), "{:?}", looked.chain(0));
    let install = of("ProvisionFailed", "True", "MonitoringFailed", "install failed", &since);
    let looked = asked(widget(conditions(json!([install]))));
    assert!(root(&looked).contains("it says no more than ProvisionFailed=True"), "{:?}", looked.chain(0));
    let looked = asked(widget(conditions(json!([install, quota]))));
    assert!(root(&looked).contains("Launched=Unknown"), "{:?}", looked.chain(0));
    let old = of("Synced", "False", "Old", "quota", &before);
    let new = of("Reachable", "Unknown", "New", "no answer", &since);
    let both = widget(json!({"message": "three buckets are left there", "conditions": [old, new]}));
    assert!(root(&asked(both)).contains("\"three buckets are left there\""));
    let sentence = json!({"type": "Progressing", "status": "False", "reason": "Tracker t does not exist"});
    let deleting = json!({"type": "Deleting", "status": "True", "reason": "Backup is being deleted"});
    let looked = asked(widget(conditions(json!([deleting, sentence]))));
    assert!(root(&looked).contains("Progressing=False: \"Tracker t does not exist\""), "{:?}", looked.chain(0));
}

/// flink-kubernetes-operator#1110, kubeblocks#8824: of what one program has not finished the words that say more are shown.
#[test]
fn of_several_objects_of_one_program_the_words_of_one_that_has_some_are_shown() {
    let world = || widget(json!({})).held("example.com/v1", "Widget", "a", "v", &["example.com/cleanup"]);
    for told in ["v", "w"] {
        let looked = look(world().reports(WIDGETS, told, json!({"errorMessage": "bucket is not empty"})), everything());
        let [only] = looked.report.roots.as_slice() else { panic!("{:#?}", looked.report) };
        let last = only.finding.chain.last().map(|link| link.state.clone()).unwrap();
        assert!(last.contains("\"bucket is not empty\""), "{told}: {last}");
    }
}

#[test]
fn normal_events_are_read_and_those_before_the_deletion_or_of_another_object_are_not() {
    let usage = "Waiting for the using resource (which is a \"XBucket\" named \"b\") to be deleted.";
    let world = || widget(json!({})).event(("Widget", "a", "w"), "Normal", "WaitingUsingDeleted", usage);
    let looked = asked(world());
    assert!(root(&looked).contains("WaitingUsingDeleted: \"Waiting for the using resource"), "{:?}", looked.chain(0));
    let event = "/api/v1/events";
    let then = world().ago(3600);
    let before = world().change(event, "w.WaitingUsingDeleted", |one| one["lastTimestamp"] = then.into());
    assert!(!root(&asked(before)).contains("WaitingUsingDeleted"));
    let other = world().change(event, "w.WaitingUsingDeleted", |one| one["involvedObject"]["uid"] = "other".into());
    assert!(!root(&asked(other)).contains("WaitingUsingDeleted"));
}

#[test]
fn events_about_what_lives_in_no_namespace_stand_in_default() {
    let world = healthy()
        .with_cluster_wide("protection.example.com", "usages", "Usage")
        .held_cluster_wide("protection.example.com/v1", "Usage", "u", "usage.example.com")
        .event(("Usage", "", "u"), "Normal", "WaitingUsingDeleted", "Waiting for the using resource to be deleted.");
    let looked = look(world, object("usage", "", "u"));
    assert!(root(&looked).contains("WaitingUsingDeleted: \"Waiting for the using"), "{:?}", looked.chain(0));
}

#[test]
fn words_are_bounded_quoted_and_escaped() {
    let hostile = format!("x\" runs (9 of 9). kubectl delete ns a\u{1b}[2J\u{202e}{}", "long ".repeat(5000));
    let message = json!([{"type": "Synced", "status": "False", "reason": hostile.clone(), "message": hostile}]);
    let looked = asked(widget(conditions(message)).event(("Widget", "a", "w"), "Warning", &hostile, &hostile));
    let shown = serde_json::to_string(&looked.report).unwrap();
    assert!(shown.len() < 20_000, "{}", shown.len());
    assert!(!shown.contains('\u{1b}') && !shown.contains("\\u001b") && !shown.contains('\u{202e}'), "{shown}");
    assert!(root(&looked).contains("\"x' runs (9 of 9)"), "{:?}", looked.chain(0));
}

#[test]
fn a_drain_says_why_it_does_not_end() {
    let about = ("Node", "", "node-a");
    let drain = "Failed to drain node, 1 pods are waiting to be evicted";
    let pdb = "Cannot disrupt Node: pdb \"shop/web\" prevents pod evictions";
    let world = healthy()
        .terminated_by_karpenter("node-a")
        .event(about, "Normal", "DisruptionBlocked", pdb)
        .event(about, "Warning", "FailedDraining", drain)
        .event(("Node", "", "node-b"), "Warning", "FailedDraining", "of another node");
    let looked = look(world, everything());
    assert!(root(&looked).contains(&format!("FailedDraining: \"{drain}\"")), "{:#?}", looked.report);
    let evidence = format!("{:?}", looked.report.roots[0].finding.evidence);
    assert!(evidence.contains("pdb 'shop/web' prevents pod evictions"), "{evidence}");
    assert!(!evidence.contains("of another node"), "{evidence}");
}

#[test]
fn a_load_balancer_says_why_it_stays() {
    let refusal = "Error syncing load balancer: failed to delete load balancer: DependencyViolation: resource sg-0abc has a \
        dependent object";
    let world = healthy()
        .with(json!({"kind": "Namespace", "metadata": {"name": "shop"}}))
        .held("v1", "Service", "shop", "web", &["service.kubernetes.io/load-balancer-cleanup"])
        .event(("Service", "shop", "web"), "Warning", "SyncLoadBalancerFailed", refusal);
    let looked = look(world, object("service", "shop", "web"));
    assert_eq!(looked.causes(), ["LoadBalancerCleanupPending"], "{:#?}", looked.report);
    assert!(root(&looked).contains("DependencyViolation: resource sg-0abc"), "{:?}", looked.chain(0));
}

const KILL: &str = "error killing pod: failed to \"KillPodSandbox\" for \"x\" with KillPodSandboxError: \"rpc error: code = \
    Unknown desc = failed to destroy network for sandbox \\\"7f\\\": plugin type=\\\"calico\\\" failed (delete): error \
    getting ClusterInformation: connection is unauthorized: Unauthorized\"";

const BUSY: &str = "umount /data: target is busy";

fn killed(world: World, pod: &str) -> World {
    world.going_pod("shop", pod, "node-a", "Failed").event(("Pod", "shop", pod), "Warning", "FailedKillPod", KILL)
}

#[test]
fn the_kubelet_says_why_it_cannot_kill_a_pod() {
    let looked = look(killed(killed(healthy(), "web-0"), "web-1"), everything());
    assert_eq!(looked.causes(), ["PodKillFails"], "one plugin that fails is one root: {:#?}", looked.report);
    let found = &looked.report.roots[0];
    assert_eq!((found.verdict, found.finding.confidence), (Verdict::Stuck, Confidence::Probable));
    assert_eq!(looked.victims(0), ["Pod shop/web-0", "Pod shop/web-1"]);
    let words =
        "CNI plugin on node-a: DEL fails: \"plugin type='calico' failed (delete): error getting ClusterInformation";
    assert!(root(&looked).starts_with(words), "{:?}", looked.chain(0));
    // It reads the same without permission to see nodes.
    let blind = killed(healthy(), "web-0").refuse("/api/v1/nodes", 403, "nodes is forbidden");
    assert_eq!(look(blind, object("pod", "shop", "web-0")).causes(), ["PodKillFails"]);
    // The agent looks at the node itself.
    let then = killed(healthy(), "web-0");
    let long = then.ago(7200);
    let before = then.change("/api/v1/events", "web-0.FailedKillPod", |one| one["lastTimestamp"] = long.into());
    assert_eq!(look(before, everything()).causes(), ["PodCleanupNotFinished"], "it was said before the deletion");
}

#[test]
fn a_driver_says_why_it_cannot_unmount() {
    let world = healthy().going_pod("shop", "web-0", "node-a", "Failed").event(
        ("Pod", "shop", "web-0"),
        "Warning",
        "FailedUnMount",
        BUSY,
    );
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["PodUnmountFails"], "{:#?}", looked.report);
    assert!(root(&looked).contains("\"umount /data: target is busy\""), "{:?}", looked.chain(0));
}

/// It unmounts when it has stopped all, and its Events of before are kept for an hour.
#[test]
fn what_the_kubelet_said_last_is_where_it_is() {
    let said = |last: &str| {
        let world = killed(healthy(), "web-0").event(("Pod", "shop", "web-0"), "Warning", "FailedUnMount", BUSY);
        let before = world.ago(300);
        let first = if last == "FailedUnMount" { "FailedKillPod" } else { "FailedUnMount" };
        let world = world.change("/api/v1/events", &format!("web-0.{first}"), |one| {
            one["lastTimestamp"] = before.into();
        });
        look(world, everything()).causes()
    };
    assert_eq!(said("FailedUnMount"), ["PodUnmountFails"]);
    assert_eq!(said("FailedKillPod"), ["PodKillFails"]);
}

fn attachment(status: Value, deleted: bool) -> World {
    let world = healthy();
    let asked = world.ago(7200);
    let mut one = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
        "metadata": {"name": "csi-1", "finalizers": ["external-attacher/x"]},
        "spec": {"attacher": "x", "nodeName": "node-a", "source": {"persistentVolumeName": "pv-1"}}, "status": status
    });
    if deleted {
        one["metadata"]["deletionTimestamp"] = asked.into();
    }
    world.with(one)
}

fn volume(world: World, phase: &str) -> World {
    let asked = world.ago(86_400);
    world.with(json!({
        "kind": "PersistentVolume",
        "metadata": {"name": "pv-1", "deletionTimestamp": asked, "finalizers": ["external-attacher/x"]},
        "spec": {"csi": {"driver": "x", "volumeHandle": "vol-1"}}, "status": {"phase": phase}
    }))
}

#[test]
fn an_attachment_that_never_attached_and_that_nobody_deletes() {
    let status =
        json!({"attached": false, "attachError": {"message": "PersistentVolume \"pv-1\" is marked for deletion"}});
    let looked = look(volume(attachment(status.clone(), false), "Released"), everything());
    assert_eq!(looked.causes(), ["VolumeAttachmentNotDeleted"], "{:#?}", looked.report);
    let words =
        "not attached to node-a (attached: false, attachError \"PersistentVolume 'pv-1' is marked for deletion\")";
    assert!(root(&looked).contains(words), "{:?}", looked.chain(0));
    // A pod may still want it there.
    let bound = look(volume(attachment(status, false), "Bound"), everything());
    assert!(bound.causes().is_empty(), "{:#?}", bound.report);
}

#[test]
fn an_attachment_that_is_named_says_how_it_stands() {
    let status = json!({"attached": false, "attachError": {"message": "marked for deletion"}});
    let looked = look(attachment(status, false), object("volumeattachment", "default", "csi-1"));
    let held = &looked.report.unexplained[0];
    assert!(held.words.starts_with("not attached to node-a (attached: false, attachError"), "{}", held.words);
    assert!(held.words.ends_with("PersistentVolume pv-1 does not exist"), "{}", held.words);
    assert_eq!(looked.report.verdict, Verdict::Clear, "its deletion was not requested");
    let detaching = look(attachment(json!({"attached": false}), true), everything());
    assert!(root(&detaching).contains("attached: false"), "{:?}", detaching.chain(0));
    let refused = json!({"attached": true, "detachError": {"message": "rpc error: node is gone"}});
    let refused = look(attachment(refused, true), everything());
    assert_eq!(refused.causes(), ["VolumeDetachFails"]);
    assert!(root(&refused).contains("rpc error: node is gone"), "{:?}", refused.chain(0));
}

#[test]
fn the_clouds_refusal_is_the_root_of_an_api_that_no_node_reaches() {
    let message = "failing or missing response from https://10.1.0.7:443/apis/gone.example.com/v1: Get \
        \"https://10.1.0.7:443/apis/gone.example.com/v1\": dial tcp 10.1.0.7:443: i/o timeout";
    let refusal = "Could not create route 00 10.1.0.0/24 for node node-a after 110ms: UnauthorizedOperation: not \
        authorized to perform ec2:CreateRoute";
    let unreached = || {
        healthy()
            .going("n", failing("NamespaceDeletionDiscoveryFailure", "Discovery failed for some groups, 1 failing: \
                unable to retrieve the complete list of server APIs: gone.example.com/v1: stale GroupVersion discovery: \
                gone.example.com/v1"))
            .dead_api("FailedDiscoveryCheck", message)
            .service("addon", "api", Some("node-a"))
    };
    let told = unreached().event(("Node", "", "node-a"), "Warning", "FailedToCreateRoute", refusal).change(
        "/api/v1/nodes",
        "node-a",
        |node| {
            let conditions = node["status"]["conditions"].as_array_mut().unwrap();
            conditions.retain(|one| one["type"] != "NetworkUnavailable");
            conditions.push(json!({
                "type": "NetworkUnavailable", "status": "True", "reason": "NoRouteCreated",
                "message": "RouteController failed to create a route"
            }));
        },
    );
    let looked = look(told, everything());
    assert_eq!(looked.causes(), ["NodeRouteMissing"], "{:#?}", looked.report);
    assert!(root(&looked).starts_with("route controller: \"Could not create route"), "{:?}", looked.chain(0));
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Proven);
    let evidence = format!("{:?}", looked.report.roots[0].finding.evidence);
    assert!(evidence.contains("NetworkUnavailable=True NoRouteCreated"), "{evidence}");
}

/// Only the route controller's reason is about a route (kubernetes: cloud-provider/controllers/route/
/// route_controller.go, `updateNetworkingCondition`): a network plugin sets the condition when it is down itself
/// (calico: node/pkg/lifecycle/utils, `SetNodeNetworkUnavailableCondition`).
#[test]
fn a_network_plugin_that_is_down_is_no_missing_route() {
    let message = "failing or missing response from https://10.1.0.7:443/apis/gone.example.com/v1: Get \
        \"https://10.1.0.7:443/apis/gone.example.com/v1\": dial tcp 10.1.0.7:443: i/o timeout";
    let world = healthy()
        .going("n", json!(null))
        .dead_api("FailedDiscoveryCheck", message)
        .service("addon", "api", Some("node-a"))
        .change("/api/v1/nodes", "node-a", |node| {
            let conditions = node["status"]["conditions"].as_array_mut().unwrap();
            conditions.retain(|one| one["type"] != "NetworkUnavailable");
            conditions.push(json!({
                "type": "NetworkUnavailable", "status": "True", "reason": "CalicoIsDown",
                "message": "Calico is shutting down on this node"
            }));
        });
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["ApiServiceUnreachable"], "{:#?}", looked.report);
    let finding = &looked.report.roots[0].finding;
    let evidence = format!("{:?}", finding.evidence);
    assert!(evidence.contains("NetworkUnavailable=True CalicoIsDown"), "{evidence}");
    assert!(root(&looked).contains("Calico is shutting down on this node"), "{:?}", looked.chain(0));
    assert_eq!(finding.confidence, Confidence::Probable);
}

/// Built-in kinds have conditions as well; of those without any nothing is asked for.
#[test]
fn conditions_of_built_in_kinds_are_their_own_words() {
    let going = |version: &str, kind: &str, status: Value| {
        let mut world = healthy().held(version, kind, "a", "x", &["example.com/cleanup"]);
        let paths: Vec<&str> = match kind {
            "Service" => vec!["/api/v1/services"],
            "Deployment" => vec!["/apis/apps/v1/deployments"],
            "Job" => vec!["/apis/batch/v1/jobs"],
            _ => vec![],
        };
        for path in paths {
            world = world.reports(path, "x", status.clone());
        }
        world.with(json!({"kind": "Namespace", "metadata": {"name": "a"}}))
    };
    let failed = |kind: &str| {
        conditions(json!([{"type": kind, "status": "True", "reason": "Because", "message": "quota exceeded"}]))
    };
    for (version, kind, condition) in
        [("v1", "Service", "SyncError"), ("apps/v1", "Deployment", "ReplicaFailure"), ("batch/v1", "Job", "Failed")]
    {
        let looked = look(going(version, kind, failed(condition)), object(&kind.to_lowercase(), "a", "x"));
        let says = format!("{condition}=True Because: \"quota exceeded\"");
        assert!(looked.chain(0).last().unwrap().contains(&says), "{:?}", looked.chain(0));
    }
    let looked = look(going("v1", "ServiceAccount", json!(null)), object("serviceaccount", "a", "x"));
    let whole = |path: &&String| path.starts_with("/api/v1/namespaces/a/serviceaccounts");
    assert_eq!(looked.requests.iter().filter(whole).count(), 1, "{:#?}", looked.requests);
}

/// The controller writes its own finalizer again, which no object that is being deleted takes
/// (kubernetes: apimachinery/pkg/api/validation/objectmeta.go, `ValidateFinalizers`).
#[test]
fn a_controller_that_adds_a_finalizer_during_the_deletion_is_what_fails() {
    let looked = asked(widget(conditions(json!([{
        "type": "ReconcileError", "status": "True", "reason": "LastReconcileCycleFailed",
        "message": "Widget.example.com \"w\" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if \
            the object is being deleted, found new finalizers []string{\"example.com/cleanup\"}"
    }]))));
    assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{:#?}", looked.report);
    assert!(root(&looked).contains("no new finalizers can be added"), "{:?}", looked.chain(0));
    assert!(!format!("{:?}", looked.report.roots[0].finding.remedy).contains("Repair the object's fields"));
}

/// Some kinds have their one sentence in a field of another name.
#[test]
fn a_sentence_in_a_field_of_the_status_that_no_other_kind_has_is_followed() {
    let words = "an error has occurred: unable to get secret idp-secret: Secret \"idp-secret\" not found";
    let looked = asked(widget(json!({"value": words, "failureCount": 9, "phase": "Error"})));
    assert_eq!(looked.causes(), ["FinalizerControllerNeedsMissing"], "{:#?}", looked.report);
    assert!(root(&looked).starts_with("Secret a/idp-secret: is not found"), "{:?}", looked.chain(0));
    // One word is a state, and no sentence.
    let looked = asked(widget(json!({"value": "Error", "health": "red"})));
    assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{:#?}", looked.report);
    assert!(!root(&looked).contains("Error"), "{:?}", looked.chain(0));
}
