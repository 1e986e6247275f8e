//! <https://github.com/kubevirt/kubevirt/issues/1491>: the KubeVirt object stays in Deleting; its conditions say no more than
//! that its deletion was asked for.

use crate::support::*;

#[test]
fn that_nothing_more_is_said_is_said() {
    let triggered = |kind: &str, status: &str| json!({"type": kind, "status": status, "reason": "DeletionInProgress", "message": "Deletion was triggered"});
    let status = json!({"phase": "Deleting", "conditions": [
        triggered("Available", "False"), triggered("Progressing", "False"), triggered("Degraded", "True")
    ]});
    let world = healthy()
        .with(json!({"kind": "Namespace", "metadata": {"name": "kubevirt"}}))
        .with_custom("kubevirt.io", "kubevirts", "KubeVirt")
        .held("kubevirt.io/v1", "KubeVirt", "kubevirt", "kubevirt", &["foregroundDeleteKubeVirt"])
        .reports("/apis/kubevirt.io/v1/kubevirts", "kubevirt", status);
    let looked = look(world, object("kubevirt", "kubevirt", "kubevirt"));
    assert_eq!(looked.report.verdict, Verdict::Stuck, "{:#?}", looked.report);
    let root = looked.chain(0).pop().unwrap();
    assert!(root.contains("foregroundDeleteKubeVirt"), "{root}");
    assert!(root.contains("it says no more than Available=False DeletionInProgress"), "{root}");
}
