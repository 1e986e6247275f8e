//! Finalizers of Argo CD: what is waited for, and what a start of Argo CD would delete.

use findings::Finding;

use crate::support::*;

#[test]
fn nobody_is_told_to_start_argo_cd_again() {
    for replicas in [0, 1] {
        let world = healthy()
            .with_custom("argoproj.io", "applications", "Application")
            .with(json!({"kind": "Namespace", "metadata": {"name": "a"}}))
            .held("argoproj.io/v1", "Application", "a", "shop", &["resources-finalizer.argocd.argoproj.io"])
            .deployment("argocd", "argocd-application-controller", replicas, 0)
            .may_change("argocd", "argocd-application-controller", "argoproj.io", "applications");
        let looked = look(world, object("application", "a", "shop"));
        assert_eq!(looked.causes(), ["ArgoCdFinalizer"], "{:#?}", looked.report);
        assert!(looked.chain(0).last().unwrap().starts_with("Deployment argocd/argocd-app"), "{:?}", looked.chain(0));
        assert!(!looked.commands().iter().any(|one| one.contains("scale") || one.contains("restart")));
    }
}

/// Without the one for hooks Argo CD skips them, and deletes all the same.
#[test]
fn each_finalizer_of_argo_cd_is_explained() {
    let world = |kind: &str, plural: &str, finalizers: &[&str]| {
        healthy()
            .with_custom("argoproj.io", plural, kind)
            .with(json!({"kind": "Namespace", "metadata": {"name": "argocd"}}))
            .held("argoproj.io/v1", kind, "argocd", "shop", finalizers)
            .deployment("argocd", "argocd-application-controller", 0, 0)
            .may_change("argocd", "argocd-application-controller", "argoproj.io", plural)
    };
    let all = ["pre-delete-finalizer.argocd.argoproj.io", "resources-finalizer.argocd.argoproj.io/foreground"];
    let looked = look(world("Application", "applications", &all), object("application", "argocd", "shop"));
    // One controller, which is down, and two things that it has not done.
    let [root] = looked.report.roots.as_slice() else { panic!("{:#?}", looked.report) };
    let explanations: Vec<&Finding> = root.also.iter().chain([&root.finding]).collect();
    let mut causes: Vec<&str> = explanations.iter().map(|finding| finding.cause.id).collect();
    causes.sort_unstable();
    assert_eq!(causes, ["ArgoCdFinalizer", "ArgoCdFinalizer"], "{:#?}", looked.report);
    for finding in explanations {
        assert!(finding.remedy.steps.iter().any(|step| step.text.contains("non-cascading")), "{:#?}", finding.remedy);
    }
}

/// What it waits for where it runs is the hook.
#[test]
fn argo_cd_is_restored_for_a_hook_only_where_it_does_not_run() {
    let steps = |ready| {
        let world = healthy()
            .with_custom("argoproj.io", "applications", "Application")
            .active("argocd")
            .held("argoproj.io/v1", "Application", "argocd", "shop", &["pre-delete-finalizer.argocd.argoproj.io"])
            .deployment("argocd", "argocd-application-controller", 1, ready)
            .may_change("argocd", "argocd-application-controller", "argoproj.io", "applications");
        let looked = look(world, object("application", "argocd", "shop"));
        assert_eq!(looked.causes(), ["ArgoCdFinalizer"], "{:#?}", looked.report);
        let steps = &looked.report.roots[0].finding.remedy.steps;
        ["Restore Argo CD", "Repair what Argo CD's log names (of a hook"]
            .map(|text| steps.iter().any(|step| step.text.starts_with(text)))
    };
    assert_eq!([steps(0), steps(1)], [[true, false], [false, true]]);
}

/// Whether an Application names it decides what holds it; Argo CD is started for neither.
#[test]
fn a_project_that_no_application_names_is_not_in_use() {
    let world = |users| {
        healthy()
            .with_custom("argoproj.io", "appprojects", "AppProject")
            .with_custom("argoproj.io", "applications", "Application")
            .active("argocd")
            .held("argoproj.io/v1", "AppProject", "argocd", "shop", &["resources-finalizer.argocd.argoproj.io"])
            .with(users)
            .deployment("argocd", "argocd-application-controller", 0, 0)
            .may_change("argocd", "argocd-application-controller", "argoproj.io", "appprojects")
    };
    let application = |project: &str| {
        json!({"apiVersion": "argoproj.io/v1", "kind": "Application", "metadata": {"name": "web", "namespace": "argocd"},
            "spec": {"project": project}})
    };
    let refused = world(json!([])).refuse("/apis/argoproj.io/v1/applications", 403, "no");
    for (world, cause, end) in [
        (world(application("shop")), "ProtectedWhileInUse", "uses it"),
        (refused, "ProtectedWhileInUse", "scaled to 0"),
        (world(application("other")), "ProtectedWithoutUsers", "Argo CD should have removed the finalizer"),
    ] {
        let looked = look(world, object("appproject", "argocd", "shop"));
        assert_eq!(looked.causes(), [cause], "{:#?}", looked.report);
        assert!(looked.chain(0).last().unwrap().contains(end), "{:?}", looked.chain(0));
        assert!(!looked.commands().iter().any(|one| one.contains("scale")), "{:?}", looked.commands());
        let takes_off = looked.commands().iter().any(|one| one.contains("--type=json -p"));
        assert_eq!(takes_off, cause == "ProtectedWithoutUsers", "{:?}", looked.commands());
    }
}
