//! <https://github.com/fluxcd/flux2/issues/997>: a Kustomization and the ServiceAccount that it works as are pruned together.
//! Nothing on the object says so: only that the account is not there.

use crate::support::*;

fn world() -> World {
    let group = "kustomize.toolkit.fluxcd.io";
    healthy()
        .active("apps")
        .with_custom(group, "kustomizations", "Kustomization")
        .held("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "apps", "spring", &["finalizers.fluxcd.io"])
        .change("/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations", "spring", |one| {
            one["spec"] = json!({"serviceAccountName": "spring", "prune": true});
        })
        .deployment("flux-system", "kustomize-controller", 1, 1)
        .may_change("flux-system", "kustomize-controller", group, "kustomizations")
}

#[test]
fn the_account_that_it_works_as_is_looked_for() {
    let looked = look(world().without_account("apps", "spring"), object("kustomization", "apps", "spring"));
    assert_eq!(looked.causes(), ["FinalizerControllerNeedsMissing"], "{:#?}", looked.report);
    looked.assert_chain(
        0,
        &[
            "Kustomization apps/spring: ",
            "Deployment flux-system/kustomize-controller: runs",
            "ServiceAccount apps/spring: does not exist",
        ],
    );
    let with = world().with_account(json!({"name": "spring", "namespace": "apps"}));
    let looked = look(with, object("kustomization", "apps", "spring"));
    assert_eq!(looked.causes(), ["ExternalResourceFinalizer"], "{:#?}", looked.report);
}
