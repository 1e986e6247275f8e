//! <https://github.com/kubernetes/kubernetes/issues/60807>: cert-manager served an aggregated API from the very
//! namespace that was deleted. The API cannot be listed any more, and so no namespace goes.

use crate::support::*;

#[test]
fn an_api_that_was_served_from_the_deleted_namespace_holds_it() {
    let world = healthy()
        .aggregated(
            "admission.certmanager.k8s.io",
            "v1beta1",
            "cert-manager/cert-manager-webhook",
            json!({
                "status": "False", "reason": "ServiceNotFound",
                "message": "service/cert-manager-webhook in \"cert-manager\" is not present"
            }),
        )
        .going("cert-manager", json!(null));
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["ApiServiceWithoutService"], "{:#?}", looked.report);
    let root = &looked.report.roots[0];
    assert_eq!((root.verdict, root.finding.confidence), (Verdict::Stuck, Confidence::Proven));
    assert_eq!(looked.victims(0), ["Namespace cert-manager"]);
    looked.assert_chain(
        0,
        &[
            "Namespace cert-manager: Terminating",
            "APIService v1beta1.admission.certmanager.k8s.io: not available",
            "Service cert-manager/cert-manager-webhook: does not exist",
        ],
    );
    let commands = looked.commands();
    assert!(
        commands.contains(&"kubectl delete apiservice v1beta1.admission.certmanager.k8s.io".to_owned()),
        "{commands:?}"
    );
}
