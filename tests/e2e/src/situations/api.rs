//! What the API server and its controllers hold.

use anyhow::Context as _;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};

use crate::cluster::{Cluster, deleted_afterwards};
use crate::server::Server;
use crate::situation::{Cure, Situation, Staged};

/// All of them.
pub fn all() -> Vec<Situation> {
    // This one, as with kubectl edit.
    let without_finalizer = Cure::Done(|cluster, namespace| {
        let this_one = format!(
            r#"[{{"op":"test","path":"/metadata/finalizers","value":["{FINALIZER}"]}},{{"op":"remove","path":"/metadata/finalizers/0"}}]"#
        );
        cluster.kubectl(&["patch", "configmap", "held", "-n", namespace, "--type=json", "-p", &this_one])?;
        Ok(Staged::default())
    });
    let delete_api = Cure::Typed(&["kubectl delete apiservice v1.dead.e2e.example.com"]);
    let delete_webhook = Cure::Typed(&["kubectl delete validatingwebhookconfiguration"]);
    vec![
        Situation::of_api("finalizer", "FinalizerOwnerUnknown", finalizer, without_finalizer),
        Situation::of_api("dead-api", "ApiServiceWithoutService", dead_api, delete_api).alone(),
        Situation::of_api("webhook", "WebhookUnavailable", webhook, delete_webhook),
        // Every namespace that goes meanwhile is held by it, whatever else is in it.
        Situation::of_api("conversion", "ConversionWebhookUnavailable", conversion, Cure::Done(converts_again)).alone(),
    ]
}

const FINALIZER: &str = "nobody.example.org/never";
/// The namespace and the Service that convert.
const CONVERTER: (&str, &str) = ("e2e-converter", "convert");
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
    cluster.apply(&[config_map(namespace, "held", &json!({"finalizers": [FINALIZER]}))])?;
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
                    "clientConfig": {"service": {"namespace": CONVERTER.0, "name": CONVERTER.1, "path": "/c"}}
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

/// The operator is back, with its Service and a new certificate; this machine serves for its pod.
fn converts_again(cluster: &Cluster, _: &str) -> anyhow::Result<Staged> {
    let (namespace, name) = CONVERTER;
    let converter = Server::converter(&format!("{name}.{namespace}.svc"))?;
    let node = cluster.json(&["get", "node", &cluster.node])?;
    let mut addresses = node["status"]["addresses"].as_array().into_iter().flatten();
    let address = addresses.find(|address| address["type"] == "InternalIP").context("a node without an address")?;
    let (metadata, ports) = (json!({"name": name, "namespace": namespace}), json!([{"port": converter.port}]));
    let staged = deleted_afterwards("namespace", namespace);
    cluster.apply(&[
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}),
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": metadata,
            "spec": {"ports": [{"port": 443, "targetPort": converter.port}]}
        }),
        json!({
            "apiVersion": "v1", "kind": "Endpoints", "metadata": metadata,
            "subsets": [{"addresses": [{"ip": address["address"]}], "ports": ports}]
        }),
    ])?;
    let bundle = json!({"caBundle": BASE64_STANDARD.encode(&converter.certificate)});
    let trust = json!({"spec": {"conversion": {"webhook": {"clientConfig": bundle}}}}).to_string();
    cluster.kubectl(&["patch", "crd", CRD, "--type=merge", "-p", &trust])?;
    Ok(staged.and(Staged::until_the_end(converter)))
}
