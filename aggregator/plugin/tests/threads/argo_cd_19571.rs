//! <https://github.com/argoproj/argo-cd/issues/19571>: the target cluster is gone, and the post-delete finalizer is not
//! taken off; the condition of the Application has no status.

use crate::support::*;

#[test]
fn the_condition_without_a_status_is_the_answer() {
    let applications = "/apis/argoproj.io/v1/applications";
    let status = json!({"conditions": [{
        "type": "InvalidSpecError",
        "message": "application destination can't have both name and server defined; there are no clusters with this name: gone"
    }]});
    let world = healthy()
        .with(json!({"kind": "Namespace", "metadata": {"name": "argocd"}}))
        .with_custom("argoproj.io", "applications", "Application")
        .held("argoproj.io/v1", "Application", "argocd", "shop", &["post-delete-finalizer.argocd.argoproj.io/cleanup"])
        .reports(applications, "shop", status);
    let looked = look(world, object("application", "argocd", "shop"));
    assert_eq!(looked.causes(), ["ArgoCdFinalizer"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Stuck);
    let root = looked.chain(0).pop().unwrap();
    assert!(root.contains("InvalidSpecError: \"") && root.contains("no clusters with this name: gone"), "{root}");
}
