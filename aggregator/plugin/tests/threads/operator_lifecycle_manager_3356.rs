//! <https://github.com/operator-framework/operator-lifecycle-manager/issues/3356>: OLM's namespaces were deleted with its
//! package server in them. Its APIService stayed, and holds them and every other namespace.

use crate::support::*;

#[test]
fn the_api_of_a_package_server_that_is_gone_holds_all_its_namespaces() {
    let group = "packages.operators.coreos.com/v1";
    let gone = json!({
        "status": "False", "reason": "ServiceNotFound",
        "message": "service/packageserver-service in \"olm\" is not present"
    });
    let world = healthy()
        .aggregated("packages.operators.coreos.com", "v1", "olm/packageserver-service", gone)
        .going("olm", stale(group))
        .going("operators", stale(group))
        .going("project-of-olm", stale(group));
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["ApiServiceWithoutService"], "{:#?}", looked.report);
    assert_eq!(looked.report.roots[0].verdict, Verdict::Stuck);
    assert_eq!(looked.victims(0), ["Namespace olm", "Namespace operators", "Namespace project-of-olm"]);
    let evidence = &looked.report.roots[0].finding.evidence;
    assert!(evidence.iter().any(|one| one.says.contains(group)), "{evidence:#?}");
}
