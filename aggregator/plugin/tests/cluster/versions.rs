//! Webhooks whose rules name versions: which of them the server asks about an object that has several.

use crate::admission::{VALIDATING, crd};
use crate::support::*;

/// The server converts what it asks about to another version that it knows of the same kind: of a CRD each that is
/// defined, whether it is served or not.
#[test]
fn a_rule_about_another_version_counts_where_the_server_knows_that_version() {
    let causes = |versions: &[&str], policy: &str| {
        let mut defined = crd(json!(null), &["v1"]);
        let each = versions.iter().map(|name| json!({"name": name, "served": *name == "v1"}));
        defined["spec"]["versions"] = each.collect();
        let world = healthy()
            .webhook("UPDATE", "example.com", "widgets")
            .change(VALIDATING, "guard", |one| {
                one["webhooks"][0]["matchPolicy"] = policy.into();
                one["webhooks"][0]["rules"][0]["apiVersions"] = json!(["v1alpha1"]);
            })
            .with_custom("example.com", "widgets", "Widget")
            .with(defined)
            .with(json!({"kind": "Namespace", "metadata": {"name": "a"}}))
            .held("example.com/v1", "Widget", "a", "w", &["x.example.com/y"])
            .deployment("op", "op", 1, 1)
            .may_change("op", "op", "example.com", "widgets");
        look(world, object("widget", "a", "w")).causes()
    };
    assert_eq!(causes(&["v1", "v1alpha1"], "Equivalent"), ["WebhookBlocksUpdate"]);
    assert_eq!(causes(&["v1", "v1alpha1"], "Exact"), ["FinalizerControllerFailing"]);
    assert_eq!(causes(&["v1"], "Equivalent"), ["FinalizerControllerFailing"]);
}

/// `Exact` asks about the version of the request, and which of several served versions a controller uses is unknown. What
/// deletes uses the preferred one.
#[test]
fn an_exact_rule_about_some_of_the_served_versions_leaves_an_update_probable() {
    let world = |operation: &str, about: Value| {
        healthy()
            .with_custom("example.com", "widgets", "Widget")
            .change_groups(|groups| {
                let versions = groups.last_mut().unwrap()["versions"].as_array_mut().unwrap();
                let mut older = versions[0].clone();
                older["version"] = "v1beta1".into();
                versions.push(older);
            })
            .webhook(operation, "example.com", "widgets")
            .change(VALIDATING, "guard", |one| {
                one["webhooks"][0]["matchPolicy"] = "Exact".into();
                one["webhooks"][0]["rules"][0]["apiVersions"] = about;
            })
    };
    let run = |replicas: i64, about: Value| {
        let world = world("UPDATE", about)
            .with(json!([
                {"kind": "Namespace", "metadata": {"name": "a"}}, {"kind": "Namespace", "metadata": {"name": "guard"}}
            ]))
            .held("example.com/v1", "Widget", "a", "w", &["x.example.com/y"])
            .deployment("op", "op", replicas, replicas)
            .may_change("op", "op", "example.com", "widgets");
        let looked = look(world, object("widget", "a", "w"));
        (looked.causes(), looked.report.roots[0].finding.confidence)
    };
    let update = |about: Value| run(1, about);
    for one in ["v1", "v1beta1"] {
        assert_eq!(update(json!([one])), (vec!["WebhookBlocksUpdate"], Confidence::Probable), "{one}");
    }
    for all in [json!(["v1", "v1beta1"]), json!(["*"])] {
        assert_eq!(update(all), (vec!["WebhookBlocksUpdate"], Confidence::Proven));
    }
    assert_eq!(update(json!(["v1alpha1"])).0, ["FinalizerControllerFailing"], "what is not served cannot be used");
    // A webhook that may not be called does not hide a controller that is down.
    let mut down = run(0, json!(["v1beta1"])).0;
    down.sort_unstable();
    assert_eq!(down, ["FinalizerControllerGone", "WebhookBlocksUpdate"]);
    assert_eq!(run(0, json!(["*"])).0, ["WebhookBlocksUpdate"]);
    let deletion = |about: &str| {
        let world = world("DELETE", json!([about])).going("stuck", all_false()).with(json!({
            "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "stuck"}
        }));
        look(world, everything()).causes()
    };
    assert_eq!(deletion("v1"), ["WebhookUnavailable"]);
    assert!(!deletion("v1beta1").contains(&"WebhookUnavailable"));
}

/// `status.storedVersions` names what was stored once. Whether anything is still stored so, a list in the current storage
/// version shows: it fails where an object must be converted.
#[test]
fn a_crd_that_goes_needs_no_converter_for_objects_that_were_listed() {
    let widgets = "/apis/example.com/v1/widgets";
    let world = || {
        let mut defined = crd(
            json!({"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"namespace": "mon", "name": "conv"}}}}),
            &["v1alpha1", "v1"],
        );
        defined["spec"]["versions"] =
            json!([{"name": "v1alpha1", "served": true}, {"name": "v1", "served": true, "storage": true}]);
        let world = healthy().with_custom("example.com", "widgets", "Widget");
        defined["metadata"]["deletionTimestamp"] = world.ago(600).into();
        defined["metadata"]["finalizers"] = json!(["customresourcecleanup.apiextensions.k8s.io"]);
        world.with(defined).with(json!({"kind": "Namespace", "metadata": {"name": "a"}})).held(
            "example.com/v1",
            "Widget",
            "a",
            "w",
            &["x.example.com/y"],
        )
    };
    let run = |world: World| look(world, object("crd", "default", "widgets.example.com"));
    let listed = run(world());
    assert_eq!(listed.causes(), ["FinalizerControllerGone"], "{:#?}", listed.report);
    assert!(listed.chain(0)[0].contains("Terminating for"), "{:?}", listed.chain(0));
    assert_eq!(run(world().without(widgets, "w")).causes(), [""; 0]);
    // What is asked for in another version fails all the same.
    let failed = "conversion webhook for example.com/v1, Kind=Widget failed: Post \"https://conv.mon.svc:443/?timeout=30s\": \
        service \"conv\" not found";
    let looked = look(world().going("d1", content_failure(failed)), everything());
    assert!(looked.causes().contains(&"ConversionWebhookUnavailable"), "{:#?}", looked.report);
    let failed = "Internal error occurred: conversion webhook for example.com/v1alpha1, Kind=Widget failed: Post \
        \"https://conv.mon.svc:443/?timeout=30s\": service \"conv\" not found";
    for (status, words, confidence) in
        [(500, failed, Confidence::Proven), (403, "widgets.example.com is forbidden", Confidence::Probable)]
    {
        let refused = run(world().refuse(widgets, status, words));
        assert_eq!(refused.causes(), ["ConversionWebhookUnavailable"], "{status}: {:#?}", refused.report);
        assert_eq!(refused.report.roots[0].finding.confidence, confidence, "{status}");
        refused.assert_chain(0, &["CustomResourceDefinition widgets", "Service mon/conv: does not exist"]);
    }
}
