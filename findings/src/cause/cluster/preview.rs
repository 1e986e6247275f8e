//! What would hold a deletion that is not requested yet, beside what holds others.

use crate::cause::page::*;

causes! {
    NAMESPACE_SERVES_API = Cause::cluster(ClusterArea::Namespace, "NamespaceServesApi")
        .holds_from_the_start()
        .title("An aggregated API is served from the namespace that would be deleted")
        .meaning("A namespace is deleted only when every group of the API can be listed. The pods of this namespace \
            are deleted first, and with them the server behind an APIService: from then on this namespace and every \
            other one that is deleted waits for an API that cannot be brought back there.")
        .proof("The namespace is not deleted yet, and the spec.service of an APIService lies in it.")
        .safe(&[
            check("See which APIs these are").run("kubectl get apiservices -o wide"),
            step("Uninstall what serves it in the order of its own uninstaller: the APIService {apiservice} first, then the \
                namespace"),
        ])
        .dont("Do not delete the namespace first",
            "Every namespace deletion of the cluster then hangs until the APIService is gone or served again.")
        .sources(&["kubernetes#60807", "reference: metrics-server gone"])
        .diagnosis(Proven::Cluster("extension-403"));
}
