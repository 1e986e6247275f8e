//! Which kinds are looked at, and what a word means.

use std::time::Duration;

use aggregator_core::state::Subject;
use client::{Bounds, ScanBudget};
use findings::FaultKind;

use crate::support::*;

const APPLICATION: &str = "resources-finalizer.argocd.argoproj.io";

fn applications() -> World {
    let mut world = healthy().active("argocd").with_custom("argoproj.io", "applications", "Application");
    for number in 0..30 {
        world = world.held("argoproj.io/v1", "Application", "argocd", &format!("a{number}"), &[APPLICATION]);
    }
    world
}

#[test]
fn every_kind_is_scanned_by_its_metadata() {
    let looked = look(applications(), everything());
    assert_eq!(looked.causes(), ["ArgoCdFinalizer"], "{:#?}", looked.report);
    assert_eq!((looked.report.verdict, looked.report.roots[0].victims.len()), (Verdict::Stuck, 30));
    let kinds = ["namespaces", "pods", "persistentvolumeclaims", "persistentvolumes", "volumeattachments"];
    assert_eq!(looked.report.looked_at[..5], kinds, "{:?}", looked.report.looked_at);
    assert!(looked.report.looked_at.contains(&"applications.argoproj.io".to_owned()));
    // Each kind once, whatever the number of its objects.
    let lists = looked.scan_requests.iter().filter(|path| path.starts_with("/apis/argoproj.io/v1/applications"));
    assert_eq!(lists.count(), 1, "{:#?}", looked.scan_requests);
    let one = Subject::Everything { namespace: Some("argocd".to_owned()), all_kinds: false };
    assert_eq!(look(applications(), one).report.roots[0].victims.len(), 30);
    // An active namespace that was named is asked about all that is being deleted in it.
    assert_eq!(look(applications(), object("ns", "", "argocd")).report.roots[0].victims.len(), 30);
}

fn not_scanned(looked: &Looked) -> Vec<(&str, FaultKind)> {
    looked.report.not_scanned.iter().map(|one| (one.kind.as_str(), one.reason)).collect()
}

#[test]
fn secrets_are_scanned_only_on_request() {
    let world = || healthy().active("shop").held("v1", "Secret", "shop", "s", &["foregroundDeletion"]);
    let looked = look(world(), everything());
    assert_eq!((looked.report.verdict, looked.report.complete), (Verdict::Clear, false), "{:#?}", looked.report);
    assert_eq!(not_scanned(&looked), [("secrets", FaultKind::NotAsked)]);
    assert!(!looked.scan_requests.iter().any(|path| path.contains("/secrets")), "{:#?}", looked.scan_requests);
    let all = look(world(), Subject::Everything { namespace: None, all_kinds: true });
    assert_eq!(all.report.not_scanned, [], "{:#?}", all.report);
    assert_eq!(all.report.counts.stuck + all.report.counts.unknown, 1, "{:#?}", all.report);
    let none = look(healthy(), Subject::Everything { namespace: None, all_kinds: true });
    assert!(none.report.complete, "{:#?}", none.report);
}

#[test]
fn what_was_not_scanned_is_named() {
    let forbidden = "applications.argoproj.io is forbidden";
    let looked = look(applications().refuse("/apis/argoproj.io/v1/applications", 403, forbidden), everything());
    assert_eq!(looked.report.verdict, Verdict::Clear, "{:#?}", looked.report);
    assert!(!looked.report.complete && looked.report.unknown.is_empty(), "{:#?}", looked.report);
    let kinds = [("applications.argoproj.io", FaultKind::Denied), ("secrets", FaultKind::NotAsked)];
    let mut found = not_scanned(&looked);
    found.sort_unstable();
    assert_eq!(found, kinds);
    let dead = look(recording("discovery-failure"), everything());
    assert!(not_scanned(&dead).contains(&("metrics.k8s.io/v1beta1", FaultKind::Stale)), "{:#?}", dead.report);
}

/// 1,200 Widgets, of which the first and the last are held.
fn many_widgets() -> World {
    let mut world = healthy().active("shop").with_custom("example.com", "widgets", "Widget");
    let held = ["w-0000", "w-1199"];
    for number in 0..1200 {
        let name = format!("w-{number:04}");
        world = match held.contains(&name.as_str()) {
            true => world.held("example.com/v1", "Widget", "shop", &name, &["example.com/hold"]),
            false => world.with(json!({
                "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name, "namespace": "shop", "uid": name}
            })),
        };
    }
    world
}

fn scanned_within(bytes: usize) -> Looked {
    let scan = Some(ScanBudget { time: Duration::from_secs(60), bytes });
    look_within(many_widgets(), everything(), Bounds { scan, ..Bounds::default() }, |_| {})
}

#[test]
fn a_long_kind_is_read_on_while_the_budget_lasts() {
    let held = |looked: &Looked| looked.report.objects().len();
    let whole = scanned_within(20_000_000);
    assert_eq!((held(&whole), not_scanned(&whole)), (2, vec![("secrets", FaultKind::NotAsked)]), "{:#?}", whole.report);
    // What the first page had is kept, and what is left is counted.
    let first_page = scanned_within(180_000);
    assert_eq!(held(&first_page), 1, "{:#?}", first_page.report);
    let widgets = first_page.report.not_scanned.iter().find(|one| one.kind == "widgets.example.com").unwrap();
    assert_eq!((widgets.reason, widgets.objects), (FaultKind::TooLarge, Some(700)), "{:#?}", first_page.report);
    // Not even one page.
    let none = scanned_within(1);
    assert!(not_scanned(&none).contains(&("widgets.example.com", FaultKind::TooLarge)), "{:#?}", none.report);
    assert_eq!(held(&none), 0);
}

fn kind(word: &str, namespace: Option<&str>) -> Subject {
    Subject::Kind { word: word.to_owned(), namespace: namespace.map(str::to_owned), selector: None }
}

#[test]
fn a_type_alone_asks_about_all_of_it() {
    let world = || applications().going_pod("shop", "p", "node-a", "Running").active("shop").going("gone", all_false());
    for word in ["pod", "pods", "po"] {
        let looked = look(world(), kind(word, None));
        assert_eq!(looked.causes(), ["PodContainersNotStopped"], "{word}: {:#?}", looked.report);
    }
    let looked = look(world(), kind("applications", None));
    assert_eq!((looked.causes(), looked.report.roots[0].victims.len()), (vec!["ArgoCdFinalizer"], 30));
    assert_eq!(look(world(), kind("pods", Some("argocd"))).report.verdict, Verdict::Clear);
    let unknown = look(world(), kind("gadgets", None)).report.refused.unwrap();
    assert!(
        unknown.contains("doesn't have a resource type \"gadgets\"") && unknown.contains("for example"),
        "{unknown}"
    );
    // Nor is it looked up where an API does not answer: that is no answer about what is stuck.
    let stale =
        json!({"metadata": {"name": "gone.example.com"}, "versions": [{"version": "v1", "freshness": "Stale"}]});
    let looked = look(world().change_groups(|groups| groups.push(stale)), kind("gadgets", None));
    let refused = looked.report.refused.unwrap_or_default();
    assert!(refused.contains("does not list those of gone.example.com/v1"), "{refused}");
}

#[test]
fn several_types_and_what_labels_select_are_asked_about_as_kubectl_takes_them() {
    let world = || {
        let world = healthy().active("shop").going_pod("shop", "p", "node-a", "Running");
        let world = world.going_pod("shop", "q", "node-a", "Running");
        let world = world.held("v1", "Service", "shop", "web", &["example.com/hold"]);
        world.change("/api/v1/pods", "p", |pod| pod["metadata"]["labels"] = serde_json::json!({"app": "db"}))
    };
    let victims = |subject: Subject| {
        let looked = look(world(), subject);
        let mut all: Vec<String> = (0..looked.report.roots.len()).flat_map(|root| looked.victims(root)).collect();
        all.sort();
        (all, looked.report.refused)
    };
    assert_eq!(victims(kind("pods,svc", None)).0, ["Pod shop/p", "Pod shop/q", "Service shop/web"]);
    let selected = |word: &str, labels: &str| {
        let (word, selector) = (word.to_owned(), Some(labels.to_owned()));
        victims(Subject::Kind { word, namespace: Some("shop".to_owned()), selector }).0
    };
    assert_eq!(selected("pods,svc", "app=db"), ["Pod shop/p"]);
    assert_eq!(selected("pods", "app!=db"), ["Pod shop/q"]);
    let refused = victims(kind("pods,gadgets", None)).1.unwrap();
    assert!(refused.contains("doesn't have a resource type \"gadgets\""), "{refused}");
}

/// As kubectl takes them: singular, plural, kind and short name, with the group, or with version and group.
#[test]
fn a_type_has_all_of_kubectls_names() {
    let world = || healthy().active("shop").held("apps/v1", "Deployment", "shop", "web", &["example.com/hold"]);
    let names = ["deploy", "deployment", "deployments", "Deployment", "DEPLOY", "deploy.apps", "deployments.apps"];
    for word in names.into_iter().chain(["deployments.v1.apps", "deployment.apps", "Deployment.v1.apps"]) {
        let looked = look(world(), object(word, "shop", "web"));
        assert_eq!(looked.victims(0), ["Deployment shop/web"], "{word}: {:#?}", looked.report);
        assert_eq!(look(world(), kind(word, Some("shop"))).victims(0), ["Deployment shop/web"], "{word}");
    }
    for word in ["deployments.extensions", "deployments.v2.apps", "deploymentss", "apps"] {
        let refused = look(world(), object(word, "shop", "web")).report.refused.unwrap_or_default();
        assert!(refused.contains(&format!("doesn't have a resource type \"{word}\"")), "{word}: {refused}");
    }
    for word in ["pods.v1.", "Pod", "PODS"] {
        let world = healthy().active("shop").going_pod("shop", "p", "node-a", "Running");
        assert_eq!(look(world, object(word, "shop", "p")).victims(0), ["Pod shop/p"], "{word}");
    }
}

#[test]
fn a_kind_that_lives_in_no_namespace_is_asked_about_whatever_namespace_is_given() {
    let volume = healthy().active("shop").held_cluster_wide("v1", "PersistentVolume", "pv-1", "x/y");
    let looked = look(volume, kind("pv", Some("shop")));
    assert_eq!(looked.victims(0), ["PersistentVolume pv-1"], "{:#?}", looked.report);
}

#[test]
fn a_namespace_that_does_not_exist_is_an_error() {
    let everything = Subject::Everything { namespace: Some("nope".to_owned()), all_kinds: false };
    for subject in [everything, kind("pods", Some("nope"))] {
        let refused = look(applications(), subject).report.refused.unwrap();
        assert!(refused.starts_with("namespace \"nope\" not found"), "{refused}");
    }
    let missing = look(applications().active("shop"), object("pod", "shop", "nope")).report.refused.unwrap();
    assert_eq!(missing, "Pod shop/nope does not exist");
}

#[test]
fn an_active_namespace_is_asked_about_what_goes_in_it() {
    let world = healthy().active("shop").going_pod("shop", "p", "node-a", "Running");
    let looked = look(world, object("ns", "default", "shop"));
    assert_eq!(looked.causes(), ["PodContainersNotStopped"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Stuck);
    assert_eq!(looked.report.unexplained[0].words, "is not being deleted");
}

#[test]
fn a_word_that_two_groups_share_means_the_object_that_exists() {
    let world = || {
        healthy()
            .active("db")
            .with_custom("cluster.x-k8s.io", "clusters", "Cluster")
            .with_custom("postgresql.cnpg.io", "clusters", "Cluster")
            .held("postgresql.cnpg.io/v1", "Cluster", "db", "pg", &["x/y"])
    };
    let looked = look(world(), object("cluster", "db", "pg"));
    assert_eq!(looked.report.verdict, Verdict::Stuck, "{:#?}", looked.report);
    assert_eq!(looked.victims(0), ["Cluster db/pg"]);
    let none = look(world(), object("cluster", "db", "nope")).report.refused.unwrap();
    assert!(none.contains("clusters.cluster.x-k8s.io, clusters.postgresql.cnpg.io"), "{none}");
    // Both exist: both are shown, and how to name one.
    let both = world().with(json!({
        "apiVersion": "cluster.x-k8s.io/v1", "kind": "Cluster", "metadata": {"name": "pg", "namespace": "db", "uid": "other"}
    }));
    let looked = look(both, object("cluster", "db", "pg"));
    assert!(looked.report.notes.iter().any(|note| note.contains("TYPE.GROUP/NAME")), "{:#?}", looked.report.notes);
    // One object that two groups serve is one.
    let same = world().with(json!({
        "apiVersion": "cluster.x-k8s.io/v1", "kind": "Cluster",
        "metadata": {"name": "pg", "namespace": "db", "uid": "Cluster-pg"}
    }));
    let looked = look(same, object("cluster", "db", "pg"));
    assert!(!looked.report.notes.iter().any(|note| note.contains("TYPE.GROUP/NAME")), "{:#?}", looked.report.notes);
}

/// What could not be listed was not scanned.
#[test]
fn a_kind_that_could_not_be_read_is_not_among_those_that_were_scanned() {
    let forbidden = |path: &str, resource: &str| {
        let says =
            format!("{resource} is forbidden: User \"dev\" cannot list resource \"{resource}\" in API group \"\"");
        healthy().going("shop", json!(null)).refuse(path, 403, &says)
    };
    let of_namespace = Subject::Everything { namespace: Some("shop".to_owned()), all_kinds: false };
    let namespaced = look(forbidden("/api/v1/namespaces/shop", "namespaces"), of_namespace.clone());
    assert!(!namespaced.report.looked_at.contains(&"namespaces".to_owned()), "{:#?}", namespaced.report.looked_at);
    let seen = look(healthy().going("shop", json!(null)), of_namespace);
    assert!(seen.report.looked_at.contains(&"namespaces".to_owned()), "{:#?}", seen.report.looked_at);
    let pods = |word: &str| Subject::Kind { word: word.to_owned(), namespace: None, selector: None };
    let hidden = look(forbidden("/api/v1/pods", "pods"), pods("pods,nodes"));
    assert_eq!(hidden.report.looked_at, ["nodes"]);
    assert_eq!(look(healthy(), pods("pods,nodes")).report.looked_at, ["pods", "nodes"]);
}
