//! <https://github.com/argoproj/argo-cd/issues/7330>: an ApplicationSet with Argo CD's finalizer for Applications.
//! "`resources-finalizer.argocd.argoproj.io` is only supported on Applications, not on ApplicationSets" was true of Argo CD
//! before 2.10: no program removed it. Since then its controller does (argo-cd:
//! applicationset/controllers/applicationset_controller.go, `Reconcile`), and which of the two runs is not known: so the
//! answer is its controller, and the version since which that one removes it.

use crate::support::*;

fn held_application_set(replicas: i64) -> World {
    healthy()
        .with_custom("argoproj.io", "applicationsets", "ApplicationSet")
        .with(json!({"kind": "Namespace", "metadata": {"name": "argocd"}}))
        .held("argoproj.io/v1", "ApplicationSet", "argocd", "root", &["resources-finalizer.argocd.argoproj.io"])
        .deployment("argocd", "argocd-applicationset-controller", replicas, replicas)
        .may_change("argocd", "argocd-applicationset-controller", "argoproj.io", "applicationsets")
}

#[test]
fn an_application_set_waits_for_its_own_controller() {
    for (replicas, cause) in [(1, "ControllerCleanupPending"), (0, "FinalizerControllerGone")] {
        let looked = look(held_application_set(replicas), object("applicationset", "argocd", "root"));
        assert_eq!(looked.causes(), [cause], "{:#?}", looked.report);
        let root = &looked.report.roots[0];
        assert_eq!((root.verdict, root.finding.confidence), (Verdict::Stuck, Confidence::Probable));
        assert!(looked.chain(0).join("\n").contains("never before Argo CD 2.10"), "{:?}", looked.chain(0));
        let steps = &root.finding.remedy.steps;
        assert!(!steps.iter().any(|step| step.text.contains("Application ")), "{steps:#?}");
    }
}
