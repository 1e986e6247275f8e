//! Why a pod does not go, as far as the API shows it.

use crate::cause::cluster::node::SEE_NODE;
use crate::cause::cluster::shared::*;
use crate::cause::page::*;

pub(super) const ASK_THE_AGENT: Advice =
    check("Read what the agent of the node says, if it is installed: it names the process, mount or cgroup")
        .run("kubectl -n default get events --field-selector involvedObject.kind=Node,involvedObject.name={agent_node}")
        .typed()
        .if_known();

/// The plugin deletes the pod that it creates, and adds what is found to its answer.
pub(super) const CHECK_ON_NODE: Advice =
    check("Where no agent runs on {agentless_node}: check it once. This asks, then creates a privileged pod there for about 10 s")
        .run("kubectl why-terminating pod/{name} -n {namespace} --on-node")
        .if_known();

pub(super) const CHECK_ONCE: Advice =
    check("The same without the plugin, in a debug pod on the node").run(CHECK_POD_ONCE).if_known();

const READ_EVENT: Advice = check("Read the whole Event").run("kubectl describe pod {name} -n {namespace}").typed();

causes! {
    POD_WITHIN_GRACE = Cause::cluster(ClusterArea::Pod, "PodWithinGrace")
        .title("The pod is inside its grace period, or a moment past it")
        .meaning("The pod is being deleted and has until its deletionTimestamp to terminate. preStop hooks and slow \
            shutdowns run in this time; it is not stuck.")
        .proof("The deletion timestamp, which includes the grace period, lies in the future or a moment ago.")
        .safe(&[check("Check again in a minute: the kubelet is still stopping the pod")])
        .danger(FORCE)
        .sources(&["reference: pod deletion timestamps"])
        .diagnosis(Proven::Recording("unreachable-node-pvc-chain"));

    POD_CONTAINERS_NOT_STOPPED = Cause::cluster(ClusterArea::Pod, "PodContainersNotStopped")
        .title("The pod's containers have not ended, and its node is Ready")
        .meaning("The grace period has ended, the kubelet runs, and it has not reported that the containers ended. What \
            keeps them (a process that cannot die, a runtime that does not answer) is on the node, and the API does \
            not show it.")
        .proof("The deadline has passed, the phase is Running or Pending, some container is not said to have ended, \
            and the node is Ready. When the controller manager is silent and does not judge nodes, the node's own \
            Lease must be fresh.")
        .safe(&[
            ASK_THE_AGENT,
            CHECK_ON_NODE,
            CHECK_ONCE,
            DELETE_DEBUG_POD,
            step("Repair what it names; the kubelet tries again by itself"),
        ])
        .danger(FORCE)
        .sources(&["kubernetes#51835", "kubernetes#66159"])
        .diagnosis(Proven::Recording("dstate-fuse"))
        .only_the_node_knows();

    POD_CLEANUP_NOT_FINISHED = Cause::cluster(ClusterArea::Pod, "PodCleanupNotFinished")
        .title("The pod's containers have ended, its volumes or cgroup are left")
        .meaning("The kubelet reported the end of every container. What it still waits for is on the node: a volume \
            that cannot be unmounted or a cgroup that cannot be removed. It gives no event for that. kubectl shows \
            such a pod as Completed or Error, not as Terminating.")
        .proof("The deadline has passed, the phase is Succeeded or Failed or the state of every container says that \
            it ended, no finalizer is left, and the node is Ready. When the controller \
            manager is silent and does not judge nodes, the node's own Lease must be fresh.")
        .safe(&[
            ASK_THE_AGENT,
            CHECK_ON_NODE,
            CHECK_ONCE,
            DELETE_DEBUG_POD,
            step("Repair what it names; the kubelet tries again by itself"),
        ])
        .dont("Do not run kubectl delete pod --force",
            "It removes the object only. The mount stays, blocks the next attach of the volume, and what a clean-up \
                script removes through it is removed from the volume.")
        .sources(&["kubernetes#113426", "kubernetes#60987"])
        .diagnosis(Proven::Recording("volumes-busy"))
        .only_the_node_knows();

    POD_KILL_FAILS = Cause::cluster(ClusterArea::Pod, "PodKillFails")
        .title("The kubelet cannot stop the pod, and its Event says why")
        .meaning("The kubelet tries to stop the pod's containers or its sandbox and fails, again and again. Most often \
            the CNI plugin cannot release the pod's network: its daemon, its configuration or its credentials are \
            gone, or the plugin has a defect.")
        .proof("The deadline has passed, and a Warning Event FailedKillPod about the pod was written since its deletion. \
            Any account that can write Events in the namespace could have written it, so this is probable.")
        .safe(&[
            READ_EVENT,
            check("If it says \"failed to destroy network\": see whether the CNI plugin's own pod runs on {node}, and \
                repair or restore it; the kubelet's next try then succeeds")
                .run("kubectl -n kube-system get pods -o wide --field-selector spec.nodeName={node}").typed(),
            check("Wait for the kubelet's next try: it tries again by itself, at the latest after a few minutes"),
            CHECK_ON_NODE,
            CHECK_ONCE,
            DELETE_DEBUG_POD,
        ])
        .danger(FORCE)
        .sources(&["multus-cni#669", "spidernet-io/cni-plugins#47"])
        .diagnosis(Proven::Cluster("pod-events"));

    POD_UNMOUNT_FAILS = Cause::cluster(ClusterArea::Pod, "PodUnmountFails")
        .title("A volume of the pod cannot be unmounted, and an Event says why")
        .meaning("The pod's containers have ended, and unmounting one of its volumes fails. Kubelets write no Event about \
            that; this driver does.")
        .proof("The deadline has passed, and a Warning Event FailedUnMount about the pod was written since its deletion. \
            Any account that can write Events in the namespace could have written it, so this is probable.")
        .safe(&[
            READ_EVENT,
            ASK_THE_AGENT,
            CHECK_ON_NODE,
            CHECK_ONCE,
            DELETE_DEBUG_POD,
            step("Repair what it names; the kubelet tries again within two minutes"),
        ])
        .danger(FORCE)
        .sources(&["kubernetes#113426", "trident#572"])
        .diagnosis(Proven::Cluster("pod-events"));

    CSI_DRIVER_NOT_ON_NODE = Cause::cluster(ClusterArea::Pod, "CsiDriverNotOnNode")
        .title("The CSI driver of a volume is not registered at the pod's node")
        .meaning("The pod's containers have ended, and one of its volumes belongs to a CSI driver that the node does \
            not list. Without the driver the kubelet cannot unmount the volume. Whether the volume is still mounted \
            only the node can show, so this is probable.")
        .proof("The pod's clean-up is not finished, a PersistentVolume of it names the driver, and the CSINode of its \
            node does not list it.")
        .safe(&[
            check("See which drivers the node has").run("kubectl get csinode {node} -o yaml").typed(),
            step("Bring the node part (DaemonSet) of {driver} back to the node; the kubelet then unmounts"),
            ASK_THE_AGENT,
            step("If the pod stays although the driver is back, ask the node: a driver that answered OK and left the \
                mount is not called again"),
        ])
        .dont("Do not force-delete the pod and then delete its volume",
            "The volume stays mounted on the node while it is deleted or attached elsewhere.")
        .sources(&["kubernetes#122342"])
        .diagnosis(Proven::Recording("csi-unmount"))
        .only_the_node_knows();

    POD_NEVER_STARTED = Cause::cluster(ClusterArea::Pod, "PodNeverStarted")
        .title("The pod was deleted before any container started")
        .meaning("The pod was bound to its node and no container was ever created: setting up a volume or the network \
            hangs, and the kubelet has not finished since. A missing owner (StatefulSet, ReplicaSet) is never the \
            reason: the pod has a deletionTimestamp already.")
        .proof("The phase is Pending with a node, no container has an id, the deadline has passed, and the node is \
            Ready.")
        .safe(&[
            ASK_THE_AGENT,
            CHECK_ON_NODE,
            CHECK_ONCE,
            DELETE_DEBUG_POD,
            step("Repair the volume's set-up or the network plugin that it names"),
        ])
        .dont("Do not run kubectl delete pod --force",
            "Harmless only when the node proves that no container, sandbox or mount of the pod exists; else they stay \
                behind.")
        .sources(&["a user's report: ContainerCreating on a node that was gone"])
        .diagnosis(Proven::Cluster("pod-never-started"))
        .only_the_node_knows();

    STATIC_POD = Cause::cluster(ClusterArea::Pod, "StaticPod")
        .title("The pod is the mirror of a static pod")
        .meaning("The pod comes from a manifest on its node. Deleting its mirror pod in the API never stops it: the \
            kubelet deletes the mirror at its next sync and creates it again, or, in a namespace that is being deleted, \
            lets the pod run on unseen.")
        .proof("The annotation kubernetes.io/config.mirror is set, the node is Ready, and nothing is seen that refuses \
            the kubelet's deletion of the mirror. Why the kubelet does not come to it is not visible, so it is \
            probable.")
        .safe(&[
            READ_REPORTS,
            check("See in the kubelet's log on node {node} why it does not delete the mirror; the pod runs on"),
            step("To end the pod itself, remove its manifest on node {node}; the kubelet then stops the pod and removes \
                the mirror"),
            check("Look for the manifest's directory in the kubelet's configuration (staticPodPath)"),
        ])
        .danger(FORCE)
        .sources(&["reference: mirror pods"])
        .diagnosis(Proven::Cluster("mirror-pod"));

    POD_FORCE_DELETED = Cause::cluster(ClusterArea::Pod, "PodForceDeleted")
        .title("The pod was force-deleted and may still run")
        .meaning("The grace period was set to zero while the pod ran, and a finalizer keeps the object. The kubelet \
            may not have ended its containers, although every controller now treats the pod as gone.")
        .proof("deletionGracePeriodSeconds is 0, finalizers are left, the pod has a node, and neither its phase nor \
            the states of its containers say that they have ended. A phase that the pod garbage collector wrote \
            was not reported by the node.")
        .safe(&[
            ASK_THE_AGENT,
            CHECK_ON_NODE,
            CHECK_ONCE,
            DELETE_DEBUG_POD,
            SEE_NODE,
            step("Only when the node shows nothing of it: let the finalizer's owner finish"),
        ])
        .danger(FORCE)
        .sources(&["reference: podIsShutDown"])
        .diagnosis(Proven::Cluster("pod-forced"));

    NODE_OBJECT_GONE = Cause::cluster(ClusterArea::Pod, "NodeObjectGone")
        .title("The pod's Node object does not exist")
        .meaning("The Node was deleted. The pod garbage collector removes pods of nodes that do not exist, about a \
            minute after it first sees that. If the pod stays longer, something refuses the collector: a webhook on \
            pods, or no controller manager.")
        .proof("The node the pod is bound to is not found (404).")
        .safe(&[
            check("Wait two minutes: the pod garbage collector removes the pod")
                .run("kubectl wait --for=delete {type} {name} -n {namespace} --timeout=2m").if_known(),
            check("If it stays: see whether a webhook refuses changes of pods, and whether the controller manager runs")
                .run("kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations").typed(),
        ])
        .dont("Do not run kubectl delete pod --force before the host is known to be off",
            "A host whose Node object was deleted may still run the pod; a replacement writes to the same data.")
        .sources(&["reference: podgc, 40 s quarantine and a 20 s tick"])
        .diagnosis(Proven::Recording("unreachable-node-pvc-chain"))
        .node_is_lost();

    POD_GC_REFUSED = Cause::cluster(ClusterArea::Pod, "PodGcRefused")
        .title("The pod garbage collector has not removed the pod")
        .meaning("The pod garbage collector removes a pod that is being deleted and has no node, or whose node does not \
            exist or is out of service. The pod is still there minutes later: the delete request is refused or fails.")
        .proof("DisruptionTarget is True with reason DeletionByPodGC for more than two minutes, or the Event \
            RemovingNode of the pod's node is older than that, or the pod is overdue for so long and spec.nodeName is \
            empty. When it is overdue for so long and its Node does not exist, without that Event, it is probable.")
        .safe(&[
            check("See which webhook decides about pods")
                .run("kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations").typed(),
            check("Read the controller manager's log; pod-garbage-collector names the error. Up to 1.26.10, 1.27.7 and \
                1.28.3 its patch fails for a pod that has a port or an environment variable twice: upgrade"),
        ])
        .danger(FORCE)
        .sources(&["reference: podgc", "kubernetes#118261"])
        .diagnosis(Proven::Cluster("collector-of-pods"));
}
