//! <https://github.com/kubernetes/kubernetes/issues/129883>: a policy about claims reads its parameters from the namespace that is
//! being deleted, and they went first.

use crate::support::*;

const VERSION: &str = "admissionregistration.k8s.io/v1";

#[test]
fn the_binding_that_denies_without_parameters_is_the_root() {
    let remains = failing(
        "NamespaceFinalizersRemaining",
        "Some content in the namespace has finalizers remaining: kubernetes.io/pvc-protection in 1 resource instances",
    );
    let world = healthy()
        .going("team-a", remains)
        .with_custom("limits.example.com", "storagelimits", "StorageLimit")
        .held("v1", "PersistentVolumeClaim", "team-a", "data", &["kubernetes.io/pvc-protection"])
        .with(json!([
            {"apiVersion": VERSION, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "pvc-limit"}, "spec": {
                "failurePolicy": "Fail", "paramKind": {"apiVersion": "limits.example.com/v1", "kind": "StorageLimit"},
                "matchConstraints": {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}, "resourceRules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
                    "resources": ["persistentvolumeclaims"], "scope": "*"
                }]},
                "validations": [{"expression": "object.spec.resources.requests.storage <= params.max"}]
            }},
            {"apiVersion": VERSION, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "pvc-limit-binding"},
             "spec": {"policyName": "pvc-limit", "validationActions": ["Deny"],
                "paramRef": {"name": "limit", "parameterNotFoundAction": "Deny"}}}
        ]));
    let looked = look(world, object("ns", "default", "team-a"));
    assert_eq!(looked.causes(), ["PolicyParametersMissing"], "{:#?}", looked.report);
    looked.assert_chain(
        0,
        &[
            "Namespace team-a: Terminating",
            "PersistentVolumeClaim team-a/data: Terminating",
            "ValidatingAdmissionPolicy pvc-limit: admission evaluates it",
            "ValidatingAdmissionPolicyBinding pvc-limit-binding: its parameter StorageLimit limit in team-a does not exist",
        ],
    );
}
