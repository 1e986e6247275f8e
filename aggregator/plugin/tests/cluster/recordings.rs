//! What a real API server answered while things were stuck, judged.

use findings::render::{Detail, Style};
use plugin::report::tree;

use crate::golden::stuck;
use crate::support::*;

#[test]
fn nothing_is_stuck_in_a_healthy_cluster() {
    let looked = look(recording("baseline"), everything());
    assert_eq!(looked.report.verdict, Verdict::Clear, "{:#?}", looked.report);
    assert!(looked.report.roots.is_empty() && looked.report.unknown.is_empty(), "{:#?}", looked.report);
    assert!(looked.requests.len() <= 11, "{:#?}", looked.requests);
}

#[test]
fn a_dead_api_holds_a_namespace_that_is_empty() {
    let looked = look(recording("discovery-failure"), everything());
    assert_eq!(looked.causes(), ["ApiServiceWithoutEndpoints"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Stuck);
    assert_eq!(looked.victims(0), ["Namespace ack-system-e2e-test-0"]);
    looked.assert_chain(
        0,
        &[
            "Namespace ack-system-e2e-test-0: Terminating for 11s",
            "APIService v1beta1.metrics.k8s.io: not available for 17s (MissingEndpoints)",
            "Service kube-system/metrics-server: has no endpoint: no pod has its labels k8s-app=metrics-server",
        ],
    );
    // The dead group itself is never asked: that would cost a time-out.
    assert!(!looked.requests.iter().any(|path| path.contains("/apis/metrics.k8s.io")), "{:#?}", looked.requests);
    assert!(looked.requests.len() <= 20, "{:#?}", looked.requests);
}

#[test]
fn the_same_dead_api_without_conditions() {
    // Kubernetes before 1.16 writes none.
    let world = recording("discovery-failure").change("/api/v1/namespaces", "ack-system-e2e-test-0", |namespace| {
        namespace["status"]["conditions"] = serde_json::Value::Null;
    });
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["ApiServiceWithoutEndpoints"], "{:#?}", looked.report);
    assert!(looked.report.notes.iter().any(|note| note.contains("has no conditions")), "{:#?}", looked.report.notes);
    assert!(looked.requests.len() <= 22, "{:#?}", looked.requests);
}

#[test]
fn the_same_on_a_server_without_endpoint_slices() {
    let world = recording("discovery-failure").change_groups(|groups| {
        groups.retain(|group| group["metadata"]["name"] != "discovery.k8s.io");
    });
    let world = world.refuse("/apis/discovery.k8s.io", 404, "404 page not found");
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["ApiServiceWithoutEndpoints"], "{:#?}", looked.report);
    assert!(looked.requests.iter().any(|path| path.ends_with("/endpoints/metrics-server")), "{:#?}", looked.requests);
}

#[test]
fn one_dead_api_is_one_root_for_many_namespaces() {
    let mut world = recording("discovery-failure");
    let namespaces = world.list("/api/v1/namespaces");
    let first = namespaces.iter().find(|one| one["metadata"]["name"] == "ack-system-e2e-test-0").unwrap().clone();
    for number in 1..12 {
        let mut other = first.clone();
        other["metadata"]["name"] = format!("test-{number}").into();
        other["metadata"]["uid"] = format!("test-{number}").into();
        namespaces.push(other);
    }
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["ApiServiceWithoutEndpoints"]);
    assert_eq!(looked.victims(0).len(), 12);
    // What is cluster-wide is asked once, however many namespaces wait.
    let asked = |part: &str| looked.requests.iter().filter(|path| path.contains(part)).count();
    assert_eq!((asked("endpointslices"), asked("apiservices?")), (1, 1), "{:#?}", looked.requests);
}

#[test]
fn two_namespaces_and_three_finalizers() {
    let looked = look(stuck("finalizer-and-webhook"), everything());
    let gone = "FinalizerControllerGone";
    assert_eq!(looked.causes(), ["WebhookUnavailable", gone, gone], "{:#?}", looked.report);
    looked.assert_chain(
        0,
        &[
            "Namespace team-webhook: Terminating for 1h",
            "ValidatingWebhookConfiguration guard.example.com: admission calls webhook guard.example.com (failurePolicy: Fail)",
            "Service guard-system/guard: does not exist",
        ],
    );
    looked
        .assert_chain(1, &["Namespace team-widgets: Terminating for 1h", "Widget team-widgets/w1: Terminating for 1h"]);
    let evidence = &looked.report.roots[2].finding.evidence;
    assert!(evidence.iter().any(|one| one.says.contains("other.example.org/hold")), "{evidence:#?}");
    let evidence = &looked.report.roots[1].finding.evidence;
    assert!(evidence.iter().any(|one| one.says.contains("set by kubectl-client-side-apply")), "{evidence:#?}");
    // At most 16 for each of the two; the widget's own words take two.
    assert!(looked.requests.len() <= 30, "{} {:#?}", looked.requests.len(), looked.requests);
}

#[test]
fn a_silent_node_and_what_waits_behind_it() {
    let looked = look(recording("unreachable-node-pvc-chain"), everything());
    assert_eq!(looked.causes(), ["NodeUnreachable"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Stuck);
    looked.assert_chain(
        0,
        &[
            "Namespace e2e-scenario-1: Terminating for 1m17s; its conditions say \"All content successfully removed\", \
             which is wrong: 1 pod remains",
            "Pod e2e-scenario-1/sts-scenario-1-0: Pending, never started on node-b; deadline passed 42s ago",
            "Node node-b: silent for 1m21s",
        ],
    );
    let behind = looked.report.roots[0].behind.join("; ");
    for waits in ["pvc-scenario-1", "pv-scenario-1", "StatefulSet sts-scenario-1"] {
        assert!(behind.contains(waits), "{behind}");
    }
    assert!(
        looked.chain(0).last().unwrap().ends_with("only its disks have the data of PersistentVolume pv-scenario-1")
    );
    assert!(!looked.commands().iter().any(|command| command.contains("--force")), "{:?}", looked.commands());
}

#[test]
fn a_missing_owner_is_not_the_cause() {
    let world = recording("unreachable-node-pvc-chain").without("/apis/apps/v1/statefulsets", "sts-scenario-1");
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["NodeUnreachable"]);
    assert!(looked.report.notes.iter().any(|note| note.starts_with("Not the cause: the missing StatefulSet")));
}

#[test]
fn the_same_in_the_shape_of_kubernetes_1_21() {
    // Pod and claim are deleted together, and the conditions name both.
    let world = recording("unreachable-node-pvc-chain");
    let asked = world.ago(76);
    let world = world
        .change("/api/v1/persistentvolumeclaims", "pvc-scenario-1", |claim| {
            claim["metadata"]["deletionTimestamp"] = asked.clone().into();
        })
        .change("/api/v1/persistentvolumes", "pv-scenario-1", |volume| {
            volume["metadata"]["deletionTimestamp"] = asked.clone().into();
            // Not local: seed 000 had a file share.
            volume["spec"]["local"] = serde_json::Value::Null;
        })
        .change("/api/v1/namespaces", "e2e-scenario-1", |namespace| {
            namespace["status"]["conditions"] = serde_json::json!([
                {"type": "NamespaceDeletionDiscoveryFailure", "status": "False"},
                {"type": "NamespaceDeletionContentFailure", "status": "False"},
                {"type": "NamespaceContentRemaining", "status": "True", "reason": "SomeResourcesRemain", "message":
                    "Some resources are remaining: persistentvolumeclaims. has 1 resource instances, pods. has 1 resource instances"},
                {"type": "NamespaceFinalizersRemaining", "status": "True", "reason": "SomeFinalizersRemain", "message":
                    "Some content in the namespace has finalizers remaining: kubernetes.io/pvc-protection in 1 resource instances"},
            ]);
        });
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["NodeUnreachable"], "{:#?}", looked.report);
    // The volume waits for the claim, the claim for the pod: symptoms, not roots.
    assert_eq!(looked.victims(0), ["Namespace e2e-scenario-1", "PersistentVolume pv-scenario-1"]);
}

#[test]
fn a_node_that_does_not_exist_frees_its_pods_by_itself() {
    let world = recording("unreachable-node-pvc-chain").without("/api/v1/nodes", "node-b");
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["NodeObjectGone"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Progressing);
}

#[test]
fn a_pod_inside_its_grace_period_is_not_stuck() {
    let mut world = recording("unreachable-node-pvc-chain");
    world.at = world.ago(60).parse().unwrap();
    let looked = look(world, object("pod", "e2e-scenario-1", "sts-scenario-1-0"));
    assert_eq!(looked.causes(), ["PodWithinGrace"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Progressing);
}

#[test]
fn containers_are_gone_and_the_node_is_not_done() {
    // The folder node-object-gone was recorded after its pod had gone; these two were stuck then too.
    for name in ["volumes-busy", "node-object-gone"] {
        let looked = look(recording(name), everything());
        assert_eq!(looked.causes(), ["PodCleanupNotFinished"], "{:#?}", looked.report);
        assert_eq!(looked.report.counts.stuck, 2, "{:#?}", looked.report);
        assert!(looked.victims(0).contains(&"Pod node-scn/cwd".to_owned()));
        assert!(looked.commands().contains(&check_once("node-scn/cwd")));
        assert!(
            looked
                .report
                .notes
                .iter()
                .any(|note| note.contains("the process, mount or cgroup that holds the pod is unknown"))
        );
    }
}

#[test]
fn phase_and_finalizers_tell_who_is_waited_for() {
    let looked = look(recording("runtime-and-freezer"), object("pod", "n2", "fin"));
    assert_eq!(looked.causes(), ["FinalizerOwnerUnknown"], "{:#?}", looked.report);
    assert!(
        looked.chain(0)[0].contains("the kubelet has finished, held by finalizer example.com/hold"),
        "{:?}",
        looked.chain(0)
    );
    for name in ["frozen", "shimstop"] {
        let looked = look(recording("runtime-and-freezer"), object("po", "n2", name));
        assert_eq!(looked.causes(), ["PodContainersNotStopped"], "{:#?}", looked.report);
    }
}

#[test]
fn conditions_that_are_wrong_are_contradicted() {
    let looked = look(recording("dstate-fuse"), object("ns", "default", "exam-dstate"));
    assert_eq!(looked.causes(), ["PodContainersNotStopped"], "{:#?}", looked.report);
    looked.assert_chain(
        0,
        &[
            "Namespace exam-dstate: Terminating for 45s; its conditions say \"All content successfully removed\", which is \
             wrong: 1 pod remains",
            "Pod exam-dstate/p: container c is still running",
        ],
    );
    let world = healthy().going("stuck", all_false()).held("v1", "PersistentVolumeClaim", "stuck", "data", &["x/y"]);
    let looked = look(world, object("ns", "default", "stuck"));
    assert!(looked.chain(0)[0].ends_with("which is wrong: 1 other object remains"), "{:?}", looked.chain(0));
    // Where another condition leads to the cause, that one is quoted.
    let refused = content_failure("admission webhook \"guard.example.com\" denied the request: protected");
    let world = healthy().going("stuck", refused).held("v1", "PersistentVolumeClaim", "stuck", "data", &["x/y"]);
    let looked = look(world, object("ns", "default", "stuck"));
    assert_eq!(looked.chain(0)[0], "Namespace stuck: Terminating for 10m; 1 other object remains");
    let text = tree(&looked.report, Detail::Wide, 200, Style::Plain);
    assert!(text.contains("denied the request: protected") && !text.contains("All content"), "{text}");
}
