//! Why a PersistentVolumeClaim does not go.

use crate::cause::circumstance::{Circumstance, PodState};
use crate::cause::cluster::shared::*;
use crate::cause::page::*;

const RUNS: Circumstance = Circumstance::User(PodState::Running);
const ENDED: Circumstance = Circumstance::User(PodState::Ended);

const PATCH_CLAIM: Danger = Danger::new(
    "Do not remove kubernetes.io/pvc-protection by hand",
    "The check that no pod uses the claim is skipped: the disk may be deleted while it is mounted.",
);

causes! {
    PVC_USED_BY_POD = Cause::cluster(ClusterArea::Storage, "PvcUsedByPod")
        .holds_from_the_start()
        .in_use()
        .title("A pod that is not being deleted uses the claim")
        .meaning("pvc-protection keeps a claim while a pod with a node uses it, also one that has completed, as a Job's \
            pods do. The pod is not being deleted, so nothing is broken: the pod must be deleted first.")
        .proof("A pod of the namespace with spec.nodeName names the claim and has no deletion timestamp.")
        .safe(&[
            check("See which pods use the claim, and their controllers")
                .run("kubectl -n {namespace} get pod {pod} -o yaml").typed().when(&[RUNS]),
            check("Save what is needed of the ended pod: its log is deleted with it")
                .run("kubectl -n {namespace} logs {pod} --all-containers").when(&[ENDED]),
            step("Save the data before the pod is deleted: the claim's deletion cannot be undone, and takes the data with it if \
                the volume's reclaim policy is Delete").when(&[RUNS]),
            step("Scale {workload} down first, if you do not need its pods: it replaces a deleted pod, and the new one stays \
                Pending")
                .run("kubectl -n {namespace} scale {workload} --replicas=0").if_known().when(&[RUNS]),
            step("Delete the ended pod, or its Job").run("kubectl -n {namespace} delete pod {pod}").when(&[ENDED]),
            step("Set ttlSecondsAfterFinished on such Jobs, so that it does not happen again").when(&[ENDED]),
            step("Delete the pod, if you do not need it and nothing replaces it")
                .run("kubectl -n {namespace} delete pod {pod}").when(&[RUNS]),
        ])
        .danger(PATCH_CLAIM)
        .sources(&["reference: pvc_protection_controller", "reference: a completed pod and its claim"])
        .diagnosis(Proven::Cluster("claim-used"));

    PVC_PROTECTION_NOT_RELEASED = Cause::cluster(ClusterArea::Storage, "PvcProtectionNotReleased")
        .title("No pod uses the claim, and its protection is still there")
        .meaning("The controller manager removes pvc-protection when no pod with a node uses the claim. No such pod is \
            visible, and it has not done so.")
        .proof("kubernetes.io/pvc-protection is left, and no pod of the namespace with a node names the claim.")
        .safe(&[
            READ_LEASE,
            check("Read its log; pvc-protection-controller names what it cannot list"),
        ])
        .danger(PATCH_CLAIM)
        .sources(&["reference: pvc_protection_controller"])
        .diagnosis(Proven::Cluster("idle-controllers"));

    LOCAL_VOLUME_ON_LOST_NODE = Cause::cluster(ClusterArea::Storage, "LocalVolumeOnLostNode")
        .title("The claim's data is on the disk of a node that is lost")
        .meaning("The volume is local to one node, and that node is silent or gone. No other node can use it; a \
            replacement pod waits with a volume node affinity conflict. The claim waits for its pod, the pod for the \
            node.")
        .proof("The claim is being deleted and held by a pod; its PersistentVolume is local to one node by \
            nodeAffinity; that node does not exist, or its Ready has been Unknown for more than a minute, or is Unknown \
            and a taint says that the host is off, and no agent on it was heard since. A kubelet that says NotReady \
            itself lives.")
        .safe(&[
            check("Read since when the node is silent, and its taints").run("kubectl describe node {node}").when(&[NODE_EXISTS]),
            check("Read on which node's disk the data is").run("kubectl describe {type} {name} -n {namespace}").if_known().when(&[NODE_GONE]),
            step("Bring node {node} back: the data is only there, and then everything finishes by itself")
                .when(&[NODE_EXISTS]),
            step("The Node object is gone, and the data is on that node's disk: start the node with it, and let it join under \
                the name {node} again").when(&[NODE_GONE]),
            step("Or give the data up. Confirm first that the host is off; then, in this order: the node is \
                declared out of service, the pod and the claim are deleted, and the workload creates an empty one \
                elsewhere"),
        ])
        .dont("Do not remove kubernetes.io/pvc-protection first, as is often advised",
            "It skips the check that no pod uses the data; when the instance comes back, its pod runs on a volume that \
                Kubernetes has forgotten.")
        .sources(&["a user's report: scratch data on an edge node"])
        .diagnosis(Proven::Cluster("local-volume"));
}
