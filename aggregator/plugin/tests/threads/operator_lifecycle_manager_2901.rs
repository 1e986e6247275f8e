//! <https://github.com/operator-framework/operator-lifecycle-manager/issues/2901>: the package server never becomes
//! ready in a private cluster, and a namespace waits for its API. Why its pods are not ready the objects of the thread
//! do not say; they say who is waited for.

use crate::support::*;

#[test]
fn a_package_server_that_is_never_ready_holds_a_namespace() {
    let message = "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: \
        packages.operators.coreos.com/v1: the server is currently unable to handle the request";
    let unavailable = json!({
        "status": "False", "reason": "MissingEndpoints",
        "message": "endpoints for service/packageserver-service in \"olm\" have no addresses with port name \"5443\""
    });
    let world = healthy()
        .aggregated("packages.operators.coreos.com", "v1", "olm/packageserver-service", unavailable)
        .service("olm", "packageserver-service", None)
        .going("namespace1", failing("NamespaceDeletionDiscoveryFailure", message));
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["ApiServiceWithoutEndpoints"], "{:#?}", looked.report);
    let root = &looked.report.roots[0];
    assert_eq!((root.verdict, root.finding.confidence), (Verdict::Stuck, Confidence::Proven));
    let last = looked.chain(0).pop().unwrap();
    assert!(last.starts_with("Service olm/packageserver-service: has no endpoint"), "{last}");
    // The add-on is in use: its removal comes last, and only for one that was removed for good.
    let steps = &root.finding.remedy.steps;
    let removes = |step: &findings::Step| step.command.as_ref().is_some_and(|one| one.contains("delete apiservice"));
    let last = steps.last().unwrap();
    assert!(last.text.starts_with("Only if the add-on was removed for good") && removes(last), "{steps:#?}");
    assert_eq!(steps.iter().filter(|step| removes(step)).count(), 1, "{steps:#?}");
}
