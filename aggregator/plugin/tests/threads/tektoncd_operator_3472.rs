//! <https://github.com/tektoncd/operator/pull/3472>: TektonConfig stays, for its operator updates a namespace and runs into the
//! webhook of a Service that it has deleted itself.

use crate::support::*;

#[test]
fn the_webhook_that_the_condition_names_is_the_root_and_not_the_operator_that_runs() {
    let message = "Failed to finalize platform resources failed to update namespace default: Internal error occurred: failed \
        calling webhook \"namespace.operator.tekton.dev\": failed to call webhook: Post \
        \"https://tekton-operator-proxy-webhook.openshift-pipelines.svc:443/namespace-validation?timeout=10s\": service \
        \"tekton-operator-proxy-webhook\" not found";
    let world = healthy()
        .with_cluster_wide("operator.tekton.dev", "tektonconfigs", "TektonConfig")
        .held_cluster_wide("operator.tekton.dev/v1", "TektonConfig", "config", "tektonconfigs.operator.tekton.dev")
        .reports(
            "/apis/operator.tekton.dev/v1/tektonconfigs",
            "config",
            json!({"conditions": [{"type": "Ready", "status": "False", "reason": "Error", "message": message}]}),
        )
        .deployment("openshift-operators", "openshift-pipelines-operator", 1, 1)
        .may_change("openshift-operators", "openshift-pipelines-operator", "operator.tekton.dev", "tektonconfigs")
        .with(json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "namespace.operator.tekton.dev"},
            "webhooks": [{
                "name": "namespace.operator.tekton.dev",
                "clientConfig": {"service": {"namespace": "openshift-pipelines", "name": "tekton-operator-proxy-webhook"}},
                "rules": [{
                    "operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["namespaces"]
                }]
            }]
        }));
    let looked = look(world, object("tektonconfig", "", "config"));
    assert_eq!(looked.causes(), ["WebhookBlocksUpdate"], "{:#?}", looked.report);
    looked.assert_chain(
        0,
        &[
            "TektonConfig config: held by finalizer tektonconfigs.operator.tekton.dev",
            "Deployment openshift-operators/openshift-pipelines-operator: runs",
            "ValidatingWebhookConfiguration namespace.operator.tekton.dev: admission calls webhook",
            "Service openshift-pipelines/tekton-operator-proxy-webhook: does not exist",
        ],
    );
    let delete = "kubectl delete validatingwebhookconfiguration/namespace.operator.tekton.dev";
    assert!(looked.commands().iter().any(|command| command == delete), "{:?}", looked.commands());
}
