//! Nodes that do not drain.

use crate::karpenter::budget_until;
use crate::support::*;

pub const NODES: &str = "/api/v1/nodes";

/// The node was cordoned ten minutes ago.
pub fn cordoned(world: World) -> World {
    let since = world.ago(600);
    world.change(NODES, "node-a", |node| {
        node["spec"]["unschedulable"] = true.into();
        node["spec"]["taints"] =
            json!([{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": since}]);
    })
}

/// A pod of a ReplicaSet that runs on the node.
pub fn pod(name: &str, ready: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut pod = json!({
        "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "shop", "uid": name, "labels": {"app": "web"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": true}]
        },
        "spec": {"nodeName": "node-a"},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}
    });
    change(&mut pod);
    pod
}

pub fn budget(name: &str, allowed: i64, healthy: i64, wanted: i64, expected: i64) -> Value {
    json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name, "namespace": "shop"},
        "spec": {"minAvailable": wanted, "selector": {"matchLabels": {"app": "web"}}},
        "status": {
            "disruptionsAllowed": allowed, "currentHealthy": healthy, "desiredHealthy": wanted, "expectedPods": expected
        }
    })
}

pub fn asked(world: World) -> Looked {
    look(world, object("node", "default", "node-a"))
}

pub fn shop() -> World {
    healthy().with(json!({"kind": "Namespace", "metadata": {"name": "shop"}}))
}

#[test]
fn a_budget_that_allows_none_says_why() {
    let plain = |_: &mut Value| {};
    let world = |budget: Value| {
        cordoned(shop()).with(budget).with(pod("web-0", "True", plain)).with(pod("web-1", "False", plain))
    };
    let looked = asked(world(budget("web", 0, 1, 2, 3)));
    assert_eq!(looked.causes(), ["DrainBudgetAllowsNone"], "{:#?}", looked.report);
    assert_eq!(
        (looked.report.verdict, looked.report.roots[0].finding.confidence),
        (Verdict::Stuck, Confidence::Proven)
    );
    looked.assert_chain(
        0,
        &[
            "Node node-a: cordoned for 10m",
            "2 pods on it: not evicted: shop/web-0, shop/web-1",
            "PodDisruptionBudget shop/web: allows 0 disruptions: it wants 2, and 1 of 3 pods healthy; not ready: web-1",
        ],
    );
    assert!(looked.commands().contains(&"kubectl describe poddisruptionbudget web -n shop".to_owned()));
    let steps = |looked: &Looked| {
        let steps = looked.report.roots.iter().flat_map(|root| &root.finding.remedy.steps);
        steps.map(|step| step.text.clone()).collect::<Vec<_>>().join("\n")
    };
    assert!(steps(&looked).contains("; the budget then allows an eviction"), "{}", steps(&looked));
    // Were all ready, it would still allow none.
    let looked = asked(world(budget("web", 0, 1, 2, 2)));
    assert!(!steps(&looked).contains("then allows an eviction"), "{}", steps(&looked));
    assert!(steps(&looked).contains("with all of them ready it still allows no eviction"), "{}", steps(&looked));
    // As many as there are: no eviction will ever be allowed. The pod that is not ready may go.
    let looked = asked(world(budget("web", 0, 2, 2, 2)));
    let causes = looked.causes();
    assert!(causes.contains(&"DrainBudgetAllowsNone") && causes.contains(&"DrainNotIssued"), "{causes:?}");
    let told = format!("{:?}", looked.report.roots);
    assert!(told.contains("and never will: it wants 2, and 2 of 2 pods healthy is all there is"), "{told}");
    // It has just as many as it wants: one more that is ready would let one go.
    let looked = asked(world(budget("web", 0, 2, 2, 3)));
    assert!(format!("{:?}", looked.report.roots).contains("2 of 3 pods healthy; not ready: web-1"), "{looked:#?}");
    // One that has ended will not be ready again.
    let done = |pod: &mut Value| pod["status"]["phase"] = "Succeeded".into();
    let looked = asked(world(budget("web", 0, 1, 2, 3)).with(pod("done", "False", done)));
    assert!(looked.chain(0).last().unwrap().ends_with("; not ready: web-1"), "{:?}", looked.chain(0));
    // Few namespaces are asked for one by one: more may not be visible.
    let whole = |path: &String| path.starts_with("/apis/policy/v1/poddisruptionbudgets");
    assert!(!looked.requests.iter().any(whole), "{:#?}", looked.requests);
    // One that allows an eviction is not why.
    assert_eq!(asked(world(budget("web", 1, 3, 2, 3))).causes(), ["DrainNotIssued"]);
    // Of several the API server says no, whatever they allow.
    let both = world(budget("web", 1, 3, 2, 3)).with(budget("all", 1, 3, 2, 3));
    assert_eq!(asked(both).causes(), ["DrainBudgetAllowsNone"]);
    // But not of a pod that has not started.
    let starts = |pod: &mut Value| pod["status"]["phase"] = "Pending".into();
    let both = cordoned(shop()).with(budget("web", 0, 0, 2, 3)).with(budget("all", 0, 0, 2, 3));
    assert_eq!(asked(both.with(pod("web-0", "False", starts))).causes(), ["DrainNotIssued"]);
    // A budget without permission to see it is not reported as absent.
    let hidden = world(budget("web", 0, 1, 2, 3)).refuse("/apis/policy/v1", 403, "poddisruptionbudgets is forbidden");
    assert_eq!(asked(hidden).report.verdict, Verdict::CannotTell);
}

/// What helps depends on why it allows none, and on what has the replicas.
#[test]
fn the_steps_of_a_budget_follow_what_it_says() {
    let steps = |budget: Value, ready: &str| {
        let world = cordoned(shop()).with(budget).with(pod("web-0", ready, |_| {})).with(json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {
                "name": "web", "namespace": "shop", "uid": "web",
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop", "uid": "d", "controller": true}]
            }
        }));
        let looked = asked(world);
        assert_eq!(looked.causes(), ["DrainBudgetAllowsNone"], "{:#?}", looked.report);
        looked.report.roots[0].finding.remedy.steps.iter().map(|step| format!("{}\n", step.text)).collect::<String>()
    };
    let all = steps(budget("web", 0, 2, 2, 2), "True");
    assert!(all.contains("Add a replica (its pods are of Deployment/shop)") && !all.contains("AlwaysAllow"), "{all}");
    let mut none = budget("web", 0, 2, 2, 2);
    none["spec"] = json!({"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}});
    let none = steps(none, "True");
    assert!(
        none.contains("Set maxUnavailable") && !none.contains("Add a replica") && !none.contains("minAvailable"),
        "{none}"
    );
    let crashing = steps(budget("web", 0, 1, 2, 3), "False");
    assert!(
        crashing.contains("unhealthyPodEvictionPolicy: AlwaysAllow") && !crashing.contains("Add a replica"),
        "{crashing}"
    );
    // The ones that are not ready are on other nodes: that they may be evicted empties this one of nothing.
    let elsewhere = steps(budget("web", 0, 1, 2, 3), "True");
    assert!(!elsewhere.contains("AlwaysAllow"), "{elsewhere}");
}

#[test]
fn a_node_that_is_deleted_and_never_reported_has_one_root() {
    let world = |finalizer: &str| {
        let world = healthy().node_ready("node-a", "Unknown", "NodeStatusNeverUpdated", "");
        let (asked, since) = (world.ago(200), world.ago(100));
        world.change(NODES, "node-a", |node| {
            node["metadata"]["deletionTimestamp"] = asked.into();
            node["metadata"]["finalizers"] = json!([finalizer]);
            node["status"]["conditions"][0]["lastTransitionTime"] = since.into();
        })
    };
    let looked = asked(world("example.com/hold"));
    assert_eq!(looked.causes(), ["FinalizerOwnerUnknown"], "{:#?}", looked.report);
    let looked = asked(world("karpenter.sh/termination"));
    assert_eq!((looked.causes().len(), looked.report.verdict), (1, Verdict::Stuck), "{:#?}", looked.report);
}

/// Its status says so a minute after it was made, and without the node lifecycle controller never.
#[test]
fn a_node_that_never_reported_before_the_controller_says_so() {
    let world = || {
        let world = healthy().without("/apis/coordination.k8s.io/v1/leases", "node-a");
        world.change(NODES, "node-a", |node| node["status"]["conditions"] = json!([]))
    };
    let looked = asked(world());
    assert_eq!(looked.causes(), ["NodeNeverReported"]);
    let evidence = format!("{:?}", looked.report.roots[0].finding.evidence);
    assert!(evidence.contains("has no condition Ready") && evidence.contains("does not exist"), "{evidence}");
    let asked_at = world().ago(65);
    let deleted = world().change(NODES, "node-a", |node| {
        node["metadata"]["deletionTimestamp"] = asked_at.into();
        node["metadata"]["finalizers"] = json!(["example.com/hold"]);
    });
    let looked = asked(deleted);
    assert_eq!(
        (looked.causes(), looked.report.verdict),
        (vec!["FinalizerOwnerUnknown"], Verdict::Stuck),
        "{:#?}",
        looked.report
    );
}

/// longhorn-manager: controller/instance_manager_controller.go, `canDeleteInstanceManagerPDB`; rook:
/// pkg/operator/ceph/disruption/clusterdisruption/osd.go, `createBlockingPDBForOSD`. They take the budget away when an
/// eviction loses nothing; who loosens it before that may lose the last replica.
#[test]
fn a_budget_of_a_program_is_left_to_it() {
    let owner = |version: &str, kind: &str| json!([{"apiVersion": version, "kind": kind, "name": "prod", "uid": "prod", "controller": true}]);
    let mut of_rook = budget("osd", 0, 1, 1, 1);
    of_rook["metadata"]["ownerReferences"] = owner("ceph.rook.io/v1", "CephCluster");
    let of_longhorn =
        |pod: &mut Value| pod["metadata"]["ownerReferences"] = owner("longhorn.io/v1beta2", "InstanceManager");
    for (world, of) in [
        (cordoned(shop()).with(of_rook).with(pod("web-0", "True", |_| {})), "CephCluster prod"),
        (
            cordoned(shop()).with(budget("im", 0, 1, 1, 1)).with(pod("web-0", "True", of_longhorn)),
            "InstanceManager prod",
        ),
    ] {
        let looked = asked(world);
        assert_eq!(looked.causes(), ["DrainBudgetAllowsNone"], "{:#?}", looked.report);
        let told = format!("{:?} {:?}", looked.chain(0), looked.report.roots[0].finding.remedy.steps);
        assert!(!told.contains("never will") && !told.contains("maxUnavailable: 1"), "{told}");
        assert!(told.contains("leave the budget alone") && told.contains(of), "{told}");
    }
}

/// kubernetes: pkg/registry/core/pod/storage/eviction.go, `checkAndDecrement`.
#[test]
fn a_budget_without_a_computed_status_allows_none_yet() {
    let world = || cordoned(shop()).with(budget("web", 0, 0, 0, 0)).with(pod("web-0", "True", |_| {}));
    let looked = asked(world());
    assert_eq!(looked.causes(), ["DrainBudgetAllowsNone"], "{:#?}", looked.report);
    let told = looked.chain(0).concat();
    assert!(told.contains("its status is not computed yet") && !told.contains("never will"), "{told}");
    let looked = asked(world().without_controller_manager());
    assert_eq!(looked.causes(), ["ControllerManagerSilent"], "{:#?}", looked.report);
    looked.assert_chain(
        0,
        &[
            "Node node-a: cordoned",
            "1 pod on it: not evicted",
            "PodDisruptionBudget shop/web: allows 0 disruptions: its status is not computed yet",
            "kube-controller-manager: has not renewed its Lease",
        ],
    );
    // One that was counted, and expects none.
    let mut counted = budget("web", 0, 0, 0, 0);
    counted["status"]["observedGeneration"] = 1.into();
    let looked = asked(cordoned(shop()).with(counted).with(pod("web-0", "True", |_| {})));
    assert!(looked.chain(0).concat().ends_with("it wants 0, and 0 of 0 pods healthy"), "{:?}", looked.chain(0));
    // One that was changed since it was counted, whatever it allowed before.
    let mut changed = budget("web", 1, 3, 2, 3);
    changed["status"]["observedGeneration"] = 1.into();
    changed["metadata"]["generation"] = 2.into();
    let world = cordoned(shop()).with(changed).with(pod("web-0", "True", |_| {}));
    let looked = asked(world.without_controller_manager());
    assert_eq!(looked.causes(), ["ControllerManagerSilent"], "{:#?}", looked.report);
    let told = looked.chain(0).concat();
    assert!(told.contains("allows 0 disruptions: its status is not computed since it was changed"), "{told}");
}

/// A webhook is asked about the Eviction before any budget is (kubernetes: pkg/registry/core/pod/storage/eviction.go).
#[test]
fn an_eviction_that_a_webhook_refuses_is_not_one_that_nobody_asked_for() {
    let world = || cordoned(shop()).with(pod("web-0", "True", |_| {}));
    let looked = asked(world().webhook("CREATE", "", "pods/eviction"));
    assert_eq!(looked.causes(), ["WebhookBlocksUpdate"], "{:#?}", looked.report);
    looked.assert_chain(
        0,
        &[
            "Node node-a: cordoned for 10m",
            "1 pod on it: not evicted: shop/web-0",
            "ValidatingWebhookConfiguration guard: admission calls webhook guard.example.com",
            "Service guard/guard: does not exist",
        ],
    );
    let looked = asked(world().webhook("CREATE", "", "pods"));
    assert_eq!(looked.causes(), ["DrainNotIssued"], "{:#?}", looked.report);
    // It is asked about the Eviction, which has no labels of the pod.
    let labelled = world().webhook("CREATE", "", "pods/eviction").change(
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        "guard",
        |one| one["webhooks"][0]["objectSelector"] = json!({"matchLabels": {"app": "web"}}),
    );
    assert_eq!(asked(labelled).causes(), ["DrainNotIssued"]);
    // Karpenter deletes the pod in time, and asks for no eviction then.
    let limited = budget_until(Some(3600)).without("/apis/policy/v1/poddisruptionbudgets", "web");
    let looked = asked(limited.webhook("CREATE", "", "pods/eviction"));
    assert_eq!((looked.causes(), looked.report.verdict), (vec!["WebhookBlocksUpdate"], Verdict::Progressing));
}

/// What docs/answers/drain.md shows.
#[test]
fn the_answer_in_the_documents() {
    let sick =
        |pod: &mut Value| pod["status"]["conditions"][0]["message"] = "containers with unready status: [web]".into();
    let world = cordoned(shop())
        .with(budget("web", 0, 1, 2, 3))
        .with(pod("web-0", "True", |_| {}))
        .with(pod("web-1", "False", sick));
    let text =
        plugin::report::tree(&asked(world).report, findings::render::Detail::Short, 80, findings::render::Style::Plain);
    crate::golden::assert_golden("drain-budget.80.txt", &text);
}

#[test]
fn pods_that_kubectl_drain_stops_at() {
    for (change, words) in [
        (
            (|pod: &mut Value| pod["metadata"]["ownerReferences"] = json!([])) as fn(&mut Value),
            "no controller would create it again; without --force kubectl drain evicts no pod of the node: shop/p",
        ),
        (
            |pod| pod["spec"]["volumes"] = json!([{"name": "tmp", "emptyDir": {}}]),
            "without --delete-emptydir-data kubectl drain evicts no pod of the node: shop/p",
        ),
    ] {
        let looked = asked(cordoned(shop()).with(pod("p", "True", change)).with(pod("web-0", "True", |_| {})));
        assert_eq!(looked.causes(), ["DrainNeedsConsent"], "web-0 waits for the same: {:#?}", looked.report);
        assert!(looked.chain(0).last().unwrap().ends_with(words), "{:?}", looked.chain(0));
    }
}

#[test]
fn what_a_drain_passes_over_is_no_reason() {
    let of = |kind: &str| json!([{"apiVersion": "apps/v1", "kind": kind, "name": "d", "uid": "d", "controller": true}]);
    let world = cordoned(shop())
        .with(pod("agent", "True", |pod| pod["metadata"]["ownerReferences"] = of("DaemonSet")))
        .with(pod("etcd", "True", |pod| pod["metadata"]["ownerReferences"] = of("Node")))
        .with(pod("done", "False", |pod| pod["status"]["phase"] = "Succeeded".into()));
    assert!(asked(world).causes().is_empty());
    // A node that is not being drained holds nothing.
    assert!(asked(shop().with(pod("web-0", "True", |_| {}))).causes().is_empty());
}

/// `kubectl cordon` sets the field, and the node controller the taint: either may be seen first.
#[test]
fn a_cordoned_node_is_known_by_its_field_or_its_taint() {
    let world = || shop().with(pod("web-0", "True", |_| {}));
    let by_field = world().change(NODES, "node-a", |node| node["spec"]["unschedulable"] = true.into());
    assert_eq!(asked(by_field).causes(), ["DrainNotIssued"]);
    let by_taint = world().taint("node-a", "node.kubernetes.io/unschedulable", "NoSchedule");
    assert_eq!(asked(by_taint).causes(), ["DrainNotIssued"]);
}

#[test]
fn a_pod_that_tolerates_the_taint_comes_back() {
    let made = |seconds: i64| healthy().ago(seconds);
    let tolerant = |at: String| {
        move |pod: &mut Value| {
            pod["metadata"]["creationTimestamp"] = at.into();
            pod["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
        }
    };
    let looked = asked(cordoned(shop()).with(pod("web-0", "True", tolerant(made(60)))));
    assert_eq!(looked.causes(), ["DrainPodReturns"], "{:#?}", looked.report);
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Proven);
    // One that was there before has not been evicted yet, and one that does not tolerate it was put there by hand.
    assert_eq!(asked(cordoned(shop()).with(pod("web-0", "True", tolerant(made(900))))).causes(), ["DrainNotIssued"]);
    let new = |pod: &mut Value| pod["metadata"]["creationTimestamp"] = made(60).into();
    assert_eq!(asked(cordoned(shop()).with(pod("web-0", "True", new))).causes(), ["DrainNotIssued"]);
}

#[test]
fn a_pod_stays_as_long_as_it_tolerates_the_taint() {
    let world = |seconds: Value| {
        cordoned(shop()).taint("node-a", "example.com/leave", "NoExecute").with(pod("web-0", "True", |pod| {
            let key = json!({"key": "example.com/leave", "operator": "Exists", "tolerationSeconds": seconds});
            pod["spec"]["tolerations"] = json!([key]);
        }))
    };
    // The node has had it for 800 s.
    let looked = asked(world(json!(900)));
    assert!(looked.causes().is_empty(), "{:#?}", looked.report);
    let notes: Vec<String> = looked.report.notes.iter().cloned().collect();
    assert!(notes.iter().any(|note| note.starts_with("Pod shop/web-0 tolerates the NoExecute taint")), "{notes:?}");
    assert_eq!(asked(world(json!(300))).causes(), ["DrainNotIssued"]);
    assert_eq!(asked(world(json!(null))).causes(), ["DrainNotIssued"]);
}

/// The Machines of another cluster may have nodes of the same names.
#[test]
fn a_machine_of_another_cluster_is_not_the_node_of_the_same_name() {
    let machine = |node_uid: &str, its: Value, spec: Value| {
        let world = cordoned(shop())
            .with(pod("web-0", "True", |_| {}))
            .change(NODES, "node-a", |node| {
                node["metadata"]["uid"] = node_uid.into();
                node["spec"]["providerID"] = "aws:///eu-1/i-here".into();
            })
            .with_custom("cluster.x-k8s.io", "machines", "Machine")
            .held("cluster.x-k8s.io/v1", "Machine", "shop", "md-0", &["machine.cluster.x-k8s.io"])
            .change("/apis/cluster.x-k8s.io/v1/machines", "md-0", |one| {
                one["status"] = json!({"nodeRef": its});
                one["spec"] = spec;
            });
        look(world, object("machine", "shop", "md-0"))
    };
    let is_here = |looked: &Looked| looked.causes().contains(&"DrainNotIssued");
    for (its, spec, expected) in [
        (json!({"name": "node-a", "uid": "n"}), json!({}), true),
        (json!({"name": "node-a"}), json!({"providerID": "aws:///eu-1/i-here"}), true),
        // The Node was made again, on the same machine.
        (json!({"name": "node-a", "uid": "before"}), json!({"providerID": "aws:///eu-1/i-here"}), true),
        (json!({"name": "node-a", "uid": "other"}), json!({"providerID": "aws:///eu-1/i-there"}), false),
        (json!({"name": "node-a"}), json!({"providerID": "aws:///eu-1/i-there"}), false),
        (json!({"name": "node-a"}), json!({}), false),
    ] {
        let looked = machine("n", its.clone(), spec.clone());
        assert_eq!(is_here(&looked), expected, "{its} {spec}: {:#?}", looked.report);
        let is_told = looked.chain(0).concat().contains("machine.cluster.x-k8s.io");
        assert!(expected || is_told, "{:?}", looked.chain(0));
    }
    // What neither says is not the same.
    assert!(!is_here(&machine("", json!({"name": "node-a", "uid": ""}), json!({"providerID": ""}))));
}

/// Cluster API evicts a pod whatever it has in an emptyDir; a controller that is down is a nearer cause than a missing
/// eviction request.
#[test]
fn a_machine_does_not_stop_at_an_empty_dir() {
    let causes = |change: fn(&mut Value), ready: i64| {
        let world = cordoned(shop())
            .with(pod("web-0", "True", |pod| {
                pod["spec"]["volumes"] = json!([{"name": "cache", "emptyDir": {}}]);
                pod["metadata"]["ownerReferences"] = json!([]);
                change(pod);
            }))
            .change(NODES, "node-a", |node| node["metadata"]["uid"] = "n".into())
            .with_custom("cluster.x-k8s.io", "machines", "Machine")
            .held("cluster.x-k8s.io/v1", "Machine", "shop", "md-0", &["machine.cluster.x-k8s.io"])
            .change("/apis/cluster.x-k8s.io/v1/machines", "md-0", |one| {
                one["status"] = json!({"nodeRef": {"name": "node-a", "uid": "n"}});
            })
            .deployment("capi-system", "capi-controller-manager", 1, ready)
            .may_change("capi-system", "capi-controller-manager", "cluster.x-k8s.io", "machines");
        let looked = look(world, object("machine", "shop", "md-0"));
        assert!(!looked.commands().iter().any(|one| one.contains("delete-emptydir-data")), "{:?}", looked.commands());
        let mut causes = looked.causes();
        causes.sort_unstable();
        causes
    };
    assert_eq!(causes(|_| {}, 0), ["DrainNotIssued", "FinalizerControllerNotReady"]);
    // It leaves this one by itself.
    let label = |pod: &mut Value| pod["metadata"]["labels"]["cluster.x-k8s.io/drain"] = "Skip".into();
    assert_eq!(causes(label, 0), ["FinalizerControllerNotReady"]);
    // It waits for a pod that goes, and its controller for that.
    let going = |pod: &mut Value| {
        pod["metadata"]["deletionTimestamp"] = "2026-11-20T20:00:00Z".into();
        pod["metadata"]["deletionGracePeriodSeconds"] = 30.into();
    };
    let told = causes(going, 1);
    assert!(!told.is_empty() && !told.contains(&"ExternalResourceFinalizer"), "{told:?}");
}

#[test]
fn pods_that_go_already_are_waited_for() {
    let looked = asked(cordoned(shop().going_pod("shop", "p", "node-a", "Running")));
    assert_eq!(looked.causes(), ["PodContainersNotStopped"], "{:#?}", looked.report);
    assert_eq!(looked.victims(0), ["Node node-a"]);
    // When they have gone, what is still attached is waited for.
    let asked_at = healthy().ago(600);
    let world = shop().terminated_by_karpenter("node-a").with(json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
        "metadata": {"name": "csi-1", "deletionTimestamp": asked_at, "finalizers": ["external-attacher/ebs-csi-aws-com"]},
        "spec": {"attacher": "ebs.csi.aws.com", "nodeName": "node-a", "source": {"persistentVolumeName": "pv"}},
        "status": {"attached": true, "detachError": {"message": "rpc error: code = Internal desc = no"}}
    }));
    let looked = asked(world);
    assert!(looked.chain(0).iter().any(|one| one.starts_with("VolumeAttachment csi-1")), "{:#?}", looked.report);
}
