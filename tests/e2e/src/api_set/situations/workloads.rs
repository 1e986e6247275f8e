//! Nodes, drains and budgets.

use serde_json::{Value, json};

use super::super::nodes::node;
use super::super::objects::*;
use super::super::{Situation, ask};
use crate::cluster::Cluster;
use crate::situation::Staged;

/// All of them.
pub fn all() -> Vec<Situation> {
    vec![
        Situation::new(
            "node-held",
            node_held,
            [ask("node/e2e-held", "FinalizerOwnerUnknown", "Node e2e-held")
                .then_typing(&["kubectl patch node e2e-held"], &["node e2e-held"])],
        ),
        Situation::new(
            "node-karpenter",
            node_of_karpenter,
            [ask("node/e2e-karpenter", "FinalizerControllerGone", "karpenter")],
        ),
        Situation::new(
            "budget-zero",
            budget_zero,
            [ask("node/e2e-budget-zero", "DrainBudgetAllowsNone", "PodDisruptionBudget {ns}/web")
                .never(&["add a replica", "minAvailable"])],
        ),
        Situation::new(
            "budget-minimum",
            budget_minimum,
            [ask("node/e2e-budget-minimum", "DrainBudgetAllowsNone", "PodDisruptionBudget {ns}/web")
                .saying(&["its pods are of Deployment/web"])],
        ),
        Situation::new(
            "budget-crash",
            budget_over_crash,
            [ask("node/e2e-budget-crash", "DrainBudgetAllowsNone", "PodDisruptionBudget {ns}/web")
                .saying(&["AlwaysAllow"])],
        ),
    ]
}

fn node_held(_: &Cluster, _: &str) -> anyhow::Result<Staged> {
    let mut node = node("e2e-held", false);
    node["metadata"]["finalizers"] = json!(["hold.e2e.example.com/node"]);
    create(&[node])?;
    delete("node e2e-held")?;
    Ok(Staged::default())
}

fn node_of_karpenter(_: &Cluster, _: &str) -> anyhow::Result<Staged> {
    define("nodeclaims.karpenter.sh", "NodeClaim", "Cluster")?;
    let mut node = node("e2e-karpenter", true);
    node["metadata"]["finalizers"] = json!(["karpenter.sh/termination"]);
    create(&[
        node,
        json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
            "metadata": {"name": "e2e-claim", "finalizers": ["karpenter.sh/termination"]},
            "status": {"nodeName": "e2e-karpenter"}
        }),
    ])?;
    delete("node e2e-karpenter")?;
    Ok(Staged::default())
}

/// A pod of a Deployment on a cordoned node, and its budget.
fn budget(namespace: &str, node_name: &str, budget: Value, annotations: &Value) -> anyhow::Result<Staged> {
    let mut spec = budget;
    spec["selector"] = json!({"matchLabels": {"app": "web"}});
    create(&[
        node(node_name, true),
        deployment(
            namespace,
            "web",
            &json!({
                "annotations": annotations, "spec": {"nodeSelector": {"kubernetes.io/hostname": node_name}}
            }),
        ),
        json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "web", "namespace": namespace}, "spec": spec
        }),
    ])?;
    lab::wait_for("the pod", std::time::Duration::from_secs(60), || {
        std::thread::sleep(std::time::Duration::from_secs(1));
        let phase = kubectl(&format!("get pods -n {namespace} -o jsonpath={{.items[*].status.phase}}"))?;
        Ok((phase == "Running").then_some(()))
    })?;
    kubectl(&format!("cordon {node_name}"))?;
    Ok(Staged::default())
}

fn budget_zero(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    budget(namespace, "e2e-budget-zero", json!({"maxUnavailable": 0}), &json!({}))
}

fn budget_minimum(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    budget(namespace, "e2e-budget-minimum", json!({"minAvailable": 1}), &json!({}))
}

fn budget_over_crash(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    budget(namespace, "e2e-budget-crash", json!({"minAvailable": 1}), &json!({"e2e/crashes": ""}))
}
