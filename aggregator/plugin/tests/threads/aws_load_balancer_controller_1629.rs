//! <https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/1629>: AWS does not let the controller look at its target
//! groups, so the Ingress stays.

use crate::support::*;

#[test]
fn the_refusal_of_the_cloud_is_told() {
    let refusal = "Failed deploy model due to AccessDenied: User: arn:aws:sts::1:assumed-role/node is not authorized to perform: elasticloadbalancing:DescribeTargetGroups";
    let world = healthy()
        .with(json!({"kind": "Namespace", "metadata": {"name": "shop"}}))
        .held("networking.k8s.io/v1", "Ingress", "shop", "web", &["ingress.k8s.aws/resources"])
        .event(("Ingress", "shop", "web"), "Warning", "FailedDeployModel", refusal);
    let looked = look(world, object("ingress", "shop", "web"));
    assert_eq!(looked.causes(), ["ExternalResourceFinalizer"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Stuck);
    let root = looked.chain(0).pop().unwrap();
    assert!(
        root.contains("ingress.k8s.aws/resources")
            && root.contains("FailedDeployModel: \"Failed deploy model due to AccessDenied"),
        "{root}"
    );
}
