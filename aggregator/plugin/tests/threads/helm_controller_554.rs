//! <https://github.com/fluxcd/helm-controller/issues/554>: the service account that a HelmRelease names does not
//! exist, so the controller may not uninstall the release, and its finalizer stays.

use crate::support::*;

#[test]
fn the_account_that_the_object_names_does_not_exist() {
    let group = "helm.toolkit.fluxcd.io";
    let message = "failed to get last release revision: query: failed to query with labels: secrets is forbidden: User \
        \"system:serviceaccount:test-123:non-existing-name\" cannot list resource \"secrets\" in API group \"\" in the \
        namespace \"test-123\"";
    let controllers = ["helm-controller", "kustomize-controller", "source-controller"];
    let accounts = controllers.map(|name| sa("flux-system", name));
    let mut world = healthy()
        .with_custom(group, "helmreleases", "HelmRelease")
        .with(json!({"kind": "Namespace", "metadata": {"name": "test-123"}}))
        .held("helm.toolkit.fluxcd.io/v1", "HelmRelease", "test-123", "podinfo", &["finalizers.fluxcd.io"])
        .set_by("/apis/helm.toolkit.fluxcd.io/v1/helmreleases", "podinfo", "helm-controller")
        .change("/apis/helm.toolkit.fluxcd.io/v1/helmreleases", "podinfo", |one| {
            one["status"] = json!({"conditions": [
                {"type": "Ready", "status": "False", "reason": "GetLastReleaseFailed", "message": message}
            ]});
        })
        .grants("crd-controller-flux-system", &[group], &["*"], &["*"], json!(accounts));
    for name in controllers {
        world = world.deployment("flux-system", name, 1, 1);
    }
    let looked = look(world, object("helmrelease", "test-123", "podinfo"));
    assert_eq!(looked.report.verdict, Verdict::Stuck, "{:#?}", looked.report);
    assert_eq!(looked.causes(), ["FinalizerControllerForbidden"], "{:#?}", looked.report);
    let chain = looked.chain(0);
    assert!(chain[chain.len() - 2].starts_with("Deployment flux-system/helm-controller: runs"), "{chain:?}");
    let root = chain.last().unwrap();
    assert!(root.starts_with("ServiceAccount test-123/non-existing-name: does not exist"), "{root}");
    let quotes = |one: &findings::Evidence| one.says.contains("serviceaccount:test-123:non-existing-name");
    assert!(looked.report.roots[0].finding.evidence.iter().any(quotes), "{:#?}", looked.report.roots[0].finding);
}
