//! <https://github.com/longhorn/longhorn/issues/5319>: Longhorn's namespace was deleted with its manager and its webhook
//! in it. Its objects cannot be changed without the webhook, and the webhook's Service cannot be made again.

use crate::support::*;

#[test]
fn longhorn_and_its_webhook_went_together() {
    let error = "Internal error occurred: failed calling webhook \"validator.longhorn.io\": failed to call webhook: Post \
        \"https://longhorn-admission-webhook.longhorn-system.svc:9502/v1/webhook/validation?timeout=10s\": service \
        \"longhorn-admission-webhook\" not found";
    let config = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let world = healthy()
        .with_custom("longhorn.io", "engineimages", "EngineImage")
        .going("longhorn-system", content_failure(error))
        .may_change("longhorn-system", "longhorn-service-account", "longhorn.io", "engineimages")
        .product_webhook(
            "longhorn-webhook-validator",
            "longhorn-system/longhorn-admission-webhook",
            &["*"],
            "longhorn.io",
            "*",
        )
        .change(config, "longhorn-webhook-validator", |one| one["webhooks"][0]["name"] = "validator.longhorn.io".into())
        .held("longhorn.io/v1", "EngineImage", "longhorn-system", "ei-acb7", &["longhorn.io"]);
    let looked = look(world, object("engineimage", "longhorn-system", "ei-acb7"));
    assert_eq!(looked.causes(), ["WebhookGoneWithNamespace"], "{:#?}", looked.report);
    assert_eq!(looked.report.roots[0].verdict, Verdict::Stuck);
    let chain = looked.chain(0).join("\n");
    for part in ["held by finalizer longhorn.io", "longhorn-service-account", "cannot be created again"] {
        assert!(chain.contains(part), "{chain}");
    }
    // The same webhook is reported for the namespace.
    assert_eq!(look_at_namespace(error).causes(), ["WebhookGoneWithNamespace"]);
    let dont = &looked.report.roots[0].finding.remedy.dont;
    assert!(dont.contains("before the webhook's configuration is removed"), "{dont}");
}

fn look_at_namespace(error: &str) -> Looked {
    let config = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let world = healthy()
        .going("longhorn-system", content_failure(error))
        .product_webhook("validator", "longhorn-system/longhorn-admission-webhook", &["*"], "longhorn.io", "*")
        .change(config, "validator", |one| one["webhooks"][0]["name"] = "validator.longhorn.io".into());
    look(world, everything())
}
