//! What the conditions point to.

use crate::cause::cluster::shared::*;
use crate::cause::page::*;

causes! {
    API_DISCOVERY_FAILED = Cause::cluster(ClusterArea::Api, "ApiDiscoveryFailed")
        .title("The namespace controller cannot list what the API serves")
        .meaning("Discovery failed as a whole, or a server announces a group and version that cannot be parsed. So the \
            namespace controller does not know what a namespace could hold and deletes nothing, in no namespace.")
        .proof("NamespaceDeletionDiscoveryFailure is True and its message names no group, or \
            NamespaceDeletionGroupVersionParsingFailure is True; its message then has the name.")
        .safe(&[
            check("See whether the API server is healthy").run("kubectl get --raw '/readyz?verbose'").typed(),
            check("If the message has a name, find who announces it").run("kubectl get --raw /apis").typed(),
            check("Read the controller manager's log: it names the request that fails"),
            step("If it has one, repair the server or CRD of that name"),
        ])
        .danger(EMPTY_THE_NAMESPACE)
        .sources(&["reference: namespace controller, total discovery failure"])
        .diagnosis(Proven::Observation);

    NAMESPACE_CONTENT_FAILURE = Cause::cluster(ClusterArea::Namespace, "NamespaceContentFailure")
        .title("Deleting the content fails in a way this version does not know")
        .meaning("The namespace controller reports an error while it deletes what the namespace holds. The error is \
            shown as it was written; it names what to repair.")
        .proof("NamespaceDeletionContentFailure is True, and its message matches no other cause.")
        .safe(&[
            check("Read the whole message").run("kubectl get namespace {namespace} -o yaml").typed(),
            step("Repair what the message names"),
        ])
        .dont("Do not empty spec.finalizers (PUT /finalize)",
            "The objects that could not be deleted stay in etcd, and no client can remove them.")
        .sources(&["reference: NamespaceDeletionContentFailure"])
        .diagnosis(Proven::Cluster("extension-403"));
}
