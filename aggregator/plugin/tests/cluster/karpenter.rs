//! Nodes that Karpenter empties.

use crate::drain::{NODES, asked, budget, cordoned, pod, shop};
use crate::support::*;

const NODE_CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";

/// Karpenter ends the machine of a node that is empty, and waits for its end.
#[test]
fn a_node_whose_machine_is_being_ended_is_not_lost() {
    let ends = |seconds: i64| {
        let world =
            healthy().terminated_by_karpenter("node-a").node_ready("node-a", "Unknown", "NodeStatusUnknown", "");
        let since = world.ago(seconds);
        let looked = look(
            world.change("/api/v1/nodes", "node-a", |node| {
                node["status"]["conditions"][0]["lastTransitionTime"] = since.into();
            }),
            everything(),
        );
        assert!(!looked.causes().contains(&"NodeUnreachable") && !looked.causes().is_empty(), "{:?}", looked.causes());
        looked.report.verdict
    };
    assert_eq!((ends(120), ends(3600)), (Verdict::Progressing, Verdict::Stuck));
}

/// Nothing requests an eviction where Karpenter does not run: that it "empties" the node would be false.
#[test]
fn a_node_that_karpenter_should_empty_where_there_is_no_karpenter() {
    let world = shop().with_cluster_wide("karpenter.sh", "nodeclaims", "NodeClaim");
    let looked = asked(world.with(pod("web-0", "True", |_| {})).terminated_by_karpenter("node-a"));
    assert_eq!(looked.causes(), ["FinalizerControllerGone"], "{:#?}", looked.report);
    assert!(!looked.chain(0).join("\n").contains("Karpenter should empty it"), "{:?}", looked.chain(0));
    let evidence = format!("{:?}", looked.report.roots[0].finding.evidence);
    assert!(evidence.contains("shop/web-0"), "{evidence}");
}

#[test]
fn karpenter_passes_over_pods_that_tolerate_its_taint() {
    let declines = |pod: &mut Value| pod["metadata"]["annotations"] = json!({"karpenter.sh/do-not-disrupt": "true"});
    let tolerant = |pod: &mut Value| {
        declines(pod);
        pod["spec"]["tolerations"] =
            json!([{"key": "karpenter.sh/disrupted", "operator": "Exists", "effect": "NoSchedule"}]);
    };
    let world = |pod| shop().with(pod).terminated_by_karpenter("node-a");
    assert_eq!(asked(world(pod("web-0", "True", declines))).causes(), ["DrainPodDeclines"]);
    let looked = asked(world(pod("web-0", "True", tolerant)));
    assert!(!looked.causes().contains(&"DrainPodDeclines"), "{:#?}", looked.report);
    // Of a DaemonSet it evicts the pods as well.
    let of_daemon_set = |pod: &mut Value| {
        declines(pod);
        pod["metadata"]["ownerReferences"][0]["kind"] = "DaemonSet".into();
    };
    assert_eq!(asked(world(pod("log-0", "True", of_daemon_set))).causes(), ["DrainPodDeclines"]);
}

#[test]
fn karpenter_leaves_pods_alone_that_ask_for_it() {
    let annotated = |pod: &mut Value| pod["metadata"]["annotations"] = json!({"karpenter.sh/do-not-disrupt": "true"});
    let world = || shop().with(pod("job", "True", annotated));
    let looked = look(world().terminated_by_karpenter("node-a"), everything());
    assert_eq!(looked.causes(), ["DrainPodDeclines"], "{:#?}", looked.report);
    assert!(looked.chain(0)[1].contains("karpenter.sh/do-not-disrupt"), "{:?}", looked.chain(0));
    // kubectl drain does not ask for it.
    assert_eq!(asked(cordoned(world())).causes(), ["DrainNotIssued"]);
    // A NodeClaim leads on to its node.
    let world = world()
        .terminated_by_karpenter("node-a")
        .with_cluster_wide("karpenter.sh", "nodeclaims", "NodeClaim")
        .held_cluster_wide("karpenter.sh/v1", "NodeClaim", "pool-x", "karpenter.sh/termination")
        .reports("/apis/karpenter.sh/v1/nodeclaims", "pool-x", json!({"nodeName": "node-a"}));
    let looked = look(world, object("nodeclaim", "", "pool-x"));
    assert_eq!(looked.causes(), ["DrainPodDeclines"], "{:#?}", looked.report);
    assert!(looked.chain(0)[1].starts_with("Node node-a: Karpenter should empty it"), "{:?}", looked.chain(0));
}

/// A budget that never allows an eviction, on a node whose NodeClaim ends so many seconds from now.
pub fn budget_until(seconds: Option<i64>) -> World {
    let world = shop()
        .with(pod("web-0", "True", |pod| pod["spec"]["terminationGracePeriodSeconds"] = 30.into()))
        .with(budget("web", 0, 1, 1, 1))
        .terminated_by_karpenter("node-a")
        .change(NODES, "node-a", |node| {
            node["metadata"]["ownerReferences"] = json!([
                {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "name": "pool-x", "uid": "pool-x"}
            ]);
        })
        .with_cluster_wide("karpenter.sh", "nodeclaims", "NodeClaim")
        .held_cluster_wide("karpenter.sh/v1", "NodeClaim", "pool-x", "karpenter.sh/termination");
    let Some(seconds) = seconds else { return world };
    let at = world.ago(-seconds);
    world.change(NODE_CLAIMS, "pool-x", |claim| {
        claim["metadata"]["annotations"] = json!({"karpenter.sh/nodeclaim-termination-timestamp": at});
    })
}

/// karpenter: pkg/controllers/node/termination/terminator/eviction.go, `needsForceDelete`.
#[test]
fn karpenter_deletes_around_a_budget_when_the_time_of_its_node_claim_is_over() {
    let looked = asked(budget_until(Some(3600)));
    assert_eq!(looked.causes(), ["DrainBudgetAllowsNone"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Progressing);
    let chain = looked.chain(0).concat();
    assert!(!chain.contains("never will"), "{chain}");
    // Its pod has 30 seconds to end by then, so that it is deleted earlier.
    assert_eq!(asked(budget_until(Some(10))).report.verdict, Verdict::Progressing);
    // By now the budget is not what it waits for.
    let over = asked(budget_until(Some(-600)));
    assert_eq!(over.report.verdict, Verdict::Stuck);
    assert!(!over.causes().contains(&"DrainBudgetAllowsNone"), "{:#?}", over.report);
    let unlimited = asked(budget_until(None));
    assert_eq!((unlimited.causes(), unlimited.report.verdict), (vec!["DrainBudgetAllowsNone"], Verdict::Stuck));
    assert_eq!(unlimited.report.roots[0].finding.confidence, Confidence::Proven);
    let hidden = asked(budget_until(Some(3600)).refuse(NODE_CLAIMS, 403, "nodeclaims.karpenter.sh is forbidden"));
    assert_eq!((hidden.causes(), hidden.report.verdict), (vec!["DrainBudgetAllowsNone"], Verdict::Stuck));
    assert_eq!(hidden.report.roots[0].finding.confidence, Confidence::Probable);
    assert!(!hidden.chain(0).concat().contains("never will"), "{:?}", hidden.chain(0));
}

/// karpenter: pkg/utils/pod/scheduling.go, `IsStuckTerminating`. The node was said to wait for the pod for ever.
#[test]
fn karpenter_waits_for_a_pod_that_goes_for_a_minute_only() {
    let since = |seconds: i64| {
        let world = shop().going_pod("shop", "p", "node-a", "Running").terminated_by_karpenter("node-a");
        let deadline = world.ago(seconds);
        let attachment = json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
            "metadata": {"name": "csi-1", "deletionTimestamp": deadline, "finalizers": ["external-attacher/ebs-csi-aws-com"]},
            "spec": {"attacher": "ebs.csi.aws.com", "nodeName": "node-a", "source": {"persistentVolumeName": "pv-1"}},
            "status": {"attached": true, "detachError": {"message": "rpc error: code = Internal desc = no"}}
        });
        let claim = json!({
            "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop", "uid": "d"},
            "spec": {"volumeName": "pv-1"}, "status": {"phase": "Bound"}
        });
        asked(world.with(json!([attachment, claim])).change("/api/v1/pods", "p", |pod| {
            pod["metadata"]["deletionTimestamp"] = deadline.into();
            pod["spec"]["volumes"] = json!([{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]);
        }))
    };
    let chains = |looked: &Looked| (0..looked.causes().len()).flat_map(|at| looked.chain(at)).collect::<Vec<_>>();
    let looked = since(30);
    assert!(chains(&looked).iter().any(|one| one.starts_with("Pod shop/p")), "{:#?}", looked.report);
    let looked = since(600);
    let of_node =
        looked.report.roots.iter().filter(|root| root.victims.iter().any(|one| one.held.thing.kind == "Node"));
    let said = format!("{:?}", of_node.flat_map(|root| &root.finding.chain).collect::<Vec<_>>());
    assert!(!said.contains("shop/p") && !said.contains("csi-1"), "{said}");
    let notes = format!("{:?}", looked.report.notes);
    assert!(notes.contains("does not wait for a pod") && notes.contains("shop/p"), "{notes}");
}
