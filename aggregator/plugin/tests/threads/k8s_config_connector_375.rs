//! <https://github.com/GoogleCloudPlatform/k8s-config-connector/issues/375>: the controller of the namespace is gone, and another
//! program of the product runs, which may change the object and takes this finalizer off never.

use crate::support::*;

#[test]
fn another_program_of_the_product_is_not_blamed() {
    let group = "storage.cnrm.cloud.google.com";
    let world = healthy()
        .active("team")
        .active("cnrm-system")
        .with_custom(group, "storagebuckets", "StorageBucket")
        .held("storage.cnrm.cloud.google.com/v1", "StorageBucket", "team", "b", &["cnrm.cloud.google.com/finalizer"])
        .deployment("cnrm-system", "cnrm-deletiondefender", 1, 1)
        .may_change("cnrm-system", "cnrm-deletiondefender", group, "storagebuckets");
    let path = "/apis/storage.cnrm.cloud.google.com/v1/storagebuckets";
    let looked = look(world.set_by(path, "b", "cnrm-controller-manager"), object("storagebucket", "team", "b"));
    let chain = looked.chain(0);
    assert!(!chain.iter().any(|link| link.contains("has not removed it")), "{chain:#?}");
    let keep = "kubectl annotate storagebuckets.storage.cnrm.cloud.google.com b -n team \
        'cnrm.cloud.google.com/deletion-policy=abandon' --overwrite";
    assert!(looked.commands().iter().any(|one| one == keep), "{:?}", looked.commands());
}
