//! Owners that the garbage collector cannot find: in another namespace, or of a kind that is not
//! served. The one deletes an object, the other keeps it, and both look like a deletion that went
//! wrong; an owner that waits for what is kept is held by it.

use crate::cause::page::*;

causes! {
    OWNER_IN_OTHER_NAMESPACE = Cause::cluster(ClusterArea::Finalizer, "OwnerInOtherNamespace")
        .title("An object is deleted again and again, because its owner is in another namespace")
        .meaning("An owner reference never reaches into another namespace. The garbage collector takes the owner for \
            missing and deletes the object.")
        .proof("The object's owner does not exist in its namespace, and the garbage collector says so in an Event \
            OwnerRefInvalidNamespace about the object, or an object with the owner's uid is in another namespace. The \
            same name alone is no proof: names repeat from namespace to namespace.")
        .safe(&[
            check("See the Events of the garbage collector")
                .run("kubectl get events -n {namespace} --field-selector reason=OwnerRefInvalidNamespace").typed(),
            step("Change the creator of the object: leave that owner reference out"),
        ])
        .dont("Do not put a finalizer on the object to keep it", "It then stays in Terminating for ever.")
        .sources(&["reference: garbage collector, OwnerRefInvalidNamespace"])
        .diagnosis(Proven::Cluster("owner-elsewhere"));

    OWNER_KIND_UNKNOWN = Cause::cluster(ClusterArea::Finalizer, "OwnerKindUnknown")
        .title("An object is not collected, because its owner's kind or scope is wrong")
        .meaning("The owner's kind is not served any more (its CRD is gone), or a cluster-scoped object names an owner \
            that is namespaced. The garbage collector does not know whether the owner is gone and keeps the object. It \
            is not being deleted; an owner of it that is deleted with --cascade=foreground waits for it all the same, if \
            its reference has blockOwnerDeletion.")
        .proof("An owner reference whose apiVersion and kind discovery does not have, although every API of that group \
            answers, or a namespaced owner of a cluster-wide object; and no deletion timestamp.")
        .safe(&[
            check("Look at the owner references of the object")
                .run("kubectl get {type} {name} -n {namespace} -o yaml").typed().if_known(),
            step("Remove the reference, if the object is needed; otherwise delete the object itself"),
        ])
        .dont("Do not install the CRD again only to delete it",
            "Old custom resources that are still stored come back with it.")
        .sources(&["reference: garbage collector, unknown owner kinds"])
        .diagnosis(Proven::Cluster("owner-elsewhere"));
}
