//! What would hold an object, and what would be lost, if it were deleted now.

use aggregator::report::tree;
use aggregator_core::state::Subject;
use findings::Verdict;
use findings::render::{Detail, Style};
use serde_json::json;

use crate::support::*;

fn before(world: World, word: &str, name: &str) -> Looked {
    let (word, namespace, name) = (word.to_owned(), "shop".to_owned(), name.to_owned());
    look(world, Subject::Before { word, namespace, name })
}

/// A namespace in which a pod runs with a claim, and nothing is wrong.
fn shop() -> World {
    healthy().with(json!([
        {"kind": "Namespace", "metadata": {"name": "shop", "uid": "n"}, "spec": {"finalizers": ["kubernetes"]},
         "status": {"phase": "Active"}},
        {"kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop", "uid": "c"}},
        {"kind": "PersistentVolumeClaim",
         "metadata": {"name": "data", "namespace": "shop", "uid": "d", "finalizers": ["kubernetes.io/pvc-protection"]},
         "spec": {"volumeName": "pv-1"}, "status": {"phase": "Bound"}},
        {"kind": "PersistentVolume",
         "metadata": {"name": "pv-1", "uid": "v", "finalizers": ["kubernetes.io/pv-protection"]},
         "spec": {"persistentVolumeReclaimPolicy": "Delete",
                  "claimRef": {"namespace": "shop", "name": "data", "uid": "d"}}, "status": {"phase": "Bound"}},
        {"kind": "Pod", "metadata": {"name": "db-0", "namespace": "shop", "uid": "p"},
         "spec": {"nodeName": "node-a", "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]},
         "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
                    "containerStatuses": [{"name": "c", "containerID": "containerd://1", "state": {"running": {}}}]}}
    ]))
}

fn notes(looked: &Looked) -> String {
    looked.report.notes.iter().cloned().collect::<Vec<_>>().join("\n")
}

fn operator(world: World, namespace: &str, ready: i64) -> World {
    world
        .with_custom("example.com", "widgets", "Widget")
        .with(json!({
            "apiVersion": "example.com/v1", "kind": "Widget",
            "metadata": {"name": "w", "namespace": "shop", "uid": "w", "finalizers": ["example.com/cleanup"]}
        }))
        .deployment(namespace, "op", 1, ready)
        .may_change(namespace, "op", "example.com", "widgets")
}

#[test]
fn a_namespace_with_nothing_wrong_would_go_and_says_what_is_lost() {
    let looked = before(shop(), "ns", "shop");
    assert_eq!((looked.causes(), looked.report.verdict), (vec![], Verdict::Clear), "{:#?}", looked.report);
    assert!(notes(&looked).contains("Delete: pv-1 (claim data)."), "{}", notes(&looked));
    let text = tree(&looked.report, Detail::Short, 100, Style::Plain);
    assert!(text.starts_with("Nothing would hold it\n\nNamespace shop: would go\n"), "{text}");
    // An operator elsewhere that runs takes its finalizers off.
    let looked = before(operator(shop(), "ops", 1), "ns", "shop");
    assert_eq!((looked.causes(), looked.report.verdict), (vec![], Verdict::Clear), "{:#?}", looked.report);
    let missing = before(shop(), "ns", "none");
    assert_eq!(missing.report.refused.as_deref(), Some("Namespace none does not exist"));
}

#[test]
fn what_would_hold_a_namespace_is_what_holds_one() {
    let dead = shop().dead_api("ServiceNotFound", "service/api in \"addon\" is not present");
    let gone = operator(shop(), "ops", 1).without("/apis/apps/v1/deployments", "op");
    let lost_node = shop().node_ready("node-a", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.");
    for (world, expected) in [
        (dead, "ApiServiceWithoutService"),
        (shop().webhook("DELETE", "", "configmaps"), "WebhookUnavailable"),
        (gone, "FinalizerControllerGone"),
        (operator(shop(), "shop", 1), "FinalizerOwnerInSameNamespace"),
        (lost_node, "NodeUnreachable"),
        (shop().without_controller_manager(), "ControllerManagerSilent"),
    ] {
        let looked = before(world, "ns", "shop");
        assert!(looked.causes().contains(&expected), "{expected}: {:#?}", looked.causes());
        assert_eq!(looked.report.verdict, Verdict::Stuck, "{expected}");
        let text = tree(&looked.report, Detail::Short, 100, Style::Plain);
        assert!(text.starts_with("It would not go, "), "{text}");
        assert!(text.contains(": would be stuck") && !text.contains("Terminating for"), "{text}");
    }
}

#[test]
fn what_only_the_namespace_serves_goes_first() {
    let world = shop()
        .aggregated("metrics.example.com", "v1", "shop/api", json!({"status": "True"}))
        .webhook("CREATE", "apps", "deployments")
        .change("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", "guard", |one| {
            one["webhooks"][0]["clientConfig"]["service"]["namespace"] = "shop".into();
        });
    let looked = before(world, "ns", "shop");
    assert_eq!(looked.causes(), ["NamespaceServesApi"], "{:#?}", looked.report);
    assert!(notes(&looked).contains("ValidatingWebhookConfiguration guard. Delete them first"), "{}", notes(&looked));
}

#[test]
fn other_objects_have_the_same_rules() {
    let looked = before(shop(), "pvc", "data");
    assert_eq!(looked.causes(), ["PvcUsedByPod"], "{:#?}", looked.report);
    assert!(notes(&looked).contains("pv-1"), "{}", notes(&looked));
    let looked = before(operator(shop(), "ops", 0), "widget", "w");
    assert_eq!(looked.causes(), ["FinalizerControllerNotReady"], "{:#?}", looked.report);
    assert!(looked.chain(0)[0].starts_with("Widget shop/w: held by finalizer"), "{:?}", looked.chain(0));
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com", "finalizers": ["customresourcecleanup.apiextensions.k8s.io"]},
        "spec": {"group": "example.com", "names": {"kind": "Widget", "plural": "widgets"}, "scope": "Namespaced",
                 "versions": [{"name": "v1", "served": true}]}
    });
    let looked = before(operator(shop(), "ops", 0).with(crd), "crd", "widgets.example.com");
    assert_eq!(looked.causes(), ["FinalizerControllerNotReady"], "{:#?}", looked.report);
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "db", "namespace": "shop"},
        "spec": {"selector": {}},
        "status": {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
    });
    let looked = before(shop().with(budget), "node", "node-a");
    assert_eq!(looked.causes(), ["DrainBudgetAllowsNone"], "{:#?}", looked.report);
    assert!(looked.chain(0)[0].contains("once it is drained"), "{:?}", looked.chain(0));
}
