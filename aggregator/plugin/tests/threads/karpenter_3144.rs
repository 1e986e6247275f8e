//! <https://github.com/kubernetes-sigs/karpenter/issues/3144>: the NodeClaims stay in Draining, and no eviction is ever
//! issued for pods that could be evicted.

use crate::support::*;

#[test]
fn the_claim_says_that_it_is_not_drained() {
    let claims = "/apis/karpenter.sh/v1/nodeclaims";
    let status = json!({"conditions": [
        {"type": "Ready", "status": "True", "reason": "Ready"},
        {"type": "Consolidatable", "status": "Unknown"},
        {"type": "Drained", "status": "Unknown", "reason": "Draining", "message": "Draining"}
    ]});
    let world = healthy()
        .with_cluster_wide("karpenter.sh", "nodeclaims", "NodeClaim")
        .held_cluster_wide("karpenter.sh/v1", "NodeClaim", "pool-x", "karpenter.sh/termination")
        .reports(claims, "pool-x", status);
    let looked = look(world, object("nodeclaim", "", "pool-x"));
    assert_eq!(looked.report.verdict, Verdict::Stuck, "{:#?}", looked.report);
    let root = looked.chain(0).pop().unwrap();
    assert!(root.contains("Drained=Unknown Draining"), "{root}");
}
