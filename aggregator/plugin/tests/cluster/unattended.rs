//! Objects that a controller which runs leaves alone: they are paused, or it watches other namespaces.

use crate::setters::{asked, confidence, evidence, operator_role, root, runs, widget};
use crate::support::*;

const WIDGETS: &str = "/apis/example.com/v1/widgets";
const DEPLOYMENTS: &str = "/apis/apps/v1/deployments";

fn served(ready: i64) -> World {
    runs(operator_role(widget(), json!([sa("ops", "operator")])), "ops", "operator", "operator", ready)
}

fn paused(world: World, field: &str, key: &str, value: &str) -> Looked {
    asked(world.change(WIDGETS, "w", |one| one["metadata"][field] = json!({key: value})))
}

#[test]
fn an_object_that_is_paused_says_so_and_how_to_end_it() {
    for (field, key, value, command) in [
        ("annotations", "crossplane.io/paused", "true", "annotate"),
        ("annotations", "cluster.x-k8s.io/paused", "", "annotate"),
        ("annotations", "argocd.argoproj.io/skip-reconcile", "true", "annotate"),
        ("annotations", "example.com/reconcile", "disabled", "annotate"),
        ("labels", "rabbitmq.com/pauseReconciliation", "true", "label"),
    ] {
        let looked = paused(served(1), field, key, value);
        assert_eq!(looked.causes(), ["ReconciliationPaused"], "{:#?}", looked.report);
        assert_eq!(confidence(&looked), Confidence::Probable);
        assert!(looked.chain(0)[0].contains(&format!("{key}={value}")), "{:?}", looked.chain(0));
        let first = format!("kubectl {command} widgets.example.com w -n shop {key}-");
        assert_eq!(looked.commands().get(1), Some(&first), "{:?}", looked.commands());
        // One that is off, or a controller that is down, is another cause.
        let off = if value == "disabled" { "enabled" } else { "false" };
        assert_eq!(paused(served(1), field, key, off).causes(), ["FinalizerControllerFailing"], "{key}");
        assert_eq!(paused(served(0), field, key, value).causes(), ["FinalizerControllerNotReady"], "{key}");
    }
    assert_eq!(paused(served(1), "annotations", "example.com/note", "true").causes(), ["FinalizerControllerFailing"]);
}

fn watches(world: World, settings: Value) -> World {
    world.change(DEPLOYMENTS, "operator", |one| {
        let mut container = json!({"name": "manager", "image": "operator:v1"});
        container.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        one["spec"]["template"]["spec"]["containers"] = json!([container]);
    })
}

#[test]
fn a_controller_that_watches_other_namespaces_is_not_failing() {
    for settings in [
        json!({"env": [{"name": "WATCH_NAMESPACE", "value": "team-a,team-b"}]}),
        json!({"env": [{"name": "WATCH_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}]}),
        json!({"args": ["--watch-namespaces=team-a"]}),
        json!({"args": ["--namespace", "team-a"]}),
    ] {
        let looked = asked(watches(served(1), settings.clone()));
        assert_eq!(looked.causes(), ["NamespaceNotWatched"], "{settings}: {:#?}", looked.report);
        assert_eq!(confidence(&looked), Confidence::Probable);
        assert!(root(&looked).contains("watch other namespaces than shop"), "{}", root(&looked));
        let first = "kubectl -n ops get deployment/operator -o yaml | grep -i -A1 -e watch -e -namespace";
        assert_eq!(looked.commands().first().map(String::as_str), Some(first));
        let told = format!("{:?} {}", looked.report.roots, evidence(&looked));
        assert!(!told.contains("team-a"), "other namespaces are not named: {told}");
    }
    for settings in [
        json!({"env": [{"name": "WATCH_NAMESPACE", "value": "team-a,shop"}]}),
        json!({"env": [{"name": "WATCH_NAMESPACE", "value": ""}]}),
        json!({"args": ["--namespace=ops"]}),
    ] {
        let looked = asked(watches(served(1), settings.clone()));
        assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{settings}: {:#?}", looked.report);
    }
    let down = asked(watches(served(0), json!({"args": ["--watch-namespaces=team-a"]})));
    assert_eq!(down.causes(), ["FinalizerControllerNotReady"], "{:#?}", down.report);
}

/// Each team has an operator of its own.
#[test]
fn of_equals_the_one_that_watches_the_namespace_is_meant() {
    let own = |world: World, namespace: &str, ready: i64| {
        let world = runs(world, namespace, &format!("operator-{namespace}"), "operator", ready);
        world.change(DEPLOYMENTS, &format!("operator-{namespace}"), |one| {
            one["spec"]["template"]["spec"]["containers"] =
                json!([{"name": "m", "env": [{"name": "WATCH_NAMESPACE", "value": namespace}]}]);
        })
    };
    let subjects = json!([sa("shop", "operator"), sa("team-a", "operator")]);
    let looked = asked(own(own(operator_role(widget(), subjects), "team-a", 0), "shop", 1));
    assert!(root(&looked).starts_with("Deployment shop/operator-shop: runs"), "{}", root(&looked));
}
