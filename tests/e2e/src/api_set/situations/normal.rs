//! What ends by itself, and must not be called stuck.

use std::time::Duration;

use axum::{Json, Router, routing};
use serde_json::{Value, json};

use super::super::objects::*;
use super::super::{Situation, ask};
use super::admission::job;
use crate::cluster::Cluster;
use crate::situation::Staged;

/// All of them.
pub fn all() -> Vec<Situation> {
    vec![
        Situation::new(
            "long-grace",
            long_grace,
            [ask("ns/{ns}", "", "").saying(&["Pod {ns}/slow"]).never(&["Cannot tell"])],
        ),
        Situation::new(
            "normal",
            normal,
            [ask("ns/{ns}", "", "")
                .saying(&["\"verdict\":\"Progressing\"", "\"root_causes\":0"])
                .never(&["Cannot tell"])
                .then_doing(&["annotate pods --all e2e/never-ends- -n {ns}"], &["namespace {ns}"])],
        ),
        Situation::new(
            "repaired-webhook",
            repaired,
            [ask("ns/{ns}", "", "")
                .saying(&["NamespaceConditionOutdated", "its condition still names Webhook", "which answers again for"])
                .then_doing(&[], &["namespace {ns}"])],
        ),
        Situation::new("job-with-grace", job_with_grace, [ask("job/long -n {ns}", "", "").saying(&["long-"])]),
        Situation::new(
            "emptying",
            emptying,
            [
                ask("ns/{ns}", "", "").saying(&["ConfigMaps left, about"]),
                // Once the controller has written that a request took too long.
                ask("ns/{ns}", "", "")
                    .saying(&["ConfigMaps left, about", "ValidatingWebhookConfiguration e2e-emptying"]),
            ],
        ),
    ]
}

fn long_grace(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let mut pod = held("v1", "Pod", namespace, "slow", &[]);
    pod["metadata"]["annotations"] = json!({"e2e/never-ends": ""});
    pod["spec"] = json!({
        "nodeName": "node-a", "terminationGracePeriodSeconds": 900,
        "containers": [{"name": "main", "image": "registry.invalid/none"}]
    });
    create(&[pod, held("v1", "ConfigMap", namespace, "a", &[]), held("v1", "ServiceAccount", namespace, "b", &[])])?;
    kubectl(&format!("wait --for=condition=Ready pod/slow -n {namespace} --timeout=30s"))?;
    delete(&format!("namespace {namespace}"))?;
    std::thread::sleep(Duration::from_secs(60));
    Ok(Staged::default())
}

/// Pods that use their grace period, pods that end at once, a Deployment, and what else a namespace has. The controller tries
/// again after half of that grace period.
fn normal(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let pod = |number: usize| {
        let mut pod = held("v1", "Pod", namespace, &format!("p{number}"), &[]);
        if number < 8 {
            pod["metadata"]["annotations"] = json!({"e2e/never-ends": ""});
        }
        pod["spec"] = json!({
            "nodeName": "node-a", "terminationGracePeriodSeconds": 150,
            "containers": [{"name": "main", "image": "registry.invalid/none"}]
        });
        pod
    };
    create(&(0..12).map(pod).collect::<Vec<_>>())?;
    create(&(0..60).map(|one| held("v1", "ConfigMap", namespace, &format!("c{one}"), &[])).collect::<Vec<_>>())?;
    create(&[deployment(namespace, "web", &json!({}))])?;
    kubectl(&format!("wait --for=condition=Ready pod --all -n {namespace} --timeout=60s"))?;
    delete(&format!("namespace {namespace}"))?;
    std::thread::sleep(Duration::from_secs(65));
    Ok(Staged::default())
}

/// The Service of a webhook is back while the namespace controller, whose pauses have become long by then, does not know it
/// yet (kubernetes: cmd/kube-controller-manager/app/core.go, `nsControllerRateLimiter`: each twice the last, 60 s at most).
fn repaired(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    const NAME: &str = "repaired";
    let review = |Json(mut review): Json<Value>| async move {
        review["response"] = json!({"uid": review["request"]["uid"], "allowed": true});
        Json(review)
    };
    let backend = Backend::start(NAME, Router::new().fallback(routing::post(review)))?;
    kubectl(&format!("delete service {NAME} -n {NAME}"))?;
    create(&[
        held("v1", "ConfigMap", namespace, "a", &[]),
        webhook(namespace, namespace, "Fail", &backend.client_config(), "DELETE", "configmaps"),
    ])?;
    std::thread::sleep(Duration::from_secs(3));
    delete(&format!("namespace {namespace}"))?;
    // Its latest attempt is about 91 s after the deletion, and the next a minute after that.
    std::thread::sleep(Duration::from_secs(100));
    create(&[backend.service()])?;
    lab::wait_for("its endpoint", Duration::from_secs(30), || {
        let ready =
            kubectl(&format!("get endpointslices -n {NAME} -o jsonpath={{.items[*].endpoints[*].conditions.ready}}"))?;
        Ok(ready.contains("true").then_some(()))
    })?;
    Ok(Staged::until_the_end(backend))
}

fn job_with_grace(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    create(&[job(namespace, "long", &json!({"e2e/never-ends": ""}), 600)])?;
    kubectl(&format!(
        "wait --for=condition=Ready pod -l batch.kubernetes.io/job-name=long -n {namespace} --timeout=60s"
    ))?;
    delete(&format!("job long -n {namespace} --cascade=foreground"))?;
    std::thread::sleep(Duration::from_secs(65));
    Ok(Staged::default())
}

/// A webhook lets everything pass, a little late.
fn emptying(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let review = |Json(mut review): Json<Value>| async move {
        tokio::time::sleep(Duration::from_millis(150)).await;
        review["response"] = json!({"uid": review["request"]["uid"], "allowed": true});
        Json(review)
    };
    let backend = Backend::start("lazy-webhook", Router::new().fallback(routing::post(review)))?;
    let all: Vec<Value> = (0..1500).map(|one| held("v1", "ConfigMap", namespace, &format!("c{one}"), &[])).collect();
    std::thread::scope(|scope| {
        let parts: Vec<_> = all.chunks(300).map(|part| scope.spawn(|| create(part))).collect();
        parts.into_iter().try_for_each(|part| part.join().unwrap_or_else(|_| anyhow::bail!("not created")))
    })?;
    create(&[webhook(namespace, namespace, "Fail", &backend.client_config(), "DELETE", "configmaps")])?;
    std::thread::sleep(Duration::from_secs(3));
    delete(&format!("namespace {namespace}"))?;
    std::thread::sleep(Duration::from_secs(55));
    Ok(Staged::until_the_end(backend))
}
