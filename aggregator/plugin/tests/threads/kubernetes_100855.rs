//! <https://github.com/kubernetes/kubernetes/issues/100855>: the cloud controller fails to delete a load balancer whose resource group
//! is gone. It runs: it wrote the Event.

use crate::support::*;

#[test]
fn a_controller_that_reports_a_failure_is_not_restored() {
    let says = "Error syncing load balancer: failed to delete load balancer: HTTPStatusCode: 404, RawError: \
        {\"error\":{\"code\":\"ResourceGroupNotFound\",\"message\":\"Resource group 'rg' could not be found.\"}}";
    let world = || {
        healthy()
            .active("web")
            .held("v1", "Service", "web", "front", &["service.kubernetes.io/load-balancer-cleanup"])
            .change("/api/v1/services", "front", |one| one["spec"] = json!({"type": "LoadBalancer"}))
    };
    let has = |looked: &Looked, text: &str| {
        looked.report.roots[0].finding.remedy.steps.iter().any(|step| step.text.contains(text))
    };
    let failing = world().event(("Service", "web", "front"), "Warning", "SyncLoadBalancerFailed", says);
    let looked = look(failing, object("service", "web", "front"));
    assert_eq!(looked.causes(), ["LoadBalancerCleanupPending"], "{:#?}", looked.report);
    assert!(looked.chain(0)[0].contains("ResourceGroupNotFound"), "{:?}", looked.chain(0));
    assert!(!has(&looked, "Restore the cloud controller manager"), "{:#?}", looked.report.roots);
    assert!(has(&looked, "Repair what the Event names"), "{:#?}", looked.report.roots);
    let looked = look(world(), object("service", "web", "front"));
    assert!(has(&looked, "Restore the cloud controller manager"), "{:#?}", looked.report.roots);
    assert!(!has(&looked, "Repair what the Event names"), "{:#?}", looked.report.roots);
}
