//! <https://github.com/istio/istio/issues/18815>: the operator and the control plane's object live in one
//! namespace, and the operator's pod is the first to go.

use crate::support::*;

#[test]
fn the_operator_goes_before_the_object_that_it_must_clean_up() {
    let group = "install.istio.io";
    let remaining = "Some resources are remaining: istiocontrolplanes.install.istio.io has 1 resource instances";
    let finalizer = "istio-finalizer.install.istio.io";
    let world = healthy()
        .with_custom(group, "istiocontrolplanes", "IstioControlPlane")
        .going("istio-operator", failing("NamespaceContentRemaining", remaining))
        .held("install.istio.io/v1", "IstioControlPlane", "istio-operator", "example", &[finalizer])
        .grants("istio-operator", &[group], &["*"], &["*"], json!([sa("istio-operator", "istio-operator")]));
    let looked = look(world, object("ns", "", "istio-operator"));
    assert_eq!(looked.causes(), ["FinalizerOwnerInSameNamespace"], "{:#?}", looked.report);
    assert_eq!(looked.victims(0), ["Namespace istio-operator"]);
    assert!(looked.chain(0)[1].starts_with("IstioControlPlane istio-operator/example: "), "{:?}", looked.chain(0));
}
