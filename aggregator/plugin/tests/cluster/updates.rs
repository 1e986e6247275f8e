//! Removing a finalizer is an update of the object: what is called for that may refuse it, and leaves no trace there.

use crate::setters::{evidence, operator_role, runs, widget};
use crate::support::*;

const ATTEMPT: &str = "why-terminating=try --dry-run=server";
const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/// A webhook of each type that answers.
fn asked_about(world: World, group: &str, resource: &str) -> World {
    let world = world.service("guard", "guard", Some("node-a")).webhook("UPDATE", group, resource);
    world.with(json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "changer"},
        "webhooks": [{
            "name": "changer.example.com", "failurePolicy": "Ignore",
            "clientConfig": {"service": {"namespace": "guard", "name": "guard"}},
            "rules": [{"operations": ["*"], "apiGroups": [group], "apiVersions": ["*"], "resources": [resource]}]
        }]
    }))
}

fn attempts(looked: &Looked) -> bool {
    looked.commands().iter().any(|command| command.ends_with(ATTEMPT))
}

#[test]
fn webhooks_that_are_called_for_the_removal_are_evidence() {
    let held = |version: &str, kind: &str, finalizer: &str| {
        healthy().active("shop").held(version, kind, "shop", "x", &[finalizer])
    };
    let application = healthy().with_custom("argoproj.io", "applications", "Application").active("shop");
    let application =
        application.held("argoproj.io/v1", "Application", "shop", "x", &["resources-finalizer.argocd.argoproj.io"]);
    let application = application
        .deployment("argocd", "argocd-application-controller", 1, 1)
        .may_change("argocd", "argocd-application-controller", "argoproj.io", "applications");
    let service = |name: &str| {
        held("v1", "Service", name).change("/api/v1/services", "x", |one| {
            one["spec"]["type"] = "LoadBalancer".into();
        })
    };
    let controlled = |world: World| runs(operator_role(world, json!([sa("ops", "op")])), "ops", "op", "op", 1);
    for (world, group, resource, (kind, name), cause) in [
        (controlled(widget()), "example.com", "widgets", ("widget", "w"), "FinalizerControllerFailing"),
        (held("v1", "ConfigMap", "example.com/hold"), "", "configmaps", ("cm", "x"), "FinalizerOwnerUnknown"),
        (
            held("v1", "ConfigMap", "finalizer.acme.cert-manager.io"),
            "",
            "configmaps",
            ("cm", "x"),
            "ExternalResourceFinalizer",
        ),
        (
            held("v1", "ConfigMap", "istio-finalizer.install.istio.io"),
            "",
            "configmaps",
            ("cm", "x"),
            "ControllerCleanupPending",
        ),
        (
            service("service.kubernetes.io/load-balancer-cleanup"),
            "",
            "services",
            ("svc", "x"),
            "LoadBalancerCleanupPending",
        ),
        (application, "argoproj.io", "applications", ("application", "x"), "ArgoCdFinalizer"),
    ] {
        let looked = look(asked_about(world, group, resource), object(kind, "shop", name));
        assert_eq!(looked.causes(), [cause], "{:#?}", looked.report);
        let says = evidence(&looked);
        for words in [
            "guard: webhook guard.example.com (failurePolicy: Fail) is called for each update of the object, and may refuse",
            "changer: webhook changer.example.com (failurePolicy: Ignore) is called for each update of the object, and may change",
        ] {
            assert!(says.contains(words), "{cause}: {says}");
        }
        assert!(attempts(&looked), "{cause}: {:#?}", looked.commands());
    }
}

#[test]
fn where_none_is_called_no_attempt_is_advised() {
    for finalizer in ["example.com/hold", "finalizer.acme.cert-manager.io", "istio-finalizer.install.istio.io"] {
        let world = healthy().active("shop").held("v1", "ConfigMap", "shop", "x", &[finalizer]);
        // Of other kinds, or about other requests.
        let elsewhere = world.service("guard", "guard", Some("node-a")).webhook("DELETE", "", "configmaps");
        let looked = look(elsewhere, object("cm", "shop", "x"));
        assert!(!evidence(&looked).contains("is called for each update") && !attempts(&looked), "{finalizer}");
    }
}

/// Nothing stands behind it, so it refuses each update.
#[test]
fn a_webhook_without_a_backend_is_the_cause() {
    let world = || runs(operator_role(widget(), json!([sa("ops", "op")])), "ops", "op", "op", 1);
    let dead = world().webhook("UPDATE", "example.com", "widgets");
    assert_eq!(look(dead, object("widget", "shop", "w")).causes(), ["WebhookBlocksUpdate"]);
    // One that is passed over when it fails is a witness only.
    let ignored = world().webhook("UPDATE", "example.com", "widgets").change(VALIDATING, "guard", |one| {
        one["webhooks"][0]["failurePolicy"] = "Ignore".into();
    });
    let looked = look(ignored, object("widget", "shop", "w"));
    assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{:#?}", looked.report);
    assert!(evidence(&looked).contains("(failurePolicy: Ignore) is called for each update"), "{}", evidence(&looked));
}
