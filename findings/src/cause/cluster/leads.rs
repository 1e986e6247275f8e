//! What a sentence of a condition, an Event or an error leads to.

use crate::cause::cluster::shared::{BY_HAND, CONTENT_BY_HAND, DECIDE, READ_CONFIGURATION};
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

    /// A webhook's certificate is not accepted (x509).
    WEBHOOK_CERTIFICATE_INVALID = Cause::cluster(ClusterArea::Admission, "WebhookCertificateInvalid")
        .title("The certificate of a webhook with failurePolicy Fail is not accepted")
        .meaning("The API server calls a webhook with failurePolicy Fail and does not accept its certificate: it has \
            expired, is for another name, or comes from a CA that is not in the configuration's caBundle. Each request is \
            refused, although the webhook's pods run and are ready.")
        .proof("A condition or an Event holds: failed calling webhook … x509. Where only the object itself says so, it \
            is probable.")
        .safe(&[
            READ_CONFIGURATION,
            step("Have the certificate and the caBundle renewed together (cert-manager's cainjector, the operator, the \
                Helm hook that wrote them); then restart the webhook's pods, which may still use the old certificate"),
            step("If the product was removed for good, remove its configuration: it refuses everything")
                .run("kubectl delete {configuration}").if_known(),
        ])
        .danger(Danger::new(
            "Setting failurePolicy to Ignore",
            "A security policy is then off for the whole cluster, and nobody notices.",
        ))
        .sources(&["kubernetes: staging/src/k8s.io/apiserver/pkg/util/webhook"])
        .event_reason("WebhookCertificateInvalid")
        .diagnosis(Proven::Observation);

    /// A webhook whose failure is ignored takes its time.
    WEBHOOK_SLOW = Cause::cluster(ClusterArea::Admission, "WebhookSlow")
        .title("A webhook with failurePolicy Ignore may slow down each deletion")
        .meaning("The API server waits for a webhook until its time-out (timeoutSeconds, 10 by default and 30 at the most) \
            and then goes on without it. A request that deletes many objects waits for each of them, so the namespace \
            controller's request may end before the API server answers it. It tries again, and each try deletes some more.")
        .proof("NamespaceDeletionContentFailure holds a time-out or INTERNAL_ERROR of a request, and a webhook with \
            failurePolicy Ignore is called for deletions in the namespace. That it is slow is inferred, so it is probable.")
        .safe(&[
            READ_CONFIGURATION,
            step("See how long the API server waits for it")
                .run("kubectl get --raw /metrics | grep apiserver_admission_webhook_admission_duration_seconds_sum"),
            step("Run this again in two minutes: fewer objects remain where it goes on"),
            step("Repair the webhook's backend, lower its timeoutSeconds, or exclude the namespace in its namespaceSelector"),
        ])
        .danger(CONTENT_BY_HAND)
        .sources(&["kubernetes: apiserver/pkg/admission/plugin/webhook/generic"])
        .event_reason("WebhookSlow")
        .diagnosis(Proven::Observation);

    /// The server of an aggregated API refuses a request (403).
    API_SERVICE_FORBIDS = Cause::cluster(ClusterArea::Api, "ApiServiceForbids")
        .title("The server of an aggregated API refuses the request")
        .meaning("The group in the message is served by an extension API server, which decides for itself what each \
            user may do. It answers 403. The roles of the cluster may be whole: an extension server that cannot ask \
            kube-apiserver (SubjectAccessReview), or has an authorization of its own, refuses all the same.")
        .proof("NamespaceDeletionContentFailure holds \"is forbidden\" for a resource of a group whose APIService names a \
            Service. Which of the two servers wrote the message is inferred, so where only the object itself says it, it is \
            probable.")
        .safe(&[
            step("Read which Service answers for the group").run("kubectl get apiservice {apiservice} -o yaml").typed(),
            step("See whether its account may ask kube-apiserver: a ClusterRoleBinding to system:auth-delegator")
                .run("kubectl get clusterrolebindings -o wide").typed(),
            step("Compare with the role, which must grant delete, deletecollection, get, list and watch on everything")
                .run("kubectl get clusterrole system:controller:namespace-controller -o yaml").typed(),
            step("Repair the extension server's authorization; the namespace controller tries again within a minute"),
        ])
        .danger(CONTENT_BY_HAND)
        .sources(&["kubernetes: apiserver/pkg/authentication/request/headerrequest", "reference: namespace controller role"])
        .event_reason("ApiServiceForbids")
        .diagnosis(Proven::Observation);

    /// What the controller needs does not exist.
    FINALIZER_CONTROLLER_NEEDS_MISSING = Cause::cluster(ClusterArea::Finalizer, "FinalizerControllerNeedsMissing")
        .title("The controller behind a finalizer needs something that is missing")
        .meaning("The controller runs and reports on the object what it cannot reach or find: a Service without a ready \
            endpoint, a kind whose CRD is gone, a namespace that does not exist, a right on another kind. That was looked up, and it is missing.")
        .proof("A condition of the object, or an Event about it, names a Service, a kind, a namespace or a right; the Service \
            does not exist or has no ready endpoint, the kind is not served, the namespace does not exist, or no role \
            grants the right. That this \
            alone keeps the controller from finishing is inferred, so it is probable.")
        .safe(&[
            DECIDE,
            step("Read what it reports about the object").run("kubectl describe {type} {name} -n {namespace}").typed()
                .if_known(),
            step("Bring what is missing back; the controller tries again"),
            step("If it was removed for good: do the controller's clean-up by hand, as its documentation says, and then \
                remove this one finalizer"),
        ])
        .danger(BY_HAND)
        .sources(&["reference: finalizer owners"])
        .event_reason("FinalizerControllerNeedsMissing")
        .diagnosis(Proven::Observation);
}
