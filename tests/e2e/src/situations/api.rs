//! What the API server and its controllers hold.

use serde_json::{Value, json};

use crate::cluster::{Cluster, deleted_afterwards};
use crate::situation::{Cure, Situation, Staged};

/// All of them.
pub fn all() -> Vec<Situation> {
    let without_finalizers = Cure::Done(|cluster, namespace| {
        let none = r#"{"metadata":{"finalizers":null}}"#;
        cluster.kubectl(&["patch", "configmap", "held", "-n", namespace, "--type=merge", "-p", none])?;
        Ok(Staged::default())
    });
    // As if the operator were back: it stores and serves one form only.
    let without_conversion = Cure::Done(|cluster, _| {
        let none = r#"{"spec":{"conversion":{"strategy":"None","webhook":null}}}"#;
        cluster.kubectl(&["patch", "crd", CRD, "--type=merge", "-p", none])?;
        Ok(Staged::default())
    });
    let delete_api = Cure::Typed(&["kubectl delete apiservice v1.dead.e2e.example.com"]);
    let delete_webhook = Cure::Typed(&["kubectl delete validatingwebhookconfiguration"]);
    vec![
        Situation::of_api("finalizer", "FinalizerOwnerUnknown", finalizer, without_finalizers),
        Situation::of_api("dead-api", "ApiServiceWithoutService", dead_api, delete_api).alone(),
        Situation::of_api("webhook", "WebhookUnavailable", webhook, delete_webhook),
        // Every namespace that goes meanwhile is held by it, whatever else is in it.
        Situation::of_api("conversion", "ConversionWebhookUnavailable", conversion, without_conversion).alone(),
    ]
}

const CRD: &str = "widgets.e2e.example.com";

fn config_map(namespace: &str, name: &str, more: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}
    });
    if let (Some(metadata), Some(more)) = (object["metadata"].as_object_mut(), more.as_object()) {
        metadata.extend(more.clone());
    }
    object
}

fn finalizer(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    cluster.apply(&[config_map(namespace, "held", &json!({"finalizers": ["nobody.example.org/never"]}))])?;
    Ok(Staged::default())
}

fn dead_api(cluster: &Cluster, _: &str) -> anyhow::Result<Staged> {
    let name = "v1.dead.e2e.example.com";
    cluster.apply(&[json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": name},
        "spec": {
            "group": "dead.e2e.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100,
            "insecureSkipTLSVerify": true, "service": {"namespace": "gone", "name": "dead"}
        }
    })])?;
    Ok(deleted_afterwards("apiservice", name))
}

fn webhook(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let name = "guard.e2e.example.com";
    cluster.apply(&[
        config_map(namespace, "guarded", &json!({"labels": {"e2e": "guarded"}})),
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": [{
                "name": name, "failurePolicy": "Fail", "sideEffects": "None", "timeoutSeconds": 2,
                "admissionReviewVersions": ["v1"],
                "clientConfig": {"service": {"namespace": "gone", "name": "guard", "path": "/g"}},
                "rules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["configmaps"]
                }],
                "objectSelector": {"matchLabels": {"e2e": "guarded"}}
            }]
        }),
    ])?;
    Ok(deleted_afterwards("validatingwebhookconfiguration", name))
}

fn conversion(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let version =
        |name: &str, storage: bool| json!({"name": name, "served": true, "storage": storage, "schema": schema});
    let definition = |stored_now: &str| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": CRD},
            "spec": {
                "group": "e2e.example.com", "scope": "Namespaced",
                "names": {"kind": "Widget", "plural": "widgets", "singular": "widget"},
                "conversion": {"strategy": "Webhook", "webhook": {
                    "conversionReviewVersions": ["v1"],
                    "clientConfig": {"service": {"namespace": "gone", "name": "convert", "path": "/c"}}
                }},
                "versions": [version("v1", stored_now == "v1"), version("v2", stored_now == "v2")]
            }
        })
    };
    let staged = deleted_afterwards("crd", CRD);
    cluster.apply(&[definition("v1")])?;
    cluster.kubectl(&["wait", "--for=condition=Established", "crd", CRD, "--timeout=30s"])?;
    cluster.apply(&[json!({
        "apiVersion": "e2e.example.com/v1", "kind": "Widget", "metadata": {"name": "old", "namespace": namespace}
    })])?;
    cluster.apply(&[definition("v2")])?;
    Ok(staged)
}
