//! <https://github.com/fluxcd/flux2/issues/632>: Flux was uninstalled, its Deployments went before its own objects,
//! and these hold the namespace.

use crate::support::*;

#[test]
fn a_helm_release_without_its_controller() {
    let remaining = "Some resources are remaining: helmreleases.helm.toolkit.fluxcd.io has 1 resource instances";
    let accounts = ["helm-controller", "kustomize-controller", "source-controller"].map(|name| sa("flux-system", name));
    let world = healthy()
        .with_custom("helm.toolkit.fluxcd.io", "helmreleases", "HelmRelease")
        .going("flux-system", failing("NamespaceContentRemaining", remaining))
        .held("helm.toolkit.fluxcd.io/v1", "HelmRelease", "flux-system", "app", &["finalizers.fluxcd.io"])
        .grants("crd-controller-flux-system", &["helm.toolkit.fluxcd.io"], &["*"], &["*"], json!(accounts));
    let looked = look(world, object("ns", "", "flux-system"));
    assert_eq!(looked.causes(), ["FinalizerOwnerInSameNamespace"], "{:#?}", looked.report);
    assert!(looked.chain(0)[1].starts_with("HelmRelease flux-system/app: "), "{:?}", looked.chain(0));
}
