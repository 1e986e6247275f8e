//! APIs and webhooks that do not answer.

use apiserver::Prepared;
use serde_json::json;

use super::{Conditions, Stage, silent_service};
use crate::cluster::text::object;

/// The aggregated API that every namespace waits for; these wait for nothing else.
pub fn dead_api(stage: &Stage, add: &mut dyn FnMut(Prepared)) -> anyhow::Result<()> {
    silent_service("kube-system", "metrics-server", add);
    add(object(
        "apiservices",
        json!({
            "metadata": {"name": "v1beta1.metrics.k8s.io"},
            "spec": {
                "group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
                "insecureSkipTLSVerify": true,
                "service": {"namespace": "kube-system", "name": "metrics-server", "port": 443}
            },
            "status": {"conditions": [{
                "type": "Available", "status": "False", "reason": "MissingEndpoints",
                "lastTransitionTime": stage.crowd.ago(8000),
                "message": "endpointslices for service/metrics-server in \"kube-system\" have no addresses with port name \"https\""
            }]}
        }),
    ));
    stage.namespaces(&Conditions::default(), add, |_, _| {});
    Ok(())
}

/// A webhook that must agree to deletions in these namespaces, and has no endpoint.
pub fn webhook(stage: &Stage, add: &mut dyn FnMut(Prepared)) -> anyhow::Result<()> {
    silent_service("policy-system", "guard", add);
    add(stage.crowd.namespace.fill("", "policy-system", &[]));
    add(object(
        "validatingwebhookconfigurations",
        json!({
            "metadata": {"name": "policy-guard"},
            "webhooks": [{
                "name": "guard.policy.example.com", "failurePolicy": "Fail", "timeoutSeconds": 5,
                "clientConfig": {"service": {"namespace": "policy-system", "name": "guard", "port": 443, "path": "/v"}},
                "namespaceSelector": {"matchLabels": {"example.com/stage": stage.trouble.name}},
                "rules": [{"operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["*"], "resources": ["configmaps"]}]
            }]
        }),
    ));
    let failure = "Internal error occurred: failed calling webhook \"guard.policy.example.com\": failed to call webhook: \
        Post \"https://guard.policy-system.svc:443/v?timeout=5s\": no endpoints available for service \"guard\"";
    stage.namespaces(&Conditions { failure: Some(failure), ..Conditions::default() }, add, |namespace, add| {
        add(object(
            "configmaps",
            json!({"metadata": {"name": "kube-root-ca.crt", "namespace": namespace}, "data": {}}),
        ));
    });
    Ok(())
}

/// A conversion webhook whose Service does not exist: the custom resources cannot even be listed.
pub fn conversion(stage: &Stage, add: &mut dyn FnMut(Prepared)) -> anyhow::Result<()> {
    add(object(
        "customresourcedefinitions",
        json!({
            "metadata": {"name": "gadgets.gadget.example.com"},
            "spec": {
                "group": "gadget.example.com", "scope": "Namespaced",
                "names": {"kind": "Gadget", "plural": "gadgets", "singular": "gadget"},
                "versions": [
                    {"name": "v1", "served": false, "storage": true}, {"name": "v2", "served": true, "storage": false}
                ],
                "conversion": {"strategy": "Webhook", "webhook": {
                    "conversionReviewVersions": ["v1"],
                    "clientConfig": {"service": {"namespace": "gadget-system", "name": "converter", "port": 443, "path": "/c"}}
                }}
            },
            "status": {"storedVersions": ["v1"], "conditions": [{"type": "Established", "status": "True"}]}
        }),
    ));
    let failure = "conversion webhook for gadget.example.com/v2, Kind=Gadget failed: Post \
        \"https://converter.gadget-system.svc:443/c?timeout=30s\": service \"converter\" not found";
    stage.namespaces(&Conditions { failure: Some(failure), ..Conditions::default() }, add, |_, _| {});
    Ok(())
}
