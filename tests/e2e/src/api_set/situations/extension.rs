//! APIs that extend the server, and kinds that it cannot list.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::super::objects::*;
use super::super::{Situation, ask};
use crate::cluster::{Cluster, deleted_afterwards};
use crate::situation::Staged;

/// All of them.
pub fn all() -> Vec<Situation> {
    vec![
        Situation::new(
            "extension-403",
            forbids,
            [ask("ns/{ns}", "ApiServiceForbids", "v1.ext.e2e.example.com")
                .never(&["restart kube-apiserver", "writes the default roles"])],
        )
        .on_cluster(1),
        Situation::new(
            "dead-api",
            dead_api,
            [ask("ns/{ns}", "ApiServiceWithoutService", "dead-api")
                .proven()
                .then_typing(&["kubectl delete apiservice"], &["namespace {ns}"])],
        )
        .on_cluster(2),
        Situation::new(
            "dead-api-of-owner",
            owner_of_dead_api,
            [ask("widgets.owners.e2e.example.com/w -n {ns}", "OwnerApiNotAnswering", "dead-owner").saying(&["dep"])],
        )
        .on_cluster(3),
        Situation::new(
            "conversion",
            conversion,
            [ask("ns/{ns}", "ConversionWebhookUnavailable", "e2e-converter").proven()],
        )
        .on_cluster(4),
        Situation::new("undecryptable", undecryptable, [ask("ns/{ns}", "ObjectNotDecryptable", "")]).on_cluster(8),
        Situation::new(
            "undecodable",
            undecodable,
            [ask("ns/{ns}", "ObjectNotDecodable", "").never(&["controller manager's log"])],
        )
        .on_cluster(5),
    ]
}

/// Serves a kind, and answers 403 to a client that deletes all of it in a namespace.
async fn extension(request: Request) -> Response {
    let group = json!({
        "kind": "APIGroup", "apiVersion": "v1", "name": "ext.e2e.example.com",
        "versions": [{"groupVersion": "ext.e2e.example.com/v1", "version": "v1"}],
        "preferredVersion": {"groupVersion": "ext.e2e.example.com/v1", "version": "v1"}
    });
    let user = request.headers().get("x-remote-user").and_then(|user| user.to_str().ok()).unwrap_or_default();
    let (code, answer) = match request.uri().path().trim_end_matches('/') {
        "/apis" => (200, json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": [group]})),
        "/apis/ext.e2e.example.com" => (200, group),
        "/apis/ext.e2e.example.com/v1" => (
            200,
            json!({
                "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "ext.e2e.example.com/v1",
                "resources": [{
                    "name": "gadgets", "singularName": "gadget", "namespaced": true, "kind": "Gadget",
                    "verbs": ["get", "list", "delete", "deletecollection", "create", "watch"]
                }]
            }),
        ),
        path if path.ends_with("/gadgets") && user.ends_with(":namespace-controller") => (
            403,
            json!({
                "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403,
                "details": {"group": "ext.e2e.example.com", "kind": "gadgets"},
                "message": format!(
                    "gadgets.ext.e2e.example.com is forbidden: User {user:?} cannot list resource \"gadgets\" in API group \
                     \"ext.e2e.example.com\" in the namespace \"any\""
                )
            }),
        ),
        path if path.ends_with("/gadgets") => (
            200,
            json!({
                "kind": "GadgetList", "apiVersion": "ext.e2e.example.com/v1", "metadata": {"resourceVersion": "1"}, "items": []
            }),
        ),
        _ => {
            (404, json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}))
        }
    };
    (StatusCode::from_u16(code).unwrap_or_default(), Json(answer)).into_response()
}

fn forbids(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let backend = Backend::start("extension", Router::new().fallback(extension))?;
    create(&[api_service("ext.e2e.example.com", "extension", Some(&backend.bundle()))])?;
    kubectl("wait --for=condition=Available apiservice/v1.ext.e2e.example.com --timeout=60s")?;
    delete(&format!("namespace {namespace}"))?;
    Ok(deleted_afterwards("apiservice", "v1.ext.e2e.example.com").and(Staged::until_the_end(backend)))
}

fn dead_api(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    create(&[api_service("dead.e2e.example.com", "dead-api", None)])?;
    delete(&format!("namespace {namespace}"))?;
    Ok(deleted_afterwards("apiservice", "v1.dead.e2e.example.com"))
}

/// The collector looks up every owner of a dependent.
fn owner_of_dead_api(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    define("widgets.owners.e2e.example.com", "Widget", "Namespaced")?;
    create(&[
        api_service("deadowner.e2e.example.com", "dead-owner", None),
        held("owners.e2e.example.com/v1", "Widget", namespace, "w", &[]),
    ])?;
    let uid = kubectl(&format!("get widgets.owners.e2e.example.com w -n {namespace} -o jsonpath={{.metadata.uid}}"))?;
    let mut dependent = held("v1", "ConfigMap", namespace, "dep", &[]);
    dependent["metadata"]["ownerReferences"] = json!([
        {"apiVersion": "owners.e2e.example.com/v1", "kind": "Widget", "name": "w", "uid": uid, "blockOwnerDeletion": true},
        {"apiVersion": "deadowner.e2e.example.com/v1", "kind": "Thing", "name": "t", "uid": "11111111-1111-1111-1111-111111111111"}
    ]);
    create(&[dependent])?;
    // The collector learns kinds every 30 s.
    std::thread::sleep(std::time::Duration::from_secs(35));
    delete(&format!("widgets.owners.e2e.example.com w -n {namespace} --cascade=foreground"))?;
    Ok(deleted_afterwards("apiservice", "v1.deadowner.e2e.example.com"))
}

/// The stored version is another than that of the object, and what converts is not there.
fn conversion(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let service = json!({"namespace": "e2e-converter", "name": "e2e-converter", "path": "/c"});
    converted(namespace, "gauges.conv.e2e.example.com", "Gauge", &json!({"service": service}))
}

fn converted(namespace: &str, name: &str, kind: &str, client: &Value) -> anyhow::Result<Staged> {
    define(name, kind, "Namespaced")?;
    let (_, group) = name.split_once('.').unwrap_or_default();
    create(&[held(&format!("{group}/v1"), kind, namespace, "old", &[])])?;
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let version = |name: &str| json!({"name": name, "served": true, "storage": name == "v2", "schema": schema});
    let spec = json!({"spec": {
        "versions": [version("v1"), version("v2")],
        "conversion": {"strategy": "Webhook", "webhook": {
            "conversionReviewVersions": ["v1"], "clientConfig": client
        }}
    }});
    kubectl(&format!("patch crd {name} --type=merge -p {spec}"))?;
    std::thread::sleep(std::time::Duration::from_secs(10));
    delete(&format!("namespace {namespace}"))?;
    Ok(deleted_afterwards("crd", name))
}

/// Its key is not among those of the API server.
fn undecryptable(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    etcd(&format!("/registry/secrets/{namespace}/sealed"), b"k8s:enc:aescbc:v1:old:garbage")?;
    std::thread::sleep(std::time::Duration::from_secs(5));
    delete(&format!("namespace {namespace}"))?;
    Ok(Staged::default())
}

fn undecodable(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let key = format!("/registry/secrets/{namespace}/broken");
    etcd(&key, b"k8s\0garbage")?;
    std::thread::sleep(std::time::Duration::from_secs(5));
    delete(&format!("namespace {namespace}"))?;
    Ok(Staged::at_the_end(move || {
        let _ = etcd(&key, b"");
    }))
}
