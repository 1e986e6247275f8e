//! <https://github.com/Azure/azure-service-operator/issues/4679>: the Secret with the credentials was deleted with the namespace.

use crate::support::*;

#[test]
fn what_is_missing_cannot_be_created_again_in_a_namespace_that_is_deleted() {
    let group = "resources.azure.com";
    let world = healthy()
        .going(
            "team-a",
            failing(
                "NamespaceFinalizersRemaining",
                "Some content in the namespace has finalizers remaining: x in 1 resource instances",
            ),
        )
        .active("aso")
        .with_custom(group, "resourcegroups", "ResourceGroup")
        .held("resources.azure.com/v1", "ResourceGroup", "team-a", "rg", &["serviceoperator.azure.com/finalizer"])
        .reports(
            "/apis/resources.azure.com/v1/resourcegroups",
            "rg",
            json!({"conditions": [{"type": "Ready", "status": "False", "reason": "SecretNotFound",
                "message": "credential secret \"team-a/aso-credential\" not found"}]}),
        )
        .deployment("aso", "azureserviceoperator-controller-manager", 1, 1)
        .may_change("aso", "azureserviceoperator-controller-manager", group, "resourcegroups");
    let looked = look(world, object("resourcegroup", "team-a", "rg"));
    assert_eq!(looked.causes(), ["FinalizerControllerNeedsMissing"], "{:#?}", looked.report);
    let steps = &looked.report.roots[0].finding.remedy.steps;
    assert!(steps.iter().any(|step| step.text.contains("cannot be created again")), "{steps:#?}");
}
