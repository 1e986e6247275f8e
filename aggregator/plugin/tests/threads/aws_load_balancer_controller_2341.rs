//! <https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/2341>: AWS refuses the clean-up that the finalizer of a
//! Service stands for.

use crate::support::*;

#[test]
fn the_refusal_of_the_cloud_is_told() {
    let refusal =
        "Failed deploy model due to AccessDenied: not authorized to perform: elasticloadbalancing:DeleteTargetGroup";
    let world = healthy()
        .with(json!({"kind": "Namespace", "metadata": {"name": "shop"}}))
        .held("v1", "Service", "shop", "web", &["service.k8s.aws/resources"])
        .event(("Service", "shop", "web"), "Warning", "FailedDeployModel", refusal);
    let looked = look(world, object("service", "shop", "web"));
    assert_eq!(looked.causes(), ["ExternalResourceFinalizer"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Stuck);
    let root = looked.chain(0).pop().unwrap();
    assert!(
        root.contains("service.k8s.aws/resources")
            && root.contains("FailedDeployModel: \"Failed deploy model due to AccessDenied"),
        "{root}"
    );
}
