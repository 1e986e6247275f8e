//! <https://github.com/aws/aws-application-networking-k8s/issues/115>: the GatewayClass was deleted first. The controller runs,
//! and ignores a Gateway without a class.

use crate::support::*;

#[test]
fn a_gateway_of_vpc_lattice_whose_class_was_deleted_first() {
    let group = "gateway.networking.k8s.io";
    let world = healthy()
        .with_custom(group, "gateways", "Gateway")
        .with_cluster_wide(group, "gatewayclasses", "GatewayClass")
        .active("hotel")
        .held("gateway.networking.k8s.io/v1", "Gateway", "hotel", "my-hotel", &["gateway.k8s.aws/resources"])
        .change("/apis/gateway.networking.k8s.io/v1/gateways", "my-hotel", |one| {
            one["spec"] = json!({"gatewayClassName": "amazon-vpc-lattice"});
        })
        .deployment("aws-application-networking-system", "gateway-api-controller", 1, 1)
        .may_change("aws-application-networking-system", "gateway-api-controller", group, "gateways");
    let looked = look(world, object("gateway", "hotel", "my-hotel"));
    assert_eq!(looked.causes(), ["FinalizerControllerNeedsMissing"], "{:#?}", looked.report);
    let chain = looked.chain(0);
    assert!(chain[0].contains("the AWS Gateway API Controller") && !chain[0].contains("Load Balancer"), "{chain:?}");
    assert!(chain[1].starts_with("GatewayClass amazon-vpc-lattice: does not exist"), "{chain:?}");
}
