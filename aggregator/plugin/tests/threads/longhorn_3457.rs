//! <https://github.com/longhorn/longhorn/issues/3457>: Longhorn's namespace was deleted instead of uninstalling it,
//! and what it would have cleaned up is left there.

use crate::support::*;

#[test]
fn eleven_objects_wait_for_the_manager_that_was_in_their_namespace() {
    let group = "longhorn.io";
    let remaining = "Some resources are remaining: engineimages.longhorn.io has 1 resource instances, \
        replicas.longhorn.io has 9 resource instances";
    let mut world = healthy()
        .with_custom(group, "engineimages", "EngineImage")
        .with_custom(group, "replicas", "Replica")
        .going("longhorn-system", failing("NamespaceContentRemaining", remaining))
        .held("longhorn.io/v1", "EngineImage", "longhorn-system", "ei-1", &["longhorn.io"])
        .grants(
            "longhorn-role",
            &[group],
            &["engineimages", "engineimages/status", "replicas", "replicas/status"],
            &["*"],
            json!([sa("longhorn-system", "longhorn-service-account")]),
        );
    for name in ["sc-test1-r-07001148", "sc-test1-r-14c0f332", "test1-r-a04bfba2"] {
        world = world.held("longhorn.io/v1", "Replica", "longhorn-system", name, &["longhorn.io"]);
    }
    let looked = look(world, object("ns", "", "longhorn-system"));
    let causes = looked.causes();
    assert!(!causes.is_empty() && causes.iter().all(|one| *one == "FinalizerOwnerInSameNamespace"), "{causes:?}");
    assert!(looked.chain(0).pop().unwrap().starts_with("ServiceAccount longhorn-system/longhorn-service-account: "));
}
