//! <https://github.com/topolvm/topolvm/issues/310>: a claim whose manifest sets TopoLVM's finalizer has it twice. Its
//! controller takes one off. "As soon as you remove the duplicate finalizer the PVC/PV will be deleted immediately."

use crate::support::*;

#[test]
fn a_claim_that_has_a_finalizer_twice() {
    let world = healthy().with(json!({"kind": "Namespace", "metadata": {"name": "default"}})).held(
        "v1",
        "PersistentVolumeClaim",
        "default",
        "pvc-example",
        &["topolvm.cybozu.com/pvc", "topolvm.cybozu.com/pvc"],
    );
    let looked = look(world, object("pvc", "default", "pvc-example"));
    assert_eq!(looked.causes(), ["FinalizerListedTwice"], "{:#?}", looked.report);
    let root = &looked.report.roots[0];
    assert_eq!((root.verdict, root.finding.confidence), (Verdict::Stuck, Confidence::Probable));
    let says = "metadata.finalizers has topolvm.cybozu.com/pvc 2 times";
    assert!(root.finding.evidence.iter().any(|one| one.says == says), "{:#?}", root.finding.evidence);
    assert!(looked.chain(0)[0].contains("topolvm-controller removes it"), "{:?}", looked.chain(0));
}
