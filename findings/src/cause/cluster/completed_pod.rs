//! A pod that has ended, is not deleted, and whose volume its node still has mounted.

use super::pod::{ASK_THE_AGENT, CHECK_ON_NODE, CHECK_ONCE};
use super::shared::DELETE_DEBUG_POD;
use crate::cause::page::*;

causes! {
    COMPLETED_POD_HOLDS_VOLUME = Cause::cluster(ClusterArea::Pod, "CompletedPodHoldsVolume")
        .title("The volume of a completed pod is still mounted, and the next pod waits for it")
        .meaning("The pod has ended (a Job that is done, a replica that failed) and is not deleted, so nothing is \
            Terminating. The kubelet unmounts the volumes of such a pod all the same. Here it has not, so the volume \
            cannot be detached, and a pod that needs it on another node waits in ContainerCreating with a \
            Multi-Attach error. What keeps the mount is on the node, and the API does not show it.")
        .proof("The phase is Succeeded or Failed for three minutes and more, there is no deletionTimestamp, \
            status.volumesInUse of its Node lists the volume of a claim of the pod, no other pod on that node uses the \
            claim, and the Node is Ready.")
        .safe(&[
            check("Its status.volumesInUse lists what it still has mounted").run("kubectl get node {node} -o yaml").typed(),
            ASK_THE_AGENT,
            CHECK_ON_NODE,
            CHECK_ONCE,
            DELETE_DEBUG_POD,
            step("Stop what it names: the kubelet's next try unmounts the volume, within about two minutes"),
        ])
        .dont("Do not delete the completed pod or the VolumeAttachment",
            "The mount stays. The pod then stays Terminating, and a volume that is detached while it is mounted can be \
                written on two nodes.")
        .sources(&["kubernetes#135318"])
        .diagnosis(Proven::Cluster("completed-pod-volume"))
        .keeps_attached()
        .only_the_node_knows();
}
