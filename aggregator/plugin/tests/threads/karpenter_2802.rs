//! <https://github.com/kubernetes-sigs/karpenter/issues/2802>: a budget that allows no disruption keeps a pod, and so
//! the drain, for ever.

use crate::support::*;

#[test]
fn the_drain_says_what_it_waits_for() {
    let about = ("Node", "", "node-a");
    let waits = "Failed to drain node, 1 pods are waiting to be evicted";
    let world = healthy().terminated_by_karpenter("node-a").event(about, "Warning", "FailedDraining", waits).event(
        about,
        "Normal",
        "DisruptionBlocked",
        "Node is deleting or marked for deletion",
    );
    let looked = look(world, everything());
    assert_eq!(looked.victims(0), ["Node node-a"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Stuck);
    let root = looked.chain(0).pop().unwrap();
    assert!(
        root.contains("karpenter.sh/termination") && root.contains(&format!("FailedDraining: \"{waits}\"")),
        "{root}"
    );
    let evidence = format!("{:?}", looked.report.roots[0].finding.evidence);
    assert!(evidence.contains("Node is deleting or marked for deletion"), "{evidence}");
}
