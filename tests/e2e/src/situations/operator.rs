//! A small operator, removed in several wrong orders before its objects are.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;
use lab::wait_for;
use serde_json::{Value, json};

use crate::cluster::{Cluster, deleted_afterwards};
use crate::situation::{Cure, Situation, Stage, Staged};

const SCRIPT: &str = include_str!("operator.sh");
const CRD: &str = "gadgets.op.e2e.example.com";
/// The service's right to see Gadgets.
const READERS: &str = "gadget-readers";
/// Its namespace, its account and its Deployment are called so.
const OPERATOR: &str = "gadget-operator";

/// An API server believes a token for ten seconds after it was looked at (`TokenSuccessCacheTTL` in
/// `pkg/kubeapiserver/options/authentication.go`): until then the operator goes on without its account.
const TOKEN_BELIEVED: Duration = Duration::from_secs(15);

/// All of them.
pub fn all() -> Vec<Situation> {
    let scale = Cure::Typed(&["scale deployment"]);
    vec![
        Situation::of_api("operator-fine", "", staged, Cure::None).one_of(OPERATOR),
        of("operator-deployment", "FinalizerControllerGone", without_deployment),
        of("operator-crd", "FinalizerControllerGone", without_crd),
        of("operator-namespace", "FinalizerOwnerInSameNamespace", without_namespace),
        of("operator-rights", "FinalizerControllerForbidden", without_rights),
        of("operator-account", "FinalizerControllerForbidden", without_account),
        of("operator-image", "FinalizerControllerNotReady", without_image),
        Situation::of_api("operator-scaled", "FinalizerControllerGone", scaled_to_zero, scale).one_of(OPERATOR),
    ]
}

/// One that ends when the operator is there again: as it should be, in its own namespace.
fn of(name: &'static str, cause: &'static str, stage: Stage) -> Situation {
    let installed_again = Cure::Done(|cluster, _| {
        let afterwards = install(cluster, OPERATOR)?;
        // A token of the new account, where the old one was deleted.
        cluster.kubectl(&["-n", OPERATOR, "rollout", "restart", "deployment", OPERATOR])?;
        Ok(afterwards)
    });
    Situation::of_api(name, cause, stage, installed_again).one_of(OPERATOR)
}

/// The operator in this namespace, and what takes it away.
fn install(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let mut afterwards = deleted_afterwards("crd", CRD)
        .and(deleted_afterwards("clusterrolebinding", OPERATOR))
        .and(deleted_afterwards("clusterrole", OPERATOR))
        .and(deleted_afterwards("clusterrolebinding", READERS))
        .and(deleted_afterwards("clusterrole", READERS));
    if namespace == OPERATOR {
        cluster.apply(&[json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OPERATOR}})])?;
        afterwards = afterwards.and(deleted_afterwards("namespace", OPERATOR));
    }
    let metadata = json!({"name": OPERATOR, "namespace": namespace});
    let labels = json!({"app": OPERATOR});
    let (mounts, volumes) = kubectl_of_host()?;
    let rbac = "rbac.authorization.k8s.io";
    cluster.apply(&[
        definition(),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": {"name": OPERATOR},
            "rules": [{
                "apiGroups": ["op.e2e.example.com"], "resources": ["gadgets", "gadgets/finalizers"],
                "verbs": ["get", "list", "watch", "patch", "update"]
            }]
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": OPERATOR},
            "subjects": [{"kind": "ServiceAccount", "name": OPERATOR, "namespace": namespace}],
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": OPERATOR}
        }),
        // What the chart's aggregator.rbac.groups gives.
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": {"name": READERS},
            "rules": [{"apiGroups": ["op.e2e.example.com"], "resources": ["*"], "verbs": ["get", "list"]}]
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": READERS},
            "subjects": [{
                "kind": "ServiceAccount", "name": "why-terminating-aggregator", "namespace": "why-terminating"
            }],
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": READERS}
        }),
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
            "spec": {
                "replicas": 1, "selector": {"matchLabels": labels}, "strategy": {"type": "Recreate"},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {
                        "serviceAccountName": OPERATOR, "terminationGracePeriodSeconds": 2,
                        "nodeName": cluster.node,
                        "containers": [{
                            "name": "operator", "image": lab::image::BUSYBOX, "imagePullPolicy": "Never",
                            "command": ["sh", "-c", SCRIPT], "env": [{"name": "HOME", "value": "/tmp"}],
                            "volumeMounts": mounts
                        }],
                        "volumes": volumes
                    }
                }
            }
        }),
    ])?;
    cluster.kubectl(&["-n", namespace, "rollout", "status", "deployment", OPERATOR, "--timeout=60s"])?;
    Ok(afterwards)
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": CRD},
        "spec": {
            "group": "op.e2e.example.com", "scope": "Namespaced",
            "names": {"kind": "Gadget", "plural": "gadgets", "singular": "gadget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}
            }]
        }
    })
}

/// The kubectl of this machine and the libraries that it asks for: mounts and volumes.
fn kubectl_of_host() -> anyhow::Result<(Value, Value)> {
    let which = Command::new("sh").args(["-c", "command -v kubectl"]).output()?;
    let kubectl = String::from_utf8(which.stdout)?.trim().to_owned();
    // Of a static one it says that it is none, and names no file.
    let ldd = Command::new("ldd").arg(&kubectl).output().context("run ldd")?;
    let words = String::from_utf8(ldd.stdout)?;
    let libraries = words.split_whitespace().filter(|word| word.starts_with('/')).map(|path| (path, path));
    let files = std::iter::once((kubectl.as_str(), "/bin/kubectl")).chain(libraries).enumerate();
    let (mut mounts, mut volumes) = (Vec::new(), Vec::new());
    for (index, (file, at)) in files {
        let name = format!("file-{index}");
        let file = Path::new(file).canonicalize()?;
        volumes.push(json!({"name": name, "hostPath": {"path": file, "type": "File"}}));
        mounts.push(json!({"name": name, "mountPath": at, "readOnly": true}));
    }
    Ok((json!(mounts), json!(volumes)))
}

/// A Gadget, and the operator's finalizer on it.
fn gadget(cluster: &Cluster, namespace: &str) -> anyhow::Result<()> {
    cluster.kubectl(&["wait", "--for=condition=Established", "crd", CRD, "--timeout=30s"])?;
    cluster.apply(&[json!({
        "apiVersion": "op.e2e.example.com/v1", "kind": "Gadget", "metadata": {"name": "mine", "namespace": namespace}
    })])?;
    wait_for("the operator's finalizer", Duration::from_secs(60), || {
        std::thread::sleep(Duration::from_millis(500));
        let gadget = cluster.json(&["get", CRD, "mine", "-n", namespace])?;
        Ok(gadget["metadata"]["finalizers"].is_array().then_some(()))
    })
}

fn staged(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let afterwards = install(cluster, OPERATOR)?;
    gadget(cluster, namespace)?;
    Ok(afterwards)
}

/// Deletes an object of the operator's namespace, and waits until its pod has gone if it goes.
fn without(cluster: &Cluster, namespace: &str, object: &[&str]) -> anyhow::Result<Staged> {
    let afterwards = staged(cluster, namespace)?;
    cluster.kubectl(&[&["delete", "-n", OPERATOR, "--timeout=60s"], object].concat())?;
    Ok(afterwards)
}

/// Nothing of the operator runs any more.
fn wait_ended(cluster: &Cluster) -> anyhow::Result<()> {
    let label = format!("app={OPERATOR}");
    cluster.wait_gone(&["pods", "-n", OPERATOR, "-l", &label], Duration::from_secs(60))
}

fn without_deployment(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let afterwards = without(cluster, namespace, &["deployment", OPERATOR])?;
    wait_ended(cluster)?;
    Ok(afterwards)
}

/// All at once, the definition first, as a file of manifests is deleted.
fn without_crd(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let afterwards = staged(cluster, namespace)?;
    cluster.kubectl(&["-n", OPERATOR, "scale", "deployment", OPERATOR, "--replicas=0"])?;
    wait_ended(cluster)?;
    cluster.kubectl(&["delete", "crd", CRD, "--wait=false"])?;
    cluster.kubectl(&["delete", "namespace", OPERATOR, "--timeout=60s"])?;
    cluster.kubectl(&["delete", "clusterrolebinding", OPERATOR])?;
    cluster.kubectl(&["delete", "clusterrole", OPERATOR])?;
    Ok(afterwards)
}

/// The one that it cleans up in is its own.
fn without_namespace(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let afterwards = install(cluster, namespace)?;
    gadget(cluster, namespace)?;
    Ok(afterwards)
}

fn without_rights(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    without(cluster, namespace, &["clusterrolebinding", OPERATOR])
}

fn without_account(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let afterwards = without(cluster, namespace, &["serviceaccount", OPERATOR])?;
    std::thread::sleep(TOKEN_BELIEVED);
    Ok(afterwards)
}

fn without_image(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let afterwards = staged(cluster, namespace)?;
    let image = "operator=lab.invalid/nowhere:1";
    cluster.kubectl(&["-n", OPERATOR, "set", "image", "deployment", OPERATOR, image])?;
    wait_for("the pod does not start", Duration::from_secs(60), || {
        std::thread::sleep(Duration::from_secs(1));
        let pods = cluster.json(&["get", "pods", "-n", OPERATOR])?;
        Ok(pods.to_string().contains("ErrImageNeverPull").then_some(()))
    })?;
    Ok(afterwards)
}

fn scaled_to_zero(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let afterwards = staged(cluster, namespace)?;
    cluster.kubectl(&["-n", OPERATOR, "scale", "deployment", OPERATOR, "--replicas=0"])?;
    wait_ended(cluster)?;
    Ok(afterwards)
}
