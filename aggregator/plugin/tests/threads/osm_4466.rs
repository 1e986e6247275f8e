//! <https://github.com/openservicemesh/osm/issues/4466>: the CRDs still name a conversion webhook whose Service was
//! uninstalled, so the namespace controller cannot list their objects.

use crate::support::*;

#[test]
fn a_crd_that_names_an_uninstalled_converter_holds_the_namespace() {
    let error = "conversion webhook for config.openservicemesh.io/v1alpha1, Kind=MeshConfig failed: Post \
        \"https://osm-bootstrap.osm-system.svc:9443/convert/meshconfig?timeout=30s\": service \"osm-bootstrap\" not found";
    let world = healthy()
        .with(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "meshconfigs.config.openservicemesh.io"},
            "spec": {
                "group": "config.openservicemesh.io", "scope": "Namespaced",
                "names": {"kind": "MeshConfig", "plural": "meshconfigs"},
                "versions": [{"name": "v1alpha1", "served": true}, {"name": "v1alpha2", "served": true}],
                "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {
                    "service": {"namespace": "osm-system", "name": "osm-bootstrap", "port": 9443, "path": "/convert/meshconfig"}
                }}}
            },
            "status": {"storedVersions": ["v1alpha2"]}
        }))
        .going("osm-system", content_failure(error));
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["ConversionWebhookUnavailable"], "{:#?}", looked.report);
    assert_eq!(looked.report.roots[0].verdict, Verdict::Stuck);
    looked.assert_chain(
        0,
        &[
            "Namespace osm-system: Terminating",
            "CustomResourceDefinition meshconfigs.config.openservicemesh.io: converts",
            "Service osm-system/osm-bootstrap: does not exist",
        ],
    );
}
