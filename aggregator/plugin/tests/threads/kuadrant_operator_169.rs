//! <https://github.com/Kuadrant/kuadrant-operator/issues/169>: at its start the object lacked another, of another namespace,
//! that was created later. The condition still says so; the operator never looked again until it was restarted.

use crate::support::*;

fn world() -> World {
    let says = "IstioOperator.install.istio.io \"istiocontrolplane\" not found";
    let world = healthy().active("kuadrant").active("istio-system");
    let before = world.ago(9000);
    world
        .with_custom("kuadrant.io", "kuadrants", "Kuadrant")
        .with_custom("install.istio.io", "istiooperators", "IstioOperator")
        .held("kuadrant.io/v1", "Kuadrant", "kuadrant", "sample", &["kuadrant.io/finalizer"])
        .reports(
            "/apis/kuadrant.io/v1/kuadrants",
            "sample",
            json!({"conditions": [{
                "type": "Ready", "status": "False", "reason": "ReconcilliationError", "message": says,
                "lastTransitionTime": before
            }]}),
        )
        .deployment("kuadrant", "kuadrant-operator", 1, 1)
        .may_change("kuadrant", "kuadrant-operator", "kuadrant.io", "kuadrants")
}

#[test]
fn what_exists_in_another_namespace_is_not_called_missing() {
    let with = world().with(json!({
        "apiVersion": "install.istio.io/v1", "kind": "IstioOperator",
        "metadata": {"name": "istiocontrolplane", "namespace": "istio-system"}
    }));
    let looked = look(with, object("kuadrant", "kuadrant", "sample"));
    assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{:#?}", looked.report);
    let root = looked.chain(0).pop().unwrap();
    assert!(root.contains("IstioOperator istio-system/istiocontrolplane exists"), "{root}");
    assert!(root.contains("unchanged since before the deletion"), "{root}");
    let restart = "kubectl -n kuadrant rollout restart deployment/kuadrant-operator";
    assert!(looked.commands().iter().any(|one| one == restart), "{:?}", looked.commands());
    let steps = &looked.report.roots[0].finding.remedy.steps;
    assert!(!steps.iter().any(|step| step.text.starts_with("Repair what it reports")), "{steps:#?}");
    let looked = look(world(), object("kuadrant", "kuadrant", "sample"));
    assert_eq!(looked.causes(), ["FinalizerControllerNeedsMissing"], "{:#?}", looked.report);
}
