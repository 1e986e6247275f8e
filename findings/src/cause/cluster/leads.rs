//! What a sentence of a condition, an Event or an error leads to.

use crate::cause::cluster::shared::{BY_HAND, CONTENT_BY_HAND, DECIDE, READ_CONFIGURATION};
use crate::cause::entry::{Cause, ClusterArea, Danger, Proven, step};

causes! {
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
