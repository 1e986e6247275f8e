//! Who removes a finalizer when neither its name nor RBAC shows it: the neighbours of the kind; and whether a controller
//! that runs also leads.

use crate::support::*;

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A custom resource with a finalizer, of a kind that no role names.
fn widget() -> World {
    healthy()
        .with_custom("example.com", "widgets", "Widget")
        .with(json!([
            {"kind": "Namespace", "metadata": {"name": "team"}},
            {
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": "widgets.example.com"},
                "spec": {
                    "group": "example.com", "names": {"kind": "Widget", "plural": "widgets"}, "scope": "Namespaced",
                    "versions": [{"name": "v1", "served": true}]
                }
            }
        ]))
        .held("example.com/v1", "Widget", "team", "w", &["widgets.example.com/cleanup"])
}

/// The operator has all rights, so its role names nothing.
fn all_powerful(world: World) -> World {
    world.with(json!([
        {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "all"},
            "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "all"},
            "roleRef": {"kind": "ClusterRole", "name": "all"},
            "subjects": [
                {"kind": "ServiceAccount", "namespace": "ops", "name": "op"},
                {"kind": "ServiceAccount", "namespace": "kube-system", "name": "generic-garbage-collector"}
            ]
        }
    ]))
}

fn asked(world: World) -> Looked {
    look(world, object("widget", "team", "w"))
}

fn evidence(looked: &Looked) -> String {
    let all = &looked.report.roots[0].finding.evidence;
    all.iter().map(|one| format!("{}: {}\n", one.source, one.says)).collect()
}

fn converted(world: World) -> World {
    world.change(CRDS, "widgets.example.com", |crd| {
        crd["spec"]["conversion"] = json!({
            "strategy": "Webhook", "webhook": {"clientConfig": {"service": {"namespace": "ops", "name": "op"}}}
        });
    })
}

fn own_webhook(world: World, groups: Value) -> World {
    world.with(json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "widgets"},
        "webhooks": [{
            "name": "w.example.com", "failurePolicy": "Ignore",
            "clientConfig": {"service": {"namespace": "ops", "name": "op"}},
            "rules": [{"operations": ["CREATE"], "apiGroups": groups, "apiVersions": ["*"], "resources": ["*"]}]
        }]
    }))
}

fn by_helm(world: World) -> World {
    world.change(CRDS, "widgets.example.com", |crd| {
        crd["metadata"]["annotations"] =
            json!({"meta.helm.sh/release-name": "widgets", "meta.helm.sh/release-namespace": "ops"});
        crd["metadata"]["labels"] = json!({"app.kubernetes.io/managed-by": "Helm"});
    })
}

fn by_olm(world: World) -> World {
    world.change(CRDS, "widgets.example.com", |crd| {
        crd["metadata"]["labels"] = json!({"operators.coreos.com/widgets.ops": ""});
    })
}

fn operator(world: World, replicas: i64, ready: i64) -> World {
    world.deployment("ops", "op", replicas, ready).service("ops", "op", Some("node-a")).change(
        "/apis/apps/v1/deployments",
        "op",
        |one| {
            one["metadata"]["annotations"] = json!({"meta.helm.sh/release-name": "widgets"});
            one["metadata"]["labels"] = json!({"operators.coreos.com/widgets.ops": ""});
            one["spec"]["selector"] = json!({"matchLabels": {"app": "op"}});
        },
    )
}

/// Puts the operator near the kind.
type Link = fn(World) -> World;

#[test]
fn an_operator_with_all_rights_is_found_through_its_neighbours() {
    let links: [(Link, &str); 4] = [
        (converted, "objects are converted by Service ops/op"),
        (
            |world| own_webhook(world, json!(["example.com"])),
            "is about example.com only and is answered by Service ops/op",
        ),
        (by_helm, "installed by Helm release ops/widgets"),
        (by_olm, "label operators.coreos.com/widgets.ops"),
    ];
    for (link, says) in links {
        for (replicas, ready, cause) in [
            (1, 1, "FinalizerControllerFailing"),
            (1, 0, "FinalizerControllerNotReady"),
            (0, 0, "FinalizerControllerGone"),
        ] {
            let looked = asked(operator(link(all_powerful(widget())), replicas, ready));
            assert_eq!(looked.causes(), [cause], "{:#?}", looked.report);
            assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Probable, "{says}");
            assert!(looked.chain(0).last().unwrap().starts_with("Deployment ops/op: "), "{:?}", looked.chain(0));
            assert!(evidence(&looked).contains(says), "{}", evidence(&looked));
        }
    }
}

#[test]
fn what_runs_beside_the_service_of_a_kind_is_not_its_operator() {
    let world = operator(converted(all_powerful(widget())), 1, 0).deployment("ops", "web", 3, 3);
    let looked = asked(world);
    assert_eq!(looked.causes(), ["FinalizerControllerNotReady"], "{:#?}", looked.report);
    assert!(looked.chain(0).last().unwrap().starts_with("Deployment ops/op: "), "{:?}", looked.chain(0));
    // A Service without a selector has whatever its endpoints name behind it.
    let bare = operator(converted(all_powerful(widget())), 1, 1).change("/api/v1/services", "op", |one| {
        one["spec"]["selector"] = json!(null);
    });
    assert_eq!(asked(bare).causes(), ["FinalizerOwnerUnknown"]);
}

#[test]
fn the_api_server_of_a_kind_without_a_crd_is_its_neighbour() {
    let world = all_powerful(widget()).without(CRDS, "widgets.example.com").with(json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.example.com"},
        "spec": {"group": "example.com", "version": "v1", "service": {"namespace": "ops", "name": "op"}},
        "status": {"conditions": [{"type": "Available", "status": "True"}]}
    }));
    let looked = asked(operator(world, 0, 0));
    assert_eq!(looked.causes(), ["FinalizerControllerGone"], "{:#?}", looked.report);
    assert!(evidence(&looked).contains("APIService v1.example.com: served by Service ops/op"), "{}", evidence(&looked));
}

#[test]
fn gone_and_cannot_tell_stay_apart() {
    // No account has rights on the kind, and none has all rights.
    let gone = asked(widget());
    assert_eq!(gone.causes(), ["FinalizerControllerGone"]);
    // Roles never prove that no account may.
    assert_eq!(gone.report.roots[0].finding.confidence, Confidence::Probable);
    assert!(evidence(&gone).contains("system:masters"), "{}", evidence(&gone));
    // A role without a binding is reported, and a controller of kube-controller-manager is no owner.
    let unbound = |world: World| {
        world.with(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "widgets"},
            "rules": [{"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["update"]}]
        }))
    };
    let bound_to_none = asked(unbound(widget()));
    let words = bound_to_none.chain(0).join("\n");
    assert!(words.contains("no binding gives anybody ClusterRole widgets"), "{words}");
    let account = json!([sa("kube-system", "widget-controller")]);
    let built_in = widget().grants("system:controller:widgets", &["example.com"], &["widgets"], &["update"], account);
    let words = asked(built_in).chain(0).join("\n");
    assert!(!words.contains("widget-controller"), "{words}");
    // An account that may change everything may be the one.
    let open = asked(all_powerful(widget()).deployment("ops", "op", 1, 1));
    assert_eq!(open.causes(), ["FinalizerOwnerUnknown"], "{:#?}", open.report);
    assert_eq!(open.report.roots[0].finding.confidence, Confidence::Probable);
    assert!(evidence(&open).contains("these accounts may change everything: ops/op"), "{}", evidence(&open));
    assert!(!evidence(&open).contains("generic-garbage-collector"), "{}", evidence(&open));
    // A chart of CRDs alone has no workload, so that shows nothing but who to ask.
    let chart = asked(by_helm(all_powerful(widget())).deployment("ops", "op", 1, 1));
    assert_eq!(chart.causes(), ["FinalizerOwnerUnknown"], "{:#?}", chart.report);
    assert!(evidence(&chart).contains("Helm release ops/widgets, which has no workload"), "{}", evidence(&chart));
}

#[test]
fn a_policy_engine_is_no_neighbour() {
    let world = own_webhook(all_powerful(widget()), json!(["example.com", "apps"]));
    assert_eq!(asked(operator(world, 1, 1)).causes(), ["FinalizerOwnerUnknown"]);
    let any = own_webhook(all_powerful(widget()), json!(["*"]));
    assert_eq!(asked(operator(any, 1, 1)).causes(), ["FinalizerOwnerUnknown"]);
}

#[test]
fn rights_are_stronger_than_neighbours() {
    // The account with the rights has no workload; another Deployment answers the kind's webhook.
    let world = own_webhook(widget(), json!(["example.com"])).may_change("ops", "controller", "example.com", "widgets");
    let looked = asked(operator(world, 1, 1));
    assert_eq!(looked.causes(), ["FinalizerControllerGone"], "{:#?}", looked.report);
    assert!(looked.chain(0).last().unwrap().starts_with("ServiceAccount ops/controller"), "{:?}", looked.chain(0));
}

#[test]
fn neighbours_are_asked_for_only_when_needed_and_cost_little() {
    let path = format!("{CRDS}/widgets.example.com");
    let settled = asked(operator(widget(), 1, 0).may_change("ops", "op", "example.com", "widgets"));
    assert!(!settled.requests.contains(&path), "{:#?}", settled.requests);
    let rights = asked(widget());
    // The CRD, the roles of other namespaces and the object's own words, and nothing else, when it names no owner.
    let beside = ["/apis/rbac.authorization.k8s.io/v1/roles", "/api/v1/namespaces/team/events"];
    let new = |one: &&String| !settled.requests.contains(one) && !beside.iter().any(|path| one.starts_with(path));
    let extra: Vec<_> = rights.requests.iter().filter(new).collect();
    assert!(extra.iter().all(|one| **one == path), "{extra:#?}");
    let all = asked(operator(by_olm(by_helm(converted(all_powerful(widget())))), 1, 1));
    assert!(all.requests.len() <= 26, "{} {:#?}", all.requests.len(), all.requests);
    let mut many = operator(converted(all_powerful(widget())), 1, 1);
    for number in 0..50 {
        many = many.held("example.com/v1", "Widget", "team", &format!("w{number}"), &["widgets.example.com/cleanup"]);
    }
    let remaining = "Some resources are remaining: widgets.example.com has 51 resource instances";
    let many =
        many.without("/api/v1/namespaces", "team").going("team", failing("NamespaceContentRemaining", remaining));
    let looked = look(many, everything());
    assert_eq!(looked.causes(), ["FinalizerControllerFailing"]);
    // What each object says of itself is asked for one by one; who stands behind the kind is not.
    let of_kind = looked.requests.iter().filter(|path| !path.contains("/namespaces/team/widgets/"));
    assert!(of_kind.count() <= 34, "{:#?}", looked.requests);
}

#[test]
fn the_longest_way_to_an_owner_ends() {
    // Nothing points to the object, so the namespace is swept; nothing points to its owner either.
    let world = all_powerful(widget()).without("/api/v1/namespaces", "team").going("team", all_false());
    let world = own_webhook(operator(world, 1, 1), json!(["example.com"])).with(json!({
        "kind": "Pod", "metadata": {"name": "op-7d9c8b6f5-x2k4q", "namespace": "ops", "labels": {"app": "op"}},
        "spec": {"nodeName": "node-a"}, "status": {"phase": "Running"}
    }));
    let looked = look(lease(world, "op-7d9c8b6f5-x2k4q_8f1c", 600), everything());
    assert_eq!(looked.causes(), ["FinalizerControllerNotLeading"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Stuck);
    assert!(looked.report.unknown.is_empty(), "{:#?}", looked.report.unknown);
    let open = aggregator_core::engine::next_questions(&looked.state);
    assert!(open.is_empty(), "{open:?}");
}

/// The operator has the rights by name, runs, and says nothing.
fn running() -> World {
    operator(widget(), 1, 1).may_change("ops", "op", "example.com", "widgets").with(json!({
        "kind": "Pod", "metadata": {"name": "op-7d9c8b6f5-x2k4q", "namespace": "ops", "labels": {"app": "op"}},
        "spec": {"nodeName": "node-a"}, "status": {"phase": "Running"}
    }))
}

fn lease(world: World, holder: &str, seconds_ago: i64) -> World {
    let renewed = world.ago(seconds_ago);
    world.with(json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "widgets-lock", "namespace": "ops"},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed}
    }))
}

#[test]
fn a_controller_that_leads_is_alive_and_does_not_finish() {
    let looked = asked(lease(running(), "op-7d9c8b6f5-x2k4q_8f1c", 3));
    assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{:#?}", looked.report);
    assert!(evidence(&looked).contains("Lease ops/widgets-lock: held by op-7d9c8b6f5-x2k4q_8f1c, renewed 3s ago"));
}

#[test]
fn a_controller_that_does_not_lead_does_nothing() {
    for (holder, says) in [
        ("op-7d9c8b6f5-x2k4q_8f1c", "not renewed for 10m"),
        ("op-5c7d4f6b8-zzzzz_1a2b", "a pod that is gone, not renewed for 10m"),
    ] {
        let looked = asked(lease(running(), holder, 600));
        assert_eq!(looked.causes(), ["FinalizerControllerNotLeading"], "{:#?}", looked.report);
        assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Probable);
        assert!(looked.chain(0).last().unwrap().contains(says), "{:?}", looked.chain(0));
        let commands = looked.commands();
        assert_eq!(commands[0], "kubectl -n ops get leases -o wide", "{commands:?}");
    }
}

#[test]
fn a_lease_of_somebody_else_tells_nothing() {
    for holder in ["other-7d9c8b6f5-x2k4q_1", "op-webhook-7d9c8b6f5-x2k4q_1", "op-7d9c8b6f5-x2k4q1_1", ""] {
        let looked = asked(lease(running(), holder, 600));
        assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{holder}: {:#?}", looked.report);
    }
    let hidden = lease(running(), "op-7d9c8b6f5-x2k4q_1", 600).refuse(
        "/apis/coordination.k8s.io/v1/namespaces/ops",
        403,
        "leases.coordination.k8s.io is forbidden: User \"ann\" cannot list resource \"leases\" in API group \
         \"coordination.k8s.io\" in the namespace \"ops\"",
    );
    let looked = asked(hidden);
    assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{:#?}", looked.report);
    let is_it = |note: &&String| {
        note.starts_with("Not readable with these permissions, and not needed for the verdict: leases of ops (")
    };
    let note = looked.report.notes.iter().find(is_it).unwrap_or_else(|| panic!("{:#?}", looked.report.notes));
    let rights = "(no permission to list leases.coordination.k8s.io (namespace ops): kubectl auth can-i list \
                  leases.coordination.k8s.io -n ops).";
    assert!(note.ends_with(rights), "{note}");
}

#[test]
fn a_controller_that_is_slow_is_not_asked_whether_it_leads() {
    let world = lease(running(), "op-7d9c8b6f5-x2k4q_8f1c", 600);
    let now = world.ago(20);
    let young = world.change("/apis/example.com/v1/widgets", "w", |one| {
        one["metadata"]["deletionTimestamp"] = now.into();
    });
    let looked = asked(young);
    assert_eq!((looked.causes(), looked.report.verdict), (vec!["FinalizerControllerFailing"], Verdict::Progressing));
    assert!(!looked.requests.iter().any(|path| path.contains("/namespaces/ops/leases")), "{:#?}", looked.requests);
}

/// Some operators are DaemonSets that share the account of their Deployments.
#[test]
fn a_daemon_set_that_runs_as_the_account_may_be_the_operator() {
    let world = |phase: &str| {
        let world = operator(widget().may_change("ops", "op", "example.com", "widgets"), 0, 0);
        let world = world.with(json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"namespace": "ops", "name": "manager"},
            "spec": {"selector": {"matchLabels": {"app": "m"}}, "template": {"spec": {"serviceAccountName": "op"}}},
            "status": {"numberReady": 3}
        }));
        world.with(json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "ops", "name": "manager-x2k4q"},
            "spec": {"serviceAccountName": "op"}, "status": {"phase": phase}
        }))
    };
    let asks = |looked: &Looked| looked.requests.iter().any(|path| path.contains("/daemonsets"));
    let looked = asked(world("Running"));
    assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{:#?}", looked.report);
    assert!(asks(&looked), "{:#?}", looked.requests);
    // Nothing runs as the account: then what kinds there are does not matter.
    let looked = asked(world("Failed"));
    assert_eq!(looked.causes(), ["FinalizerControllerGone"], "{:#?}", looked.report);
    assert!(!asks(&looked), "{:#?}", looked.requests);
    let looked = asked(world("Failed").refuse("/api/v1/namespaces/ops/pods", 403, "pods is forbidden"));
    assert!(asks(&looked), "they may run: {:#?}", looked.requests);
}

/// Whatever the size of the cluster: none of these lists grows with it, but for those that have pages.
#[test]
fn a_namespace_whose_conditions_name_the_kind_takes_16_requests() {
    let remaining = "Some resources are remaining: widgets.example.com has 1 resource instances";
    let world = widget().without("/api/v1/namespaces", "team");
    let world = world.going("team", failing("NamespaceContentRemaining", remaining));
    let world = operator(world.may_change("ops", "op", "example.com", "widgets"), 0, 0);
    let looked = look(world, object("ns", "default", "team"));
    assert_eq!(looked.causes(), ["FinalizerControllerGone"], "{:#?}", looked.report);
    assert!(looked.requests.len() <= 16, "{} {:#?}", looked.requests.len(), looked.requests);
}
