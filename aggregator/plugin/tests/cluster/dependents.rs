//! What an object in foreground deletion owns, and what of that could not be looked at.

use aggregator_core::state::{Answer, Answered, Facts, Question, Version};

use findings::render::{Detail, Style};
use plugin::report::tree;

use crate::support::*;

fn owned_by(version: &str, kind: &str, name: &str, uid: &str) -> Value {
    json!([{"apiVersion": version, "kind": kind, "name": name, "uid": uid, "blockOwnerDeletion": true}])
}

/// A composite resource and the managed resource that it owns live in no namespace.
fn composite() -> World {
    let world = healthy()
        .with_cluster_wide("aws.platform.io", "xbuckets", "XBucket")
        .with_cluster_wide("s3.aws.upbound.io", "buckets", "Bucket");
    let asked = world.ago(86_400);
    world.with(json!({
        "apiVersion": "aws.platform.io/v1", "kind": "XBucket",
        "metadata": {"name": "x1", "uid": "x1", "deletionTimestamp": asked, "finalizers": ["foregroundDeletion"]}
    }))
}

#[test]
fn a_dependent_that_lives_in_no_namespace_is_found() {
    let world = composite();
    let asked = world.ago(86_400);
    let world = world.with(json!({
        "apiVersion": "s3.aws.upbound.io/v1", "kind": "Bucket",
        "metadata": {
            "name": "b1", "uid": "b1", "deletionTimestamp": asked,
            "finalizers": ["finalizer.managedresource.crossplane.io"],
            "ownerReferences": owned_by("aws.platform.io/v1", "XBucket", "x1", "x1")
        },
        "status": {"conditions": [{
            "type": "Synced", "status": "False", "reason": "ReconcileError", "message": "delete failed: BucketNotEmpty"
        }]}
    }));
    let looked = look(world, object("xbucket", "", "x1"));
    assert_eq!(looked.causes(), ["FinalizerControllerGone"], "{:#?}", looked.report);
    assert!(looked.chain(0)[0].starts_with("XBucket x1: "), "{:?}", looked.chain(0));
    assert!(looked.chain(0)[1].starts_with("Bucket b1: "), "{:?}", looked.chain(0));
}

/// Namespaced kinds are many: those of a cluster-wide owner are looked through when nothing nearer is its dependent.
#[test]
fn a_dependent_in_a_namespace_of_a_cluster_wide_owner_is_found() {
    let world = composite().with(json!({
        "kind": "ConfigMap",
        "metadata": {
            "name": "c", "namespace": "a", "ownerReferences": owned_by("aws.platform.io/v1", "XBucket", "x1", "x1")
        }
    }));
    assert_eq!(look(world, object("xbucket", "", "x1")).causes(), ["ForegroundDependentsRemain"]);
}

/// The garbage collector, which deletes the dependents, does not run, or its request is refused.
#[test]
fn dependents_that_nobody_can_delete() {
    let free = || {
        composite().with(json!({
            "kind": "ConfigMap",
            "metadata": {
                "name": "c", "namespace": "a", "ownerReferences": owned_by("aws.platform.io/v1", "XBucket", "x1", "x1")
            }
        }))
    };
    let silent = look(free().without_controller_manager(), object("xbucket", "", "x1"));
    assert_eq!(silent.causes(), ["ControllerManagerSilent"], "{:#?}", silent.report);
    let refused = look(free().webhook("DELETE", "", "configmaps"), object("xbucket", "", "x1"));
    assert_eq!(refused.causes(), ["WebhookUnavailable"], "{:#?}", refused.report);
    let other = look(free().webhook("DELETE", "", "secrets"), object("xbucket", "", "x1"));
    assert_eq!(other.causes(), ["ForegroundDependentsRemain"], "{:#?}", other.report);
}

/// A Job whose finished pod the garbage collector should have deleted.
fn job() -> World {
    healthy().active("etl").held("batch/v1", "Job", "etl", "report", &["foregroundDeletion"]).with(json!({
        "kind": "Pod", "metadata": {"name": "report-1", "namespace": "etl", "uid": "report-1",
            "ownerReferences": owned_by("batch/v1", "Job", "report", "Job-report")},
        "spec": {"nodeName": "node-1"}, "status": {"phase": "Succeeded"}
    }))
}

/// A server of this minor version answers.
fn of_minor(world: World, minor: &str) -> Looked {
    look_with(world, object("job", "etl", "report"), |state| {
        let version = Version { git_version: format!("v1.{minor}.2-eks-bc4871b") };
        let answer = Answer::Seen(Facts::Version(version));
        state.add(Answered::whole(Question::Version, answer));
    })
}

/// Before 1.32 the collector waits for the lists of all kinds, whatever it is to delete (kubernetes#127105).
#[test]
fn one_kind_that_cannot_be_converted_keeps_the_garbage_collector_from_starting() {
    let by_webhook =
        json!({"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"namespace": "mon", "name": "conv"}}}});
    let broken = || job().with(crate::admission::crd(by_webhook.clone(), &["v1"]));
    let looked = of_minor(broken(), "31");
    assert_eq!(looked.causes(), ["ConversionWebhookUnavailable"], "{:#?}", looked.report);
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Probable);
    looked.assert_chain(
        0,
        &[
            "Job etl/report: Terminating",
            "garbage collector: does not start, for the whole cluster",
            "CustomResourceDefinition widgets.example.com: converts",
            "Service mon/conv: does not exist",
        ],
    );
    assert_eq!(of_minor(broken(), "32").causes(), ["ForegroundDependentsRemain"]);
    let served = broken().service("mon", "conv", Some("node-1"));
    assert_eq!(of_minor(served, "31").causes(), ["ForegroundDependentsRemain"]);
    let steps = format!("{:?}", of_minor(job(), "31").report.roots[0].finding.remedy.steps);
    assert!(steps.contains("restart it") && steps.contains("managed control plane"), "{steps}");
}

#[test]
fn a_garbage_collector_whose_rights_were_taken_away_is_told() {
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let asked = |world| look(world, object("job", "etl", "report"));
    assert_eq!(asked(job()).causes(), ["ForegroundDependentsRemain"]);
    let unbound = || job().without(bindings, GARBAGE_COLLECTOR_ROLE);
    let looked = asked(unbound());
    assert_eq!(looked.causes(), ["BuiltInControllerForbidden"], "{:#?}", looked.report);
    let chain = looked.chain(0).join("; ");
    assert!(chain.contains(&format!("no binding gives it ClusterRole {GARBAGE_COLLECTOR_ROLE}")), "{chain}");
    assert_eq!(asked(unbound().without_rbac()).causes(), ["ForegroundDependentsRemain"]);
}

/// It looks up every owner of a dependent before it touches it.
#[test]
fn a_dead_api_of_another_owner_keeps_the_garbage_collector_from_a_dependent() {
    let world = job().dead_api("ServiceNotFound", "service/api in \"addon\" is not present").change_groups(|groups| {
        groups.push(
            json!({"metadata": {"name": "gone.example.com"}, "versions": [{"version": "v1", "freshness": "Stale"}]}),
        );
    });
    let other = json!({"apiVersion": "gone.example.com/v1", "kind": "Run", "name": "r", "uid": "r"});
    let world = world.change("/api/v1/pods", "report-1", |pod| {
        pod["metadata"]["ownerReferences"].as_array_mut().unwrap().push(other);
    });
    let looked = look(world, object("job", "etl", "report"));
    assert_eq!(looked.causes(), ["OwnerApiNotAnswering"], "{:#?}", looked.report);
    looked.assert_chain(
        0,
        &[
            "Job etl/report: Terminating",
            "Pod etl/report-1: the garbage collector cannot look up its owner Run r of gone.example.com/v1",
            "APIService v1.gone.example.com: not available",
            "Service addon/api: does not exist",
        ],
    );
    // Without the APIService the kind of that owner is not served, and the dependent stays all the same.
    let commands = looked.commands();
    assert!(commands.iter().all(|it| !it.contains("delete apiservice")), "{commands:?}");
    assert!(commands.iter().any(|it| it == "kubectl edit pod report-1 -n etl"), "{commands:?}");
}

/// To orphan a dependent is to patch it, and whatever refuses that holds the owner.
#[test]
fn what_refuses_the_update_of_a_dependent_holds_an_owner_that_orphans() {
    let owned = |policy: &str| {
        let world = healthy().active("a").held("v1", "ConfigMap", "a", "orph", &["orphan"]).with(json!({
            "kind": "ServiceAccount", "metadata": {"name": "dep", "namespace": "a", "uid": "dep", "ownerReferences": [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "orph", "uid": "ConfigMap-orph"}
            ]}
        }));
        world.with(crate::policies::policy("", policy))
    };
    let asked = |world| look(world, object("cm", "a", "orph"));
    let looked = asked(owned("serviceaccounts"));
    assert_eq!(looked.causes(), ["PolicyMayRefuse"], "{:#?}", looked.report);
    looked.assert_chain(
        0,
        &[
            "ConfigMap a/orph: ",
            "ServiceAccount a/dep: its ownerReferences",
            "ValidatingAdmissionPolicy limit: bound by",
        ],
    );
    let commands = looked.commands();
    let try_it = "kubectl annotate serviceaccount dep -n a why-terminating=try --dry-run=server";
    assert!(commands.iter().any(|it| it == try_it), "{commands:?}");
    assert_eq!(asked(owned("secrets")).causes(), ["OrphanFinalizerPending"]);
    let webhook = owned("secrets").webhook("UPDATE", "", "serviceaccounts");
    assert_eq!(asked(webhook).causes(), ["WebhookBlocksUpdate"]);
    // A controller that does not run was refused nothing.
    let silent = asked(owned("secrets").without_controller_manager());
    assert_eq!(silent.causes(), ["ControllerManagerSilent"], "{:#?}", silent.report);
    assert_eq!(silent.report.roots[0].finding.confidence, Confidence::Proven, "{:#?}", silent.report);
}

fn deployment() -> World {
    let world =
        healthy().with(json!({"kind": "Namespace", "metadata": {"name": "shop"}})).deployment("shop", "d1", 1, 0);
    let asked = world.ago(86_400);
    world.change("/apis/apps/v1/deployments", "d1", |one| {
        one["metadata"]["uid"] = "d1".into();
        one["metadata"]["deletionTimestamp"] = asked.into();
        one["metadata"]["finalizers"] = json!(["foregroundDeletion"]);
    })
}

#[test]
fn a_kind_that_may_not_be_listed_may_hold_the_dependent() {
    let world = deployment()
        .held("apps/v1", "ReplicaSet", "shop", "d1-abc", &["example.com/x"])
        .change("/apis/apps/v1/replicasets", "d1-abc", |one| {
            one["metadata"]["ownerReferences"] = owned_by("apps/v1", "Deployment", "d1", "d1");
        })
        .refuse("/apis/apps/v1/namespaces/shop/replicasets", 403, "replicasets.apps is forbidden");
    let looked = look(world, object("deployment", "shop", "d1"));
    assert_eq!(looked.causes(), [""; 0], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::CannotTell);
    let hidden = looked.report.unknown.iter().find(|one| one.source == "replicasets.apps").unwrap();
    assert_eq!(hidden.hides, "which replicasets.apps it owns");
}

#[test]
fn secrets_are_never_looked_at_and_may_be_dependents() {
    let looked = look(deployment(), object("deployment", "shop", "d1"));
    assert_eq!(looked.causes(), ["GarbageCollectorNotWorking"], "{:#?}", looked.report);
    let finding = &looked.report.roots[0].finding;
    assert_eq!(finding.confidence, Confidence::Probable);
    assert!(finding.evidence.iter().any(|one| one.source == "secrets" && one.says.contains("not looked at")));
    assert!(!looked.requests.iter().any(|path| path.contains("/secrets")), "{:#?}", looked.requests);
}

/// A dependent that does not block is no reason to stop looking.
#[test]
fn a_dependent_that_does_not_block_hides_no_other() {
    let owner = |blocks: bool| {
        let mut all = owned_by("apps/v1", "Deployment", "d1", "d1");
        all[0]["blockOwnerDeletion"] = blocks.into();
        all
    };
    let world = deployment()
        .with(json!({
            "kind": "ConfigMap", "metadata": {"name": "free", "namespace": "shop", "ownerReferences": owner(false)}
        }))
        .with_custom("example.com", "widgets", "Widget")
        .held("example.com/v1", "Widget", "shop", "w", &["example.com/hold"])
        .change("/apis/example.com/v1/widgets", "w", |one| one["metadata"]["ownerReferences"] = owner(true));
    let looked = look(world, object("deployment", "shop", "d1"));
    assert_eq!(looked.causes(), ["FinalizerControllerGone"], "{:#?}", looked.report);
    assert!(looked.chain(0)[1].starts_with("Widget shop/w: "), "{:?}", looked.chain(0));
}

/// From an object with another owner the collector only removes the owner from its list, which is no deletion (kubernetes:
/// pkg/controller/garbagecollector/garbagecollector.go, `attemptToDeleteItem`).
#[test]
fn a_dependent_with_another_owner_is_released_and_not_deleted() {
    let shared = |version: &str, kind: &str| {
        let mut owners = owned_by("aws.platform.io/v1", "XBucket", "x1", "x1");
        owners.as_array_mut().unwrap().push(json!({"apiVersion": version, "kind": kind, "name": "other", "uid": "o"}));
        composite().with(json!([
            {"kind": "ConfigMap", "metadata": {"name": "c", "namespace": "a", "ownerReferences": owners}},
            {"kind": "ConfigMap", "metadata": {"name": "other", "namespace": "a", "uid": "o"}}
        ]))
    };
    let asked = |world: World| look(world, object("xbucket", "", "x1"));
    let looked = asked(shared("v1", "ConfigMap").webhook("UPDATE", "", "configmaps"));
    assert_eq!(looked.causes(), ["WebhookBlocksUpdate"], "{:#?}", looked.report);
    let looked = asked(shared("v1", "ConfigMap").webhook("DELETE", "", "configmaps"));
    assert_eq!(looked.causes(), ["ForegroundDependentsRemain"], "{:#?}", looked.report);
    assert!(looked.chain(0).last().unwrap().contains("ConfigMap a/c (has another owner)"), "{:?}", looked.chain(0));
    // The other one is gone: nothing keeps it, so it is deleted.
    let gone = shared("v1", "ConfigMap").without("/api/v1/configmaps", "other");
    let looked = asked(gone.webhook("DELETE", "", "configmaps"));
    assert_eq!(looked.causes(), ["WebhookUnavailable"], "{:#?}", looked.report);
    // The collector cannot look the other one up, and does neither.
    let looked = asked(shared("gone.example.com/v1", "Widget").webhook("DELETE", "", "configmaps"));
    assert_eq!(looked.causes(), ["OwnerKindUnknown"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Stuck);
    assert!(looked.chain(0).last().unwrap().starts_with("ConfigMap a/c: "), "{:?}", looked.chain(0));
}

/// The collector counts it (graph_builder.go, `addDependentToOwners`), and then forgets it
/// (`namespacedOwnerOfClusterScopedObjectErr`).
#[test]
fn a_cluster_wide_object_that_names_a_namespaced_owner_holds_it() {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "r", "ownerReferences": owned_by("apps/v1", "Deployment", "d1", "d1")}
    });
    let looked = look(deployment().with(role.clone()), object("deployment", "shop", "d1"));
    assert_eq!(looked.causes(), ["OwnerKindUnknown"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Stuck);
    looked.assert_chain(
        0,
        &["Deployment shop/d1: ", "ClusterRole r: the garbage collector passes it over: it is cluster"],
    );
    // What may not be listed is not needed: that it is missing is said.
    let refused = deployment().with(role).refuse("/apis/rbac.authorization.k8s.io/v1/clusterroles", 403, "forbidden");
    let looked = look(refused, object("deployment", "shop", "d1"));
    assert_eq!(looked.causes(), ["GarbageCollectorNotWorking"], "{:#?}", looked.report);
    let missing = looked.report.roots[0].finding.missing.as_deref().unwrap_or_default();
    assert!(missing.contains("outside of its namespace"), "{missing}");
}

/// The owner goes with its dependent: a patch of its own would skip what it waits for.
#[test]
fn the_patch_of_a_dependent_is_not_asked_for_its_owner() {
    let world = healthy()
        .active("shop")
        .held("v1", "ConfigMap", "shop", "owner", &["foregroundDeletion"])
        .held("v1", "ConfigMap", "shop", "dep", &["example.com/x"])
        .change("/api/v1/configmaps", "owner", |one| one["metadata"]["uid"] = "o".into())
        .change("/api/v1/configmaps", "dep", |one| {
            one["metadata"]["ownerReferences"] = owned_by("v1", "ConfigMap", "owner", "o");
        });
    let report = look(world, everything()).report;
    let text = tree(&report, Detail::Short, 100, Style::Plain);
    assert!(text.contains("kubectl patch configmap dep ") && text.contains("ConfigMap shop/owner"), "{text}");
    assert!(!text.contains("needs its own"), "{text}");
}
