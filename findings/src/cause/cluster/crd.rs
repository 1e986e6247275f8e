//! CustomResourceDefinitions: their own deletion, and the conversion of their objects.

use crate::cause::circumstance::{Circumstance, Unread};
use crate::cause::cluster::shared::*;
use crate::cause::page::*;

const UNCONVERTED: Danger = Danger::new(
    "Do not set spec.conversion.strategy to None, or delete the CRD",
    "Without conversion the versions are taken for equal and objects are read wrong. A deleted CRD waits for the \
        same objects.",
);

const KNOWN: Circumstance = Circumstance::Unread(Unread::Unknown);
const STARTING: Circumstance = Circumstance::Unread(Unread::Starting);

causes! {
    CONVERSION_WEBHOOK_UNAVAILABLE = Cause::cluster(ClusterArea::Admission, "ConversionWebhookUnavailable")
        .holds_from_the_start()
        .title("Custom resources cannot be converted")
        .meaning("The objects are stored in one version and asked for in another, and the webhook that converts cannot \
            be called, or its caBundle has expired. They can be neither listed nor deleted. The namespace's conditions then say that all content \
            was removed, which is wrong.")
        .proof("The CRD converts by webhook, has more than one version (for its own deletion: objects were stored in \
            another than the one they are stored in now, and listing them in that one fails; where they may not be listed \
            it is probable), and the Service does not exist or has no ready endpoint, or the latest notAfter of the \
            webhook's caBundle lies in the past; or the namespace's condition says: conversion webhook … failed.")
        .safe(&[
            check("See which versions are stored and who converts").run("kubectl get crd {crd} -o yaml").typed()
                .if_known(),
            step("Restore the operator that serves the conversion, Service {service}").if_known(),
            step("Repair what converts, as spec.conversion of the CRD names it: address, pods, certificate and caBundle, \
                these renewed together. The deletion then continues within minutes"),
        ])
        .danger(UNCONVERTED)
        .sources(&["kubernetes#101078"])
        .diagnosis(Proven::Cluster("conversion"));

    STORED_VERSION_NOT_SERVED = Cause::cluster(ClusterArea::Admission, "StoredVersionNotServed")
        .holds_from_the_start()
        .title("Custom resources are stored in a version that is gone")
        .meaning("Objects were stored in a version that the CRD no longer has; the API server cannot read them, so it \
            can delete none.")
        .proof("status.storedVersions of the CRD names a version that spec.versions does not have, or an error says: \
            request to convert CR from an invalid group/version.")
        .safe(&[
            check("See which versions are stored and which are defined").run("kubectl get crd {crd} -o yaml").typed()
                .if_known(),
            step("Put the missing version back into the CRD (served: false is enough)").run("kubectl edit crd {crd}")
                .if_known(),
            step("Then store every object anew (storage version migration) and drop the version for good"),
        ])
        .danger(FINALIZE)
        .sources(&["reference: conversion from an invalid version"])
        .diagnosis(Proven::Cluster("stored-version"));

    CRD_INSTANCES_REMAIN = Cause::cluster(ClusterArea::Admission, "CrdInstancesRemain")
        .title("Instances of a CRD remain, and could not be looked at")
        .meaning("A CRD is deleted when its last custom resource is. The server says that some remain or that it \
            cannot count them, and which ones they are could not be found out here.")
        .proof("The CRD has the finalizer customresourcecleanup.apiextensions.k8s.io and Terminating=True, and its \
            instances cannot be listed by us, or are not being deleted.")
        .safe(&[
            check("List the instances").run("kubectl get {crd} -A").typed(),
            step("Let what holds each of them finish (its finalizers), not the CRD").when(&[KNOWN]),
            step("Wait: after a change of the CRD the API server makes its cache of the kind anew, which takes minutes. If it \
                lasts, see who changes the CRD again and again (managedFields), else restart the API server").when(&[STARTING]),
        ])
        .dont("Do not remove customresourcecleanup.apiextensions.k8s.io from the CRD",
            "The instances stay in etcd and come back when the CRD is installed again.")
        .sources(&["kubernetes#60538"])
        .diagnosis(Proven::Cluster("undecodable"));
}
