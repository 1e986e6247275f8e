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
        Situation::new(
            "budgets",
            two_budgets,
            [ask("node/e2e-budgets", "DrainBudgetAllowsNone", "PodDisruptionBudgets other and web of {ns}")
                .proven()
                .then_doing(&["delete pdb other -n {ns}"], &[])],
        ),
        Situation::new(
            "drain-declined",
            declines,
            [ask("node/e2e-declined", "DrainPodDeclines", "1 pod on it").proven().saying(&["{ns}/keeps"])],
        ),
        Situation::new(
            "drain-returns",
            returns,
            [ask("node/e2e-returns", "DrainPodReturns", "1 pod on it").proven().saying(&["{ns}/web-"])],
        ),
        Situation::new(
            "drain-consent",
            needs_consent,
            [ask("node/e2e-consent", "DrainNeedsConsent", "1 pod on it").saying(&["{ns}/alone"])],
        ),
        Situation::new(
            "drain-not-issued",
            not_issued,
            [ask("node/e2e-not-issued", "DrainNotIssued", "1 pod on it").saying(&["{ns}/web-"])],
        ),
        Situation::new(
            "eviction-webhook",
            eviction_webhook,
            [ask("node/e2e-eviction", "WebhookBlocksUpdate", "e2e-eviction-webhook").saying(&["{ns}/web-"])],
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
fn budget(namespace: &str, node_name: &str, spec: Value, annotations: &Value) -> anyhow::Result<Staged> {
    let on_node = json!({"annotations": annotations, "spec": {"nodeSelector": {"kubernetes.io/hostname": node_name}}});
    create(&[
        node(node_name, true),
        deployment(namespace, "web", &on_node),
        disruption_budget(namespace, "web", spec),
    ])?;
    cordoned(namespace, node_name)
}

fn disruption_budget(namespace: &str, name: &str, mut spec: Value) -> Value {
    spec["selector"] = json!({"matchLabels": {"app": "web"}});
    with(held("policy/v1", "PodDisruptionBudget", namespace, name, &[]), "spec", spec)
}

/// Its pod runs, and the node is cordoned.
fn cordoned(namespace: &str, node_name: &str) -> anyhow::Result<Staged> {
    lab::wait_for("the pod", std::time::Duration::from_secs(60), || {
        std::thread::sleep(std::time::Duration::from_secs(1));
        let phase = kubectl(&format!("get pods -n {namespace} -o jsonpath={{.items[*].status.phase}}"))?;
        Ok((phase == "Running").then_some(()))
    })?;
    kubectl(&format!("cordon {node_name}"))?;
    Ok(Staged::default())
}

/// A Deployment of one pod on that node, which tolerates so much.
fn drained(namespace: &str, node_name: &str, tolerations: &Value) -> anyhow::Result<Staged> {
    let spec = json!({"nodeSelector": {"kubernetes.io/hostname": node_name}, "tolerations": tolerations});
    create(&[node(node_name, true), deployment(namespace, "web", &json!({"spec": spec}))])?;
    cordoned(namespace, node_name)
}

fn two_budgets(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    create(&[disruption_budget(namespace, "other", json!({"maxUnavailable": 1}))])?;
    budget(namespace, "e2e-budgets", json!({"maxUnavailable": 1}), &json!({}))
}

/// Karpenter leaves it alone.
fn declines(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let mut tainted = node("e2e-declined", true);
    tainted["spec"] = json!({"taints": [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]});
    create(&[tainted, pod(namespace, "keeps", "e2e-declined", &json!({"karpenter.sh/do-not-disrupt": "true"}))])?;
    kubectl(&format!("wait --for=condition=Ready pod/keeps -n {namespace} --timeout=60s"))?;
    Ok(Staged::default())
}

fn returns(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let staged = drained(namespace, "e2e-returns", &json!([{"operator": "Exists"}]))?;
    std::thread::sleep(std::time::Duration::from_secs(2));
    kubectl(&format!("delete pods --all -n {namespace}"))?;
    Ok(staged)
}

fn needs_consent(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    create(&[node("e2e-consent", true), pod(namespace, "alone", "e2e-consent", &json!({}))])?;
    cordoned(namespace, "e2e-consent")
}

fn not_issued(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    drained(namespace, "e2e-not-issued", &json!([]))
}

/// A webhook that cannot be called is asked about each eviction.
fn eviction_webhook(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let staged = drained(namespace, "e2e-eviction", &json!([]))?;
    let client = json!({"service": {"namespace": namespace, "name": "gone", "path": "/v"}});
    create(&[webhook(namespace, namespace, "Fail", &client, "CREATE", "pods/eviction")])?;
    Ok(staged)
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
