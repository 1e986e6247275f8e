//! Pods that are not being deleted, although another object waits for that: on a silent node that is not evicted, or made
//! anew and not ready.

use crate::cause::page::*;

causes! {
    EVICTION_SUSPENDED = Cause::cluster(ClusterArea::Pod, "EvictionSuspended")
        .title("Pods of silent nodes are not evicted, because too many nodes are silent")
        .meaning("When all nodes, or most nodes of a zone, are not ready, the node controller takes the network for \
            broken and evicts slowly or not at all. So no pod is deleted.")
        .proof("The node has Ready=Unknown for two minutes, the taint unreachable:NoSchedule and not \
            unreachable:NoExecute, the controller manager's Lease is fresh, and the Lease of every node has run out. \
            When it is most of a zone (more than two nodes and more than 55 %) it is probable: these limits can be \
            set.")
        .safe(&[
            check("See how many nodes of each zone are ready")
                .run("kubectl get nodes -L topology.kubernetes.io/zone").typed(),
            step("Repair the control plane's network: it is more likely broken than all those nodes"),
        ])
        .dont("Do not delete the Nodes or force-delete their pods",
            "The nodes run on behind the broken network, and every workload would run twice.")
        .sources(&["reference: node lifecycle controller, zone states"])
        .diagnosis(Proven::Cluster("zone-silent"));

    REPLACEMENT_NOT_READY = Cause::cluster(ClusterArea::Pod, "ReplacementNotReady")
        .title("The deletion succeeded, and the replacement does not get Ready")
        .meaning("A StatefulSet's pod was replaced after an eviction, and the new one waits: for a local volume of the \
            lost node (volume node affinity conflict), or for something the product needs (a vault to be unsealed).")
        .proof("The pod belongs to a StatefulSet, is not being deleted and has not been ready for two minutes, and an \
            Event is about another uid of this name. Without such an Event (they are kept for an hour) a pod that is \
            much younger than its StatefulSet makes it probable.")
        .safe(&[
            check("Read why it waits").run("kubectl describe pod {name} -n {namespace}").typed(),
            step("For a local volume: bring its node back; only when the host is confirmed off can the data be given up, \
                and the claim deleted"),
        ])
        .dont("Do not delete the replacement again", "Nothing changes but the time it has to start.")
        .sources(&["a user's report: a sealed vault"])
        .diagnosis(Proven::Cluster("replacement"));
}
