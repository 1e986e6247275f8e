//! APIs that extend the server, and kinds that it cannot list.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};

use super::super::objects::*;
use super::super::{Situation, ask};
use crate::cluster::{Cluster, deleted_afterwards};
use crate::server::expired_certificate;
use crate::situation::Staged;

/// All of them.
pub fn all() -> Vec<Situation> {
    vec![
        Situation::new(
            "extension-403",
            forbids,
            [
                ask("ns/{ns}", "ApiServiceForbids", "v1.ext.e2e.example.com")
                    .never(&["restart kube-apiserver", "writes the default roles"]),
                ask("ns/e2e-extension-500", "NamespaceContentFailure", "").saying(&["the backend is on fire"]),
                ask("ns/e2e-extension-refills", "ObjectsRecreated", "created after"),
                ask("--before ns/extension", "NamespaceServesApi", "").saying(&["v1.ext.e2e.example.com"]),
            ],
        )
        .on_cluster(1),
        Situation::new("extension-stale", stale, [ask("ns/{ns}", "ApiDiscoveryStale", "v1.ext.e2e.example.com")])
            .on_cluster(13),
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
        Situation::new(
            "conversion-expired",
            conversion_expired,
            [ask("ns/{ns}", "ConversionWebhookUnavailable", "caBundle of the conversion webhook").proven()],
        )
        .on_cluster(10),
        Situation::new(
            "stored-version",
            stored_version,
            [ask("ns/{ns}", "StoredVersionNotServed", "stored.e2e.example.com/v1alpha1")],
        )
        .on_cluster(9),
        Situation::new("undecryptable", undecryptable, [ask("ns/{ns}", "ObjectNotDecodable", "")]).on_cluster(8),
        Situation::new(
            "undecodable",
            undecodable,
            [
                ask("ns/{ns}", "ObjectNotDecodable", "").never(&["controller manager's log"]),
                ask("crd/rotors.broken.e2e.example.com", "CrdInstancesRemain", ""),
            ],
        )
        .on_cluster(5),
    ]
}

/// Serves a kind. To the namespace controller it answers in one namespace 403, and in another 500; in a third it has a new
/// object at each request.
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
        path if path.ends_with("/e2e-extension-403/gadgets") && user.ends_with(":namespace-controller") => {
            let message = format!(
                "gadgets.ext.e2e.example.com is forbidden: User {user:?} cannot list resource \"gadgets\" in API group \
                 \"ext.e2e.example.com\" in the namespace \"any\""
            );
            (403, failure(403, "Forbidden", &message))
        }
        path if path.ends_with("/e2e-extension-500/gadgets") && user.ends_with(":namespace-controller") => {
            (500, failure(500, "InternalError", "the backend is on fire"))
        }
        path if path.ends_with("/gadgets") => {
            let now = crate::api_set::nodes::now().unwrap_or_default();
            let mut gadget =
                held("ext.e2e.example.com/v1", "Gadget", "e2e-extension-refills", &format!("g{}", &now[17..19]), &[]);
            gadget["metadata"]["creationTimestamp"] = json!(now);
            let items = if path.contains("/e2e-extension-refills/") { vec![gadget] } else { Vec::new() };
            (
                200,
                json!({
                    "kind": "GadgetList", "apiVersion": "ext.e2e.example.com/v1", "metadata": {"resourceVersion": "1"},
                    "items": items
                }),
            )
        }
        _ => (404, failure(404, "NotFound", "not found")),
    };
    (StatusCode::from_u16(code).unwrap_or_default(), Json(answer)).into_response()
}

fn failure(code: u16, reason: &str, message: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code, "message": message,
        "details": {"group": "ext.e2e.example.com", "kind": "gadgets"}
    })
}

/// The check behind Available asks for its version, and discovery for its groups.
async fn without_groups(request: Request) -> Response {
    match request.uri().path().trim_end_matches('/') {
        "/apis" => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        _ => extension(request).await,
    }
}

fn extended(app: Router) -> anyhow::Result<Staged> {
    let backend = Backend::start("extension", app)?;
    create(&[api_service("ext.e2e.example.com", "extension", Some(&backend.bundle()))])?;
    kubectl("wait --for=condition=Available apiservice/v1.ext.e2e.example.com --timeout=60s")?;
    Ok(deleted_afterwards("apiservice", "v1.ext.e2e.example.com").and(Staged::until_the_end(backend)))
}

fn forbids(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let staged = extended(Router::new().fallback(extension))?;
    let others = ["e2e-extension-500", "e2e-extension-refills"];
    create(&others.map(self::namespace))?;
    delete(&format!("namespace {namespace} {}", others.join(" ")))?;
    Ok(staged)
}

fn stale(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let staged = extended(Router::new().fallback(without_groups))?;
    delete(&format!("namespace {namespace}"))?;
    Ok(staged)
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

/// Its pods run.
fn conversion_expired(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let backend = Backend::start("e2e-dial", Router::new())?;
    let bundle = BASE64_STANDARD.encode(expired_certificate("e2e-dial.e2e-dial.svc")?);
    let client = with(backend.client_config(), "caBundle", json!(bundle));
    let staged = converted(namespace, "dials.expired.e2e.example.com", "Dial", &client)?;
    Ok(staged.and(Staged::until_the_end(backend)))
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

/// An object of a version that its definition does not have.
fn stored_version(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let name = "knobs.stored.e2e.example.com";
    define(name, "Knob", "Namespaced")?;
    create(&[held("stored.e2e.example.com/v1", "Knob", namespace, "new", &[])])?;
    let mut old = held("stored.e2e.example.com/v1alpha1", "Knob", namespace, "old", &[]);
    old["metadata"]["uid"] = json!("11111111-1111-1111-1111-111111111111");
    old["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    etcd(&format!("/registry/stored.e2e.example.com/knobs/{namespace}/old"), old.to_string().as_bytes())?;
    std::thread::sleep(std::time::Duration::from_secs(5));
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
    define("rotors.broken.e2e.example.com", "Rotor", "Namespaced")?;
    let keys = [
        format!("/registry/secrets/{namespace}/broken"),
        "/registry/broken.e2e.example.com/rotors/default/broken".to_owned(),
    ];
    keys.iter().try_for_each(|key| etcd(key, b"k8s\0garbage"))?;
    std::thread::sleep(std::time::Duration::from_secs(5));
    delete(&format!("namespace {namespace}"))?;
    delete("crd rotors.broken.e2e.example.com")?;
    Ok(Staged::at_the_end(move || {
        let _ = keys.iter().try_for_each(|key| etcd(key, b""));
    }))
}
