//! <https://github.com/kyverno/kyverno/issues/8815>: a policy refuses each update of a pod that breaks it, also that with which
//! the Job controller takes its finalizer off. The webhook works; its words are in the controller manager's log only.

use crate::support::*;

fn pod() -> World {
    healthy().active("shop").going_pod("shop", "work-1", "node-a", "Succeeded").change(
        "/api/v1/pods",
        "work-1",
        |pod| {
            pod["metadata"]["finalizers"] = json!(["batch.kubernetes.io/job-tracking"]);
            pod["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        },
    )
}

#[test]
fn a_webhook_that_works_may_refuse_the_update_and_a_dry_run_shows_it() {
    let attempt = "kubectl annotate pod work-1 -n shop why-terminating=try --dry-run=server";
    let world = pod().active("kyverno").service("kyverno", "kyverno-svc", Some("node-a")).product_webhook(
        "kyverno-resource",
        "kyverno/kyverno-svc",
        &["CREATE", "UPDATE"],
        "",
        "pods",
    );
    let looked = look(world, object("pod", "shop", "work-1"));
    assert_eq!(looked.causes(), ["JobTrackingFinalizer"], "{:#?}", looked.report);
    let evidence = &looked.report.roots[0].finding.evidence;
    let names = |one: &findings::Evidence| one.source.contains("kyverno-resource") && one.says.contains("may refuse");
    assert!(evidence.iter().any(names), "{evidence:#?}");
    assert_eq!(looked.commands().first().map(String::as_str), Some(attempt), "{:?}", looked.commands());
    let looked = look(pod(), object("pod", "shop", "work-1"));
    assert!(!looked.report.roots[0].finding.evidence.iter().any(names), "{:#?}", looked.report.roots[0].finding);
}
