//! <https://github.com/kubernetes/kubernetes/issues/83332>: metrics-server is not Ready, so discovery is not complete, so
//! namespaces that have nothing to do with metrics are not deleted.

use crate::support::*;

#[test]
fn a_metrics_server_that_is_not_ready_holds_every_namespace() {
    let message = "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: \
        metrics.k8s.io/v1beta1: the server is currently unable to handle the request";
    let failed = || failing("NamespaceDeletionDiscoveryFailure", message);
    let unavailable = json!({
        "status": "False", "reason": "MissingEndpoints",
        "message": "endpoints for service/metrics-server in \"kube-system\" have no addresses with port name \"https\""
    });
    let world = healthy()
        .aggregated("metrics.k8s.io", "v1beta1", "kube-system/metrics-server", unavailable)
        .service("kube-system", "metrics-server", None)
        .deployment("kube-system", "metrics-server", 1, 0)
        .with(json!({
            "kind": "Pod",
            "metadata": {"name": "metrics-server-64f74f8d47-r5vcq", "namespace": "kube-system", "labels": {"app": "metrics-server"}},
            "spec": {"nodeName": "node-a"},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
        }))
        .going("one", failed())
        .going("two", failed());
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["ApiServiceWithoutEndpoints"], "{:#?}", looked.report);
    let root = &looked.report.roots[0];
    assert_eq!((root.verdict, root.finding.confidence), (Verdict::Stuck, Confidence::Proven));
    assert_eq!(looked.victims(0), ["Namespace one", "Namespace two"]);
    let chain = looked.chain(0).join("\n");
    assert!(chain.contains("metrics-server-64f74f8d47-r5vcq") && chain.contains("not ready"), "{chain}");
}
