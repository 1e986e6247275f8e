//! <https://github.com/pixie-io/pixie/issues/1917>: Helm removed OLM and its namespace together with the operator's
//! namespace, whose ClusterServiceVersion waits for OLM.

use crate::support::*;

#[test]
fn a_cluster_service_version_without_olm() {
    let remaining =
        "Some resources are remaining: clusterserviceversions.operators.coreos.com has 1 resource instances";
    let world = healthy()
        .with_custom("operators.coreos.com", "clusterserviceversions", "ClusterServiceVersion")
        .going("px-operator", failing("NamespaceContentRemaining", remaining))
        .held(
            "operators.coreos.com/v1",
            "ClusterServiceVersion",
            "px-operator",
            "pixie-operator.v0.1.7",
            &["operators.coreos.com/csv-cleanup"],
        );
    let looked = look(world, object("ns", "", "px-operator"));
    let root = &looked.report.roots[0];
    assert_eq!((root.verdict, root.finding.confidence), (Verdict::Stuck, Confidence::Probable), "{root:#?}");
    let link = looked.chain(0).pop().unwrap();
    assert!(link.starts_with("ClusterServiceVersion px-operator/pixie-operator.v0.1.7: "), "{link}");
    assert!(link.contains("no controller found (no RBAC role mentions clusterserviceversions"), "{link}");
}
