//! <https://github.com/kubernetes/kubernetes/issues/71925>: custom resources keep their finalizers after the program that
//! would take them off has gone, and their namespace waits for them.

use crate::support::*;

#[test]
fn custom_resources_hold_their_namespace_by_their_finalizers() {
    let world = healthy()
        .with_custom("stable.example.com", "databases", "Database")
        .going("team", remain("databases.stable.example.com has 2 resource instances"))
        .held("stable.example.com/v1", "Database", "team", "one", &["finalizer.stable.example.com"])
        .held("stable.example.com/v1", "Database", "team", "two", &["finalizer.stable.example.com"]);
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["FinalizerControllerGone"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Stuck);
    assert_eq!(looked.victims(0), ["Namespace team"]);
    // Both, held by the same.
    assert_eq!(looked.report.roots[0].on_the_way.len(), 2, "{:#?}", looked.report.roots[0].on_the_way);
    assert!(looked.chain(0)[1].contains("finalizer.stable.example.com"), "{:?}", looked.chain(0));
}
