//! Who removes a finalizer: the program that set it, then any account with a controller's role for the kind; and whether
//! that one may still change the object.

use findings::render::{Detail, Style};
use plugin::report::tree;

use crate::support::*;

const WIDGETS: &str = "/apis/example.com/v1/widgets";

pub fn widget() -> World {
    healthy()
        .with_custom("example.com", "widgets", "Widget")
        .with(json!({"kind": "Namespace", "metadata": {"name": "shop"}}))
        .held("example.com/v1", "Widget", "shop", "w", &["example.com/cleanup"])
}

pub fn set_by(world: World, manager: &str) -> World {
    world.set_by(WIDGETS, "w", manager)
}

fn role(world: World, name: &str, groups: &[&str], resources: &[&str], verbs: &[&str], subjects: Value) -> World {
    world.grants(name, groups, resources, verbs, subjects)
}

/// The role that kubebuilder writes for a controller.
pub fn operator_role(world: World, subjects: Value) -> World {
    role(world, "op", &["example.com"], &["widgets", "widgets/finalizers"], &["get", "update", "patch"], subjects)
}

/// A Deployment that runs as this account.
pub fn runs(world: World, namespace: &str, name: &str, account: &str, ready: i64) -> World {
    world.deployment(namespace, name, 1, ready).change("/apis/apps/v1/deployments", name, |one| {
        one["spec"]["template"]["spec"]["serviceAccountName"] = account.into();
    })
}

/// A job server whose account may edit everything of the group.
pub fn job_server(world: World) -> World {
    let world = role(world, "widgets-edit", &["example.com"], &["widgets"], &["*"], json!([sa("ci", "jenkins")]));
    runs(world, "ci", "jenkins", "jenkins", 3)
}

pub fn asked(world: World) -> Looked {
    look(world, object("widget", "shop", "w"))
}

pub fn root(looked: &Looked) -> String {
    looked.chain(0).last().unwrap().clone()
}

pub fn evidence(looked: &Looked) -> String {
    let all = &looked.report.roots[0].finding.evidence;
    all.iter().map(|one| format!("{}: {}\n", one.source, one.says)).collect()
}

fn steps(looked: &Looked) -> String {
    looked.report.roots[0].finding.remedy.steps.iter().map(|step| format!("{}\n", step.text)).collect()
}

pub fn confidence(looked: &Looked) -> Confidence {
    looked.report.roots[0].finding.confidence
}

#[test]
fn the_controller_that_is_not_ready_and_not_the_account_with_most_ready_pods() {
    let operator =
        |world| runs(operator_role(world, json!([sa("ops", "operator")])), "ops", "widget-operator", "operator", 0);
    // It set the finalizer, or has a controller's role: either is enough.
    for world in [set_by(widget(), "widget-operator"), widget()] {
        let looked = asked(job_server(operator(world)));
        assert_eq!(looked.causes(), ["FinalizerControllerNotReady"], "{:#?}", looked.report);
        assert_eq!(confidence(&looked), Confidence::Proven);
        assert!(root(&looked).starts_with("Deployment ops/widget-operator: 0 of 1"), "{}", root(&looked));
    }
}

/// Flux applies what a chart or a repository says, the finalizer with it.
#[test]
fn the_operator_and_not_flux_that_applied_the_object() {
    for applier in ["helm-controller", "kustomize-controller"] {
        let world = set_by(widget(), applier);
        let world = operator_role(world, json!([sa("ops", "operator")])).deployment("ops", "operator", 0, 0);
        let all = json!([sa("flux-system", applier)]);
        let world = role(world, "cluster-reconciler", &["*"], &["*"], &["*"], all);
        let looked = asked(world.deployment("flux-system", applier, 1, 1));
        assert_eq!(looked.causes(), ["FinalizerControllerGone"], "{applier}: {:#?}", looked.report);
        assert!(root(&looked).starts_with("Deployment ops/operator: "), "{}", root(&looked));
    }
}

#[test]
fn a_provider_and_not_the_core_that_may_change_its_whole_group() {
    let group = "infrastructure.cluster.x-k8s.io";
    let world = healthy()
        .with_custom(group, "awsmachines", "AWSMachine")
        .with(json!({"kind": "Namespace", "metadata": {"name": "c1"}}))
        .held(&format!("{group}/v1"), "AWSMachine", "c1", "m1", &["awsmachine.infrastructure.cluster.x-k8s.io"]);
    let verbs = ["create", "delete", "get", "list", "patch", "update", "watch"];
    let core = json!([sa("capi-system", "capi-manager")]);
    let world = role(world, "capi-manager-role", &["bootstrap.cluster.x-k8s.io", group], &["*"], &verbs, core);
    let world = runs(world, "capi-system", "capi-controller-manager", "capi-manager", 1);
    let provider = json!([sa("capa-system", "capa-controller-manager")]);
    let named = ["awsmachines", "awsmachines/status"];
    let world = role(world, "capa-manager-role", &[group], &named, &verbs, provider);
    let world = runs(world, "capa-system", "capa-controller-manager", "capa-controller-manager", 0);
    let looked = look(world, object("awsmachine", "c1", "m1"));
    assert_eq!(looked.causes(), ["FinalizerControllerNotReady"], "{:#?}", looked.report);
    assert!(root(&looked).starts_with("Deployment capa-system/capa-controller-manager: "), "{}", root(&looked));
}

#[test]
fn a_provider_and_not_the_core_whose_role_is_collected_from_others() {
    let group = "s3.aws.upbound.io";
    let world = healthy().with_cluster_wide(group, "buckets", "Bucket");
    let then = world.ago(86_400);
    let world = world.with(json!({
        "apiVersion": "s3.aws.upbound.io/v1", "kind": "Bucket",
        "metadata": {
            "name": "b1", "uid": "b1", "deletionTimestamp": then, "finalizers": ["finalizer.managedresource.crossplane.io"]
        }
    }));
    let named = ["buckets", "buckets/status"];
    let of = |name: &str| json!([sa("crossplane-system", name)]);
    let world = role(world, "crossplane", &[group], &named, &["*"], of("crossplane"));
    let world = runs(world, "crossplane-system", "crossplane", "crossplane", 1);
    let (system, provider) = ("crossplane:provider:provider-aws-s3-abc:system", "provider-aws-s3-abc");
    let verbs = ["get", "list", "watch", "update", "patch", "create"];
    let world = role(world, system, &[group], &named, &verbs, of(provider));
    let looked = look(runs(world, "crossplane-system", provider, provider, 0), object("bucket", "", "b1"));
    assert!(root(&looked).starts_with("Deployment crossplane-system/provider-aws-s3-abc: 0 of 1"), "{}", root(&looked));
}

#[test]
fn another_that_is_as_likely_is_shown() {
    let both = json!([sa("ops", "operator"), sa("ops", "helper")]);
    let world = runs(operator_role(widget(), both), "ops", "widget-operator", "operator", 0);
    let looked = asked(runs(world, "ops", "widget-helper", "helper", 1));
    assert_eq!(looked.causes(), ["FinalizerControllerNotReady"], "{:#?}", looked.report);
    assert_eq!(confidence(&looked), Confidence::Probable);
    let other = "another that may change it: Deployment ops/widget-helper: 1 of 1 pods ready";
    assert!(evidence(&looked).contains(other), "{}", evidence(&looked));
}

#[test]
fn a_less_likely_one_is_shown_when_it_is_not_ready() {
    let world = runs(operator_role(widget(), json!([sa("ops", "operator")])), "ops", "widget-operator", "operator", 1);
    let world = role(world, "edit", &["example.com"], &["*"], &["*"], json!([sa("ops", "other")]));
    let looked = asked(runs(world, "ops", "other", "other", 0));
    assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{:#?}", looked.report);
    assert!(evidence(&looked).contains("Deployment ops/other: 0 of 1 pods ready"), "{}", evidence(&looked));
    let jobs = runs(operator_role(widget(), json!([sa("ops", "operator")])), "ops", "widget-operator", "operator", 1);
    assert!(!evidence(&asked(job_server(jobs))).contains("jenkins"));
}

#[test]
fn a_role_of_a_user_never_proves_that_nobody_serves_the_kind() {
    let looked = asked(operator_role(widget(), json!([{"kind": "User", "name": "eks:managed-widget-controller"}])));
    assert_eq!(looked.causes(), ["FinalizerOwnerUnknown"], "{:#?}", looked.report);
    assert_eq!(confidence(&looked), Confidence::Probable);
    assert!(evidence(&looked).contains("User eks:managed-widget-controller"), "{}", evidence(&looked));
    // Beside an account as which nothing runs it leaves a doubt.
    let both = json!([{"kind": "Group", "name": "managed"}, sa("ops", "operator")]);
    let looked = asked(operator_role(widget(), both));
    assert_eq!((looked.causes(), confidence(&looked)), (vec!["FinalizerControllerGone"], Confidence::Probable));
    assert!(evidence(&looked).contains("Group managed"), "{}", evidence(&looked));
}

/// The namespace and all in it were asked to go a moment ago; the operator still runs and cleans up.
#[test]
fn an_operator_that_still_runs_in_its_young_namespace_may_finish() {
    let remaining = "Some resources are remaining: widgets.example.com has 1 resource instances";
    let world = |ready: i64| {
        let world = healthy()
            .with_custom("example.com", "widgets", "Widget")
            .going("ops", failing("NamespaceContentRemaining", remaining))
            .held("example.com/v1", "Widget", "ops", "w", &["example.com/cleanup"]);
        runs(operator_role(world, json!([sa("ops", "operator")])), "ops", "widget-operator", "operator", ready)
    };
    let young = world(1);
    let now = young.ago(20);
    let young = young.change(WIDGETS, "w", |one| one["metadata"]["deletionTimestamp"] = now.clone().into());
    let young = young.change("/api/v1/namespaces", "ops", |one| one["metadata"]["deletionTimestamp"] = now.into());
    assert_eq!(look(young, everything()).report.verdict, Verdict::Progressing);
    assert_eq!(look(world(1), everything()).causes(), ["FinalizerControllerFailing"]);
    assert_eq!(look(world(0), everything()).causes(), ["FinalizerOwnerInSameNamespace"]);
}

/// A job of a team may edit the kind, and nothing runs as its account; the operator may change everything.
#[test]
fn a_role_of_people_in_the_namespace_that_goes_proves_no_deadlock() {
    let remaining = "Some resources are remaining: widgets.example.com has 1 resource instances";
    let world = || {
        let world = healthy()
            .with_custom("example.com", "widgets", "Widget")
            .going("shop", failing("NamespaceContentRemaining", remaining))
            .held("example.com/v1", "Widget", "shop", "w", &["example.com/cleanup"]);
        role(world, "widget-editor", &["example.com"], &["widgets"], &["update"], json!([sa("shop", "ci")]))
    };
    let powerful = |world| role(world, "all", &["*"], &["*"], &["*"], json!([sa("operators", "op")]));
    let looked = look(powerful(world()), everything());
    assert_eq!(confidence(&looked), Confidence::Probable, "{:#?}", looked.report);
    let idle = "may change everything, and nothing runs as them: operators/op";
    assert!(evidence(&looked).contains(idle), "{}", evidence(&looked));
    assert_eq!(confidence(&look(world(), everything())), Confidence::Probable);
    // Who serves the kind is nearer.
    let served = runs(world(), "operators", "op", "op", 1).service("operators", "op", Some("node-a"));
    let served = served.product_webhook("op", "operators/op", &["CREATE"], "example.com", "widgets");
    let looked = look(powerful(served), everything());
    assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{:#?}", looked.report);
    // A controller's role is a proof only while no account may change everything.
    for (world, expected) in [(widget(), Confidence::Proven), (powerful(widget()), Confidence::Probable)] {
        let looked =
            asked(runs(operator_role(world, json!([sa("ops", "operator")])), "ops", "operator", "operator", 0));
        assert_eq!((looked.causes(), confidence(&looked)), (vec!["FinalizerControllerNotReady"], expected));
    }
}

/// The operator set the finalizer, runs, and its binding was deleted. Another account has rights.
#[test]
fn a_controller_that_may_not_change_the_object_any_more() {
    let without_binding = |world: World| {
        let world = operator_role(world, json!([sa("ops", "operator")]));
        world.without("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "op")
    };
    let world = || runs(without_binding(set_by(widget(), "widget-operator")), "ops", "widget-operator", "operator", 1);
    let looked = asked(job_server(world()));
    assert_eq!(looked.causes(), ["FinalizerControllerForbidden"], "{:#?}", looked.report);
    // A program is called so, and nothing else says that it is this one.
    assert_eq!(confidence(&looked), Confidence::Probable);
    assert!(!steps(&looked).contains("the right again"), "{}", steps(&looked));
    let words = "its ServiceAccount ops/operator may not patch widgets.example.com: no binding gives it ClusterRole op";
    assert!(root(&looked).contains(words), "{}", root(&looked));
    assert!(looked.requests.len() <= 24, "{} {:#?}", looked.requests.len(), looked.requests);
    // A group that the account belongs to, or the rights of an administrator, are rights as well.
    for subject in [json!([{"kind": "Group", "name": "system:serviceaccounts:ops"}]), json!([sa("ops", "operator")])] {
        let looked = asked(role(world(), "all", &["*"], &["*"], &["*"], subject));
        assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{:#?}", looked.report);
    }
    // A Role of the object's namespace that lets it read is none that lets it change.
    let version = "rbac.authorization.k8s.io/v1";
    let reads = world().with(json!([
        {
            "apiVersion": version, "kind": "Role", "metadata": {"name": "read", "namespace": "shop"},
            "rules": [{"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["get"]}]
        },
        {
            "apiVersion": version, "kind": "RoleBinding", "metadata": {"name": "read", "namespace": "shop"},
            "roleRef": {"kind": "Role", "name": "read"}, "subjects": [sa("ops", "operator")]
        }
    ]));
    assert_eq!(asked(reads).causes(), ["FinalizerControllerForbidden"]);
    // What may not be seen proves nothing.
    let bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings";
    let looked = asked(job_server(world()).refuse(bindings, 403, "rolebindings is forbidden"));
    assert!(!looked.causes().contains(&"FinalizerControllerForbidden"), "{:#?}", looked.report);
    // Rights on its status are not enough.
    let subject = json!([sa("ops", "operator")]);
    let status =
        role(set_by(widget(), "widget-operator"), "op", &["example.com"], &["widgets/status"], &["update"], subject);
    let looked = asked(runs(status, "ops", "widget-operator", "operator", 1));
    assert_eq!(looked.causes(), ["FinalizerControllerForbidden"], "{:#?}", looked.report);
    assert_eq!(confidence(&looked), Confidence::Proven);
    assert!(steps(&looked).contains("Give the service account of deployment/widget-operator the right again"));
}

/// The server records the first word of a User-Agent: a name that many programs have.
#[test]
fn a_stranger_that_is_called_as_the_program_that_set_it() {
    let held = || {
        let world = healthy().with(json!({"kind": "Namespace", "metadata": {"name": "team"}}));
        let world = world.held("v1", "ConfigMap", "team", "c", &["example.com/hold"]);
        world.set_by("/api/v1/configmaps", "c", "server")
    };
    let ask = |world| look(world, object("cm", "team", "c"));
    for (replicas, ready) in [(0, 0), (1, 0), (1, 1)] {
        let looked = ask(held().deployment("shop", "server", replicas, ready));
        assert_eq!(confidence(&looked), Confidence::Probable, "{:#?}", looked.report);
        assert!(!looked.commands().iter().any(|command| command.contains("server")), "{:?}", looked.commands());
        assert!(!steps(&looked).contains("the right again"), "{}", steps(&looked));
    }
    // It may change ConfigMaps.
    let world = held().deployment("shop", "server", 0, 0).may_change("shop", "server", "", "configmaps");
    let looked = ask(world);
    assert_eq!((looked.causes(), confidence(&looked)), (vec!["FinalizerControllerGone"], Confidence::Proven));
    // An unrelated program ranks after an account with a controller's role for the kind.
    let world = runs(operator_role(widget(), json!([sa("ops", "operator")])), "ops", "widgetd", "operator", 0);
    let looked = asked(set_by(world, "server").deployment("shop", "server", 1, 1));
    assert_eq!(looked.causes(), ["FinalizerControllerNotReady"], "{:#?}", looked.report);
    assert!(root(&looked).starts_with("Deployment ops/widgetd: "), "{}", root(&looked));
}

#[test]
fn a_program_is_known_by_its_image_where_its_deployment_has_another_name() {
    let world = operator_role(set_by(widget(), "widgetd"), json!([sa("ops", "operator"), sa("ops", "other")]));
    let world = runs(runs(world, "ops", "first", "other", 1), "ops", "second", "operator", 0);
    let looked = asked(world.change("/apis/apps/v1/deployments", "second", |one| {
        one["spec"]["template"]["spec"]["containers"] =
            json!([{"name": "manager", "image": "r.example.com:5000/widgetd:v1"}]);
    }));
    assert_eq!(looked.causes(), ["FinalizerControllerNotReady"], "{:#?}", looked.report);
    assert_eq!(confidence(&looked), Confidence::Proven);
    assert!(root(&looked).starts_with("Deployment ops/second: "), "{}", root(&looked));
}

#[test]
fn only_a_program_that_set_it_and_was_scaled_down_is_proven_to_be_gone() {
    let scaled = |world: World| {
        let world = runs(operator_role(world, json!([sa("ops", "operator")])), "ops", "widget-operator", "operator", 0);
        world.change("/apis/apps/v1/deployments", "widget-operator", |one| one["spec"]["replicas"] = 0.into())
    };
    let looked = asked(scaled(set_by(widget(), "widget-operator")));
    assert_eq!((looked.causes(), confidence(&looked)), (vec!["FinalizerControllerGone"], Confidence::Proven));
    let looked = asked(scaled(set_by(widget(), "manager")));
    assert_eq!((looked.causes(), confidence(&looked)), (vec!["FinalizerControllerGone"], Confidence::Probable));
}

/// RBAC shows nothing about built-in kinds; an API with the finalizer's domain does.
#[test]
fn the_owner_of_a_finalizer_on_a_built_in_kind_is_found_by_its_domain() {
    let world = || {
        healthy()
            .with_custom("example.com", "widgets", "Widget")
            .with(json!({"kind": "Namespace", "metadata": {"name": "shop"}}))
            .held("v1", "ConfigMap", "shop", "c", &["widgets.example.com/in-use"])
    };
    let ask = |world| look(world, object("cm", "shop", "c"));
    let served =
        |world| runs(operator_role(world, json!([sa("ops", "operator")])), "ops", "widget-operator", "operator", 0);
    // Of the domain, and without a right to change ConfigMaps.
    let unknown = ask(served(world()));
    assert_eq!(unknown.causes(), ["FinalizerOwnerUnknown"], "{:#?}", unknown.report);
    let may =
        |world: World| world.grants("configs", &[""], &["configmaps"], &["update"], json!([sa("ops", "operator")]));
    let looked = ask(may(served(world())));
    assert_eq!(looked.causes(), ["FinalizerControllerNotReady"], "{:#?}", looked.report);
    assert_eq!(confidence(&looked), Confidence::Probable);
    assert!(evidence(&looked).contains("of the domain of example.com"), "{}", evidence(&looked));
}

/// What else is served below a company's domain changes neither the answer nor the id that alerts are named after.
#[test]
fn an_unrelated_kind_of_the_domain_changes_nothing() {
    let pod = |world: World| {
        let world = world.going_pod("shop", "p", "node-a", "Succeeded").change("/api/v1/pods", "p", |pod| {
            pod["metadata"]["finalizers"] = json!(["example.com/hold"]);
            pod["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        });
        look(world, object("pod", "shop", "p"))
    };
    let bare = pod(healthy());
    assert_eq!(bare.causes(), ["FinalizerOwnerUnknown"], "{:#?}", bare.report);
    for group in ["x.example.com", "example.com"] {
        let served = pod(healthy().with_custom(group, "gadgets", "Gadget"));
        assert_eq!((served.causes(), served.report.roots[0].id), (bare.causes(), bare.report.roots[0].id), "{group}");
        assert_eq!(served.chain(0), bare.chain(0), "{group}");
    }
}

/// Nothing better is there: each has the same rights.
#[test]
fn of_equals_the_one_that_the_finalizer_is_named_after_is_meant() {
    let finalizers = ["alpha.example.com/x", "beta.example.com/x", "gamma.example.com/x"];
    let mut world = healthy().with_custom("example.com", "widgets", "Widget").active("shop");
    world = world
        .held("example.com/v1", "Widget", "shop", "w", &finalizers)
        .set_by("/apis/example.com/v1/widgets", "w", "kubectl-patch");
    for name in ["alpha", "beta-controller", "gamma"] {
        world = world.deployment("ops", name, 1, 1).may_change("ops", name, "example.com", "widgets");
    }
    let looked = look(world, object("widget", "shop", "w"));
    let roots: std::collections::BTreeSet<String> =
        (0..looked.report.roots.len()).map(|root| looked.chain(root).pop().unwrap()).collect();
    for name in ["alpha", "beta-controller", "gamma"] {
        assert!(roots.iter().any(|root| root.starts_with(&format!("Deployment ops/{name}:"))), "{name}: {roots:#?}");
    }
}

/// Tekton Chains has its finalizer on the runs of Tekton Pipelines: whatever becomes of these takes nothing off.
#[test]
fn a_finalizer_of_another_product_is_not_the_operators_of_the_kind() {
    let (group, runs_of) = ("tekton.dev", "/apis/tekton.dev/v1/taskruns");
    let run = |ready: i64| {
        let named = ["taskruns", "taskruns/status", "taskruns/finalizers"];
        let subjects = json!([sa("tekton-pipelines", "pipelines")]);
        let world = healthy()
            .with_custom(group, "taskruns", "TaskRun")
            .with(json!({"kind": "Namespace", "metadata": {"name": "ci"}}))
            .held("tekton.dev/v1", "TaskRun", "ci", "build-1", &["chains.tekton.dev"]);
        let world = role(world, "pipelines", &[group], &named, &["get", "update", "patch"], subjects);
        runs(world, "tekton-pipelines", "tekton-pipelines-controller", "pipelines", ready)
    };
    for manager in ["controller", "chains-controller"] {
        for ready in [0, 1] {
            let looked = look(run(ready).set_by(runs_of, "build-1", manager), object("taskrun", "ci", "build-1"));
            assert_eq!(looked.causes(), ["ControllerCleanupPending"], "{manager} {ready}: {:#?}", looked.report);
            assert_eq!(confidence(&looked), Confidence::Probable);
            let told = format!("{:?} {:?}", looked.report.roots, looked.commands());
            assert!(told.contains("Tekton Chains removes it") && !told.contains("pipelines-controller"), "{told}");
        }
    }
    // Chains is there, and set it.
    let chains = |world| {
        let rights = ["taskruns", "taskruns/finalizers"];
        let world = role(world, "chains", &[group], &rights, &["update"], json!([sa("tekton-chains", "chains")]));
        runs(world, "tekton-chains", "chains-controller", "chains", 0).set_by(runs_of, "build-1", "chains-controller")
    };
    let looked = look(chains(run(1)), object("taskrun", "ci", "build-1"));
    assert_eq!(looked.causes(), ["FinalizerControllerNotReady"], "{:#?}", looked.report);
    assert!(root(&looked).starts_with("Deployment tekton-chains/chains-controller: 0 of 1"), "{}", root(&looked));
}

/// Its role leads to the operator of the kind, and whose the finalizer is nothing says.
#[test]
fn rights_prove_nothing_of_a_finalizer_that_is_not_the_kinds_own() {
    let served = |world| runs(operator_role(world, json!([sa("ops", "operator")])), "ops", "widgetd", "operator", 0);
    let other =
        |finalizer: &str| widget().change(WIDGETS, "w", |one| one["metadata"]["finalizers"] = json!([finalizer]));
    for (world, expected) in [
        (widget(), Confidence::Proven),
        (other("widgets.example.com/cleanup"), Confidence::Proven),
        (other("backup.example.org/hold"), Confidence::Probable),
        (other("cleanup"), Confidence::Probable),
        // Another program set it.
        (set_by(widget(), "backup-agent"), Confidence::Probable),
    ] {
        let looked = asked(served(world));
        assert_eq!(looked.causes(), ["FinalizerControllerNotReady"], "{:#?}", looked.report);
        assert_eq!(confidence(&looked), expected, "{:?}", looked.chain(0));
    }
}

/// Two pods of a Deployment, each with a finalizer that its pod template has.
fn pods_of_template(finalizers: Value) -> World {
    let world = healthy().deployment("shop", "api", 2, 0).change("/apis/apps/v1/deployments", "api", |one| {
        one["spec"]["template"]["metadata"]["finalizers"] = finalizers;
    });
    ["api-5d4-x", "api-5d4-y"].into_iter().fold(world, |world, name| {
        let world = world.going_pod("shop", name, "node-a", "Succeeded").change("/api/v1/pods", name, |pod| {
            pod["metadata"]["finalizers"] = json!(["example.com/audit"]);
            pod["metadata"]["deletionGracePeriodSeconds"] = json!(0);
            pod["metadata"]["labels"] = json!({"pod-template-hash": "5d4"});
            pod["metadata"]["ownerReferences"] = json!([{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "api-5d4", "uid": "rs", "controller": true
            }]);
        });
        world.set_by("/api/v1/pods", name, "kube-controller-manager")
    })
}

/// The server records that the controller manager made the pod; who wrote the finalizer is the template's author.
#[test]
fn a_finalizer_of_a_pod_template_is_said_to_come_from_there() {
    for (finalizers, is_there) in [(json!(["example.com/audit"]), true), (json!(["example.com/other"]), false)] {
        let looked = look(pods_of_template(finalizers), everything());
        let root = looked.chain(0).pop().unwrap();
        assert_eq!(root.contains("from the pod template of Deployment shop/api"), is_there, "{root}");
        assert_eq!(root.contains("set by kube-controller-manager"), !is_there, "{root}");
        let reads = "kubectl -n shop get deployment/api -o yaml";
        assert_eq!(looked.commands().iter().any(|it| it == reads), is_there, "{:#?}", looked.commands());
        let steps = &looked.report.roots[0].finding.remedy.steps;
        assert_eq!(steps.iter().any(|step| step.text.starts_with("Ask who set it")), !is_there, "{steps:#?}");
    }
}

/// A patch is for one object; the others that the same root holds are named.
#[test]
fn the_objects_that_need_a_patch_of_their_own_are_named() {
    let looked = look(pods_of_template(json!(["example.com/audit"])), everything());
    assert_eq!(looked.report.roots.len(), 1, "{:#?}", looked.report);
    let patches = looked.commands().into_iter().filter(|it| it.starts_with("kubectl patch pod api-5d4-x ")).count();
    assert_eq!(patches, 1, "{:#?}", looked.commands());
    let text = tree(&looked.report, Detail::Short, 400, Style::Plain);
    assert!(text.contains("The patch is for pod api-5d4-x only. Each of these needs its own"), "{text}");
    assert!(text.contains("(kubectl why-terminating TYPE/NAME): Pod shop/api-5d4-y"), "{text}");
    let one = look(pods_of_template(json!([])).without("/api/v1/pods", "api-5d4-y"), everything());
    assert!(!tree(&one.report, Detail::Short, 400, Style::Plain).contains("The patch is for"), "only one");
}

/// Who set it is recorded, and no Deployment has that name.
#[test]
fn a_program_that_is_not_installed_is_said_to_be_missing() {
    let held = || {
        let namespace = json!({"kind": "Namespace", "metadata": {"name": "shop"}});
        let world = healthy().with(namespace).held("v1", "ConfigMap", "shop", "c", &["audit.example.com/hold"]);
        world.set_by("/api/v1/configmaps", "c", "audit-agent")
    };
    let words = |world: World| look(world, object("cm", "shop", "c")).chain(0).concat();
    let gone = words(held());
    assert!(gone.contains("no Deployment is named audit-agent"), "{gone}");
    let there = words(held().deployment("audit", "audit-agent", 1, 1));
    assert!(!there.contains("no Deployment is named"), "{there}");
    let hidden = words(held().refuse("/apis/apps/v1/deployments", 403, "deployments is forbidden"));
    assert!(!hidden.contains("no Deployment is named"), "{hidden}");
}
