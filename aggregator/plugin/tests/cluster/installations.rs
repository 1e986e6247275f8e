//! Whose program it is where rights do not decide: what was installed with the kind, and what may change everything.

use crate::setters::{asked, confidence, evidence, job_server, root, runs, widget};
use crate::support::*;

const DEPLOYMENTS: &str = "/apis/apps/v1/deployments";
const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
const PROVIDER: &str = "cluster.x-k8s.io/provider";
const VERBS: [&str; 6] = ["create", "get", "list", "patch", "update", "watch"];

/// Defines a kind, and labels its CRD.
fn defined(world: World, group: &str, plural: &str, kind: &str, labels: Value) -> World {
    world.with(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}"), "labels": labels},
        "spec": {
            "group": group, "names": {"kind": kind, "plural": plural}, "scope": "Namespaced",
            "versions": [{"name": "v1", "served": true, "storage": true}]
        }
    }))
}

fn labelled(world: World, deployment: &str, labels: Value) -> World {
    world.change(DEPLOYMENTS, deployment, |one| one["metadata"]["labels"] = labels)
}

/// An AzureCluster that is being deleted, and Cluster API's core, whose role says the same of the kind as the provider's.
fn azure_cluster(core: &[&str]) -> World {
    let world = healthy().with_custom(INFRASTRUCTURE, "azureclusters", "AzureCluster").active("c1").held(
        &format!("{INFRASTRUCTURE}/v1"),
        "AzureCluster",
        "c1",
        "one",
        &[&format!("azurecluster.{INFRASTRUCTURE}")],
    );
    let labels = json!({PROVIDER: "infrastructure-azure"});
    let world = defined(world, INFRASTRUCTURE, "azureclusters", "AzureCluster", labels);
    let subjects = json!([sa("capi-system", "capi-manager")]);
    let world = world.grants("capi-aggregated-manager-role", &[INFRASTRUCTURE], core, &VERBS, subjects);
    let world = runs(world, "capi-system", "capi-controller-manager", "capi-manager", 1);
    labelled(world, "capi-controller-manager", json!({PROVIDER: "cluster-api"}))
}

fn with_provider(world: World, resources: &[&str], verbs: &[&str], ready: i64) -> World {
    let subjects = json!([sa("capz-system", "capz-manager")]);
    let world = world.grants("capz-manager-role", &[INFRASTRUCTURE], resources, verbs, subjects);
    let world = runs(world, "capz-system", "capz-controller-manager", "capz-manager", ready);
    labelled(world, "capz-controller-manager", json!({PROVIDER: "infrastructure-azure"}))
}

/// Both carry the label of one provider; the core carries that of another.
#[test]
fn the_provider_that_was_installed_with_the_kind_and_not_cluster_apis_core() {
    let named = ["azureclusters", "azureclusters/status"];
    for core in [&["*"][..], &named[..1], &named] {
        for provider in [&["*"][..], &named[..1], &named] {
            for verbs in [&["*"][..], &VERBS] {
                let world = with_provider(azure_cluster(core), provider, verbs, 1);
                let looked = look(world, object("azurecluster", "c1", "one"));
                let expected = "Deployment capz-system/capz-controller-manager: runs";
                assert!(root(&looked).starts_with(expected), "{core:?} {provider:?} {verbs:?}: {}", root(&looked));
                assert!(
                    evidence(&looked).contains("as another provider: Deployment capi-system/"),
                    "{}",
                    evidence(&looked)
                );
            }
        }
    }
    let down = look(with_provider(azure_cluster(&named), &["*"], &["*"], 0), object("azurecluster", "c1", "one"));
    assert_eq!(down.causes(), ["FinalizerControllerNotReady"], "{:#?}", down.report);
}

#[test]
fn a_provider_that_is_not_installed_any_more_is_not_the_core() {
    let looked = look(azure_cluster(&["azureclusters", "azureclusters/status"]), object("azurecluster", "c1", "one"));
    let told = format!("{:?}", looked.chain(0));
    assert!(!told.contains("Deployment capi-system"), "{told}");
    assert!(evidence(&looked).contains("infrastructure-azure; no Deployment has it"), "{}", evidence(&looked));
    // Its Deployment is there, and nothing gives it rights.
    let world = runs(azure_cluster(&["*"]), "capz-system", "capz-controller-manager", "capz-manager", 0);
    let world = labelled(world, "capz-controller-manager", json!({PROVIDER: "infrastructure-azure"}));
    let looked = look(world, object("azurecluster", "c1", "one"));
    assert!(root(&looked).starts_with("Deployment capz-system/capz-controller-manager: 0 of 1"), "{}", root(&looked));
}

/// A role whose rules are collected from others is cut to no program.
#[test]
fn a_role_that_is_collected_ranks_below_one_for_the_whole_group() {
    let world = || {
        let world =
            widget().grants("all-providers", &["example.com"], &["widgets"], &["update"], json!([sa("a", "core")]));
        let world = world.change("/apis/rbac.authorization.k8s.io/v1/clusterroles", "all-providers", |role| {
            role["aggregationRule"] = json!({"clusterRoleSelectors": []});
        });
        runs(world, "a", "core", "core", 1)
    };
    let own = world().grants("b", &["example.com"], &["*"], &["update"], json!([sa("b", "widgetd")]));
    let looked = asked(runs(own, "b", "widgetd", "widgetd", 1));
    assert!(root(&looked).starts_with("Deployment b/widgetd: "), "{}", root(&looked));
}

/// Programs that may change everything.
fn powerful(world: World, names: &[(&str, i64)]) -> World {
    let subjects: Vec<Value> = names.iter().map(|(name, _)| sa("ops", name)).collect();
    let world = world.grants("all", &["*"], &["*"], &["*"], Value::from(subjects));
    names.iter().fold(world, |world, (name, ready)| runs(world, "ops", name, name, *ready))
}

fn with_finalizer(finalizer: &str) -> World {
    widget().change("/apis/example.com/v1/widgets", "w", |one| one["metadata"]["finalizers"] = json!([finalizer]))
}

#[test]
fn one_that_may_change_everything_is_named_where_something_leads_to_it() {
    let others = [("argocd-server", 1), ("velero", 1)];
    let beside = |name: &'static str, ready: i64| [others[0], others[1], (name, ready)];
    let labels = json!({"app.kubernetes.io/part-of": "gadgets"});
    let of_chart = |world: World| {
        let world = defined(world, "example.com", "widgets", "Widget", labels.clone());
        labelled(powerful(world, &beside("gadgetd", 1)), "gadgetd", labels.clone())
    };
    for (world, name, says) in [
        (powerful(with_finalizer("gadgetd.run/finalizer"), &beside("gadgetd", 1)), "gadgetd", "has its name"),
        (powerful(widget(), &beside("widget-operator", 1)), "widget-operator", "that of kind Widget"),
        (
            powerful(with_finalizer("cleanup"), &beside("example-controller", 1)),
            "example-controller",
            "API group example.com has its",
        ),
        (of_chart(widget()), "gadgetd", "label app.kubernetes.io/part-of=gadgets"),
        (
            powerful(widget().set_by("/apis/example.com/v1/widgets", "w", "gadgetd"), &beside("prod-gadgetd", 1)),
            "prod-gadgetd",
            "the name of gadgetd, which set the finalizer",
        ),
    ] {
        let looked = asked(world);
        assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{name}: {:#?}", looked.report);
        assert_eq!(confidence(&looked), Confidence::Probable);
        assert!(root(&looked).starts_with(&format!("Deployment ops/{name}: runs")), "{}", root(&looked));
        assert!(evidence(&looked).contains(says), "{}", evidence(&looked));
        assert!(
            evidence(&looked).contains("accounts may change everything: ops/argocd-server"),
            "{}",
            evidence(&looked)
        );
    }
    let down = asked(powerful(with_finalizer("gadgetd.run/finalizer"), &beside("gadgetd", 0)));
    assert_eq!(down.causes(), ["FinalizerControllerNotReady"], "{:#?}", down.report);
    // A role that names the kind may be a person's, or a job's.
    let looked = asked(job_server(powerful(widget(), &beside("widget-operator", 1))));
    assert!(root(&looked).starts_with("Deployment ops/widget-operator: "), "{}", root(&looked));
}

#[test]
fn where_nothing_leads_to_one_alone_the_owner_stays_unknown() {
    for names in [&[("argocd-server", 1)][..], &[("widget-operator", 1), ("widget-controller", 1)], &[("operator", 1)]]
    {
        let looked = asked(powerful(widget(), names));
        assert_eq!(looked.causes(), ["FinalizerOwnerUnknown"], "{names:?}: {:#?}", looked.report);
    }
    // A kind of one common word begins many names.
    let world = healthy().with_custom("example.com", "clusters", "Cluster").active("shop");
    let world = world.held("example.com/v1", "Cluster", "shop", "c", &["example.com/cleanup"]);
    let looked = look(powerful(world, &[("cluster-autoscaler", 1)]), object("cluster", "shop", "c"));
    assert_eq!(looked.causes(), ["FinalizerOwnerUnknown"], "{:#?}", looked.report);
    let world = healthy().with_custom("redhatcop.example.io", "namespaceconfigs", "NamespaceConfig").active("shop");
    let finalizer = ["namespaceconfig-controller"];
    let world = world.held("redhatcop.example.io/v1", "NamespaceConfig", "shop", "c", &finalizer);
    let world = powerful(world, &[("velero", 1), ("namespace-configuration-operator-controller-manager", 1)]);
    let looked = look(world, object("namespaceconfig", "shop", "c"));
    assert!(root(&looked).starts_with("Deployment ops/namespace-configuration-operator"), "{}", root(&looked));
}
