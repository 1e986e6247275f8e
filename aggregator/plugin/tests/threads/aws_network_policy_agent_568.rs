//! <https://github.com/aws/aws-network-policy-agent/issues/568>: the network policy controller was switched off,
//! and its finalizer on NetworkPolicies stays. It is not that of the load balancer controller.

use crate::support::*;

#[test]
fn a_network_policy_waits_for_the_network_policy_controller() {
    let world = healthy().with(json!({"kind": "Namespace", "metadata": {"name": "shop"}})).held(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        "shop",
        "deny",
        &["networking.k8s.aws/resources"],
    );
    let looked = look(world, object("networkpolicy", "shop", "deny"));
    assert_eq!(looked.report.verdict, Verdict::Stuck);
    assert_eq!(looked.causes(), ["ControllerCleanupPending"], "{:#?}", looked.report);
    let root = looked.chain(0).pop().unwrap();
    assert!(root.contains("the Amazon network policy controller"), "{root}");
}
