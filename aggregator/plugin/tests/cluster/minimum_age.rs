//! When a deletion is young, and when it is no longer.

use aggregator_core::judgement::judge;
use aggregator_core::state::{Answer, Facts, Question};

use crate::admission::crd;
use findings::render::Style;

use crate::support::*;

/// The verdict while the deletion of the object at this path is so young, and when it is ten minutes old.
fn verdicts(world: impl Fn() -> World, path: &str, name: &str, seconds: i64) -> [Verdict; 2] {
    [seconds, 600].map(|seconds| {
        let world = world();
        let asked = world.ago(seconds);
        let world = world.change(path, name, |one| one["metadata"]["deletionTimestamp"] = asked.into());
        let looked = look(world, everything());
        assert!(!looked.causes().is_empty(), "{:#?}", looked.report);
        looked.report.verdict
    })
}

const TURNS: [Verdict; 2] = [Verdict::Progressing, Verdict::Stuck];

fn in_namespace() -> World {
    healthy().with(json!({"kind": "Namespace", "metadata": {"name": "a"}}))
}

#[test]
fn a_drain_of_25_seconds_is_progressing() {
    let node = || healthy().terminated_by_karpenter("node-a");
    assert_eq!(verdicts(node, "/api/v1/nodes", "node-a", 25), TURNS);
}

#[test]
fn a_load_balancer_of_20_seconds_is_progressing() {
    let finalizer = "service.kubernetes.io/load-balancer-cleanup";
    let verdict = |seconds| {
        let world = in_namespace().held("v1", "Service", "a", "web", &[finalizer]);
        let asked = world.ago(seconds);
        let world = world.change("/api/v1/services", "web", |one| {
            one["metadata"]["deletionTimestamp"] = asked.into();
        });
        look(world, object("service", "a", "web")).report.verdict
    };
    assert_eq!([verdict(20), verdict(600)], TURNS);
}

#[test]
fn a_pod_12_seconds_after_its_deadline_is_progressing() {
    for phase in ["Running", "Failed", "Pending"] {
        let pod = || in_namespace().going_pod("a", "p", "node-a", phase);
        assert_eq!(verdicts(pod, "/api/v1/pods", "p", 12), TURNS, "{phase}");
    }
}

#[test]
fn a_crd_that_was_deleted_3_seconds_ago_is_progressing() {
    let crd = || {
        let world = in_namespace().with_custom("example.com", "widgets", "Widget").with(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com", "finalizers": ["customresourcecleanup.apiextensions.k8s.io"]},
            "spec": {"group": "example.com", "names": {"plural": "widgets", "kind": "Widget"},
                "versions": [{"name": "v1", "served": true}]}
        }));
        world.with(
            json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "a"}}),
        )
    };
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(verdicts(crd, path, "widgets.example.com", 3), TURNS);
}

#[test]
fn a_volume_that_was_released_3_seconds_ago_is_progressing() {
    let volume = || {
        healthy().with(json!({
            "kind": "PersistentVolume",
            "metadata": {"name": "pv-1", "finalizers": ["external-provisioner.volume.kubernetes.io/finalizer"]},
            "spec": {
                "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"}, "persistentVolumeReclaimPolicy": "Delete"
            },
            "status": {"phase": "Released"}
        }))
    };
    assert_eq!(verdicts(volume, "/api/v1/persistentvolumes", "pv-1", 3), TURNS);
}

#[test]
fn what_was_stuck_long_before_holds_what_is_young() {
    let remaining = "Some resources are remaining: widgets.example.com has 1 resource instances";
    let world = healthy()
        .with_custom("example.com", "widgets", "Widget")
        .going("team", failing("NamespaceContentRemaining", remaining))
        .held("example.com/v1", "Widget", "team", "w", &["example.com/hold"]);
    let asked = world.ago(5);
    let world = world.change("/api/v1/namespaces", "team", |one| {
        one["metadata"]["deletionTimestamp"] = asked.into();
    });
    assert_eq!(look(world, everything()).report.verdict, Verdict::Stuck);
}

#[test]
fn a_pod_of_a_node_that_is_gone_is_not_progressing_for_ever() {
    let overdue = |seconds| {
        let world = healthy().going_pod("a", "db-0", "gone", "Running");
        let asked = world.ago(seconds);
        let world = world.change("/api/v1/pods", "db-0", |pod| {
            pod["metadata"]["deletionTimestamp"] = asked.into();
        });
        look(world, everything())
    };
    let days = overdue(3 * 86_400);
    assert_eq!(days.causes(), ["PodGcRefused"], "{:#?}", days.report);
    let root = &days.report.roots[0];
    assert_eq!((root.verdict, root.finding.confidence), (Verdict::Stuck, Confidence::Probable));
    let moment = overdue(90);
    assert_eq!((moment.causes(), moment.report.verdict), (vec!["NodeObjectGone"], Verdict::Progressing));
}

/// A namespace that was deleted so many seconds ago and has no condition.
fn bare(seconds: i64) -> World {
    let world = healthy().going("n", json!(null));
    let asked = world.ago(seconds);
    world.change("/api/v1/namespaces", "n", |one| one["metadata"]["deletionTimestamp"] = asked.into())
}

#[test]
fn a_namespace_without_any_condition_after_five_minutes_has_no_controller() {
    // Leader election may be off: then no Lease shows it.
    let without_lease = |world: World| world.without("/apis/coordination.k8s.io/v1/leases", "kube-controller-manager");
    for world in [bare(400), without_lease(bare(400))] {
        let looked = look(world, everything());
        assert_eq!(looked.causes(), ["NamespaceControllerNotRunning"], "{:#?}", looked.report);
        let root = &looked.report.roots[0];
        assert_eq!((root.verdict, root.finding.confidence), (Verdict::Stuck, Confidence::Probable));
    }
    let pod = json!({"kind": "Pod", "metadata": {"name": "p", "namespace": "n"}, "spec": {"nodeName": "node-a"}});
    let looked = look(bare(400).with(pod), everything());
    assert_eq!(looked.causes(), ["NamespaceControllerNotRunning"], "{:#?}", looked.report);
    assert!(looked.chain(0)[0].contains("1 object in it, not deleted"), "{:?}", looked.chain(0));
}

/// As on a real cluster without the binding: the controller cannot write down what it is refused. A server without RBAC has no
/// roles, and says nothing of it.
#[test]
fn a_namespace_controller_that_cannot_write_a_condition_lacks_the_right_to() {
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let unbound = |world: World| world.without(bindings, NAMESPACE_CONTROLLER_ROLE);
    let looked = look(unbound(bare(100)), everything());
    assert_eq!(looked.causes(), ["BuiltInControllerForbidden"], "{:#?}", looked.report);
    let root = &looked.report.roots[0];
    assert_eq!((root.verdict, root.finding.confidence), (Verdict::Stuck, Confidence::Probable));
    let chain = looked.chain(0);
    let says = format!("may not update namespaces/status: no binding gives it ClusterRole {NAMESPACE_CONTROLLER_ROLE}");
    assert!(chain.last().is_some_and(|link| link.contains(&says)), "{chain:?}");
    for world in [bare(100), unbound(bare(100)).without_rbac()] {
        assert_eq!(look(world, everything()).report.verdict, Verdict::Progressing);
    }
}

/// Its first attempt takes minutes where the list of a kind is answered with "try again" (a broken conversion), and ends
/// when that is repaired.
#[test]
fn a_first_attempt_of_the_namespace_controller_may_take_minutes() {
    let looked = look(bare(100), everything());
    assert_eq!(looked.report.verdict, Verdict::Progressing, "{:#?}", looked.report);
}

/// Also where none of the objects is in that namespace.
#[test]
fn a_kind_that_cannot_be_converted_holds_the_first_attempt() {
    let failed = "conversion webhook for example.com/v1, Kind=Widget failed: Post \"https://conv.mon.svc:443/?timeout=30s\": \
        context deadline exceeded";
    let listed = "/apis/example.com/v1/widgets";
    let widgets = |seconds| {
        let client = json!({"service": {"namespace": "mon", "name": "conv"}});
        let by_webhook = json!({"strategy": "Webhook", "webhook": {"clientConfig": client}});
        bare(seconds).with_custom("example.com", "widgets", "Widget").with(crd(by_webhook, &["v1"]))
    };
    let asked = |world: World| look(world, object("ns", "", "n"));
    let fails = |seconds| widgets(seconds).refuse(listed, 500, failed);
    for seconds in [20, 100] {
        let looked = asked(fails(seconds));
        assert_eq!(looked.causes(), ["ConversionWebhookUnavailable"], "{seconds}: {:#?}", looked.report);
        assert!(
            looked.chain(0)[1].starts_with("CustomResourceDefinition widgets.example.com"),
            "{:?}",
            looked.chain(0)
        );
        // It is the conversion that fails, whatever its Service looks like.
        let looked = asked(fails(seconds).service("mon", "conv", Some("node-a")));
        assert_eq!(looked.causes(), ["ConversionWebhookUnavailable"], "{seconds}: {:#?}", looked.report);
        assert!(looked.report.roots.iter().all(|root| root.finding.confidence == Confidence::Probable));
    }
    for world in [widgets(20), fails(5), widgets(20).refuse(listed, 403, "no")] {
        assert_eq!(asked(world).causes(), ["NamespaceStillEmptying"]);
    }
}

#[test]
fn a_namespace_controller_that_left_a_trace_runs() {
    let young = look(bare(30), everything());
    assert_eq!((young.causes(), young.report.verdict), (vec!["NamespaceStillEmptying"], Verdict::Progressing));
    let told = look(healthy().going("n", all_false()), everything());
    assert!(!told.causes().contains(&"NamespaceControllerNotRunning"), "{:#?}", told.report);
    // It has asked the pod to go, and that has its own reason to stay.
    let world = bare(100).going_pod("n", "p", "node-a", "Running");
    let then = world.ago(70);
    let world = world.change("/api/v1/pods", "p", |pod| pod["metadata"]["deletionTimestamp"] = then.into());
    let asked = look(world, everything());
    assert_eq!(asked.causes(), ["PodContainersNotStopped"], "{:#?}", asked.report);
    // Before 1.16 no namespace had conditions.
    let roots = |minor: &str| {
        let mut state = look(bare(400), everything()).state;
        let version = state.answers.get_mut(&Question::Version).unwrap();
        let Answer::Seen(Facts::Version(version)) = &mut version.answer else { panic!("{version:#?}") };
        version.git_version = format!("v1.{minor}.4");
        judge(&state).roots.len()
    };
    assert_eq!((roots("15"), roots("16")), (0, 1));
}

/// One that waits for another says nothing of what a third waits for.
#[test]
fn what_is_held_for_seconds_is_listed_by_what_it_waits_for() {
    let mut world = healthy()
        .active("shop")
        .held("v1", "ConfigMap", "shop", "owner", &["foregroundDeletion"])
        .held("v1", "ConfigMap", "shop", "dep", &["example.com/x"])
        .held("v1", "ConfigMap", "shop", "settings", &["example.com/y"]);
    for (name, seconds) in [("owner", 70), ("dep", 9), ("settings", 9)] {
        let asked = world.ago(seconds);
        world = world.change("/api/v1/configmaps", name, |one| {
            one["metadata"]["uid"] = name.into();
            one["metadata"]["deletionTimestamp"] = asked.into();
            if name == "dep" {
                one["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
                    "uid": "owner", "blockOwnerDeletion": true}]);
            }
        });
    }
    let report = look(world, everything()).report;
    let text = plugin::report::screen(&report, 120, Style::Plain);
    assert!(
        text.contains("3 configmaps are held, the longest for 1m10s: what that waits for is called stuck"),
        "{text}"
    );
    assert!(text.contains("  cm/owner in shop: ") || text.contains("configmap/owner in shop: "), "{text}");
    let waits = text.lines().filter(|line| line.contains("waiting for ConfigMap shop/dep")).count();
    assert!(waits == 1 && !text.contains("dep, owner") && !text.contains("owner, settings"), "{text}");
}
