//! Finalizers: who sets them, and what stands in the way of removing them.

use std::time::Duration;

use serde_json::json;

use super::super::objects::*;
use super::super::{Situation, ask};
use crate::cluster::Cluster;
use crate::situation::Staged;

/// All of them.
pub fn all() -> Vec<Situation> {
    vec![
        Situation::new(
            "unrelated-crd",
            unrelated_crd,
            [ask("pod/held -n {ns}", "FinalizerOwnerUnknown", "Pod {ns}/held").never(&["install the same version"])],
        ),
        Situation::new(
            "three-names",
            three_names,
            [ask("cm/beta -n {ns}", "FinalizerOwnerUnknown", "beta").never(&["Deployment e2e-three-names/alpha"])],
        ),
        Situation::new(
            "operator-gone",
            operator_gone,
            [ask(
                "backups.gone.e2e.example.com/b -n {ns}",
                "FinalizerControllerGone",
                "ServiceAccount e2e-nowhere/gone-operator: does not exist",
            )
            .never(&["e2e-nowhere:operator may"])
            .then_typing(
                &["kubectl patch backups.gone.e2e.example.com b"],
                &["backups.gone.e2e.example.com b -n {ns}"],
            )],
        ),
        Situation::new(
            "operator-fails",
            operator_fails,
            [ask(
                "gears.fails.e2e.example.com/g -n {ns}",
                "FinalizerControllerFailing",
                "Deployment {ns}/gear-operator",
            )
            .saying(&["AccessDenied"])
            .never(&["install the same version"])],
        ),
        Situation::new(
            "crd-instance",
            crd_instance,
            [ask("crd/cogs.inst.e2e.example.com", "FinalizerControllerGone", "Cog {ns}/c")
                .then_typing(&["kubectl patch cogs.inst.e2e.example.com c"], &["crd cogs.inst.e2e.example.com"])],
        ),
        Situation::new(
            "plain-service",
            plain_service,
            [ask("svc/plain -n {ns}", "LoadBalancerCleanupPending", "Service {ns}/plain")
                .never(&["costs money"])
                .then_typing(&["kubectl patch service plain -n {ns}"], &["service plain -n {ns}"])],
        ),
    ]
}

fn unrelated_crd(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let mut pod = held("v1", "Pod", namespace, "held", &["e2e.example.com/hold"]);
    pod["spec"] = json!({"nodeName": "node-a", "containers": [{"name": "main", "image": "registry.invalid/none"}]});
    create(&[pod])?;
    define("things.unrelated.e2e.example.com", "Thing", "Namespaced")?;
    delete(&format!("pod held -n {namespace} --grace-period=1"))?;
    Ok(Staged::default())
}

fn three_names(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    for name in ["alpha", "beta", "gamma"] {
        let finalizer = format!("{name}.e2e.example.com/cleanup");
        create(&[deployment(namespace, name, &json!({})), held("v1", "ConfigMap", namespace, name, &[&finalizer])])?;
        delete(&format!("configmap {name} -n {namespace}"))?;
    }
    Ok(Staged::default())
}

/// An account that may do everything and runs nothing, and one in a namespace that is gone.
fn operator_gone(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    define("backups.gone.e2e.example.com", "Backup", "Namespaced")?;
    let [_, role, binding] = operator_rights("e2e-nowhere", "gone-operator", "gone.e2e.example.com");
    create(&[
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "deployer", "namespace": namespace}}),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": namespace},
            "subjects": [{"kind": "ServiceAccount", "name": "deployer", "namespace": namespace}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
        }),
        role,
        binding,
        held("gone.e2e.example.com/v1", "Backup", namespace, "b", &["gone.e2e.example.com/cleanup"]),
    ])?;
    delete(&format!("backups.gone.e2e.example.com b -n {namespace}"))?;
    Ok(Staged::default())
}

fn operator_fails(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    define("gears.fails.e2e.example.com", "Gear", "Namespaced")?;
    let name = "gear-operator";
    create(&operator_rights(namespace, name, "fails.e2e.example.com"))?;
    create(&[
        deployment(namespace, name, &json!({"spec": {"serviceAccountName": name}})),
        held("fails.e2e.example.com/v1", "Gear", namespace, "g", &["fails.e2e.example.com/finalizer"]),
    ])?;
    kubectl(&format!("-n {namespace} rollout status deployment {name} --timeout=60s"))?;
    delete(&format!("gears.fails.e2e.example.com g -n {namespace}"))?;
    std::thread::sleep(Duration::from_secs(2));
    let now = String::from_utf8(std::process::Command::new("date").args(["-u", "+%FT%TZ"]).output()?.stdout)?;
    let says = "cannot-delete-bucket:AccessDenied:not-authorized";
    let status = json!({"status": {"conditions": [{
        "type": "Ready", "status": "False", "reason": "CleanupFailed", "message": says, "lastTransitionTime": now.trim()
    }]}});
    kubectl(&format!(
        "-n {namespace} patch gears.fails.e2e.example.com g --subresource=status --type=merge -p {status}"
    ))?;
    Ok(Staged::default())
}

fn crd_instance(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    define("cogs.inst.e2e.example.com", "Cog", "Namespaced")?;
    create(&[held("inst.e2e.example.com/v1", "Cog", namespace, "c", &["inst.e2e.example.com/f"])])?;
    delete("crd cogs.inst.e2e.example.com")?;
    Ok(Staged::default())
}

fn plain_service(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let finalizer = "service.kubernetes.io/load-balancer-cleanup";
    create(&[with(held("v1", "Service", namespace, "plain", &[finalizer]), "spec", json!({"ports": [{"port": 80}]}))])?;
    delete(&format!("service plain -n {namespace}"))?;
    Ok(Staged::default())
}
