//! What runs as the account of an operator.

use crate::setters::{asked, confidence, evidence, job_server, operator_role, root, runs, set_by, widget};
use crate::support::*;

#[test]
fn an_operator_that_is_a_bare_pod_is_not_gone() {
    let pod = |state: Value| {
        operator_role(widget(), json!([sa("ops", "operator")])).with(json!({
            "kind": "Pod", "metadata": {"name": "operator-1", "namespace": "ops"},
            "spec": {"nodeName": "node-a", "serviceAccountName": "operator"},
            "status": {"phase": "Running", "containerStatuses": [{"name": "m", "containerID": "containerd://1", "state": state}]}
        }))
    };
    let looked = asked(pod(json!({"running": {}})));
    assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{:#?}", looked.report);
    assert!(root(&looked).starts_with("Pod ops/operator-1: runs"), "{}", root(&looked));
    let looked = asked(pod(json!({"waiting": {"reason": "CrashLoopBackOff"}})));
    assert_eq!(looked.causes(), ["FinalizerControllerNotReady"], "{:#?}", looked.report);
}

/// Among workloads that share an account, one that is scaled to 0 is no reason.
#[test]
fn a_bare_pod_beside_a_deployment_that_is_scaled_to_0_is_the_operator() {
    let world = |state: Value| {
        operator_role(widget(), json!([sa("ops", "operator")])).deployment("ops", "operator", 0, 0).with(json!({
            "kind": "Pod", "metadata": {"name": "by-hand", "namespace": "ops"},
            "spec": {"nodeName": "node-a", "serviceAccountName": "operator"},
            "status": {"phase": "Running", "containerStatuses": [
                {"name": "m", "containerID": "containerd://1", "state": state}
            ]}
        }))
    };
    for (state, cause) in [
        (json!({"running": {}}), "FinalizerControllerFailing"),
        (json!({"waiting": {"reason": "CrashLoopBackOff"}}), "FinalizerControllerNotReady"),
    ] {
        let looked = asked(world(state));
        assert_eq!(looked.causes(), [cause], "{:#?}", looked.report);
        assert!(root(&looked).starts_with("Pod ops/by-hand: "), "{}", root(&looked));
        let told = format!("{:?} {}", looked.report.roots, evidence(&looked));
        assert!(!told.contains("Deployment ops/operator"), "{told}");
    }
}

#[test]
fn an_operator_that_is_a_stateful_set_is_found_beside_a_deployment_that_is_ready() {
    let world = |replicas: i64| {
        job_server(operator_role(widget(), json!([sa("ops", "operator")]))).with(json!([
        {
            "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "operator", "namespace": "ops"},
            "spec": {"replicas": replicas, "template": {"spec": {"serviceAccountName": "operator"}}},
            "status": {"readyReplicas": 0}
        },
        {
            "kind": "Pod",
            "metadata": {
                "name": "operator-0", "namespace": "ops",
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "operator", "uid": "s"}]
            },
            "spec": {"nodeName": "node-a", "serviceAccountName": "operator"}, "status": {"phase": "Running"}
        }
    ]))
    };
    let looked = asked(world(1));
    assert_eq!(looked.causes(), ["FinalizerControllerNotReady"], "{:#?}", looked.report);
    assert!(root(&looked).starts_with("StatefulSet ops/operator: 0 of 1"), "{}", root(&looked));
    // The pod that is left is the StatefulSet's.
    let looked = asked(world(0));
    assert!(root(&looked).starts_with("StatefulSet ops/operator: scaled to 0"), "{}", root(&looked));
    // It need not have a pod to be one.
    let bare = |replicas: i64| asked(world(replicas).without("/api/v1/pods", "operator-0"));
    assert_eq!(bare(1).causes(), ["FinalizerControllerNotReady"]);
    assert!(root(&bare(0)).starts_with("StatefulSet ops/operator: scaled to 0"), "{}", root(&bare(0)));
}

/// Its pods are the Deployment's, and no bare pods.
#[test]
fn a_pod_that_is_left_of_a_deployment_is_not_one_of_its_own() {
    let world = runs(operator_role(widget(), json!([sa("ops", "operator")])), "ops", "operator", "operator", 0).with(json!({
        "kind": "Pod",
        "metadata": {
            "name": "operator-7d9c8b6f5-x2k4q", "namespace": "ops",
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "operator-7d9c8b6f5", "uid": "r"}]
        },
        "spec": {"nodeName": "node-a", "serviceAccountName": "operator"},
        "status": {"phase": "Running", "containerStatuses": [{"name": "m", "containerID": "containerd://1",
            "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}
    }));
    let looked = asked(world);
    assert_eq!(looked.causes(), ["FinalizerControllerNotReady"], "{:#?}", looked.report);
    assert!(root(&looked).starts_with("Deployment ops/operator: 0 of 1"), "{}", root(&looked));
    // Nothing else has to be searched: one pod list was enough.
    assert!(!looked.requests.iter().any(|path| path.contains("statefulsets")), "{:#?}", looked.requests);
}

/// A Role of the object's own namespace makes an owner as a ClusterRole does.
#[test]
fn an_operator_of_one_namespace_has_a_role_there() {
    let version = "rbac.authorization.k8s.io/v1";
    let world = widget().with(json!([
        {
            "apiVersion": version, "kind": "Role", "metadata": {"name": "op", "namespace": "shop"},
            "rules": [{"apiGroups": ["example.com"], "resources": ["widgets", "widgets/finalizers"], "verbs": ["update"]}]
        },
        {
            "apiVersion": version, "kind": "RoleBinding", "metadata": {"name": "op", "namespace": "shop"},
            "roleRef": {"kind": "Role", "name": "op"}, "subjects": [sa("shop", "operator")]
        }
    ]));
    let looked = asked(runs(job_server(world), "shop", "operator", "operator", 0));
    assert_eq!(looked.causes(), ["FinalizerControllerNotReady"], "{:#?}", looked.report);
    assert!(root(&looked).starts_with("Deployment shop/operator: 0 of 1"), "{}", root(&looked));
}

/// Argo CD, Flux and Velero have an account that may change everything.
#[test]
fn an_account_that_runs_nothing_is_named_and_not_believed() {
    let world = || widget().grants("all", &["*"], &["*"], &["*"], json!([sa("velero", "velero")]));
    let looked = asked(world());
    assert_eq!(looked.causes(), ["FinalizerControllerGone"], "{:#?}", looked.report);
    assert!(evidence(&looked).contains("nothing runs as them: velero/velero"), "{}", evidence(&looked));
    let looked = asked(world().deployment("velero", "velero", 1, 1));
    assert_eq!(looked.causes(), ["FinalizerOwnerUnknown"], "{:#?}", looked.report);
}

/// It set the finalizer and runs, and the API server refuses its token. Its binding is there.
#[test]
fn a_controller_whose_account_was_deleted() {
    let world = |ready: i64| {
        let world = operator_role(set_by(widget(), "widget-operator"), json!([sa("ops", "operator")]));
        runs(world, "ops", "widget-operator", "operator", ready).without_account("ops", "operator")
    };
    let looked = asked(world(1));
    assert_eq!(looked.causes(), ["FinalizerControllerForbidden"], "{:#?}", looked.report);
    assert_eq!(confidence(&looked), Confidence::Proven);
    assert!(root(&looked).starts_with("ServiceAccount ops/operator: does not exist"), "{}", root(&looked));
    // None of its pods can start.
    let looked = asked(world(0));
    assert_eq!(looked.causes(), ["FinalizerControllerNotReady"], "{:#?}", looked.report);
    assert!(root(&looked).starts_with("ServiceAccount ops/operator: does not exist"), "{}", root(&looked));
    // An account that was not seen proves nothing.
    let looked = asked(world(1).refuse("/api/v1/namespaces/ops/serviceaccounts", 403, "serviceaccounts is forbidden"));
    assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{:#?}", looked.report);
    // The API server takes its tokens for another minute.
    for (seconds, cause) in [(30, "FinalizerControllerFailing"), (300, "FinalizerControllerForbidden")] {
        let going = world(1);
        let asked_at = going.ago(seconds);
        let going = going.with_account(json!({
            "namespace": "ops", "name": "operator", "deletionTimestamp": asked_at, "finalizers": ["example.com/keep"]
        }));
        assert_eq!(asked(going).causes(), [cause]);
    }
}
