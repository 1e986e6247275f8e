//! <https://github.com/GoogleCloudPlatform/gke-autoneg-controller/issues/10>: a Service names a backend that Google does not
//! accept; its controller fails, and says so in an Event. The second word of the finalizer's domain is the controller's name.

use crate::support::*;

#[test]
fn a_finalizer_whose_domain_begins_with_a_common_word_has_a_namesake() {
    let says = "googleapi: Error 400: Invalid value for field 'backendService': 'my_backend'. Must be a match of regex";
    let world = || {
        healthy().active("team").held("v1", "Service", "team", "web", &["controller.autoneg.dev/neg"]).event(
            ("Service", "team", "web"),
            "Warning",
            "BackendError",
            says,
        )
    };
    let looked = look(
        world().deployment("autoneg-system", "autoneg-controller-manager", 1, 1),
        object("service", "team", "web"),
    );
    looked.assert_chain(0, &["Service team/web: ", "Deployment autoneg-system/autoneg-controller-manager: "]);
    let looked = look(world(), object("service", "team", "web"));
    assert_eq!(looked.causes(), ["FinalizerOwnerUnknown"], "{:#?}", looked.report);
}
