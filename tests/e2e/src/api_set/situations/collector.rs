//! The garbage collector: its rights, dependents, and orphans.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::objects::*;
use super::super::{Situation, ask};
use super::admission::EXCLUDE;
use crate::cluster::Cluster;
use crate::situation::Staged;

const BINDING: &str = "clusterrolebinding system:controller:generic-garbage-collector";

/// All of them.
pub fn all() -> Vec<Situation> {
    vec![
        Situation::new(
            "collector-rights",
            without_rights,
            [ask("deployment/web -n {ns}", "BuiltInControllerForbidden", "garbage collector")],
        )
        .on_cluster(1),
        Situation::new(
            "foreground",
            dependent_held,
            [ask("secret/own -n {ns}", "FinalizerOwnerUnknown", "ConfigMap {ns}/dep").then_typing(
                &["kubectl patch configmap dep -n {ns}"],
                &["secret own -n {ns}", "configmap dep -n {ns}"],
            )],
        ),
        Situation::new(
            "orphan",
            orphan_refused,
            [ask("cm/orph -n {ns}", "PolicyMayRefuse", "e2e-orphan")
                .saying(&["ServiceAccount {ns}/dep"])
                .refusing("kubectl annotate serviceaccount dep -n {ns} why-terminating=try --dry-run=server")
                .then_doing(EXCLUDE, &["configmap orph -n {ns}"])],
        ),
        Situation::new(
            "owner-elsewhere",
            owner_elsewhere,
            [
                ask("cm/dep -n {ns}", "OwnerInOtherNamespace", "ConfigMap {ns}/dep"),
                ask("cm/kindless -n {ns}", "OwnerKindUnknown", "ConfigMap {ns}/kindless"),
            ],
        ),
        Situation::new(
            "owners-circle",
            owners_circle,
            [ask("cm/one -n {ns}", "DeletionsWaitForEachOther", "ConfigMap {ns}/two").then_doing(
                &["patch configmap one -n {ns} --type=merge -p {\"metadata\":{\"ownerReferences\":null}}"],
                &["configmap one -n {ns}", "configmap two -n {ns}"],
            )],
        ),
        Situation::new("unblocked", two_owners, [ask("cm/own -n {ns}", "FinalizerOwnerUnknown", "ConfigMap {ns}/own")]),
    ]
}

fn without_rights(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    create(&[deployment(namespace, "web", &json!({}))])?;
    kubectl(&format!("-n {namespace} rollout status deployment web --timeout=60s"))?;
    let mut binding: Value = serde_json::from_str(&kubectl(&format!("get {BINDING} -o json"))?)?;
    for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
        binding["metadata"][field] = Value::Null;
    }
    kubectl(&format!("delete {BINDING}"))?;
    std::thread::sleep(Duration::from_secs(3));
    delete(&format!("deployment web -n {namespace} --cascade=foreground"))?;
    Ok(Staged::at_the_end(move || {
        let _ = create(&[binding]);
    }))
}

pub(super) fn owned(mut object: Value, kind: &str, name: &str, uid: &str) -> Value {
    object["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": kind, "name": name, "uid": uid, "blockOwnerDeletion": true}]);
    object
}

/// The collector lets go an owner in a circle only when it meets it before its own deletion.
fn owners_circle(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    create(&[held("v1", "ConfigMap", namespace, "one", &[]), held("v1", "ConfigMap", namespace, "two", &[])])?;
    for (name, owner) in [("one", "two"), ("two", "one")] {
        let uid = uid(&format!("configmap {owner} -n {namespace}"))?;
        let owned = owned(held("v1", "ConfigMap", namespace, name, &[]), "ConfigMap", owner, &uid);
        let owners = json!({"metadata": {"ownerReferences": owned["metadata"]["ownerReferences"]}});
        kubectl(&format!("patch configmap {name} -n {namespace} --type=merge -p {owners}"))?;
    }
    std::thread::sleep(Duration::from_secs(12));
    // The collector breaks the circle where it sees one deletion before the other.
    let collector = Paused::program("controllers")?;
    delete(&format!("configmap one two -n {namespace} --cascade=foreground"))?;
    drop(collector);
    Ok(Staged::default())
}

fn dependent_held(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    create(&[held("v1", "Secret", namespace, "own", &[])])?;
    let uid = uid(&format!("secret own -n {namespace}"))?;
    create(&[owned(held("v1", "ConfigMap", namespace, "dep", &["hold.e2e.example.com/it"]), "Secret", "own", &uid)])?;
    std::thread::sleep(Duration::from_secs(4));
    delete(&format!("secret own -n {namespace} --cascade=foreground"))?;
    Ok(Staged::default())
}

/// The collector takes the owner off its dependents first.
fn orphan_refused(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    create(&[held("v1", "ConfigMap", namespace, "orph", &[])])?;
    let uid = uid(&format!("configmap orph -n {namespace}"))?;
    create(&[owned(held("v1", "ServiceAccount", namespace, "dep", &[]), "ConfigMap", "orph", &uid)])?;
    create(&policy(namespace, namespace, "UPDATE", "serviceaccounts", "false"))?;
    std::thread::sleep(Duration::from_secs(12));
    delete(&format!("configmap orph -n {namespace} --cascade=orphan"))?;
    Ok(Staged::default())
}

/// The collector would delete the one, which a policy forbids, and passes the other over.
fn owner_elsewhere(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    create(&policy(namespace, namespace, "DELETE", "configmaps", "false"))?;
    std::thread::sleep(Duration::from_secs(12));
    let account = uid("serviceaccount default -n default")?;
    let mut kindless = owned(held("v1", "ConfigMap", namespace, "kindless", &[]), "Widget", "w", "1-2-3");
    kindless["metadata"]["ownerReferences"][0]["apiVersion"] = json!("uninstalled.e2e.example.com/v1");
    let dependent = owned(held("v1", "ConfigMap", namespace, "dep", &[]), "ServiceAccount", "default", &account);
    create(&[dependent, kindless])?;
    Ok(Staged::default())
}

/// Its own finalizer holds it, and nothing that it owns.
fn two_owners(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    create(&[held("v1", "ConfigMap", namespace, "own", &["hold.e2e.example.com/it"])])?;
    let uid = uid(&format!("configmap own -n {namespace}"))?;
    create(&[owned(held("v1", "ConfigMap", namespace, "dep", &[]), "ConfigMap", "own", &uid)])?;
    delete(&format!("configmap own -n {namespace}"))?;
    Ok(Staged::default())
}
