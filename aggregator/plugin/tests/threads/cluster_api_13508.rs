//! <https://github.com/kubernetes-sigs/cluster-api/issues/13508>: the drain of a node whose machine is off waits for a pod's budget.
//! Pod, budget and node are in the cluster that the machine belongs to, and the Machine in the one that manages it.

use crate::support::*;

fn world(cluster_wide: Value) -> Looked {
    let group = "cluster.x-k8s.io";
    let says = "Drain not completed yet (started at 2026-11-27T10:00:00Z):\n* Pod shop/db-0: cannot evict pod as it would violate \
        the pod's disruption budget. The disruption budget db needs 1 healthy pods and has 0 currently";
    let world = healthy()
        .active("clusters")
        .with_custom(group, "machines", "Machine")
        .held("cluster.x-k8s.io/v1", "Machine", "clusters", "w-1", &["machine.cluster.x-k8s.io"])
        .change("/apis/cluster.x-k8s.io/v1/machines", "w-1", |one| {
            one["spec"] = json!({"clusterName": "w"});
            one["status"] = json!({
                "nodeRef": {"name": "w-node-1"},
                "conditions": [{"type": "DrainingSucceeded", "status": "False", "reason": "Draining", "message": says}]
            });
        })
        .with(cluster_wide)
        .deployment("capi-system", "capi-controller-manager", 1, 1)
        .may_change("capi-system", "capi-controller-manager", group, "machines");
    look(world, object("machine", "clusters", "w-1"))
}

#[test]
fn the_budget_of_the_other_cluster_is_named_with_what_skips_the_drain() {
    let looked = world(json!([]));
    assert_eq!(looked.causes(), ["ExternalResourceFinalizer"], "{:#?}", looked.report);
    let steps = &looked.report.roots[0].finding.remedy.steps;
    assert!(steps.iter().any(|step| step.text.contains("in the machine's own cluster")), "{steps:#?}");
    let skip =
        "kubectl annotate machines.cluster.x-k8s.io w-1 -n clusters machine.cluster.x-k8s.io/exclude-node-draining=";
    assert!(looked.commands().iter().any(|one| one == skip), "{:?}", looked.commands());
    assert!(!steps.iter().any(|step| step.text.contains("credentials or quota")), "{steps:#?}");
}

/// A cluster that manages itself has them.
#[test]
fn the_budget_of_this_cluster_is_the_root() {
    let looked = world(json!([
        {"kind": "Namespace", "metadata": {"name": "shop"}},
        {"kind": "Pod", "metadata": {"name": "db-0", "namespace": "shop", "labels": {"app": "db"}}, "spec": {"nodeName": "node-a"}},
        {
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "db", "namespace": "shop"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "db"}}},
            "status": {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 1, "expectedPods": 1}
        }
    ]));
    assert_eq!(looked.causes(), ["DrainBudgetAllowsNone"], "{:#?}", looked.report);
    let steps = &looked.report.roots[0].finding.remedy.steps;
    assert!(steps.iter().any(|step| step.text.contains("unhealthyPodEvictionPolicy")), "{steps:#?}");
    let skip =
        "kubectl annotate machines.cluster.x-k8s.io/w-1 -n clusters machine.cluster.x-k8s.io/exclude-node-draining=";
    assert!(looked.commands().iter().any(|one| one == skip), "{:?}", looked.commands());
    let last = looked.chain(0).pop().unwrap();
    assert!(last.starts_with("PodDisruptionBudget shop/db: allows 0 disruptions"), "{last}");
}
