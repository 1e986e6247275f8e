//! What the control plane itself lacks: the way to an API that extends it, a role, a controller manager.

use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::super::nodes::node;
use super::super::objects::*;
use super::super::{Situation, ask, line};
use crate::cluster::{Cluster, deleted_afterwards};
use crate::situation::Staged;

/// All of them.
pub fn all() -> Vec<Situation> {
    vec![
        Situation::new(
            "extension-repaired",
            extension,
            [
                ask("ns/{ns}", "ApiServiceUnavailable", "v1.path.e2e.example.com")
                    .proven()
                    .then_doing(&[TO_PORT, TO_OTHER_CERTIFICATE], &[]),
                ask("ns/{ns}", "ApiServiceCertificateInvalid", "v1.path.e2e.example.com")
                    .proven()
                    .then_doing(&[TO_NOBODY], &[]),
                ask("ns/{ns}", "ApiServiceUnreachable", "").proven().then_doing(&[TO_STRANGER], &[]),
                ask("ns/{ns}", "ApiServiceRefusesAggregator", "v1.path.e2e.example.com")
                    .proven()
                    .then_doing(&[TO_ROUTELESS], &[]),
                ask("ns/{ns}", "NodeRouteMissing", "Node e2e-routeless")
                    .then_doing(&["delete apiservice v1.path.e2e.example.com"], &["namespace {ns}"]),
            ],
        )
        .on_cluster(7),
        Situation::new(
            "control-plane",
            control_plane,
            [
                // The condition quotes the refusal as "unknown".
                ask("ns/e2e-undiscovered", "BuiltInControllerForbidden", "may not read API discovery")
                    .then_doing(DISCOVER, &[]),
                // No condition says what it is refused.
                ask("ns/{ns}", "BuiltInControllerForbidden", "ServiceAccount kube-system/namespace-controller")
                    .then_doing(&[BIND], &[]),
                ask("ns/{ns}", "BuiltInControllerForbidden", "The namespace controller")
                    .then_doing(&[GIVE_BACK], &["namespace {ns}"]),
                ask("ns/kube-system", "", "").then_doing(HOLD_LEASE, &[]),
                // It cannot renew its Lease, and ends itself.
                ask("ns/e2e-later", "ControllerManagerSilent", "kube-controller-manager").proven(),
            ],
        )
        .on_cluster(11),
        Situation::new("etcd-full", etcd_full, [ask("ns/{ns}", "EtcdNotWorking", "etcd").proven()]).on_cluster(14),
        Situation::new("etcd-stopped", etcd_stopped, []).then_typing([line("ns/{ns}", 3, &[SILENT])]).on_cluster(15),
    ]
}

const SILENT: &str = "etcd does not answer: the API server's own check of it fails";
const TO_PORT: &str =
    "patch apiservice v1.path.e2e.example.com --type=merge -p {\"spec\":{\"service\":{\"port\":443}}}";
const TO_OTHER_CERTIFICATE: &str = "wait --for=condition=Available=false apiservice/v1.path.e2e.example.com";
const TO_NOBODY: &str = "patch apiservice v1.path.e2e.example.com --type=merge -p \
                         {\"spec\":{\"service\":{\"name\":\"nobody\"},\"caBundle\":null,\"insecureSkipTLSVerify\":true}}";
const TO_STRANGER: &str = "patch apiservice v1.path.e2e.example.com --type=merge -p \
                           {\"spec\":{\"service\":{\"namespace\":\"stranger\",\"name\":\"stranger\"}}}";
const TO_ROUTELESS: &str = "patch apiservice v1.path.e2e.example.com --type=merge -p \
                            {\"spec\":{\"service\":{\"namespace\":\"path\",\"name\":\"routeless\"}}}";

async fn unauthorized() -> StatusCode {
    StatusCode::UNAUTHORIZED
}

/// One API that nothing leads to, for one reason after the other.
fn extension(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let backend = Backend::start("path", Router::new())?;
    let stranger = Backend::start("stranger", Router::new().fallback(unauthorized))?;
    // A port that nothing listens on, and an address that nothing leads to.
    let service = |name: &str, app: &str| {
        let spec = json!({"selector": {"app": app}, "ports": [{"port": 443, "targetPort": 9}]});
        with(held("v1", "Service", "path", name, &[]), "spec", spec)
    };
    let output = Command::new("ip").args(["route", "add", "unreachable", "10.244.9.0/24"]).output()?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut pod = pod("path", "routeless", "e2e-routeless", &json!({"e2e/address": "10.244.9.9"}));
    pod["metadata"]["labels"] = json!({"app": "routeless"});
    create(&[node("e2e-routeless", true), pod, service("nobody", "path"), service("routeless", "routeless")])?;
    let now = crate::api_set::nodes::now()?;
    let status = json!({"status": {"conditions": [{
        "type": "NetworkUnavailable", "status": "True", "reason": "NoRouteCreated", "message": "RouteController failed to create a route",
        "lastHeartbeatTime": now, "lastTransitionTime": now
    }]}});
    let output = Command::new("kubectl")
        .args(["patch", "node", "e2e-routeless", "--subresource=status", "-p", &status.to_string()])
        .output()?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut api = api_service("path.e2e.example.com", "path", Some(&stranger.bundle()));
    api["spec"]["service"]["port"] = json!(444);
    create(&[api])?;
    delete(&format!("namespace {namespace}"))?;
    Ok(deleted_afterwards("apiservice", "v1.path.e2e.example.com")
        .and(Staged::until_the_end(backend))
        .and(Staged::until_the_end(stranger)))
}

const ROLE: &str = "clusterrole system:controller:namespace-controller";
const GIVE_BACK: &str = "patch clusterrole system:controller:namespace-controller --type=json -p \
                         [{\"op\":\"add\",\"path\":\"/rules/-\",\"value\":{\"apiGroups\":[\"*\"],\"resources\":[\"*\"],\
                         \"verbs\":[\"delete\",\"deletecollection\"]}}]";
const BIND: &str = "create clusterrolebinding system:controller:namespace-controller \
                    --clusterrole=system:controller:namespace-controller --serviceaccount=kube-system:namespace-controller";
const DISCOVER: &[&str] = &[
    "create clusterrolebinding system:discovery --clusterrole=system:discovery --group=system:authenticated",
    "delete clusterrolebinding system:controller:namespace-controller",
    "sleep 3",
    "delete namespace {ns} --wait=false",
];
const HOLD_LEASE: &[&str] = &[
    "create namespace e2e-later",
    "label namespace kube-system e2e=e2e-control-plane",
    "sleep 30",
    "delete namespace e2e-later --wait=false",
];

fn control_plane(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let others = "object.metadata.name != 'kube-controller-manager'";
    create(&policy(namespace, namespace, "UPDATE", "leases", others))?;
    create(&[held("v1", "ConfigMap", namespace, "a", &[])])?;
    let mut role: Value = serde_json::from_str(&kubectl(&format!("get {ROLE} -o json"))?)?;
    for rule in role["rules"].as_array_mut().into_iter().flatten().filter(|rule| rule["resources"] == json!(["*"])) {
        rule["verbs"] = json!(["get", "list", "watch"]);
    }
    let rules = json!({"rules": role["rules"]}).to_string();
    kubectl(&format!("patch {ROLE} --type=merge -p {rules}"))?;
    create(&[self::namespace("e2e-undiscovered")])?;
    delete("clusterrolebinding system:discovery")?;
    std::thread::sleep(Duration::from_secs(3));
    delete("namespace e2e-undiscovered")?;
    Ok(Staged::default())
}

/// `api.sh` gives it so little space.
fn etcd_full(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    create(&[held("v1", "ConfigMap", namespace, "a", &["one.e2e.example.com/it", "two.e2e.example.com/it"])])?;
    delete(&format!("namespace {namespace}"))?;
    kubectl(&format!("wait --for=jsonpath={{.metadata.deletionTimestamp}} configmap/a -n {namespace} --timeout=60s"))?;
    let value = vec![b'x'; 64 << 10];
    let refused = (0..512).find_map(|number| etcd(&format!("/e2e/{number}"), &value).err());
    let refused = refused.context("etcd takes 32 MiB")?.to_string();
    anyhow::ensure!(refused.contains("space exceeded"), "{refused}");
    // The controller manager loses its Lease and ends, the API server's gets old; removing the last finalizers is a delete,
    // which etcd takes.
    std::thread::sleep(Duration::from_secs(65));
    kubectl(&format!("patch configmap a -n {namespace} --type=merge -p {{\"metadata\":{{\"finalizers\":null}}}}"))?;
    Ok(Staged::default())
}

/// No list answers any more, so not even whether something is being deleted is known.
fn etcd_stopped(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    create(&[held("v1", "ConfigMap", namespace, "a", &["one.e2e.example.com/it"])])?;
    delete(&format!("namespace {namespace}"))?;
    Ok(Staged::until_the_end(Paused::program("etcd")?))
}
