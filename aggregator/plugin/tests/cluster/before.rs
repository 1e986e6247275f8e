//! What would hold an object, and what would be lost, if it were deleted now.

use aggregator_core::state::Subject;
use findings::render::{Detail, Style};
use plugin::report::tree;

use crate::support::*;

fn before(world: World, word: &str, name: &str) -> Looked {
    let (word, namespace, name) = (word.to_owned(), "shop".to_owned(), name.to_owned());
    look(world, Subject::Before { word, namespace, name })
}

/// The API server evaluates its expressions, also without deleting.
#[test]
fn a_policy_that_may_refuse_the_deletion_is_named() {
    let policy = |operation: &str| {
        let mut policy = crate::policies::policy("", "configmaps");
        policy[0]["spec"]["matchConstraints"]["resourceRules"][0]["operations"] = json!([operation]);
        policy
    };
    let notes = |operation: &str, word: &str, name: &str| {
        let notes = before(shop().with(policy(operation)), word, name).report.notes;
        notes.into_iter().filter(|note| note.contains("ValidatingAdmissionPolicy limit (bound by ")).collect::<Vec<_>>()
    };
    let [note] = &notes("DELETE", "configmap", "c")[..] else { panic!("no note, or several") };
    assert!(note.contains(" refuses to delete ConfigMap shop/c: "), "{note}");
    assert!(note.ends_with("kubectl delete configmap/c -n shop --dry-run=server."), "{note}");
    let [note] = &notes("DELETE", "ns", "shop")[..] else { panic!("no note, or several") };
    assert!(note.contains(" refuses to delete objects in shop: "), "{note}");
    assert_eq!(notes("UPDATE", "configmap", "c"), [""; 0]);
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

const DISK: &str = "Data at risk: disk pv-1 is deleted with PersistentVolumeClaim shop/data (reclaim policy Delete)";

fn notes(looked: &Looked) -> String {
    looked.report.notes.iter().cloned().collect::<Vec<_>>().join("\n")
}

/// What the answer begins with, below its first line.
fn at_risk(looked: &Looked) -> String {
    let text = tree(&looked.report, Detail::Short, 400, Style::Plain);
    assert!(!looked.report.roots.iter().any(|root| !root.at_risk.is_empty()), "said once: {text}");
    text.lines().nth(1).unwrap_or_default().to_owned()
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
    assert_eq!(at_risk(&looked), DISK);
    let text = tree(&looked.report, Detail::Short, 100, Style::Plain);
    assert!(
        text.starts_with(&format!("Nothing would hold it\n{DISK}\n\nNamespace shop: would be deleted\n")),
        "{text}"
    );
    // There is nothing to predict.
    let text = tree(&before(recording("dstate-fuse"), "ns", "exam-dstate").report, Detail::Short, 100, Style::Plain);
    assert!(text.starts_with("It is being deleted already: what would hold it holds it now\n"), "{text}");
    // An operator elsewhere that runs takes its finalizers off.
    let looked = before(operator(shop(), "ops", 1), "ns", "shop");
    assert_eq!((looked.causes(), looked.report.verdict), (vec![], Verdict::Clear), "{:#?}", looked.report);
    let missing = before(shop(), "ns", "none");
    assert_eq!(missing.report.refused.as_deref(), Some("Namespace none does not exist"));
}

/// It was said to go while one of its pods had been stuck for an hour.
#[test]
fn a_pod_that_is_stuck_already_would_hold_its_namespace() {
    let world = shop().change("/api/v1/pods", "db-0", |pod| {
        pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        pod["status"]["containerStatuses"][0]["state"] =
            json!({"terminated": {"exitCode": 0, "finishedAt": "2026-01-01T00:00:00Z"}});
    });
    let looked = before(world, "ns", "shop");
    assert_eq!(looked.causes(), ["PodCleanupNotFinished"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Stuck);
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
        assert!(
            text.starts_with("The delete would be accepted, get stuck, ")
                || text.starts_with("The drain would get stuck, "),
            "{text}"
        );
        assert!(text.contains(": would be stuck") && !text.contains("Terminating for"), "{text}");
    }
}

#[test]
fn what_a_webhook_refuses_at_once_is_not_accepted() {
    let looked = before(shop().webhook("DELETE", "", "configmaps"), "configmap", "c");
    let text = tree(&looked.report, Detail::Short, 100, Style::Plain);
    assert!(text.starts_with("The delete would be refused, 1 root cause"), "{text}");
}

/// Its load balancer controller and its Karpenter run outside the cluster.
#[test]
fn what_eks_auto_mode_takes_off_holds_nothing() {
    let world = || {
        shop()
            .with_cluster_wide("eks.amazonaws.com", "nodeclasses", "NodeClass")
            .with_cluster_wide("karpenter.sh", "nodeclaims", "NodeClaim")
            .with(json!([
                {"kind": "Service", "metadata": {"name": "web", "namespace": "shop", "uid": "s",
                    "finalizers": ["service.eks.amazonaws.com/resources"]}},
                {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
                 "metadata": {"name": "pool-x", "uid": "x", "finalizers": ["karpenter.sh/termination"]}},
                {"apiVersion": "eks.amazonaws.com/v1", "kind": "NodeClass",
                 "metadata": {"name": "default", "uid": "y", "finalizers": ["eks.amazonaws.com/termination"]}}
            ]))
    };
    for (word, name) in [("ns", "shop"), ("nodeclaim", "pool-x"), ("nodeclass", "default")] {
        let looked = before(world(), word, name);
        assert_eq!((looked.causes(), looked.report.verdict), (vec![], Verdict::Clear), "{word}: {:#?}", looked.report);
    }
}

/// An object of a custom kind with a finalizer that is known by its name.
fn known(group: &str, plural: &str, kind: &str, finalizer: &str) -> World {
    shop().with_custom(group, plural, kind).with(json!({
        "apiVersion": format!("{group}/v1"), "kind": kind,
        "metadata": {"name": "x", "namespace": "shop", "uid": "x", "finalizers": [finalizer]}
    }))
}

#[test]
fn a_finalizer_that_is_known_by_its_name_holds_as_any_other_does() {
    let bucket = || known("s3.example.com", "buckets", "Bucket", "finalizer.managedresource.crossplane.io");
    let everything = |world: World| world.grants("admin", &["*"], &["*"], &["*"], json!([sa("flux", "flux")]));
    let application = |replicas: i64, ready: i64| {
        known("argoproj.io", "applications", "Application", "resources-finalizer.argocd.argoproj.io")
            .deployment("argocd", "argocd-application-controller", replicas, ready)
            .may_change("argocd", "argocd-application-controller", "argoproj.io", "applications")
    };
    let pool = || {
        known("ceph.rook.io", "cephblockpools", "CephBlockPool", "cephblockpool.ceph.rook.io")
            .deployment("rook", "rook", 0, 0)
            .may_change("rook", "rook", "ceph.rook.io", "cephblockpools")
    };
    for (world, word, expected) in [
        (everything(bucket()).deployment("flux", "flux", 1, 1), "bucket", "ExternalResourceFinalizer"),
        (bucket(), "bucket", "FinalizerControllerGone"),
        (application(1, 0), "application", "ArgoCdFinalizer"),
        (application(0, 0), "application", "ArgoCdFinalizer"),
        (pool(), "cephblockpool", "FinalizerControllerGone"),
    ] {
        let looked = before(world, word, "x");
        assert_eq!((looked.causes(), looked.report.verdict), (vec![expected], Verdict::Stuck), "{:#?}", looked.report);
    }
    let looked = before(application(1, 0), "ns", "shop");
    assert_eq!((looked.causes(), looked.report.verdict), (vec!["ArgoCdFinalizer"], Verdict::Stuck));
}

#[test]
fn a_finalizer_whose_controller_works_or_is_not_to_be_seen_holds_nothing_yet() {
    let world = |word: &str| match word {
        "application" => known("argoproj.io", "applications", "Application", "resources-finalizer.argocd.argoproj.io")
            .deployment("argocd", "argocd-application-controller", 1, 1)
            .may_change("argocd", "argocd-application-controller", "argoproj.io", "applications"),
        // It runs in the primary pod of its cluster, which is no workload.
        "database" => known("postgresql.cnpg.io", "databases", "Database", "cnpg.io/deleteDatabase"),
        _ => shop().with(json!({"kind": "Service", "metadata": {
            "name": "x", "namespace": "shop", "uid": "x", "finalizers": ["service.kubernetes.io/load-balancer-cleanup"]
        }})),
    };
    for word in ["application", "database", "service"] {
        for (asked, name) in [(word, "x"), ("ns", "shop")] {
            let looked = before(world(word), asked, name);
            assert_eq!((looked.causes(), looked.report.verdict), (vec![], Verdict::Clear), "{:#?}", looked.report);
        }
    }
}

/// Such a finalizer is there whether something uses the object or not.
#[test]
fn whether_something_uses_an_object_is_not_known() {
    let configuration = known("aws.example.com", "providerconfigs", "ProviderConfig", "in-use.crossplane.io")
        .with_custom("aws.example.com", "providerconfigusages", "ProviderConfigUsage")
        .deployment("crossplane", "provider", 1, 1)
        .may_change("crossplane", "provider", "aws.example.com", "providerconfigs");
    let usages = "/apis/aws.example.com/v1/providerconfigusages";
    let claim = shop().with(json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"name": "x", "namespace": "shop", "uid": "x",
                     "finalizers": ["resource.kubernetes.io/delete-protection"]}
    }));
    for (world, word, finalizer) in [
        (configuration.refuse(usages, 403, "no"), "providerconfig", "in-use.crossplane.io"),
        (claim, "resourceclaim", "resource.kubernetes.io/delete-protection"),
    ] {
        let said = notes(&before(world, word, "x"));
        assert!(said.contains("Not known: whether ") && said.contains(finalizer), "{said}");
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
    assert_eq!(at_risk(&looked), DISK);
    let looked = before(shop(), "pv", "pv-1");
    assert_eq!(looked.causes(), ["PvBoundToClaim"], "{:#?}", looked.report);
    assert!(at_risk(&looked).contains("disk pv-1 is deleted with PersistentVolume pv-1"), "{}", at_risk(&looked));
    // Of one that no claim has had yet the provisioner deletes nothing.
    let free = shop().change("/api/v1/persistentvolumes", "pv-1", |volume| {
        volume["status"]["phase"] = "Available".into();
        volume["spec"].as_object_mut().unwrap().remove("claimRef");
    });
    let looked = before(free, "pv", "pv-1");
    assert_eq!((looked.causes(), looked.report.verdict), (vec![], Verdict::Clear), "{:#?}", looked.report);
    assert_eq!(at_risk(&looked), "");
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

/// The server adds the finalizer of a CRD when its deletion is asked for: one that lives has none.
#[test]
fn a_crd_waits_for_its_objects_although_its_finalizer_is_not_there_yet() {
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "names": {"kind": "Widget", "plural": "widgets"}, "scope": "Namespaced",
                 "versions": [{"name": "v1", "served": true}]}
    });
    let looked = before(operator(shop(), "ops", 0).with(crd), "crd", "widgets.example.com");
    assert_eq!(looked.causes(), ["FinalizerControllerNotReady"], "{:#?}", looked.report);
    looked.assert_chain(0, &["CustomResourceDefinition widgets.example.com", "Widget shop/w", "Deployment ops/op"]);
}

#[test]
fn of_many_claims_none_is_passed_over() {
    let bound = |name: String, policy: &str| {
        json!([
            {"kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "shop", "uid": name},
             "spec": {"volumeName": format!("pv-{name}")}, "status": {"phase": "Bound"}},
            {"kind": "PersistentVolume", "metadata": {"name": format!("pv-{name}"), "uid": format!("pv-{name}")},
             "spec": {"persistentVolumeReclaimPolicy": policy,
                      "claimRef": {"namespace": "shop", "name": name, "uid": name}}, "status": {"phase": "Bound"}}
        ])
    };
    let volumes = "/api/v1/persistentvolumes";
    let world = |retained: usize| {
        let world = (0..retained).fold(shop(), |world, number| world.with(bound(format!("a-{number}"), "Retain")));
        (0..2).fold(world, |world, number| world.with(bound(format!("z-{number}"), "Delete")))
    };
    let looked = before(world(70).refuse(volumes, 403, "persistentvolumes is forbidden"), "ns", "shop");
    assert!(!looked.requests.iter().any(|path| path.contains("/pv-a-")), "{:#?}", looked.requests);
    assert!(notes(&looked).contains("persistentvolumes (would show whether a disk is deleted"), "{}", notes(&looked));
    for retained in [25, 70] {
        let said = at_risk(&before(world(retained), "ns", "shop"));
        assert!(said.contains("3 disks (pv-1, pv-z-0, pv-z-1) are deleted"), "{said}");
    }
}

/// The server deletes all of them, wherever they are, before the CRD.
#[test]
fn a_crd_says_which_objects_go_with_it() {
    let widget = |namespace: &str, number: i64| {
        json!({"apiVersion": "example.com/v1", "kind": "Widget",
               "metadata": {"name": format!("w{number}"), "namespace": namespace, "uid": format!("{namespace}{number}")}})
    };
    let world = shop().with_custom("example.com", "widgets", "Widget").with(json!([
        {"kind": "Namespace", "metadata": {"name": "pay", "uid": "pay"}},
        {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
         "metadata": {"name": "widgets.example.com"},
         "spec": {"group": "example.com", "names": {"kind": "Widget", "plural": "widgets"}, "scope": "Namespaced",
                  "versions": [{"name": "v1", "served": true}]}}
    ]));
    let world = (0..5).fold(world, |world, number| world.with(json!([widget("shop", number), widget("pay", number)])));
    let looked = before(world, "crd", "widgets.example.com");
    assert_eq!((looked.causes(), looked.report.verdict), (vec![], Verdict::Clear), "{:#?}", looked.report);
    let said = notes(&looked);
    let words =
        "Deleted with CustomResourceDefinition widgets.example.com: 10 Widgets in 2 namespaces (pay 5, shop 5).";
    assert_eq!(said, words);
}

/// `db`, to which the pod and the claim of the shop belong.
fn stateful(policy: serde_json::Value, is_claim_owned: bool) -> World {
    let owner =
        json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "set", "controller": true}]);
    let world = shop().with(json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "namespace": "shop", "uid": "set"},
        "spec": {"replicas": 1, "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
                 "persistentVolumeClaimRetentionPolicy": policy}
    }));
    let world = world.change("/api/v1/pods", "db-0", |pod| {
        pod["metadata"]["ownerReferences"] = owner.clone();
        pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] = "data-db-0".into();
    });
    world.change("/api/v1/persistentvolumeclaims", "data", |claim| {
        claim["metadata"]["name"] = "data-db-0".into();
        if is_claim_owned {
            claim["metadata"]["ownerReferences"] = owner;
        }
    })
}

#[test]
fn the_claims_of_a_stateful_set_go_when_they_name_it() {
    let retained = before(stateful(json!(null), false), "sts", "db");
    assert_eq!((retained.causes(), retained.report.verdict), (vec![], Verdict::Clear), "{:#?}", retained.report);
    let said = notes(&retained);
    assert!(
        said.contains("Not deleted with it (persistentVolumeClaimRetentionPolicy.whenDeleted: Retain): "),
        "{said}"
    );
    assert!(said.contains("data-db-0") && !said.contains("scale"), "{said}");
    assert_eq!(at_risk(&retained), "");
    let scaled = json!({"whenDeleted": "Retain", "whenScaled": "Delete"});
    let said = notes(&before(stateful(scaled, false), "sts", "db"));
    assert!(said.contains("Do not scale it to 0 before"), "{said}");
    let deleted = json!({"whenDeleted": "Delete", "whenScaled": "Retain"});
    let looked = before(stateful(deleted.clone(), true), "sts", "db");
    assert_eq!((looked.causes(), looked.report.verdict), (vec![], Verdict::Clear), "{:#?}", looked.report);
    let said = notes(&looked);
    assert!(
        said.contains(
            "Deleted with it, because they name it as their \
            owner"
        ),
        "{said}"
    );
    assert!(at_risk(&looked).contains("disk pv-1"), "{}", at_risk(&looked));
    // What the policy says is not yet what is.
    let looked = before(stateful(deleted, false), "sts", "db");
    let said = notes(&looked);
    assert!(said.contains("although persistentVolumeClaimRetentionPolicy.whenDeleted: Delete"), "{said}");
    assert_eq!(at_risk(&looked), "");
}

#[test]
fn the_pods_of_a_stateful_set_go_with_it() {
    let lost = stateful(json!(null), false).node_ready(
        "node-a",
        "Unknown",
        "NodeStatusUnknown",
        "Kubelet stopped posting node status.",
    );
    let looked = before(lost, "sts", "db");
    assert_eq!(looked.causes(), ["NodeUnreachable"], "{:#?}", looked.report);
    looked.assert_chain(0, &["StatefulSet shop/db", "Pod shop/db-0", "Node node-a"]);
}

/// Everything that a release installs is annotated so.
fn of_release(object: &mut serde_json::Value, name: &str, namespace: &str) {
    object["metadata"]["labels"]["app.kubernetes.io/managed-by"] = "Helm".into();
    object["metadata"]["annotations"] =
        json!({"meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": namespace});
}

/// The operator and its Widget, installed by release `web` of the shop.
fn released(world: World) -> World {
    let of_web = |object: &mut serde_json::Value| of_release(object, "web", "shop");
    operator(world, "shop", 1)
        .change("/apis/example.com/v1/widgets", "w", of_web)
        .change("/apis/apps/v1/deployments", "op", of_web)
}

#[test]
fn a_release_that_takes_its_operator_with_it_would_not_go() {
    let looked = before(released(shop()), "helm", "web");
    assert_eq!(looked.causes(), ["FinalizerOwnerInSameRelease"], "{:#?}", looked.report);
    looked.assert_chain(0, &["Release shop/web: once uninstalled", "Widget shop/w", "Deployment shop/op"]);
    assert!(notes(&looked).contains("helm get hooks web -n shop"), "{}", notes(&looked));
    assert!(!looked.requests.iter().any(|path| path.contains("/secrets")), "{:#?}", looked.requests);
    // An operator of another release stays.
    let elsewhere = released(shop()).change("/apis/apps/v1/deployments", "op", |one| of_release(one, "ops", "shop"));
    let looked = before(elsewhere, "helm", "web");
    assert_eq!((looked.causes(), looked.report.verdict), (vec![], Verdict::Clear), "{:#?}", looked.report);
    // Helm decides by the kind alone: an Ingress is deleted before Deployments, and nothing is waited for.
    let mut ingress = json!({
        "apiVersion": "example.com/v1", "kind": "Ingress",
        "metadata": {"name": "front", "namespace": "shop", "uid": "f", "finalizers": ["example.com/cleanup"]}
    });
    of_release(&mut ingress, "web", "shop");
    let world = shop()
        .with_custom("example.com", "ingresses", "Ingress")
        .with(ingress)
        .deployment("shop", "op", 1, 1)
        .may_change("shop", "op", "example.com", "ingresses")
        .change("/apis/apps/v1/deployments", "op", |one| of_release(one, "web", "shop"));
    let looked = before(world, "helm", "web");
    assert_eq!(looked.causes(), ["FinalizerOwnerInSameRelease"], "{:#?}", looked.report);
    let finding = &looked.report.roots[0].finding;
    assert!(finding.missing.as_ref().unwrap().contains("right after the object"), "{:?}", finding.missing);
    // A release of the same name in another namespace is another release.
    let other = released(shop()).change("/apis/example.com/v1/widgets", "w", |one| of_release(one, "web", "other"));
    let looked = before(other, "helm", "web");
    assert_eq!((looked.causes(), looked.report.verdict), (vec![], Verdict::Clear), "{:#?}", looked.report);
}

#[test]
fn what_a_release_keeps_stays_and_what_it_made_goes() {
    let owned = |kind: &str, name: &str| json!([{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name}]);
    let world = released(shop())
        .with(json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {
            "name": "op-1", "namespace": "shop", "uid": "op-1", "ownerReferences": owned("Deployment", "op")}}))
        .change("/apis/apps/v1/deployments", "op", |one| one["metadata"]["uid"] = "op".into())
        .change("/api/v1/pods", "db-0", |pod| pod["metadata"]["ownerReferences"] = owned("ReplicaSet", "op-1"))
        .change("/apis/example.com/v1/widgets", "w", |one| {
            one["metadata"]["annotations"]["helm.sh/resource-policy"] = "keep".into();
        })
        .node_ready("node-a", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.");
    let looked = before(world, "helm", "web");
    assert_eq!(looked.causes(), ["NodeUnreachable"], "{:#?}", looked.report);
    looked.assert_chain(0, &["Release shop/web", "Pod shop/db-0", "Node node-a"]);
    assert!(notes(&looked).contains("Stay (helm.sh/resource-policy: keep): Widget shop/w."), "{}", notes(&looked));
    let none = before(shop(), "helm", "web");
    let refused = none.report.refused.unwrap();
    assert!(
        refused.contains("no object of namespace shop has the annotation") && refused.contains("helm list"),
        "{refused}"
    );
}

/// Helm deletes the StatefulSet, and the garbage collector its claims.
#[test]
fn the_claims_of_a_stateful_set_of_a_release_go_with_it() {
    let release = |is_claim_owned: bool| {
        let policy = json!({"whenDeleted": if is_claim_owned { "Delete" } else { "Retain" }});
        let world = stateful(policy, is_claim_owned)
            .change("/apis/apps/v1/statefulsets", "db", |set| of_release(set, "web", "shop"));
        before(world, "helm", "web")
    };
    assert!(at_risk(&release(true)).contains("disk pv-1"));
    assert!(!at_risk(&release(false)).contains("disk"));
}

#[test]
fn a_crd_of_a_release_takes_its_objects_everywhere() {
    let world = released(shop())
        .with(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {"group": "example.com", "names": {"kind": "Widget", "plural": "widgets"}, "scope": "Namespaced",
                     "versions": [{"name": "v1", "served": true}]}
        }))
        .change("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "widgets.example.com", |one| {
            of_release(one, "web", "shop")
        })
        .change("/apis/example.com/v1/widgets", "w", |one| {
            one["metadata"]["annotations"] = json!({});
            one["metadata"]["namespace"] = "elsewhere".into();
        })
        .with(json!({"kind": "Namespace", "metadata": {"name": "elsewhere", "uid": "e"}}));
    let looked = before(world, "helm", "web");
    assert_eq!(looked.causes(), ["FinalizerOwnerInSameRelease"], "{:#?}", looked.report);
    looked.assert_chain(
        0,
        &["Release shop/web", "CustomResourceDefinition widgets", "Widget elsewhere/w", "Deployment shop/op"],
    );
    let said = notes(&looked);
    assert!(said.contains("widgets.example.com: 1 Widget in 1 namespace (elsewhere 1)."), "{said}");
}

/// Nothing of it has happened yet.
#[test]
fn no_text_speaks_of_the_deletion_as_if_it_had_begun() {
    let own_webhook = shop().webhook("DELETE", "", "configmaps").change(
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        "guard",
        |one| one["webhooks"][0]["clientConfig"]["service"]["namespace"] = "shop".into(),
    );
    let without_workload = operator(shop(), "shop", 0).without("/apis/apps/v1/deployments", "op");
    for world in [operator(shop(), "shop", 1), operator(shop(), "shop", 0), without_workload, own_webhook] {
        let looked = before(world, "ns", "shop");
        assert!(!looked.causes().is_empty());
        let findings = looked.report.roots.iter().map(|root| &root.finding);
        let text: Vec<String> =
            findings.map(|one| format!("{:?} {:?} {:?}", one.chain, one.evidence, one.missing)).collect();
        let text = format!("{text:?} {:?}", looked.report.notes);
        assert!(!text.contains("being deleted") && !text.contains("Terminating"), "{text}");
    }
}
