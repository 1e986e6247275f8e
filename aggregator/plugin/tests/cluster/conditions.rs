//! What the conditions of a namespace show where the objects cannot, and where they are older than the truth.

use crate::support::*;

/// What remains in a namespace, and what holds it.
fn remain_with(kinds: &str, finalizers: &str) -> Value {
    json!([
        {"type": "NamespaceContentRemaining", "status": "True", "reason": "SomeResourcesRemain",
            "message": format!("Some resources are remaining: {kinds}")},
        {"type": "NamespaceFinalizersRemaining", "status": "True", "reason": "SomeFinalizersRemain",
            "message": format!("Some content in the namespace has finalizers remaining: {finalizers}")}
    ])
}

#[test]
fn the_finalizer_of_a_secret_is_named_by_the_condition() {
    let held =
        remain_with("secrets. has 1 resource instances", "ceph.rook.io/disaster-protection in 1 resource instances");
    let looked = look(healthy().going("rook-ceph", held), everything());
    assert_eq!(looked.causes(), ["FinalizerOfUnseenObjects"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Stuck);
    let root = &looked.report.roots[0];
    assert_eq!(root.finding.confidence, Confidence::Proven);
    looked.assert_chain(
        0,
        &["Namespace rook-ceph: Terminating", "1 secrets: remain, held by finalizer ceph.rook.io/disaster-protection"],
    );
    assert!(
        looked.commands()[0].starts_with("kubectl -n rook-ceph get secrets -o custom-columns="),
        "{:?}",
        looked.commands()
    );
    // No Secret was read for it.
    assert!(!looked.requests.iter().any(|path| path.contains("/secrets")), "{:#?}", looked.requests);
}

#[test]
fn kind_and_finalizer_are_told_without_the_right_to_list_the_kind() {
    let held = remain_with(
        "challenges.acme.cert-manager.io has 3 resource instances",
        "acme.cert-manager.io/finalizer in 3 resource instances",
    );
    let world = || {
        healthy()
            .with_custom("acme.cert-manager.io", "challenges", "Challenge")
            .going("shop", held.clone())
            .refuse("/apis/acme.cert-manager.io", 403, "challenges is forbidden")
    };
    let looked = look(world(), object("ns", "default", "shop"));
    assert_eq!(looked.causes(), ["FinalizerOfUnseenObjects"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Stuck);
    let last = looked.chain(0).pop().unwrap();
    assert!(last.starts_with("3 challenges.acme.cert-manager.io: remain, held by finalizer"), "{last}");
    assert!(looked.report.unknown.iter().any(|one| one.why.contains("not visible to us")), "{:#?}", looked.report);
}

#[test]
fn of_several_unseen_kinds_none_is_said_to_have_the_finalizer() {
    let held = remain_with(
        "secrets. has 2 resource instances, widgets.example.com has 1 resource instances",
        "example.com/hold in 1 resource instances",
    );
    let world = || healthy().with_custom("example.com", "widgets", "Widget").going("team", held.clone());
    let hidden = world().refuse("/apis/example.com/v1", 403, "widgets is forbidden");
    let looked = look(hidden, object("ns", "default", "team"));
    assert_eq!(looked.causes(), ["FinalizerOfUnseenObjects"], "{:#?}", looked.report);
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Probable);
    assert!(
        looked.chain(0)[1].contains("some of them held by finalizer example.com/hold, as"),
        "{:?}",
        looked.chain(0)
    );
    // Each kind has its own count, whatever they have in common.
    let alike = remain_with(
        "gadgets.example.com has 4 resource instances, widgets.example.com has 1 resource instances",
        "example.com/hold in 1 resource instances",
    );
    let alike = healthy()
        .with_custom("example.com", "widgets", "Widget")
        .going("team", alike)
        .refuse("/apis/example.com/v1", 403, "widgets is forbidden");
    let looked_alike = look(alike, object("ns", "default", "team"));
    let words = looked_alike.chain(0)[1].clone();
    assert!(words.contains("4 gadgets.example.com") && words.contains("1 widgets.example.com"), "{words}");
    // What was seen with the finalizer is what the condition means.
    let seen = world().held("example.com/v1", "Widget", "team", "w", &["example.com/hold"]);
    assert_eq!(look(seen, object("ns", "default", "team")).causes(), ["FinalizerControllerGone"]);
}

fn recovered(seconds_ago: i64) -> World {
    let world = healthy();
    let since = world.ago(seconds_ago);
    world
        .with_custom("metrics.k8s.io", "pods", "PodMetrics")
        .aggregated(
            "metrics.k8s.io",
            "v1",
            "kube-system/metrics-server",
            json!({"status": "True", "reason": "Passed", "lastTransitionTime": since}),
        )
        .going("a", stale("metrics.k8s.io/v1"))
}

#[test]
fn an_api_that_answers_again_is_not_what_holds() {
    let looked = look(recovered(30), everything());
    assert_eq!(looked.causes(), ["NamespaceConditionOutdated"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Progressing);
    let last = looked.chain(0).pop().unwrap();
    assert!(last.contains("metrics.k8s.io/v1, which answers again for 30s"), "{last}");
    // After an hour the controller should have come.
    let looked = look(recovered(3600), everything());
    assert_eq!(looked.causes(), ["NamespaceConditionOutdated"], "{:#?}", looked.report);
    let root = &looked.report.roots[0];
    assert_eq!((root.verdict, root.finding.confidence), (Verdict::Stuck, Confidence::Probable));
}

#[test]
fn behind_an_outdated_condition_lies_what_holds_now() {
    let world = recovered(3600).held("v1", "ConfigMap", "a", "c", &["example.com/hold"]);
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["FinalizerOwnerUnknown"], "{:#?}", looked.report);
    let silent = look(recovered(3600).without_controller_manager(), everything());
    assert_eq!(silent.causes(), ["ControllerManagerSilent"], "{:#?}", silent.report);
}
