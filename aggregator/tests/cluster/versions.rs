//! Webhooks whose rules name versions: which of them the server asks about an object that has several.

use findings::Confidence;
use serde_json::{Value, json};

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

/// `Exact` asks about the version of the request, and of several that are served nobody knows which one a controller
/// uses. What deletes uses the preferred one.
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
    assert_eq!(update(json!(["v1alpha1"])).0, ["FinalizerControllerFailing"], "nobody can use what is not served");
    // One that may not be asked hides nobody who is down.
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
