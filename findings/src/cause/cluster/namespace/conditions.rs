//! What the conditions point to.

use crate::cause::cluster::shared::{CONTENT_BY_HAND, EMPTY_THE_NAMESPACE, READ_CONFIGURATION};
use crate::cause::entry::{Advice, Cause, ClusterArea, Danger, Proven, step};

const UNSAFE_DELETION: Advice = step(
    "Only where its content is lost for good: kube-apiserver from 1.32 on deletes an object that it cannot read, with the \
        feature gate AllowUnsafeMalformedObjectDeletion, the right unsafe-delete-ignore-read-errors, and the option \
        ignoreStoreReadErrorWithClusterBreakingPotential of the request. Finalizers and owners are then not looked at",
);

causes! {
    /// A webhook says no.
    WEBHOOK_REFUSES_DELETE = Cause::cluster(ClusterArea::Admission, "WebhookRefusesDelete")
        .title("A webhook refuses the deletion")
        .meaning("A webhook was called for the deletion and denied it. That is its policy, not a fault; its message \
            says what it wants.")
        .proof("The namespace's NamespaceDeletionContentFailure holds: admission webhook … denied the request.")
        .safe(&[
            step("Do what the webhook's words ask for, then wait a minute"),
            READ_CONFIGURATION,
            step("If the policy should not hold here, have its owner exclude this namespace"),
        ])
        .danger(Danger::new(
            "Deleting the webhook's configuration",
            "The policy no longer protects anything in the cluster.",
        ))
        .sources(&["reference: admission webhook denied the request"])
        .event_reason("WebhookRefusesDelete")
        .diagnosis(Proven::Observation);

    /// A ValidatingAdmissionPolicy says no.
    POLICY_REFUSES_DELETE = Cause::cluster(ClusterArea::Admission, "PolicyRefusesDelete")
        .title("A ValidatingAdmissionPolicy refuses the deletion")
        .meaning("A policy bound to this kind of object refuses its deletion. Its message says why.")
        .proof("The namespace's NamespaceDeletionContentFailure holds: ValidatingAdmissionPolicy … denied request.")
        .safe(&[
            step("Read the policy and its binding")
                .run("kubectl get validatingadmissionpolicies,validatingadmissionpolicybindings -o yaml").typed(),
            step("Satisfy the policy, or exclude this namespace in the binding's matchResources"),
        ])
        .danger(Danger::new("Deleting the policy", "It no longer protects anything in the cluster."))
        .sources(&["reference: a policy on service accounts"])
        .event_reason("PolicyRefusesDelete")
        .diagnosis(Proven::Observation);

    /// An object cannot be decrypted.
    OBJECT_NOT_DECRYPTABLE = Cause::cluster(ClusterArea::Admission, "ObjectNotDecryptable")
        .title("A stored object cannot be decrypted")
        .meaning("etcd holds an object that none of the API server's encryption keys opens. The whole list of that \
            kind fails, and nothing of it can be deleted.")
        .proof("An error says: unable to transform key, and names the key.")
        .safe(&[
            step("Put the old encryption key back into the API server's encryption configuration as a read provider"),
            step("Then write every object of the kind anew, and drop the old key"),
            UNSAFE_DELETION,
        ])
        .danger(Danger::new(
            "Deleting the key in etcd, or ignoreStoreReadErrorWithClusterBreakingPotential",
            "The content is lost, and with it whatever its finalizers should have cleaned up.",
        ))
        .sources(&["reference: unable to transform key"])
        .event_reason("ObjectNotDecryptable")
        .diagnosis(Proven::Observation);

    /// An object cannot be decoded.
    OBJECT_NOT_DECODABLE = Cause::cluster(ClusterArea::Admission, "ObjectNotDecodable")
        .title("A stored object cannot be decoded")
        .meaning("etcd holds an object that the API server cannot read. The error names neither kind nor name; the \
            list of that kind fails.")
        .proof("The namespace's NamespaceDeletionContentFailure holds a decoder's error.")
        .safe(&[
            step("Find the kind whose list fails")
                .run("kubectl api-resources --verbs=list --namespaced -o name | xargs -n1 kubectl -n {namespace} get \
                    -o name")
                .typed(),
            step("Restore the object from a backup of etcd"),
            UNSAFE_DELETION,
        ])
        .danger(Danger::new(
            "Deleting keys in etcd",
            "The content is lost; a wrong key takes a healthy object with it.",
        ))
        .sources(&["reference: illegal base64 data"])
        .event_reason("ObjectNotDecodable")
        .diagnosis(Proven::Observation);

    /// Discovery fails as a whole for the namespace controller.
    API_DISCOVERY_FAILED = Cause::cluster(ClusterArea::Api, "ApiDiscoveryFailed")
        .title("The namespace controller cannot list what the API serves")
        .meaning("Discovery failed as a whole, so the namespace controller does not know what a namespace could hold \
            and deletes nothing.")
        .proof("NamespaceDeletionDiscoveryFailure is True and its message names no group.")
        .safe(&[
            step("See whether the API server is healthy").run("kubectl get --raw '/readyz?verbose'").typed(),
            step("Read the controller manager's log: it names the request that fails"),
        ])
        .danger(EMPTY_THE_NAMESPACE)
        .sources(&["reference: namespace controller, total discovery failure"])
        .event_reason("ApiDiscoveryFailed")
        .diagnosis(Proven::Observation);

    /// A group and version that cannot be parsed.
    GROUP_VERSION_MALFORMED = Cause::cluster(ClusterArea::Api, "GroupVersionMalformed")
        .title("An API has a group and version that cannot be parsed")
        .meaning("A server announces a group and version that cannot be parsed. The namespace controller then has no \
            list of resources at all and deletes nothing in that pass, in no namespace.")
        .proof("NamespaceDeletionGroupVersionParsingFailure is True; its message has the name.")
        .safe(&[
            step("Find who announces it").run("kubectl get --raw /apis").typed(),
            step("Repair that extension server or CRD"),
        ])
        .danger(EMPTY_THE_NAMESPACE)
        .sources(&["reference: NamespaceDeletionGroupVersionParsingFailure"])
        .event_reason("GroupVersionMalformed")
        .diagnosis(Proven::Observation);

    /// The namespace controller may not list or delete something.
    NAMESPACE_CONTROLLER_FORBIDDEN = Cause::cluster(ClusterArea::ControlPlane, "NamespaceControllerForbidden")
        .title("The namespace controller lacks a right")
        .meaning("The namespace controller is refused by RBAC, so it cannot empty namespaces. Its ClusterRole is made \
            by the API server at its start and must allow everything to be listed and deleted.")
        .proof("NamespaceDeletionContentFailure holds: is forbidden: User \
            \"system:serviceaccount:kube-system:namespace-controller\" cannot ….")
        .safe(&[
            step("Look at the role; it must grant delete, deletecollection, get, list and watch on everything")
                .run("kubectl get clusterrole system:controller:namespace-controller -o yaml").typed(),
            step("Restore it: restarting kube-apiserver writes the default roles again"),
        ])
        .danger(CONTENT_BY_HAND)
        .sources(&["reference: namespace controller role"])
        .event_reason("NamespaceControllerForbidden")
        .diagnosis(Proven::Observation);

    /// The API server rejects the controllers' requests (429).
    API_REQUESTS_REJECTED = Cause::cluster(ClusterArea::ControlPlane, "ApiRequestsRejected")
        .title("The API server rejects the namespace controller's requests")
        .meaning("Priority and fairness rejects the namespace controller's requests, because its priority level is \
            full. Deletions continue when the level has room again.")
        .proof("NamespaceDeletionContentFailure holds: the server has received too many requests.")
        .safe(&[
            step("See which level is full and who fills it")
                .run("kubectl get --raw /debug/api_priority_and_fairness/dump_priority_levels"),
            step("Slow down the client that fills it"),
        ])
        .danger(CONTENT_BY_HAND)
        .sources(&["reference: 429 from priority and fairness"])
        .event_reason("ApiRequestsRejected")
        .diagnosis(Proven::Observation);

    /// An error of the deletion that no rule knows.
    NAMESPACE_CONTENT_FAILURE = Cause::cluster(ClusterArea::Namespace, "NamespaceContentFailure")
        .title("Deleting the content fails in a way this version does not know")
        .meaning("The namespace controller reports an error while it deletes what the namespace holds. The error is \
            shown as it was written; it names what to repair.")
        .proof("NamespaceDeletionContentFailure is True, and its message matches no other cause.")
        .safe(&[
            step("Read the whole message").run("kubectl get namespace {namespace} -o yaml").typed(),
            step("Repair what the message names"),
        ])
        .danger(Danger::new(
            "Emptying spec.finalizers (PUT /finalize)",
            "The objects that could not be deleted stay in etcd, and nobody can remove them.",
        ))
        .sources(&["reference: NamespaceDeletionContentFailure"])
        .event_reason("NamespaceContentFailure")
        .diagnosis(Proven::Observation);
}
