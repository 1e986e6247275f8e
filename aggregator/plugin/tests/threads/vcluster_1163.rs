//! <https://github.com/loft-sh/vcluster/issues/1163>: discovery fails of a version that no APIService registers: a proxy answers for
//! the API server.

use crate::support::*;

#[test]
fn a_version_that_discovery_cannot_list_is_named_without_its_apiservice() {
    let failed = "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: \
        metrics.k8s.io/v1beta1: the server could not find the requested resource";
    let world =
        healthy().going("testing", failing("NamespaceDeletionDiscoveryFailure", failed)).change_groups(|groups| {
            groups.push(json!({"metadata": {"name": "metrics.k8s.io"}, "versions": [
                {"version": "v1beta1", "freshness": "Stale", "resources": []}
            ]}));
        });
    let looked = look(world, object("ns", "", "testing"));
    assert_eq!(looked.causes(), ["ApiDiscoveryStale"], "{:#?}", looked.report);
    assert!(looked.commands().iter().any(|one| one == "kubectl get --raw /apis/metrics.k8s.io/v1beta1"));
}
