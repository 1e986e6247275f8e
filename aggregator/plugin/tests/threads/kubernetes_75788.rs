//! <https://github.com/kubernetes/kubernetes/issues/75788>: an APIService without a backend holds every namespace, also
//! those that have nothing to do with it.

use crate::support::*;

#[test]
fn an_adapter_that_does_not_run_holds_a_namespace() {
    let group = "custom.metrics.k8s.io";
    let world = healthy().with(json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": format!("v1beta1.{group}")},
        "spec": {"group": group, "version": "v1beta1",
            "service": {"namespace": "custom-metrics", "name": "custom-metrics-stackdriver-adapter", "port": 443}},
        "status": {"conditions": [{"type": "Available", "status": "False", "reason": "ServiceNotFound",
            "message": "service/custom-metrics-stackdriver-adapter in \"custom-metrics\" is not present"}]}
    }));
    // A server of that time wrote no conditions on its namespaces.
    let looked = look(world.going("test", json!(null)), everything());
    assert_eq!(looked.causes(), ["ApiServiceWithoutService"], "{:#?}", looked.report);
    let root = &looked.report.roots[0];
    assert_eq!((root.verdict, root.finding.confidence), (Verdict::Stuck, Confidence::Proven));
    assert_eq!(looked.victims(0), ["Namespace test"]);
    let link = "APIService v1beta1.custom.metrics.k8s.io";
    assert!(looked.chain(0).iter().any(|one| one.starts_with(link)), "{:?}", looked.chain(0));
}
