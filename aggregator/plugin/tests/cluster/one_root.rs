//! One cause, whatever hangs on it: several finalizers of one program, several kinds, several webhooks of one Service.

use crate::setters::{operator_role, runs, widget};
use crate::support::*;

/// Gadgets beside the widget, with a finalizer of their own.
fn with_gadget(world: World) -> World {
    world.with_custom("example.com", "gadgets", "Gadget").held(
        "example.com/v1",
        "Gadget",
        "shop",
        "g",
        &["example.com/gadget-cleanup", "gadgets.example.com/second"],
    )
}

fn roots(world: World) -> Vec<(String, usize)> {
    let looked = look(world, everything());
    looked.report.roots.iter().map(|root| (root.finding.cause.id.to_owned(), root.victims.len())).collect()
}

#[test]
fn a_program_that_is_down_is_one_root() {
    for (replicas, cause) in [(1, "FinalizerControllerNotReady"), (0, "FinalizerControllerGone")] {
        let named = ["widgets", "widgets/status", "gadgets", "gadgets/status"];
        let world = with_gadget(widget()).grants("op", &["example.com"], &named, &["update"], json!([sa("ops", "op")]));
        let world = world.deployment("ops", "op", replicas, 0);
        assert_eq!(roots(world), [(cause.to_owned(), 2)]);
    }
}

#[test]
fn a_controller_of_a_group_that_is_gone_is_one_root() {
    assert_eq!(roots(with_gadget(widget())), [("FinalizerControllerGone".to_owned(), 2)]);
    // Another domain is another program.
    let other = with_gadget(widget()).change("/apis/example.com/v1/widgets", "w", |one| {
        one["metadata"]["finalizers"] = json!(["other.example.org/hold"]);
    });
    assert_eq!(roots(other).len(), 2);
}

#[test]
fn a_program_that_is_known_and_not_installed_is_one_root() {
    let world = healthy()
        .active("shop")
        .held("v1", "Service", "shop", "web", &["service.k8s.aws/resources"])
        .held("networking.k8s.io/v1", "Ingress", "shop", "web", &["group.ingress.k8s.aws/shop"])
        .held("networking.k8s.io/v1", "Ingress", "shop", "api", &["ingress.k8s.aws/resources"]);
    assert_eq!(roots(world), [("FinalizerControllerGone".to_owned(), 3)]);
}

/// A policy engine has several configurations, and one Service.
#[test]
fn webhooks_of_one_service_are_one_root() {
    let world = || {
        let second = |group: &str, resource: &str, name: &str| {
            json!({
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
                "metadata": {"name": name},
                "webhooks": [{
                    "name": format!("{name}.example.com"), "failurePolicy": "Fail",
                    "clientConfig": {"service": {"namespace": "guard", "name": "guard"}},
                    "rules": [{"operations": ["UPDATE"], "apiGroups": [group], "apiVersions": ["*"], "resources": [resource]}]
                }]
            })
        };
        let world = runs(operator_role(with_gadget(widget()), json!([sa("ops", "op")])), "ops", "op", "op", 1);
        world
            .webhook("DELETE", "example.com", "*")
            .with(second("example.com", "widgets", "first"))
            .with(second("example.com", "gadgets", "second"))
    };
    let found = roots(world());
    assert!(matches!(found.as_slice(), [(_, 2)]), "{found:?}");
    // Its Service is there, and the pods behind it are not.
    let dead = world().service("guard", "guard", None).deployment("guard", "guard", 1, 0);
    let found = roots(dead);
    assert!(matches!(found.as_slice(), [(_, 2)]), "{found:?}");
}
