//! <https://github.com/argoproj/argo-cd/issues/7330>: an ApplicationSet with Argo CD's finalizer for Applications.
//! "`resources-finalizer.argocd.argoproj.io` is only supported on Applications, not on ApplicationSets" was true of Argo CD
//! before 2.10: no program removed it. Since then its controller does (argo-cd:
//! applicationset/controllers/applicationset_controller.go, `Reconcile`), and which of the two runs is not known: so the
//! answer is Argo CD's finalizer, the advice to leave it, and the version since which it is removed.

use findings::{Confidence, Verdict};
use serde_json::json;

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
fn the_finalizer_of_an_application_set_is_argo_cds() {
    for replicas in [1, 0] {
        let looked = look(held_application_set(replicas), object("applicationset", "argocd", "root"));
        assert_eq!(looked.causes(), ["ArgoCdFinalizer"], "{:#?}", looked.report);
        let root = &looked.report.roots[0];
        assert_eq!((root.verdict, root.finding.confidence), (Verdict::Stuck, Confidence::Probable));
        let says = |text: &str| root.finding.remedy.steps.iter().any(|step| step.text.contains(text));
        assert!(says("Argo CD before 2.10") && says("leave it"), "{:#?}", root.finding.remedy);
    }
}
