//! <https://github.com/kubernetes-sigs/cluster-api/issues/10661>: the drain is given up, and the volumes of the unreachable
//! node are never detached: the Machine waits for that.

use crate::support::*;

#[test]
fn the_machine_says_that_it_waits_for_its_volumes() {
    let machines = "/apis/cluster.x-k8s.io/v1/machines";
    let status = json!({"conditions": [
        {"type": "Ready", "status": "False", "reason": "Deleting", "severity": "Info"},
        {"type": "NodeHealthy", "status": "False", "reason": "Deleting", "severity": "Info"},
        {"type": "DrainingSucceeded", "status": "True"},
        {"type": "VolumeDetachSucceeded", "status": "False", "reason": "WaitingForVolumeDetach",
            "message": "Waiting for node volumes to be detached"}
    ]});
    let world = healthy()
        .with(json!({"kind": "Namespace", "metadata": {"name": "c1"}}))
        .with_custom("cluster.x-k8s.io", "machines", "Machine")
        .held("cluster.x-k8s.io/v1", "Machine", "c1", "md-0", &["machine.cluster.x-k8s.io"])
        .reports(machines, "md-0", status);
    let looked = look(world, object("machine", "c1", "md-0"));
    assert_eq!(looked.report.verdict, Verdict::Stuck, "{:#?}", looked.report);
    let root = looked.chain(0).pop().unwrap();
    let words = "VolumeDetachSucceeded=False WaitingForVolumeDetach: \"Waiting for node volumes to be detached\"";
    assert!(root.contains(words), "{root}");
}
