//! What stands between a request and the stored object: webhooks, policies, conversion, decoding.

use crate::cause::entry::{Advice, Cause, ClusterArea, Danger, Proven, step};

const READ_CONFIGURATION: Advice = step("Read what the webhook is asked about and where it is called")
    .run("kubectl get {configuration} -o yaml")
    .typed()
    .if_known();

const FINALIZE: Danger = Danger::new(
    "Emptying spec.finalizers of the namespace (PUT /finalize)",
    "The objects that could not be deleted stay in etcd, and nobody can remove them any more.",
);

causes! {
    /// A webhook that must be asked cannot be called.
    WEBHOOK_UNAVAILABLE = Cause::in_cluster(ClusterArea::Admission, "WebhookUnavailable")
        .title("A webhook that must agree cannot be called")
        .meaning("A webhook with failurePolicy Fail is asked about the deletion, and its backend cannot be called. So \
            every such request is refused, also those of the namespace controller.")
        .proof("The webhook's rules, scope and selectors match, failurePolicy is not Ignore, and its Service does not \
            exist or has no ready endpoint, or the namespace's condition says: failed calling webhook. matchConditions \
            are not evaluated: with them, and without such a condition, it is probable.")
        .safe(&[
            READ_CONFIGURATION,
            step("Bring its backend, Service {service}, back; the deletion then goes on within a minute").if_known(),
            step("If the product was removed for good, its configuration is dead policy that refuses everything: \
                remove it")
                .run("kubectl delete {configuration}"),
            step("Otherwise exclude this namespace in its namespaceSelector until the backend is back"),
        ])
        .danger(Danger::new(
            "Setting failurePolicy to Ignore",
            "A security policy is then off for the whole cluster whenever its backend is away, and nobody notices.",
        ))
        .sources(&["kyverno#5999", "kubernetes#80313"])
        .event_reason("WebhookUnavailable")
        .diagnosis(Proven::Recording("finalizer-and-webhook"));

    /// A webhook says no.
    WEBHOOK_REFUSES_DELETE = Cause::in_cluster(ClusterArea::Admission, "WebhookRefusesDelete")
        .title("A webhook refuses the deletion")
        .meaning("A webhook was asked about the deletion and said no. That is its policy, not a fault; its words say \
            what it wants.")
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
    POLICY_REFUSES_DELETE = Cause::in_cluster(ClusterArea::Admission, "PolicyRefusesDelete")
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

    /// A webhook that cannot be called refuses the removal of a finalizer.
    WEBHOOK_BLOCKS_UPDATE = Cause::in_cluster(ClusterArea::Admission, "WebhookBlocksUpdate")
        .title("A webhook refuses the last updates")
        .meaning("Taking a finalizer off, and a kubelet's last status, are updates. A webhook with failurePolicy Fail \
            is asked about them and cannot be called, so the object stays although its controller has done its work.")
        .proof("The object is being deleted, and a webhook whose rules, scope and selectors match its UPDATE has \
            failurePolicy Fail and no backend. matchConditions are not evaluated: with them it is probable.")
        .safe(&[
            READ_CONFIGURATION,
            step("Bring its backend, Service {service}, back; what waits then goes on by itself"),
            step("Have the webhook exclude objects with a deletion timestamp"),
        ])
        .danger(Danger::new(
            "Taking finalizers off by hand",
            "It is an update too and is refused the same way; where it is not, the clean-up is skipped.",
        ))
        .sources(&["kubernetes#129473"])
        .event_reason("WebhookBlocksUpdate")
        .diagnosis(Proven::Observation);

    /// A conversion webhook cannot be called.
    CONVERSION_WEBHOOK_UNAVAILABLE = Cause::in_cluster(ClusterArea::Admission, "ConversionWebhookUnavailable")
        .title("Custom resources cannot be converted")
        .meaning("The objects are stored in one version and asked for in another, and the webhook that converts cannot \
            be called. They can be neither listed nor deleted. The namespace's conditions then say that all content \
            was removed, which is wrong.")
        .proof("The CRD converts by webhook and its Service does not exist or has no ready endpoint, or the \
            namespace's condition says: conversion webhook … failed.")
        .safe(&[
            step("See which versions are stored and who converts").run("kubectl get crd {crd} -o yaml").typed(),
            step("Restore the operator that serves the conversion, Service {service}"),
            step("The deletion then goes on within a minute"),
        ])
        .danger(Danger::new(
            "Setting spec.conversion.strategy to None, or deleting the CRD",
            "Without conversion the versions are taken for equal and objects are read wrong. A deleted CRD waits for \
                the same objects.",
        ))
        .sources(&["kubernetes#101078"])
        .event_reason("ConversionWebhookUnavailable")
        .diagnosis(Proven::Observation);

    /// Objects are stored in a version that is not served.
    STORED_VERSION_NOT_SERVED = Cause::in_cluster(ClusterArea::Admission, "StoredVersionNotServed")
        .title("Custom resources are stored in a version that is gone")
        .meaning("Objects were stored in a version that the CRD no longer has; the API server cannot read them, so it \
            can delete none.")
        .proof("status.storedVersions of the CRD names a version that spec.versions does not have, or an error says: \
            request to convert CR from an invalid group/version.")
        .safe(&[
            step("See which versions are stored and which are defined").run("kubectl get crd {crd} -o yaml").typed()
                .if_known(),
            step("Put the missing version back into the CRD (served: false is enough)").run("kubectl edit crd {crd}")
                .if_known(),
            step("Then store every object anew (storage version migration) and drop the version for good"),
        ])
        .danger(FINALIZE)
        .sources(&["reference: conversion from an invalid version"])
        .event_reason("StoredVersionNotServed")
        .diagnosis(Proven::Observation);

    /// An object cannot be decrypted.
    OBJECT_NOT_DECRYPTABLE = Cause::in_cluster(ClusterArea::Admission, "ObjectNotDecryptable")
        .title("A stored object cannot be decrypted")
        .meaning("etcd holds an object that none of the API server's encryption keys opens. The whole list of that \
            kind fails, and nothing of it can be deleted.")
        .proof("An error says: unable to transform key, and names the key.")
        .safe(&[
            step("Put the old encryption key back into the API server's encryption configuration as a read provider"),
            step("Then write every object of the kind anew, and drop the old key"),
        ])
        .danger(Danger::new(
            "Deleting the key in etcd, or ignoreStoreReadErrorWithClusterBreakingPotential",
            "The content is lost, and with it whatever its finalizers should have cleaned up.",
        ))
        .sources(&["reference: unable to transform key"])
        .event_reason("ObjectNotDecryptable")
        .diagnosis(Proven::Observation);

    /// An object cannot be decoded.
    OBJECT_NOT_DECODABLE = Cause::in_cluster(ClusterArea::Admission, "ObjectNotDecodable")
        .title("A stored object cannot be decoded")
        .meaning("etcd holds an object that the API server cannot read. The error names neither kind nor name; the \
            list of that kind fails.")
        .proof("The namespace's NamespaceDeletionContentFailure holds a decoder's error.")
        .safe(&[
            step("Find the kind whose list fails")
                .run("kubectl api-resources --verbs=list --namespaced -o name | xargs -n1 kubectl -n {namespace} get \
                    -o name")
                .typed(),
            step("Restore the object from a backup of etcd, or have the API server's log name it"),
        ])
        .danger(Danger::new(
            "Deleting keys in etcd",
            "The content is lost; a wrong key takes a healthy object with it.",
        ))
        .sources(&["reference: illegal base64 data"])
        .event_reason("ObjectNotDecodable")
        .diagnosis(Proven::Observation);

    /// Instances of a CRD that is being deleted remain.
    CRD_INSTANCES_REMAIN = Cause::in_cluster(ClusterArea::Admission, "CrdInstancesRemain")
        .title("Instances of a CRD remain, and could not be looked at")
        .meaning("A CRD goes when its last instance has gone. The server says that some remain or that it cannot count \
            them, and which ones they are could not be found out here.")
        .proof("The CRD has the finalizer customresourcecleanup.apiextensions.k8s.io and Terminating=True, and its \
            instances cannot be listed by us, or are not being deleted.")
        .safe(&[
            step("List the instances").run("kubectl get {crd} -A").typed(),
            step("Let what holds each of them finish (its finalizers), not the CRD"),
        ])
        .danger(Danger::new(
            "Taking customresourcecleanup.apiextensions.k8s.io off the CRD",
            "The instances stay in etcd and come back when the CRD is installed again.",
        ))
        .sources(&["kubernetes#60538"])
        .event_reason("CrdInstancesRemain")
        .diagnosis(Proven::Observation);

    /// Objects whose namespace does not exist.
    CONTENT_WITHOUT_NAMESPACE = Cause::in_cluster(ClusterArea::Admission, "ContentWithoutNamespace")
        .title("Objects are left whose namespace does not exist")
        .meaning("A namespace was removed by force (PUT /finalize) while it had objects. They are still stored, and \
            every change of them is refused because their namespace does not exist.")
        .proof("The object is listed, and its namespace is not found (404).")
        .safe(&[
            step("See what is left of it").run("kubectl -n {namespace} get {type}").typed(),
            step("Make the namespace again").run("kubectl create namespace {namespace}"),
            step("Then delete it in the normal way; what holds its objects shows then"),
        ])
        .danger(Danger::new(
            "Deleting the objects in etcd",
            "Their finalizers are skipped: cloud disks, load balancers and records stay and cost money.",
        ))
        .sources(&["reference: PUT /finalize with an empty list"])
        .event_reason("ContentWithoutNamespace")
        .diagnosis(Proven::Observation);

    /// Objects are made while the namespace is being deleted.
    OBJECTS_RECREATED = Cause::in_cluster(ClusterArea::Admission, "ObjectsRecreated")
        .title("Somebody makes objects while the namespace is being deleted")
        .meaning("The API server refuses new objects in a namespace that is being deleted; an aggregated API that \
            skips this check does not. So the namespace fills as fast as it is emptied.")
        .proof("An object in it is younger than the namespace's deletion.")
        .safe(&[
            step("See who makes it (managedFields.manager), and stop that program")
                .run("kubectl -n {namespace} get {type} {name} -o yaml --show-managed-fields").typed(),
            step("Have the extension API server check the namespace's phase on create"),
        ])
        .danger(FINALIZE)
        .sources(&["reference: NamespaceLifecycle"])
        .event_reason("ObjectsRecreated")
        .diagnosis(Proven::Observation);

    /// The finalizer's owner cannot update the object, because it fails validation.
    UPDATE_FAILS_VALIDATION = Cause::in_cluster(ClusterArea::Admission, "UpdateFailsValidation")
        .title("The object cannot be updated any more, because it is not valid")
        .meaning("Taking a finalizer off is an update, and an old object that a newer schema does not accept cannot be \
            updated. Its controller fails for ever.")
        .proof("A warning Event about the object, or a condition of it, quotes the API server: \"NAME\" is invalid. \
            That this is the update which takes the finalizer off is inferred, so it is probable. A controller that \
            says so in its log only cannot be seen.")
        .safe(&[
            step("See what the schema rejects, without changing anything")
                .run("kubectl -n {namespace} annotate {type} {name} why-terminating=try --dry-run=server"),
            step("Repair the object's fields, or relax the CRD's schema until it is gone"),
        ])
        .danger(Danger::new("Taking the finalizer off by hand", "It is an update too and fails the same way."))
        .sources(&["reference: updates rejected by validation"])
        .event_reason("UpdateFailsValidation")
        .diagnosis(Proven::Observation);
}
