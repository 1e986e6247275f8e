//! Webhooks that must agree, and whether they can be called.

use crate::cause::cluster::shared::*;
use crate::cause::page::*;

const REMOVE_CONFIGURATION: Advice =
    step("Only if the product was removed for good: remove its configuration, which refuses every such request")
        .run("kubectl delete {configuration}");

const IGNORE: Danger = Danger::new(
    "Do not set failurePolicy to Ignore",
    "A security policy is then off for the whole cluster, unnoticed.",
);

causes! {
    WEBHOOK_UNAVAILABLE = Cause::cluster(ClusterArea::Admission, "WebhookUnavailable")
        .holds_from_the_start()
        .title("A webhook with failurePolicy Fail cannot be called")
        .meaning("The API server calls a webhook with failurePolicy Fail before the deletion, and its backend does not \
            answer. So every such request is refused, also those of the namespace controller.")
        .proof("The webhook's rules, scope and selectors match, failurePolicy is not Ignore, and its Service does not \
            exist or has no ready endpoint, or the namespace's condition says: failed calling webhook. matchConditions \
            are not evaluated: with them, and without such a condition, it is probable.")
        .safe(&[
            READ_CONFIGURATION,
            step("Bring its backend, Service {service}, back; the deletion then continues within a minute").if_known(),
            REMOVE_CONFIGURATION.e2e("webhook")
                .if_known(),
            step("Otherwise exclude this namespace in its namespaceSelector until the backend is back"),
        ])
        .dont("Do not set failurePolicy to Ignore",
            "A security policy is then off for the whole cluster whenever its backend is away, unnoticed.")
        .sources(&["kyverno#5999", "kubernetes#80313"])
        .diagnosis(Proven::Recording("finalizer-and-webhook"));

    WEBHOOK_GONE_WITH_NAMESPACE = Cause::cluster(ClusterArea::Admission, "WebhookGoneWithNamespace")
        .holds_from_the_start()
        .title("A webhook with failurePolicy Fail was deleted with its namespace, and cannot come back")
        .meaning("The API server calls a webhook with failurePolicy Fail before the deletion or the last update, and \
            its Service was deleted with its namespace. In a namespace that is being deleted the API server takes \
            nothing new, so the Service cannot be created again; and mostly the operator that removes the finalizers \
            was deleted with it. Each of the two is missing, so to repair one is not enough.")
        .proof("The webhook's rules, scope and selectors match, failurePolicy is not Ignore, and its Service does not \
            exist or has no ready endpoint. The namespace of the Service is Terminating; or it does not exist, and \
            nothing runs that removes the object's finalizer. matchConditions are not evaluated: with them it is \
            probable.")
        .safe(&[
            READ_CONFIGURATION,
            step("Save what the objects stand for outside of the cluster (disks, addresses, backups): if their \
                operator was deleted too, nothing cleans that up"),
            step("First remove the webhook's configuration: nothing can answer it any more, and until then every \
                change of the objects is refused")
                .run("kubectl delete {configuration}")
                .if_known(),
            step("Then the finalizers. Where the operator's namespace does not exist, install the same version again, \
                and it removes them. Where that is being deleted, nothing can start in it: do its clean-up by hand, as \
                its documentation says, and then remove its finalizer from each object"),
            step("When the namespace is deleted, install the product again if it should stay. Next time delete its \
                objects first, then the operator"),
        ])
        .dont("Do not remove finalizers before the webhook's configuration is removed, or empty spec.finalizers of the namespace (PUT /finalize)",
            "The webhook refuses that change too. An emptied namespace leaves its objects in etcd, where no client can \
                remove them any more.")
        .sources(&["longhorn#5319", "kubevirt#13098"])
        .diagnosis(Proven::Cluster("hook-gone"));

    WEBHOOK_BLOCKS_UPDATE = Cause::cluster(ClusterArea::Admission, "WebhookBlocksUpdate")
        .holds_from_the_start()
        .title("A webhook with failurePolicy Fail blocks the last updates, or evictions")
        .meaning("Removing a finalizer, and a kubelet's last status, are updates. The API server calls a webhook with \
            failurePolicy Fail before them, and it cannot be called, so the object stays although its controller has \
            done its work. In the same way it refuses each eviction of a pod, and a node does not drain.")
        .proof("The object is being deleted, and a webhook whose rules, scope and selectors match its UPDATE has \
            failurePolicy Fail and no backend; or a node is being drained, and they match CREATE of pods/eviction in the \
            namespace of a pod on it. matchConditions are not evaluated: with them it is probable.")
        .safe(&[
            READ_CONFIGURATION,
            step("Bring its backend, Service {service}, back; what waits is then deleted automatically"),
            REMOVE_CONFIGURATION.if_known(),
            step("Where it refuses updates: have it exclude objects with a deletion timestamp"),
        ])
        .dont("Do not remove finalizers by hand",
            "It is an update too and is refused the same way; where it is not, the clean-up is skipped.")
        .sources(&["kubernetes#129473"])
        .diagnosis(Proven::Cluster("hook-of-update"));

    WEBHOOK_REFUSES_DELETE = Cause::cluster(ClusterArea::Admission, "WebhookRefusesDelete")
        .title("A webhook refuses the deletion")
        .meaning("A webhook was called for the deletion and denied it. That is its policy, not a fault; its message \
            says what it wants.")
        .proof("The namespace's NamespaceDeletionContentFailure holds: admission webhook … denied the request.")
        .safe(&[
            READ_CONFIGURATION,
            step("Do what the webhook's words ask for, then wait a minute"),
            step("If the policy should not hold here, have its owner exclude this namespace"),
        ])
        .dont("Do not delete the webhook's configuration", "The policy no longer protects anything in the cluster.")
        .sources(&["reference: admission webhook denied the request"])
        .diagnosis(Proven::Cluster("hook-denies"));

    WEBHOOK_CERTIFICATE_INVALID = Cause::cluster(ClusterArea::Admission, "WebhookCertificateInvalid")
        .holds_from_the_start()
        .title("The certificate of a webhook with failurePolicy Fail is not accepted")
        .meaning("The API server calls a webhook with failurePolicy Fail and does not accept its certificate: it has \
            expired, is for another name, or comes from a CA that is not in the configuration's caBundle, or that bundle \
            itself has expired. Each request is refused, although the webhook's pods run and are ready.")
        .proof("A condition or an Event holds: failed calling webhook … x509. Where only the object itself says so, it \
            is probable. Or the webhook's rules, scope and selectors match, failurePolicy is not Ignore, and the latest \
            notAfter of its caBundle lies in the past.")
        .safe(&[
            READ_CONFIGURATION,
            step("Have the certificate and the caBundle renewed together (cert-manager's cainjector, the operator, the \
                Helm hook that wrote them); then restart the webhook's pods, which may still use the old certificate"),
            step("If the product was removed for good, remove its configuration: it refuses everything")
                .run("kubectl delete {configuration}").if_known(),
        ])
        .danger(IGNORE)
        .sources(&["kubernetes: staging/src/k8s.io/apiserver/pkg/util/webhook"])
        .diagnosis(Proven::Cluster("hook-x509"));

    WEBHOOK_SLOW = Cause::cluster(ClusterArea::Admission, "WebhookSlow")
        .title("A webhook may slow down each deletion")
        .meaning("The API server waits for a webhook until its time-out (timeoutSeconds, 10 by default and 30 at the most), \
            and with failurePolicy Ignore then goes on without it. A request that deletes many objects waits for each of them, so the namespace \
            controller's request may end before the API server answers it. It tries again, and each try deletes some more.")
        .proof("NamespaceDeletionContentFailure holds a time-out or INTERNAL_ERROR of a request, and a webhook is \
            called for deletions in the namespace. That it is slow is inferred, so it is probable.")
        .safe(&[
            READ_CONFIGURATION,
            check("See how long the API server waits for it")
                .run("kubectl get --raw /metrics | grep apiserver_admission_webhook_admission_duration_seconds_sum"),
            step("Run this again in two minutes: fewer objects remain where it goes on"),
            step("Repair the webhook's backend, lower its timeoutSeconds, or exclude the namespace in its namespaceSelector"),
        ])
        .danger(CONTENT_BY_HAND)
        .sources(&["kubernetes: apiserver/pkg/admission/plugin/webhook/generic"])
        .diagnosis(Proven::Cluster("hook-slow"));
}
