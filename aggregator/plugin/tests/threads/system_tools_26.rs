//! <https://github.com/rancher/system-tools/issues/26>: Rancher was uninstalled first, then its objects were deleted. The
//! namespaces `local`, `p-…`, `u-…` stay, for what is in them has finalizers of Rancher. The thread prints the
//! namespaces; the objects are those of Rancher's own kinds. Its server is 1.13, which writes no conditions.

use aggregator_core::state::{Answer, Answered, Facts, Question, Version};

use crate::support::*;

#[test]
fn objects_of_a_rancher_that_was_uninstalled_first() {
    let world = healthy().with_custom("management.cattle.io", "nodes", "Node").going("local", json!(null)).held(
        "management.cattle.io/v1",
        "Node",
        "local",
        "machine-9sssc",
        &["controller.cattle.io/node-controller"],
    );
    let version: Version = serde_json::from_value(json!({"gitVersion": "v1.13.12"})).unwrap();
    let answer = Answer::Seen(Facts::Version(version));
    let looked = look_with(world, everything(), |state| {
        state.add(Answered::whole(Question::Version, answer));
    });
    assert_eq!(looked.causes(), ["FinalizerControllerGone"], "{:#?}", looked.report);
    assert_eq!(looked.victims(0), ["Namespace local"]);
    let root = looked.chain(0).pop().unwrap();
    assert!(root.contains("(Rancher removes it when"), "{root}");
    let breaks = &looked.report.roots[0].finding.remedy.breaks;
    assert!(breaks.contains("that Rancher has forgotten"), "{breaks}");
}

/// The namespaces that Rancher made have its finalizer themselves.
#[test]
fn a_namespace_of_a_project() {
    let world = healthy().going("p-8sfm6", json!(null)).change("/api/v1/namespaces", "p-8sfm6", |one| {
        one["spec"]["finalizers"] = json!(null);
        one["metadata"]["finalizers"] = json!(["controller.cattle.io/namespace-auth"]);
    });
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["ControllerCleanupPending"], "{:#?}", looked.report);
    assert!(looked.chain(0)[0].contains("Rancher"), "{:?}", looked.chain(0));
}
