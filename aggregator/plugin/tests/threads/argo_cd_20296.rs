//! <https://github.com/argoproj/argo-cd/issues/20296>: a policy of Kyverno sets Argo CD's finalizer on Applications. "If it
//! runs at every update, whenever argo tries to remove the finalizer because it deletes the resources, kyverno may add it
//! back." The thread prints no managedFields, so that Kyverno does is not proven: its webhook is named as the question.

use crate::support::*;

fn application() -> World {
    healthy()
        .with_custom("argoproj.io", "applications", "Application")
        .with(json!({"kind": "Namespace", "metadata": {"name": "argocd"}}))
        .held("argoproj.io/v1", "Application", "argocd", "test-app", &["resources-finalizer.argocd.argoproj.io"])
        .deployment("argocd", "argocd-application-controller", 1, 1)
        .may_change("argocd", "argocd-application-controller", "argoproj.io", "applications")
        .with(json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": "kyverno-resource-mutating-webhook-cfg"},
            "webhooks": [{
                "name": "mutate.kyverno.svc-fail", "failurePolicy": "Ignore",
                "clientConfig": {"service": {"namespace": "kyverno", "name": "kyverno-svc"}},
                "rules": [{"operations": ["CREATE", "UPDATE"], "apiGroups": ["argoproj.io"], "apiVersions": ["*"],
                    "resources": ["applications"]}]
            }]
        }))
}

#[test]
fn kyverno_may_put_argo_cds_finalizer_back() {
    let looked = look(application(), object("application", "argocd", "test-app"));
    assert_eq!(looked.causes(), ["ArgoCdFinalizer"], "{:#?}", looked.report);
    let evidence = &looked.report.roots[0].finding.evidence;
    let says = "may put the finalizer back: MutatingWebhookConfiguration kyverno-resource-mutating-webhook-cfg";
    assert!(evidence.iter().any(|one| one.says.contains(says)), "{evidence:#?}");
}

/// What would decide: who wrote the finalizer last, and when. Applications have no status subresource, so an entry that
/// holds the status as well is as young as the last word of the controller.
#[test]
fn the_managed_fields_decide() {
    for (field, cause) in [("f:metadata", "FinalizerAddedAgain"), ("f:status", "ArgoCdFinalizer")] {
        let world = application();
        let time = world.ago(20);
        let mut fields = json!({field: {}});
        fields["f:metadata"] = json!({"f:finalizers": {"v:\"resources-finalizer.argocd.argoproj.io\"": {}}});
        let world = world.change("/apis/argoproj.io/v1/applications", "test-app", |one| {
            one["metadata"]["managedFields"] =
                json!([{"manager": "argocd-application-controller", "time": time, "fieldsV1": fields}]);
        });
        let looked = look(world, object("application", "argocd", "test-app"));
        assert_eq!(looked.causes(), [cause], "{:#?}", looked.report);
    }
}
