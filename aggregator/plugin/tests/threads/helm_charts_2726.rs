//! <https://github.com/VictoriaMetrics/helm-charts/issues/2726>: the operator and its Service are uninstalled, its webhook is
//! not, and its finalizer stays on its own kinds and on what it has created.

use crate::support::*;

#[test]
fn what_an_uninstalled_operator_left_is_two_roots() {
    let finalizer = "apps.victoriametrics.com/finalizer";
    let group = "operator.victoriametrics.com";
    let mut world = healthy().with_custom(group, "vmagents", "VMAgent").going("vm", all_false());
    for kind in ["ConfigMap", "Service", "ServiceAccount"] {
        world = world.held("v1", kind, "vm", "vmagent-stack", &[finalizer]);
    }
    let world = world.held("operator.victoriametrics.com/v1", "VMAgent", "vm", "stack", &[finalizer]).with(json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "vm-operator-admission"},
        "webhooks": [{
            "name": "vmagents.operator.victoriametrics.com", "failurePolicy": "Fail",
            "clientConfig": {"service": {"namespace": "vm", "name": "vm-operator"}},
            "rules": [{"operations": ["UPDATE"], "apiGroups": [group], "apiVersions": ["v1"], "resources": ["vmagents"]}]
        }]
    }));
    let looked = look(world, object("ns", "", "vm"));
    let mut causes = looked.causes();
    causes.sort_unstable();
    assert_eq!(causes, ["ControllerCleanupPending", "WebhookGoneWithNamespace"], "{:#?}", looked.report);
}
