//! Why a node does not let its pods go.

pub(super) mod drain;

use crate::cause::circumstance::{Circumstance, Existence};
use crate::cause::cluster::shared::*;
use crate::cause::page::*;
use crate::cause::{
    KUBELET_NOT_RUNNING, KUBELET_STOPPED, KUBELET_SYNC_LOOP_HUNG, NETWORK_NOT_READY, PLEG_STALLED,
    RUNTIME_NOT_RESPONDING,
};

pub(super) const SEE_NODE: Advice =
    check("Look at the node's conditions and taints").run("kubectl describe node {node}").typed();

const IN_SERVICE: Circumstance = Circumstance::OutOfService(Existence::Gone);

const UNTAINT: Advice = step("The node is declared out of service already: remove the taint before it comes back")
    .run("kubectl taint node {node} node.kubernetes.io/out-of-service-")
    .when(&[Circumstance::OutOfService(Existence::Present)]);

const LOCAL_DATA: Advice = check("The data of {pv} is on a disk of this host alone: after the next step its pod is created again and \
        stays Pending until this host is back. Only if it never comes back: delete the claim, and restore the data from a backup")
    .if_known()
    .when(&[IN_SERVICE]);

causes! {
    NODE_UNREACHABLE = Cause::cluster(ClusterArea::Pod, "NodeUnreachable")
        .holds_from_the_start()
        .title("The node is silent")
        .meaning("The kubelet of the node stopped renewing its Lease and status. Kubelet down, host down and a cut \
            network look alike from here: no agent on the node was heard since. Pods being deleted there stay until \
            the kubelet comes back, the Node object is deleted, or the node is declared out of service.")
        .proof("Ready is Unknown, or the node has the taint node.kubernetes.io/unreachable.")
        .safe(&[
            SEE_NODE,
            check("Find out which it is: the host's console or the cloud's state shows whether it is down or cut \
                off"),
            step("Bring the node back: its kubelet finishes the deletions by itself, and local data survives"),
            LOCAL_DATA,
            step("Only when the host is confirmed off: declare it out of service; its pods are deleted within 20 \
                seconds and their volumes are detached (remove the taint again before it comes back)")
                .run("kubectl taint node {node} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute")
                .when(&[IN_SERVICE]),
            UNTAINT,
        ])
        .dont("Do not run kubectl delete pod --force, delete the Node or set the out-of-service taint while the host may run",
            "A node that is only cut off keeps running its pods. The second copy of a StatefulSet's pod then writes to \
                the same data.")
        .sources(&["a user's report: an edge node lost its tunnel"])
        .outranked_by(&[&KUBELET_NOT_RUNNING, &KUBELET_STOPPED, &KUBELET_SYNC_LOOP_HUNG])
        .diagnosis(Proven::Recording("unreachable-node-pvc-chain"))
        .node_is_lost();

    NODE_KUBELET_SILENT = Cause::cluster(ClusterArea::Pod, "NodeKubeletSilent")
        .holds_from_the_start()
        .title("The kubelet of the node is silent, and the host is up")
        .meaning("The kubelet stopped renewing its Lease and status, while the agent on the same host still reached \
            the API server. So the host ran and had its network: the kubelet is down, hangs, or its credentials are \
            not accepted any more. Its containers keep running.")
        .proof("The node's Lease has run out, and an Event of the node's own agent was written later than that. Both \
            carry the time of the host's clock. When the agent spoke so long ago that it is late itself, this is \
            probable.")
        .safe(&[
            SEE_NODE,
            check("On the node, see why the kubelet ended or whom it cannot reach (expired certificate, full disk, a \
                hanging mount); that of RKE2 writes /var/lib/rancher/rke2/agent/logs/kubelet.log")
                .run(KUBELET_JOURNAL)
                .on_the_node(),
            check("On the node, ask which process or mount it hangs in").run("why-terminating-agent check").on_the_node(),
            step("Start the kubelet again: running containers are not touched, and it finishes the deletions by \
                itself"),
        ])
        .dont("Do not run kubectl delete pod --force, delete the Node or set the out-of-service taint",
            "The host runs, and with it the containers of its pods: every replacement is a second copy on the same \
                data.")
        .sources(&["reference: distinguishing kubelet, machine and network"])
        .outranked_by(&[&KUBELET_NOT_RUNNING, &KUBELET_STOPPED, &KUBELET_SYNC_LOOP_HUNG])
        .diagnosis(Proven::Observation)
        .node_is_lost();

    NODE_SHUT_DOWN = Cause::cluster(ClusterArea::Pod, "NodeShutDown")
        .holds_from_the_start()
        .title("The node's instance is stopped, as its cloud says")
        .meaning("The node is silent and carries the cloud's taint for a stopped instance, which stays until the node is \
            Ready again. While the instance is off its pods are not running, and no kubelet finishes their \
            deletion.")
        .proof("Ready is Unknown, the node has the taint node.cloudprovider.kubernetes.io/shutdown, and no agent on it \
            spoke after that. Whether the instance still is stopped, only its cloud shows.")
        .safe(&[
            SEE_NODE,
            step("Start the host again: its kubelet finishes the deletions by itself"),
            LOCAL_DATA,
            step("If its cloud still shows it as stopped, and it stays off: declare it out of service; its pods are \
                deleted within 20 seconds and their volumes are detached (remove the taint again before it comes back)")
                .run("kubectl taint node {node} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute")
                .when(&[IN_SERVICE]),
            UNTAINT,
        ])
        .dont("Do not run kubectl delete pod --force, delete the Node or set the out-of-service taint before its cloud \
                shows the host as stopped, or delete claims and volumes of its pods",
            "A host that was started again runs its pods, and they run twice on the same data. What is on its own disks \
                is lost with the claim, and would be there after a start.")
        .sources(&["reference: cloud node lifecycle controller"])
        .diagnosis(Proven::Cluster("node-shut-down"))
        .node_is_lost();

    NODE_NEVER_REPORTED = Cause::cluster(ClusterArea::Pod, "NodeNeverReported")
        .holds_from_the_start()
        .title("No kubelet ever reported for this node")
        .meaning("A Node object exists and no kubelet has posted its status: the host never joined, or the object \
            was created by hand. Pods bound to it can neither start nor end.")
        .proof("Ready is Unknown with reason NodeStatusNeverUpdated; or, before the node lifecycle controller has written that, \
            the Node has no condition Ready and no Lease.")
        .safe(&[
            SEE_NODE,
            check("See whether a host has this name; if so, start its kubelet"),
            step("If no host has it, delete the Node: its pods are removed within a minute")
                .run("kubectl delete node {node}"),
        ])
        .danger(FORCE)
        .sources(&["reference: NodeStatusNeverUpdated"])
        .diagnosis(Proven::Cluster("node-never-reported"));

    NODE_NOT_READY = Cause::cluster(ClusterArea::Pod, "NodeNotReady")
        .holds_from_the_start()
        .title("The node's kubelet says that it is not ready")
        .meaning("The kubelet reports, and reports that something it needs does not work: the container runtime, the \
            pod lifecycle generator, the network plugin. Without the runtime no pod can be ended.")
        .proof("Ready is False; its message names the reason (container runtime is down, PLEG is not healthy, \
            container runtime network not ready, node is shutting down).")
        .safe(&[
            SEE_NODE,
            step("Repair what the message names: restart the runtime, restore the network plugin"),
            check("On the node, ask which process or mount keeps the runtime busy").run("why-terminating-agent check").on_the_node(),
        ])
        .danger(FORCE)
        .sources(&["kubernetes#45419"])
        .event_reason("NodeNotReadyHoldsPods")
        .outranked_by(&[
            &KUBELET_NOT_RUNNING,
            &KUBELET_STOPPED,
            &KUBELET_SYNC_LOOP_HUNG,
            &PLEG_STALLED,
            &RUNTIME_NOT_RESPONDING,
            &NETWORK_NOT_READY,
        ])
        .diagnosis(Proven::Cluster("node-not-ready"));

    OUT_OF_SERVICE_NOT_EFFECTIVE = Cause::cluster(ClusterArea::Pod, "OutOfServiceNotEffective")
        .title("The node is declared out of service, and its pods stay")
        .meaning("The out-of-service taint removes pods only while the node is not ready, only pods that are being \
            deleted already, and evicts with effect NoExecute only those that do not tolerate it.")
        .proof("The node has the taint node.kubernetes.io/out-of-service, and pods that are being deleted are there two \
            minutes later. Where the taint has no time, as with kubectl, it is probable. Where \
            the node is Ready the taint holds nothing, and its pods have causes of their own.")
        .safe(&[
            SEE_NODE,
            step("If the node is back, remove the taint: its kubelet finishes the deletions")
                .run("kubectl taint node {node} node.kubernetes.io/out-of-service-"),
            check("If it is off, see whether the controller manager runs")
                .run("kubectl -n kube-system get lease kube-controller-manager -o yaml").typed(),
        ])
        .danger(FORCE)
        .sources(&["reference: podgc gcTerminating"])
        .diagnosis(Proven::Cluster("out-of-service-ready"));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else one root pages once for each of its names.
    #[test]
    fn the_alert_rules_name_each_cause_of_a_node_that_is_not_well() {
        let rules = include_str!("../../../../deploy/chart/files/alerts.yaml");
        let joined = |names: &[&Cause]| names.iter().map(|cause| cause.id).collect::<Vec<_>>().join("|");
        let outside =
            joined(&[&NODE_UNREACHABLE, &NODE_KUBELET_SILENT, &NODE_SHUT_DOWN, &NODE_NEVER_REPORTED, &NODE_NOT_READY]);
        let inside = joined(NODE_NOT_READY.outranked_by);
        let only = crate::cause::all().filter(|cause| cause.only_the_node_knows);
        // Where the kubelet has an Event about it.
        let only: Vec<&Cause> = only.chain([&super::super::POD_KILL_FAILS, &super::super::POD_UNMOUNT_FAILS]).collect();
        for names in [&outside, &inside, &format!("{outside}|{inside}"), &joined(&only)] {
            assert!(rules.contains(&format!("{{cause=~\"{names}\"}}")), "alerts.yaml has no list {names}");
        }
    }
}
