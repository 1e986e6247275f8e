//! What looks like a deletion that is stuck, and is something else. Most of these objects are not being
//! deleted: they are answers to a question about one object.

use crate::cause::entry::{Cause, ClusterArea, Danger, Proven, step};

causes! {
    /// The owner is in another namespace.
    OWNER_IN_OTHER_NAMESPACE = Cause::in_cluster(ClusterArea::Finalizer, "OwnerInOtherNamespace")
        .title("An object is deleted again and again, because its owner is in another namespace")
        .meaning("An owner reference never reaches into another namespace. The garbage collector takes the owner for \
            missing and deletes the object.")
        .proof("The object's owner does not exist in its namespace, and the garbage collector says so in an Event \
            OwnerRefInvalidNamespace about the object, or an object with the owner's uid lives in another namespace. \
            The same name alone is no proof: names repeat from namespace to namespace.")
        .safe(&[
            step("See the Events of the garbage collector")
                .run("kubectl get events -n {namespace} --field-selector reason=OwnerRefInvalidNamespace").typed(),
            step("Have whoever makes the object leave that owner reference out"),
        ])
        .danger(Danger::new("Putting a finalizer on the object to keep it", "It then stays in Terminating for ever."))
        .sources(&["reference: garbage collector, OwnerRefInvalidNamespace"])
        .event_reason("OwnerInOtherNamespace")
        .diagnosis(Proven::Observation);

    /// The owner's kind is not served.
    OWNER_KIND_UNKNOWN = Cause::in_cluster(ClusterArea::Finalizer, "OwnerKindUnknown")
        .title("An object is not collected, because its owner's kind or scope is wrong")
        .meaning("The owner's kind is not served any more (its CRD is gone), or a cluster-wide object names an owner \
            that lives in a namespace. The garbage collector cannot tell whether the owner is gone and keeps the \
            object. It is not being deleted.")
        .proof("An owner reference whose apiVersion and kind discovery does not have, although every API of that group \
            answers, or a namespaced owner of a cluster-wide object; and no deletion timestamp.")
        .safe(&[
            step("Look at the owner references of the object")
                .run("kubectl get {type} {name} -n {namespace} -o yaml").typed().if_known(),
            step("Delete the object itself, if it should go, or take the reference off"),
        ])
        .danger(Danger::new(
            "Installing the CRD again only to delete it",
            "Old custom resources that are still stored come back with it.",
        ))
        .sources(&["reference: garbage collector, unknown owner kinds"])
        .event_reason("OwnerKindUnknown")
        .diagnosis(Proven::Observation);

    /// The node controller does not evict.
    EVICTION_SUSPENDED = Cause::in_cluster(ClusterArea::Pod, "EvictionSuspended")
        .title("Pods of silent nodes are not evicted, because too many nodes are silent")
        .meaning("When all nodes, or most nodes of a zone, are not ready, the node controller takes the network for \
            broken and evicts slowly or not at all. So pods are not even asked to stop.")
        .proof("The node has Ready=Unknown for two minutes, the taint unreachable:NoSchedule and not \
            unreachable:NoExecute, the controller manager's Lease is fresh, and the Lease of every node has run out. \
            When it is most of a zone (more than two nodes and more than 55 %) it is probable: these limits can be \
            set.")
        .safe(&[
            step("See how many nodes of each zone are ready")
                .run("kubectl get nodes -L topology.kubernetes.io/zone").typed(),
            step("Repair the control plane's network: it is more likely broken than all those nodes"),
        ])
        .danger(Danger::new(
            "Deleting the Nodes or force-deleting their pods",
            "The nodes run on behind the broken network, and every workload would run twice.",
        ))
        .sources(&["reference: node lifecycle controller, zone states"])
        .event_reason("EvictionSuspended")
        .diagnosis(Proven::Observation);

    /// The pod that replaced the evicted one does not get ready.
    REPLACEMENT_NOT_READY = Cause::in_cluster(ClusterArea::Pod, "ReplacementNotReady")
        .title("The deletion went well, and the replacement does not get ready")
        .meaning("A StatefulSet's pod was replaced after an eviction, and the new one waits: for a local volume of the \
            lost node (volume node affinity conflict), or for something the product needs (a vault to be unsealed).")
        .proof("The pod belongs to a StatefulSet, is not being deleted and has not been ready for two minutes, and an \
            Event is about another uid of this name. Without such an Event (they live for an hour) a pod that is much \
            younger than its StatefulSet makes it probable.")
        .safe(&[
            step("Read why it waits").run("kubectl describe pod {name} -n {namespace}").typed(),
            step("For a local volume: bring its node back, or give the data up and delete the claim"),
        ])
        .danger(Danger::new("Deleting the replacement again", "Nothing changes but the time it has to start."))
        .sources(&["reference: seed 004, a sealed vault"])
        .event_reason("ReplacementNotReady")
        .diagnosis(Proven::Observation);
}
