//! <https://github.com/harvester/harvester/issues/8321>: a namespace that Rancher made in a Harvester cluster, after Rancher
//! is disconnected. "Workaround: remove the finalizer."

use crate::support::*;

#[test]
fn a_namespace_that_a_disconnected_rancher_made() {
    let world =
        healthy().going("testprojnamespace", all_false()).change("/api/v1/namespaces", "testprojnamespace", |one| {
            one["spec"]["finalizers"] = json!(null);
            one["metadata"]["annotations"] = json!({"lifecycle.cattle.io/create.namespace-auth": "true"});
            one["metadata"]["finalizers"] = json!(["controller.cattle.io/namespace-auth"]);
        });
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["ControllerCleanupPending"], "{:#?}", looked.report);
    let finding = &looked.report.roots[0].finding;
    let root = looked.chain(0).pop().unwrap();
    assert!(root.contains("(Rancher removes it when"), "{root}");
    assert!(finding.remedy.breaks.contains("Rancher's project roles"), "{}", finding.remedy.breaks);
}
