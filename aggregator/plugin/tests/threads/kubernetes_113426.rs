//! <https://github.com/kubernetes/kubernetes/issues/113426>: unmounting a Secret's volume says "target is busy", in the
//! kubelet's log only: the API shows the gate, and who would know the rest.

use crate::support::*;

#[test]
fn the_gate_is_named_and_who_knows_more() {
    let world = healthy().going_pod("default", "envoy", "node-a", "Failed");
    let asked = world.ago(8 * 86_400);
    let world = world.change("/api/v1/pods", "envoy", |pod| {
        pod["metadata"]["deletionTimestamp"] = asked.into();
        pod["spec"]["volumes"] = json!([{"name": "envoy-bootstrap-config-volume", "secret": {"secretName": "s"}}]);
    });
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["PodCleanupNotFinished"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Stuck);
    assert!(looked.chain(0)[0].contains("volumes or cgroup are not cleaned up on node-a"), "{:?}", looked.chain(0));
    assert!(looked.commands().contains(&check_once("default/envoy")));
    assert!(
        looked
            .report
            .notes
            .iter()
            .any(|note| note.contains("the process, mount or cgroup that holds the pod is unknown"))
    );
}
