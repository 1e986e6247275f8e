//! <https://github.com/kubernetes/kubernetes/issues/118261>: the pod garbage collector's patch fails for a pod that
//! has a field twice, so the pod of a node that is gone stays.

use crate::support::*;

#[test]
fn a_pod_that_the_collector_cannot_patch_is_stuck_and_not_progressing() {
    let world = healthy().going_pod("default", "web-0", "spot-node-that-went", "Running");
    let asked = world.ago(86_400);
    let world = world.change("/api/v1/pods", "web-0", |pod| {
        pod["metadata"]["deletionTimestamp"] = asked.into();
        pod["spec"]["containers"] = json!([{"name": "c", "ports": [{"containerPort": 80}, {"containerPort": 80}]}]);
    });
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["PodGcRefused"], "{:#?}", looked.report);
    let root = &looked.report.roots[0];
    assert_eq!((root.verdict, root.finding.confidence), (Verdict::Stuck, Confidence::Probable));
    looked.assert_chain(0, &["Pod default/web-0", "Node spot-node-that-went: does not exist"]);
    let steps = &root.finding.remedy.steps;
    assert!(steps.iter().any(|step| step.text.contains("a port or an environment variable twice")), "{steps:#?}");
}
