//! <https://github.com/aws/karpenter-provider-aws/issues/1166>: the instance was ended from outside; its
//! kubelet is silent, its pods stay, and Karpenter's finalizer waits for them.

use crate::support::*;

#[test]
fn the_silent_node_holds_its_pods_and_itself() {
    let world = healthy()
        .terminated_by_karpenter("node-a")
        .node_ready("node-a", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
        .going_pod("default", "inflate-1", "node-a", "Running")
        .going_pod("default", "inflate-2", "node-a", "Running");
    let looked = look(world, everything());
    let silent = looked.causes().iter().position(|cause| *cause == "NodeUnreachable").unwrap();
    assert_eq!(looked.report.roots[silent].verdict, Verdict::Stuck);
    let victims = looked.victims(silent);
    assert!(victims.contains(&"Pod default/inflate-1".to_owned()) && victims.len() >= 2, "{victims:?}");
    assert!(
        looked.report.roots.iter().any(|root| root
            .finding
            .chain
            .iter()
            .any(|link| link.state.contains("karpenter.sh/termination")))
    );
}
