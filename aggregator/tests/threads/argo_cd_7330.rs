//! <https://github.com/argoproj/argo-cd/issues/7330>: an ApplicationSet with Argo CD's finalizer for Applications.
//! "`resources-finalizer.argocd.argoproj.io` is only supported on Applications, not on ApplicationSets": nobody takes it
//! off, however well the controllers run.

use findings::{Confidence, Verdict};
use serde_json::json;

use crate::support::*;

#[test]
fn a_finalizer_on_a_kind_that_its_owner_does_not_look_at() {
    let world = healthy()
        .with_custom("argoproj.io", "applicationsets", "ApplicationSet")
        .with(json!({"kind": "Namespace", "metadata": {"name": "argocd"}}))
        .held("argoproj.io/v1", "ApplicationSet", "argocd", "root", &["resources-finalizer.argocd.argoproj.io"])
        .deployment("argocd", "argocd-applicationset-controller", 1, 1)
        .may_change("argocd", "argocd-applicationset-controller", "argoproj.io", "applicationsets");
    let looked = look(world, object("applicationset", "argocd", "root"));
    assert_eq!(looked.causes(), ["FinalizerNotForThisKind"], "{:#?}", looked.report);
    let root = &looked.report.roots[0];
    assert_eq!((root.verdict, root.finding.confidence), (Verdict::Stuck, Confidence::Probable));
    let says = "Argo CD removes resources-finalizer.argocd.argoproj.io from Application, AppProject, not from \
                ApplicationSet";
    assert!(root.finding.evidence.iter().any(|one| one.says.starts_with(says)), "{:#?}", root.finding.evidence);
}
