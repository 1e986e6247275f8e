//! <https://github.com/istio/istio/issues/29451>: the operator was removed before the control plane's object, whose
//! finalizer only it takes off.

use crate::support::*;

#[test]
fn an_operator_that_was_removed_first() {
    let group = "install.istio.io";
    let world = healthy()
        .with_custom(group, "istiooperators", "IstioOperator")
        .with(json!({"kind": "Namespace", "metadata": {"name": "istio-system"}}))
        .held(
            "install.istio.io/v1",
            "IstioOperator",
            "istio-system",
            "istio-control-plane",
            &["istio-finalizer.install.istio.io"],
        )
        .grants("istio-operator", &[group], &["*"], &["*"], json!([sa("istio-operator", "istio-operator")]));
    let looked = look(world, object("istiooperator", "istio-system", "istio-control-plane"));
    let root = &looked.report.roots[0];
    assert_eq!((root.verdict, root.finding.confidence), (Verdict::Stuck, Confidence::Probable), "{root:#?}");
    looked.assert_chain(
        0,
        &[
            "IstioOperator istio-system/istio-control-plane: ",
            "ServiceAccount istio-operator/istio-operator: does not exist, and nothing runs as it",
        ],
    );
}
