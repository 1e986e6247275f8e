//! <https://github.com/juicedata/juicefs-csi-driver/issues/340>: the Node was deleted, the pod garbage collector has force-deleted
//! its pods, and one of them has a finalizer. Nothing can be looked up on that node.

use crate::support::*;

#[test]
fn the_finalizer_is_the_root_and_no_step_goes_to_a_node_that_is_gone() {
    let world = healthy().going_pod("team", "mount", "node-gone", "Running").change("/api/v1/pods", "mount", |pod| {
        pod["metadata"]["deletionGracePeriodSeconds"] = 0.into();
        pod["metadata"]["finalizers"] = json!(["juicefs.com/finalizer"]);
    });
    let looked = look(world, object("pod", "team", "mount"));
    assert_eq!(looked.causes(), ["FinalizerOwnerUnknown"], "{:#?}", looked.report);
    assert!(looked.chain(0)[0].contains("its Node node-gone does not exist"), "{:?}", looked.chain(0));
    let of_node = looked.commands().into_iter().find(|one| one.contains("node-gone"));
    assert_eq!(of_node, None);
}
