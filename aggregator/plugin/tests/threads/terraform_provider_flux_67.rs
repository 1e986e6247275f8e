//! <https://github.com/fluxcd/terraform-provider-flux/issues/67>: Terraform destroyed Flux's Deployments and roles
//! first, then its namespace with the repositories in it.

use crate::support::*;

/// Its roles are gone as well: what is left names no owner, and the server's record of who set the finalizer does.
#[test]
fn a_repository_whose_controller_and_roles_are_gone() {
    let group = "source.toolkit.fluxcd.io";
    let remaining = "Some resources are remaining: gitrepositories.source.toolkit.fluxcd.io has 1 resource instances";
    let world = healthy()
        .with_custom(group, "gitrepositories", "GitRepository")
        .going("flux-system", failing("NamespaceContentRemaining", remaining))
        .held("source.toolkit.fluxcd.io/v1", "GitRepository", "flux-system", "flux-system", &["finalizers.fluxcd.io"])
        .set_by("/apis/source.toolkit.fluxcd.io/v1/gitrepositories", "flux-system", "source-controller");
    let looked = look(world, object("ns", "", "flux-system"));
    let finding = &looked.report.roots[0].finding;
    assert_eq!(finding.confidence, Confidence::Probable, "{:#?}", looked.report);
    let root = looked.chain(0).pop().unwrap();
    assert!(root.starts_with("GitRepository flux-system/flux-system: "), "{root}");
    assert!(root.contains("no controller found") && root.contains("set by source-controller"), "{root}");
}
