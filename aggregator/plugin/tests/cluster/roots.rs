//! Which roots there are: what is merged, what stays apart, and what is only a symptom.

use findings::render::{Detail, Style};

use crate::support::*;

const WIDGETS: &str = "/apis/example.com/v1/widgets";
const CLEANUP: &[&str] = &["example.com/cleanup"];

/// A namespace that waits for widgets, whose operator runs elsewhere.
fn widgets() -> World {
    healthy()
        .with_custom("example.com", "widgets", "Widget")
        .going("a", remain("widgets.example.com has 2 resource instances"))
        .deployment("op-system", "operator", 1, 1)
        .may_change("op-system", "operator", "example.com", "widgets")
}

fn words(looked: &Looked) -> String {
    plugin::report::tree(&looked.report, Detail::Short, 100, Style::Plain)
}

#[test]
fn two_errors_of_one_controller_are_two_explanations_of_one_root() {
    let failing =
        |why: &str| json!([{"type": "Synced", "status": "False", "reason": "ReconcileError", "message": why}]);
    let buckets = |first: &str, second: &str| {
        let world = widgets()
            .held("example.com/v1", "Widget", "a", "w1", CLEANUP)
            .held("example.com/v1", "Widget", "a", "w2", CLEANUP)
            .says(WIDGETS, "w1", failing(first))
            .says(WIDGETS, "w2", failing(second));
        look(world, everything())
    };
    let denied = "AccessDenied: not authorized to perform s3:DeleteBucket";
    let looked = buckets("BucketNotEmpty: the bucket is not empty", denied);
    assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{:#?}", looked.report);
    assert_eq!(looked.report.roots[0].also.len(), 1, "{:#?}", looked.report);
    assert!(words(&looked).contains("AccessDenied") && words(&looked).contains("BucketNotEmpty"), "{}", words(&looked));
    // What only names the object is the same.
    let of = |name: &str| format!("BucketNotEmpty: {name} is not empty, request 4f{name}");
    let looked = buckets(&of("w1"), &of("w2"));
    assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{:#?}", looked.report);
    assert!(looked.report.roots[0].also.is_empty(), "{:#?}", looked.report);
    assert_eq!(looked.report.roots[0].on_the_way.len(), 2, "{:#?}", looked.report.roots[0]);
}

#[test]
fn two_finalizers_of_one_kind_are_two_roots() {
    let mut world = healthy().with_custom("example.com", "widgets", "Widget");
    for number in 0..4 {
        let namespace = format!("team{number}");
        world = world.going(&namespace, remain("widgets.example.com has 1 resource instances")).held(
            "example.com/v1",
            "Widget",
            &namespace,
            &format!("w{number}"),
            &[&format!("hold{number}.io/x")],
        );
    }
    let looked = look(world, everything());
    assert_eq!(looked.report.roots.len(), 4, "{:#?}", looked.causes());
    for number in 0..4 {
        assert!(words(&looked).contains(&format!("hold{number}.io/x")), "{}", words(&looked));
    }
}

/// Where nothing leads to a program, one of them alone means nothing.
#[test]
fn finalizers_of_one_object_that_nothing_tells_apart_are_one_root() {
    let world = || {
        healthy().active("shop").held("v1", "ConfigMap", "shop", "all", &["b.example.com/y", "a.example.com/x", "c/z"])
    };
    let looked = look(world(), object("configmap", "shop", "all"));
    assert_eq!(looked.causes(), ["FinalizerOwnerUnknown"], "{:#?}", looked.report);
    let [root] = looked.report.roots.as_slice() else { panic!("{:#?}", looked.report) };
    assert_eq!(root.victims.len(), 1);
    let screen = plugin::report::screen(&looked.report, 100, Style::Plain);
    for finalizer in ["a.example.com/x", "b.example.com/y", "c/z"] {
        assert!(screen.contains(finalizer), "{screen}");
        let says = |one: &findings::Evidence| one.says.contains(&format!("finalizer {finalizer}"));
        assert!(root.finding.evidence.iter().any(says), "{finalizer}: {root:#?}");
    }
    // In any order, and of each object that has the same ones.
    let other = world().held("v1", "ConfigMap", "shop", "other", &["c/z", "a.example.com/x", "b.example.com/y"]);
    let looked = look(other, everything());
    assert_eq!((looked.report.roots.len(), looked.report.roots[0].id), (1, root.id), "{:#?}", looked.report);
    assert_eq!(looked.report.roots[0].victims.len(), 2);
    // One that lacks some of them is released by less.
    let fewer = world().held("v1", "ConfigMap", "shop", "other", &["c/z"]);
    assert_eq!(look(fewer, everything()).report.roots.len(), 2);
}

#[test]
fn finalizers_of_one_field_manager_are_one_root() {
    const CONFIG_MAPS: &str = "/api/v1/configmaps";
    let world = healthy()
        .active("shop")
        .held("v1", "ConfigMap", "shop", "all", &["a.example.com/x", "b.example.com/y"])
        .held("v1", "ConfigMap", "shop", "more", &["c.example.com/z"])
        .set_by(CONFIG_MAPS, "all", "team-tool")
        .set_by(CONFIG_MAPS, "more", "team-tool");
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["FinalizerOwnerUnknown"], "{:#?}", looked.report);
    assert_eq!(looked.report.roots[0].victims.len(), 2, "{:#?}", looked.report);
    let evidence = &looked.report.roots[0].finding.evidence;
    for finalizer in ["a.example.com/x", "b.example.com/y", "c.example.com/z"] {
        assert!(evidence.iter().any(|one| one.says.contains(finalizer)), "{finalizer}: {evidence:#?}");
    }
}

#[test]
fn two_nodes_with_one_finalizer_are_two_roots() {
    let world = healthy();
    let asked = world.ago(7200);
    let going = |node: &mut serde_json::Value| {
        node["metadata"]["deletionTimestamp"] = asked.clone().into();
        node["metadata"]["finalizers"] = json!(["karpenter.sh/termination"]);
    };
    let mut other = world.node("node-a");
    (other["kind"], other["metadata"]["name"]) = ("Node".into(), "node-z".into());
    other["metadata"]["uid"] = "node-z".into();
    let world = world.with(other);
    let world = world.change("/api/v1/nodes", "node-a", going).change("/api/v1/nodes", "node-z", going);
    let looked = look(world, everything());
    assert_eq!(looked.report.roots.len(), 2, "{:#?}", looked.report);
    assert_eq!([looked.victims(0), looked.victims(1)].concat(), ["Node node-a", "Node node-z"]);
}

/// A namespace waits for all of its pods, and they for one node: each of them is counted.
#[test]
fn every_pod_between_a_namespace_and_its_silent_node_is_counted() {
    let mut world = healthy().going("shop", all_false());
    for number in 0..5 {
        world = world.going_pod("shop", &format!("web-{number}"), "node-a", "Running");
    }
    let world = world.node_ready("node-a", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.");
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["NodeUnreachable"], "{:#?}", looked.report);
    assert_eq!((looked.report.counts.stuck, looked.report.roots[0].on_the_way.len()), (6, 5), "{:#?}", looked.report);
    let screen = plugin::report::screen(&looked.report, 100, Style::Plain);
    assert!(screen.contains("5 pods, 1 ns"), "{screen}");
}

#[test]
fn an_old_object_beside_a_young_one_is_stuck() {
    let world = widgets()
        .held("example.com/v1", "Widget", "a", "w1", CLEANUP)
        .held("example.com/v1", "Widget", "a", "w2", CLEANUP);
    let now = world.ago(15);
    let world = world.change(WIDGETS, "w1", |one| one["metadata"]["deletionTimestamp"] = now.into());
    let looked = look(world, everything());
    assert_eq!(looked.report.verdict, Verdict::Stuck);
    assert_eq!(looked.report.roots.len(), 1, "{:#?}", looked.report);
    let root = &looked.report.roots[0];
    assert_eq!((root.verdict, root.finding.confidence), (Verdict::Stuck, Confidence::Probable));
    assert!(!words(&looked).contains("(0 root"), "{}", words(&looked));
    assert!(looked.chain(0)[1].starts_with("Widget a/w2"), "the old one is shown: {:?}", looked.chain(0));
}

#[test]
fn every_pod_that_uses_a_claim_is_named() {
    let mut world =
        healthy().active("shop").held("v1", "PersistentVolumeClaim", "shop", "data", &["kubernetes.io/pvc-protection"]);
    for number in 0..3 {
        world = world.with(json!({
            "kind": "Pod", "metadata": {"name": format!("web-{number}"), "namespace": "shop"},
            "spec": {"nodeName": "node-a", "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]},
            "status": {"phase": "Running"}
        }));
    }
    let looked = look(world, object("pvc", "shop", "data"));
    assert_eq!(looked.causes(), ["PvcUsedByPod"], "{:#?}", looked.report);
    let last = looked.chain(0).pop().unwrap();
    for number in 0..3 {
        assert!(last.contains(&format!("shop/web-{number}")), "{last}");
    }
}

/// `kubectl delete namespace shop; kubectl delete pv pv1`: the namespace deletes its claims when its pods are gone.
#[test]
fn a_volume_whose_claim_is_in_a_namespace_that_goes_waits_for_that() {
    let world = healthy().going("shop", all_false()).going_pod("shop", "web-0", "node-a", "Running");
    let asked = world.ago(300);
    let world = world.with(json!([
        {
            "kind": "PersistentVolume",
            "metadata": {"name": "pv1", "deletionTimestamp": asked, "finalizers": ["kubernetes.io/pv-protection"]},
            "spec": {"claimRef": {"namespace": "shop", "name": "data", "uid": "data"}}, "status": {"phase": "Bound"}
        },
        {"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop", "uid": "data"},
            "spec": {"volumeName": "pv1"}}
    ]));
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["PodContainersNotStopped"], "{:#?}", looked.report);
}

#[test]
fn an_attachment_of_a_claimed_volume_is_a_symptom() {
    let asked = healthy().ago(7200);
    let world = || {
        healthy().active("shop")
        .with(json!([
            {
                "kind": "PersistentVolume",
                "metadata": {"name": "pv1", "deletionTimestamp": asked,
                    "finalizers": ["kubernetes.io/pv-protection", "external-attacher/ebs-csi-aws-com"]},
                "spec": {"claimRef": {"namespace": "shop", "name": "data", "uid": "data"},
                    "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"}},
                "status": {"phase": "Bound"}
            },
            {"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop", "uid": "data"},
                "spec": {"volumeName": "pv1"}},
            {
                "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "csi-1"},
                "spec": {"attacher": "ebs.csi.aws.com", "nodeName": "node-a", "source": {"persistentVolumeName": "pv1"}},
                "status": {"attached": true}
            },
            {
                "kind": "Pod", "metadata": {"name": "web-0", "namespace": "shop"},
                "spec": {"nodeName": "node-a", "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]},
                "status": {"phase": "Running"}
            }
        ]))
        .change("/api/v1/nodes", "node-a", |node| {
            node["status"]["volumesInUse"] = json!(["kubernetes.io/csi/ebs.csi.aws.com^vol-1"]);
        })
    };
    let unasked = || {
        world().change("/api/v1/persistentvolumes", "pv1", |volume| {
            volume["metadata"].as_object_mut().unwrap().remove("deletionTimestamp");
        })
    };
    let looked = look(world(), everything());
    assert_eq!(looked.causes(), ["PvBoundToClaim"], "{:#?}", looked.report);
    // A pod uses it, and nothing is being deleted.
    let looked = look(unasked(), object("volumeattachment", "default", "csi-1"));
    assert_eq!((looked.causes(), looked.report.verdict), (vec![], Verdict::Clear), "{:#?}", looked.report);
}

/// The three pods of the recording were held by three different things, which only their node knows.
#[test]
fn what_only_the_node_knows_is_one_root_and_not_proven() {
    let mut world = recording("csi-unmount");
    world.at += jiff::SignedDuration::from_secs(60);
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["CsiDriverNotOnNode"], "{:#?}", looked.report);
    let root = &looked.report.roots[0];
    assert_eq!((root.look_on.as_deref(), root.victims.len()), (Some("node-a"), 3), "{root:#?}");
    assert_eq!(root.finding.confidence, Confidence::Probable);
}

/// An operator and its webhook, without their namespace.
fn both_gone() -> World {
    healthy()
        .with_custom("example.com", "widgets", "Widget")
        .active("shop")
        .product_webhook("op", "op-system/op", &["CREATE", "UPDATE"], "example.com", "widgets")
        .held("example.com/v1", "Widget", "shop", "w1", CLEANUP)
}

#[test]
fn a_webhook_does_not_end_the_search_for_the_operator() {
    let looked = look(both_gone(), object("widget", "shop", "w1"));
    assert_eq!(looked.causes(), ["WebhookGoneWithNamespace"], "{:#?}", looked.report);
    looked.assert_chain(
        0,
        &[
            "Widget shop/w1: Terminating",
            "ValidatingWebhookConfiguration op: ",
            "Service op-system/op: does not exist; nor does its namespace",
        ],
    );
    let evidence = &looked.report.roots[0].finding.evidence;
    assert!(evidence.iter().any(|one| one.says.contains("finalizer example.com/cleanup")), "{evidence:#?}");
    // An operator that runs takes the finalizer off once the webhook is there again.
    let runs = both_gone().deployment("ops", "op", 1, 1).may_change("ops", "op", "example.com", "widgets");
    assert_eq!(look(runs, object("widget", "shop", "w1")).causes(), ["WebhookBlocksUpdate"]);
}

#[test]
fn an_operator_and_its_webhook_cannot_come_back_into_their_namespace() {
    let world = healthy()
        .with_custom("longhorn.io", "volumes", "Volume")
        .going("longhorn-system", remain("volumes.longhorn.io has 1 resource instances"))
        .may_change("longhorn-system", "longhorn-service-account", "longhorn.io", "volumes")
        .product_webhook("validator", "longhorn-system/longhorn-admission-webhook", &["*"], "longhorn.io", "volumes")
        .held("longhorn.io/v1", "Volume", "longhorn-system", "v1", &["longhorn.io"]);
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["WebhookGoneWithNamespace"], "{:#?}", looked.report);
    looked.assert_chain(
        0,
        &[
            "Namespace longhorn-system: Terminating",
            "Volume longhorn-system/v1: held by finalizer longhorn.io",
            "ServiceAccount longhorn-system/longhorn-service-account: ",
            "ValidatingWebhookConfiguration validator: ",
            "Service longhorn-system/longhorn-admission-webhook: does not exist, and cannot be created again",
        ],
    );
    // The order that works: the webhook, then the finalizers.
    let steps: Vec<&str> = looked.report.roots[0].finding.remedy.steps.iter().map(|one| one.text.as_str()).collect();
    let at = |word: &str| steps.iter().position(|step| step.contains(word)).unwrap();
    assert!(at("First remove the webhook's configuration") < at("Then the finalizers"), "{steps:#?}");
    assert!(looked.commands().contains(&"kubectl delete validatingwebhookconfiguration/validator".to_owned()));
}

/// An API on node-a that does not answer on its port, and what else is served from there.
fn one_time_out() -> World {
    healthy()
        .aggregated(
            "external.metrics.k8s.io",
            "v1beta1",
            "keda/metrics",
            no_answer("10.1.1.1:6443", "external.metrics.k8s.io/v1beta1"),
        )
        .service("keda", "metrics", Some("node-a"))
        .going("a", stale("external.metrics.k8s.io/v1beta1"))
}

#[test]
fn one_time_out_is_not_a_missing_route() {
    let looked = look(one_time_out(), everything());
    assert_eq!(looked.causes(), ["ApiServiceUnreachable"], "{:#?}", looked.report);
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Probable);
    let last = looked.chain(0).pop().unwrap();
    assert!(last.contains("firewall") && last.contains("10.1.1.1:6443") && last.contains("one time-out"), "{last}");
}

#[test]
fn a_port_that_is_closed_beside_one_that_is_open_is_a_firewall() {
    let world = one_time_out()
        .aggregated("metrics.k8s.io", "v1beta1", "addon/metrics-server", json!({"status": "True"}))
        .service("addon", "metrics-server", Some("node-a"));
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["ApiServiceUnreachable"], "{:#?}", looked.report);
    let last = looked.chain(0).pop().unwrap();
    assert!(
        last.contains("APIService v1beta1.metrics.k8s.io answers from it") && last.contains("10.1.1.1:6443"),
        "{last}"
    );
}

#[test]
fn two_apis_out_of_reach_on_one_node_are_its_route() {
    let world = one_time_out()
        .aggregated("gone.example.com", "v1", "addon/api", no_answer("10.1.1.2:443", "gone.example.com/v1"))
        .service("addon", "api", Some("node-a"));
    let looked = look(world, object("ns", "default", "a"));
    assert_eq!(looked.causes(), ["NodeRouteMissing"], "{:#?}", looked.report);
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Probable);
}

/// Two configurations of one operator, and two kinds that it manages.
fn operator_without_service() -> World {
    healthy()
        .with_custom("example.com", "widgets", "Widget")
        .with_custom("example.com", "gadgets", "Gadget")
        .active("shop")
        .active("ops")
        .deployment("ops", "op", 1, 1)
        .grants(
            "op",
            &["example.com"],
            &["widgets", "gadgets"],
            &["get", "update", "patch"],
            json!([{"kind": "ServiceAccount", "namespace": "ops", "name": "op"}]),
        )
        .product_webhook("widgets", "ops/guard", &["UPDATE"], "example.com", "widgets")
        .product_webhook("gadgets", "ops/guard", &["UPDATE"], "example.com", "gadgets")
        .held("example.com/v1", "Widget", "shop", "w", CLEANUP)
        .held("example.com/v1", "Gadget", "shop", "g", CLEANUP)
}

#[test]
fn one_service_of_two_webhook_configurations_is_one_root() {
    let looked = look(operator_without_service(), everything());
    assert_eq!(looked.causes(), ["WebhookBlocksUpdate"], "{:#?}", looked.report);
    assert_eq!(looked.victims(0), ["Widget shop/w", "Gadget shop/g"], "{:#?}", looked.report);
}

#[test]
fn one_account_of_two_kinds_is_one_root() {
    let gadgets = "/apis/example.com/v1/gadgets";
    for finalizer in ["example.com/cleanup", "example.com/other"] {
        let world = operator_without_service()
            .service("ops", "guard", Some("node-a"))
            .set_by(WIDGETS, "w", "op")
            .change(gadgets, "g", |one| one["metadata"]["finalizers"] = json!([finalizer]))
            .set_by(gadgets, "g", "op")
            .without_account("ops", "op");
        let looked = look(world, everything());
        assert_eq!(looked.causes(), ["FinalizerControllerForbidden"], "{finalizer}: {:#?}", looked.report);
        assert!(looked.chain(0).last().unwrap().starts_with("ServiceAccount ops/op: "), "{:?}", looked.chain(0));
        assert_eq!(looked.victims(0).len(), 2, "{:#?}", looked.report);
    }
}

#[test]
fn one_controller_of_several_finalizers_is_one_root() {
    let world = widgets().change("/apis/apps/v1/deployments", "operator", |one| {
        one["spec"]["replicas"] = 0.into();
        one["status"]["readyReplicas"] = 0.into();
    });
    let world = world.held("example.com/v1", "Widget", "a", "w1", &["example.com/cleanup", "example.com/second"]).held(
        "example.com/v1",
        "Widget",
        "a",
        "w2",
        &["example.com/third"],
    );
    let looked = look(world, everything());
    let [root] = looked.report.roots.as_slice() else { panic!("{:#?}", looked.causes()) };
    assert!(looked.chain(0).last().unwrap().starts_with("Deployment op-system/operator"), "{:?}", looked.chain(0));
    assert_eq!(root.objects(), 3, "the namespace and both widgets: {root:#?}");
}

/// Alerts, pages and incidents name a root by it.
#[test]
fn a_root_keeps_its_id_whatever_it_holds_and_whatever_its_cause() {
    let id = |world: World| {
        let looked = look(world, everything());
        let [root] = looked.report.roots.as_slice() else { panic!("{:#?}", looked.report) };
        (root.finding.cause.id, root.id)
    };
    // Of a node: what only it knows, and that it is lost.
    let pod = |namespace: &str, name: &str, phase: &str| healthy().going_pod(namespace, name, "node-a", phase);
    let (cause, first) = id(pod("shop", "web-0", "Running"));
    assert_eq!(cause, "PodContainersNotStopped");
    assert_eq!(id(pod("pay", "db-7", "Failed")), ("PodCleanupNotFinished", first));
    let lost = pod("shop", "web-0", "Running").node_ready("node-a", "Unknown", "NodeStatusUnknown", "stopped posting");
    assert_eq!(id(lost), ("NodeUnreachable", first));
    // Of a controller.
    let held = |ready: i64, replicas: i64, name: &str| {
        let world = widgets().held("example.com/v1", "Widget", "a", name, CLEANUP);
        world.change("/apis/apps/v1/deployments", "operator", |one| {
            one["spec"]["replicas"] = replicas.into();
            one["status"]["readyReplicas"] = ready.into();
        })
    };
    let (cause, down) = id(held(0, 0, "w1"));
    assert_eq!(cause, "FinalizerControllerGone");
    assert_eq!(id(held(0, 1, "w2")), ("FinalizerControllerNotReady", down));
    assert_ne!(down, first);
}

/// Two namespaces may have two controllers, where nothing of the whole cluster is known to serve the object.
#[test]
fn one_finalizer_in_two_namespaces_is_one_root_where_one_controller_serves_both() {
    let roots = |group: &str, plural: &str, kind: &str, finalizer: &str, manager: &str| {
        let world = healthy().active("a").active("b").with_custom(group, plural, kind);
        let version = format!("{group}/v1");
        let world = world.held(&version, kind, "a", "one", &[finalizer]).held(&version, kind, "b", "two", &[finalizer]);
        let path = format!("/apis/{group}/v1/{plural}");
        let world = world.set_by(&path, "one", manager).set_by(&path, "two", manager);
        look(world, everything()).report.roots.len()
    };
    let topic = "strimzi.io/topic-operator";
    assert_eq!(roots("kafka.strimzi.io", "kafkatopics", "KafkaTopic", topic, "strimzi-topic-operator"), 2);
    let dropped = "cnpg.io/deleteDatabase";
    assert_eq!(roots("postgresql.cnpg.io", "databases", "Database", dropped, "manager"), 2, "of each Cluster");
    let stranger = "other.example.org/keep";
    assert_eq!(roots("example.com", "widgets", "Widget", stranger, "kubectl"), 2, "nothing serves it");
    assert_eq!(roots("example.com", "widgets", "Widget", "example.com/cleanup", "manager"), 1, "that of the kind");
    assert_eq!(roots("example.com", "widgets", "Widget", stranger, "widget-operator"), 1, "recorded");
    let known = "operator.tigera.io/x";
    assert_eq!(roots("example.com", "widgets", "Widget", known, "kubectl"), 1, "one for the cluster");
}
