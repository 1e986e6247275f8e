//! Webhooks and admission policies that refuse, or take long.

use std::time::Duration;

use axum::{Json, Router, routing};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};

use super::super::objects::*;
use super::super::{Situation, ask};
use crate::cluster::Cluster;
use crate::server::expired_certificate;
use crate::situation::Staged;

/// All of them.
pub fn all() -> Vec<Situation> {
    let try_claim = "kubectl annotate persistentvolumeclaim data -n {ns} why-terminating=try --dry-run=server";
    vec![
        Situation::new(
            "hook-x509",
            other_certificate,
            [ask("ns/{ns}", "WebhookCertificateInvalid", "e2e-hook-x509")
                .proven()
                .saying(&["x509", "caBundle"])
                .never(&["does not exist", "endpoint"])
                .then_doing(EXCLUDE, &["namespace {ns}"])],
        ),
        Situation::new(
            "hook-expired",
            ca_expired,
            [ask("cm/kept -n {ns}", "WebhookCertificateInvalid", "e2e-hook-expired")],
        ),
        Situation::new(
            "hook-of-update",
            of_update,
            [ask("cm/kept -n {ns}", "WebhookBlocksUpdate", "e2e-hook-of-update").never(&["does not exist any more"])],
        ),
        Situation::new(
            "hook-gone",
            gone_with_namespace,
            [ask("cm/kept -n {ns}", "WebhookGoneWithNamespace", "Service e2e-leaving-operator/gone")],
        ),
        Situation::new(
            "hook-denies",
            denies,
            [ask("ns/{ns}", "WebhookRefusesDelete", "e2e-hook-denies")
                .proven()
                .saying(&["these are kept for the auditors"])
                .then_doing(EXCLUDE, &["namespace {ns}"])],
        ),
        Situation::new(
            "hook-slow",
            slow,
            [ask("ns/{ns}", "", "")
                .saying(&["WebhookSlow", "webhook e2e-hook-slow.e2e.example.com (failurePolicy: Ignore)", "too long"])
                .then_doing(&[], &["namespace {ns}"])],
        ),
        Situation::new(
            "policy-delete",
            policy_deletes,
            [ask("ns/{ns}", "PolicyRefusesDelete", "e2e-policy-delete")
                .proven()
                .then_doing(EXCLUDE, &["namespace {ns}"])],
        ),
        Situation::new(
            "policy-parameter",
            parameter_gone,
            [ask("ns/{ns}", "PolicyParametersMissing", "e2e-policy-parameter")
                .proven()
                .saying(&["Rule gone"])
                .then_doing(EXCLUDE, &["namespace {ns}"])],
        ),
        Situation::new(
            "policy-claim",
            policy_of_claims,
            [ask("pvc/data -n {ns}", "PolicyMayRefuse", "e2e-policy-claim")
                .refusing(try_claim)
                .then_doing(EXCLUDE, &["pvc data -n {ns}"])],
        ),
        Situation::new(
            "policy-job",
            policy_of_jobs,
            [ask("job/report -n {ns}", "PolicyMayRefuse", "e2e-policy-job")
                .never(&["get crd -o"])
                .refusing("kubectl annotate job report -n {ns} why-terminating=try --dry-run=server")
                .then_doing(EXCLUDE, &["job report -n {ns}"])],
        ),
        Situation::new(
            "policy-tracking",
            policy_of_tracking,
            [ask("pods -n {ns}", "PolicyMayRefuse", "e2e-policy-tracking")
                .then_doing(EXCLUDE, &["pods -l batch.kubernetes.io/job-name=report -n {ns}"])],
        ),
    ]
}

/// The namespace is in no selector any more.
pub const EXCLUDE: &[&str] = &["label namespace {ns} e2e-"];

/// Answers every review so, after this long.
fn reviews(after: Duration, denial: Option<&'static str>) -> Router {
    let answer = move |Json(mut review): Json<Value>| async move {
        tokio::time::sleep(after).await;
        let request = review["request"].take();
        review["response"] = json!({"uid": request["uid"], "allowed": denial.is_none()});
        if let Some(words) = denial {
            review["response"]["status"] = json!({"message": words, "code": 403});
        }
        Json(review)
    };
    Router::new().fallback(routing::post(answer))
}

fn config_map(namespace: &str, name: &str) -> Value {
    held("v1", "ConfigMap", namespace, name, &[])
}

fn guarded(namespace: &str, backend: Backend, client: &Value) -> anyhow::Result<Staged> {
    create(&[webhook(namespace, namespace, "Fail", client, "DELETE", "configmaps"), config_map(namespace, "kept")])?;
    std::thread::sleep(Duration::from_secs(3));
    delete(&format!("namespace {namespace}"))?;
    Ok(Staged::until_the_end(backend))
}

fn other_certificate(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let backend = Backend::start("hook-x509", reviews(Duration::ZERO, None))?;
    let other = Backend::start("hook-x509-renewed", reviews(Duration::ZERO, None))?;
    let client = with(backend.client_config(), "caBundle", json!(other.bundle()));
    guarded(namespace, backend, &client)
}

/// What it should vouch for runs. A finalizer that has been done is taken off by an update.
fn ca_expired(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let backend = Backend::start("hook-expired", reviews(Duration::ZERO, None))?;
    let bundle = BASE64_STANDARD.encode(expired_certificate("hook-expired.hook-expired.svc")?);
    let client = with(backend.client_config(), "caBundle", json!(bundle));
    create(&[
        webhook(namespace, namespace, "Fail", &client, "UPDATE", "configmaps"),
        held("v1", "ConfigMap", namespace, "kept", &["hold.e2e.example.com/it"]),
    ])?;
    delete(&format!("configmap kept -n {namespace}"))?;
    Ok(Staged::until_the_end(backend))
}

fn of_update(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    without_service(namespace, namespace)
}

fn gone_with_namespace(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let of = "e2e-leaving-operator";
    create(&[self::namespace(of), held("v1", "ConfigMap", of, "state", &["hold.e2e.example.com/it"])])?;
    delete(&format!("namespace {of}"))?;
    without_service(namespace, of)
}

/// The update that takes the finalizer off is asked of a Service of that namespace, which is not there.
fn without_service(namespace: &str, of: &str) -> anyhow::Result<Staged> {
    let client = json!({"service": {"namespace": of, "name": "gone", "path": "/v"}});
    create(&[
        webhook(namespace, namespace, "Fail", &client, "UPDATE", "configmaps"),
        held("v1", "ConfigMap", namespace, "kept", &["hold.e2e.example.com/it"]),
    ])?;
    delete(&format!("configmap kept -n {namespace}"))?;
    Ok(Staged::default())
}

fn denies(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let backend = Backend::start("hook-denies", reviews(Duration::ZERO, Some("these are kept for the auditors")))?;
    let client = backend.client_config();
    guarded(namespace, backend, &client)
}

/// It ends by itself, although each request takes nearly as long as one may.
fn slow(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let backend = Backend::start("slow-webhook", reviews(Duration::from_secs(28), None))?;
    create(&[
        webhook(namespace, namespace, "Ignore", &backend.client_config(), "DELETE", "configmaps"),
        config_map(namespace, "a"),
        config_map(namespace, "b"),
    ])?;
    std::thread::sleep(Duration::from_secs(3));
    delete(&format!("namespace {namespace}"))?;
    Ok(Staged::until_the_end(backend))
}

/// A policy is in force some seconds after it was made.
fn in_force(policy: &[Value]) -> anyhow::Result<()> {
    create(policy)?;
    std::thread::sleep(Duration::from_secs(12));
    Ok(())
}

fn policy_deletes(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    create(&[config_map(namespace, "kept")])?;
    in_force(&policy(namespace, namespace, "DELETE", "configmaps", "false"))?;
    delete(&format!("namespace {namespace}"))?;
    Ok(Staged::default())
}

fn parameter_gone(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    define("rules.params.e2e.example.com", "Rule", "Cluster")?;
    create(&[config_map(namespace, "kept")])?;
    let [mut asks, mut binds] = policy(namespace, namespace, "DELETE", "configmaps", "params.spec.ok == true");
    asks["spec"]["paramKind"] = json!({"apiVersion": "params.e2e.example.com/v1", "kind": "Rule"});
    binds["spec"]["paramRef"] = json!({"name": "gone", "parameterNotFoundAction": "Deny"});
    in_force(&[asks, binds])?;
    delete(&format!("namespace {namespace}"))?;
    Ok(Staged::default())
}

fn policy_of_claims(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    create(&[with(
        held("v1", "PersistentVolumeClaim", namespace, "data", &[]),
        "spec",
        json!({
            "storageClassName": "none", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}
        }),
    )])?;
    let has_team = "has(object.metadata.labels) && 'team' in object.metadata.labels";
    in_force(&policy(namespace, namespace, "UPDATE", "persistentvolumeclaims", has_team))?;
    delete(&format!("pvc data -n {namespace}"))?;
    Ok(Staged::default())
}

/// A Job that runs one pod, which has these annotations.
pub fn job(namespace: &str, name: &str, annotations: &Value, grace: u32) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": namespace},
        "spec": {"template": {
            "metadata": {"annotations": annotations},
            "spec": {
                "restartPolicy": "Never", "terminationGracePeriodSeconds": grace,
                "nodeSelector": {"kubernetes.io/hostname": "node-a"},
                "containers": [{"name": "main", "image": "registry.invalid/none"}]
            }
        }}
    })
}

/// The garbage collector takes `foregroundDeletion` off by an update.
fn policy_of_jobs(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    create(&[job(namespace, "report", &json!({}), 5)])?;
    let has_team = "has(object.metadata.labels) && 'team' in object.metadata.labels";
    in_force(&policy(namespace, namespace, "UPDATE", "jobs", has_team))?;
    delete(&format!("job report -n {namespace} --cascade=foreground"))?;
    Ok(Staged::default())
}

/// The job controller takes its finalizer off pods by an update.
fn policy_of_tracking(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    create(&[job(namespace, "report", &json!({}), 5)])?;
    let others = "request.userInfo.username != 'system:serviceaccount:kube-system:job-controller'";
    in_force(&policy(namespace, namespace, "UPDATE", "pods", others))?;
    delete(&format!("pods --all -n {namespace}"))?;
    Ok(Staged::default())
}
