//! Finalizers that no controller removes.

use apiserver::Prepared;
use serde_json::{Value, json};

use super::{Conditions, Stage, deployment};
use crate::cluster::text::object;

/// Custom resources of an operator that was scaled to 0.
pub fn gone(stage: &Stage, add: &mut dyn FnMut(Prepared)) -> anyhow::Result<()> {
    add(stage.crowd.namespace.fill("", "backup-system", &[]));
    add(object("deployments", deployment("backup-system", "operator", 0, 0)));
    custom(stage, "backup.example.com", "backups", "Backup", "backup-system", "operator", 3, add);
    Ok(())
}

/// Custom resources whose only operator lived in the same namespace.
pub fn inside(stage: &Stage, add: &mut dyn FnMut(Prepared)) -> anyhow::Result<()> {
    custom(stage, "queue.example.com", "queues", "Queue", "operator-inside-0", "operator", 2, add);
    Ok(())
}

/// A CRD, the rights of its operator, and `count` objects in each of the namespaces.
#[expect(clippy::too_many_arguments, reason = "each is one name in the objects")]
fn custom(
    stage: &Stage,
    group: &str,
    plural: &'static str,
    kind: &str,
    operator_namespace: &str,
    account: &str,
    count: usize,
    add: &mut dyn FnMut(Prepared),
) {
    add(object(
        "customresourcedefinitions",
        json!({
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {
                "group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
                "versions": [{"name": "v1", "served": true, "storage": true}], "conversion": {"strategy": "None"}
            },
            "status": {"storedVersions": ["v1"], "conditions": [{"type": "Established", "status": "True"}]}
        }),
    ));
    let role = format!("{plural}-operator");
    add(object(
        "rbac.authorization.k8s.io/v1/clusterroles",
        json!({"metadata": {"name": role}, "rules": [{
            "apiGroups": [group], "resources": [plural, format!("{plural}/status")], "verbs": ["get", "list", "watch", "update"]
        }]}),
    ));
    add(object(
        "rbac.authorization.k8s.io/v1/clusterrolebindings",
        json!({
            "metadata": {"name": role},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "namespace": operator_namespace, "name": account}]
        }),
    ));
    let finalizer = format!("{group}/cleanup");
    let conditions = Conditions {
        remaining: Some(&format!("{plural}.{group} has {count} resource instances")),
        finalizers: Some(&format!("{finalizer} in {count} resource instances")),
        ..Conditions::default()
    };
    stage.namespaces(&conditions, add, |namespace, add| {
        for index in 0..count {
            let metadata = held(stage, namespace, &format!("{plural}-{index}"), &finalizer);
            add(object(&format!("{group}/v1/{plural}"), json!({"metadata": metadata, "spec": {"size": index}})));
        }
    });
}

/// ConfigMaps with a finalizer that no known program takes off.
pub fn nobody(stage: &Stage, add: &mut dyn FnMut(Prepared)) -> anyhow::Result<()> {
    let conditions = Conditions {
        remaining: Some("configmaps. has 2 resource instances"),
        finalizers: Some("legacy.example.com/hold in 2 resource instances"),
        ..Conditions::default()
    };
    stage.namespaces(&conditions, add, |namespace, add| {
        for name in ["settings", "flags"] {
            let metadata = held(stage, namespace, name, "legacy.example.com/hold");
            add(object("configmaps", json!({"metadata": metadata, "data": {"key": "value"}})));
        }
    });
    Ok(())
}

/// An entry of another program in the namespace's spec; the controller has removed its own.
pub fn spec(stage: &Stage, add: &mut dyn FnMut(Prepared)) -> anyhow::Result<()> {
    let finalizer = ["controller.example.com/namespace-auth"];
    stage.namespaces_with(&Conditions::default(), &finalizer, add, |_, _| {});
    Ok(())
}

/// The metadata of an object that was asked to go with its namespace.
fn held(stage: &Stage, namespace: &str, name: &str, finalizer: &str) -> Value {
    json!({
        "name": name, "namespace": namespace, "generation": 2, "finalizers": [finalizer],
        "deletionTimestamp": stage.crowd.ago(7190), "deletionGracePeriodSeconds": 0
    })
}
