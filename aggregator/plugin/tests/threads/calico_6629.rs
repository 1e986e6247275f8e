//! <https://github.com/projectcalico/calico/issues/6629>: Helm removed the Tigera operator and its roles before the
//! service account of calico-node, whose finalizer only the operator takes off.

use crate::support::*;

#[test]
fn nothing_that_serves_the_finalizers_domain_is_left() {
    let world = healthy()
        .with_cluster_wide("operator.tigera.io", "installations", "Installation")
        .with(json!({"kind": "Namespace", "metadata": {"name": "calico-system"}}))
        .held("v1", "ServiceAccount", "calico-system", "calico-node", &["tigera.io/cni-protector"]);
    let looked = look(world, object("serviceaccount", "calico-system", "calico-node"));
    let root = &looked.report.roots[0];
    assert_eq!((root.verdict, root.finding.confidence), (Verdict::Stuck, Confidence::Probable), "{root:#?}");
    let link = looked.chain(0).pop().unwrap();
    assert!(link.contains("no controller found (no RBAC role mentions operator.tigera.io)"), "{link}");
}
