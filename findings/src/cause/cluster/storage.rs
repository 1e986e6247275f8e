//! Claims, volumes and attachments.

use crate::cause::entry::{Cause, ClusterArea, Danger, Proven, step};

const PATCH_CLAIM: Danger = Danger::new(
    "Taking kubernetes.io/pvc-protection off by hand",
    "The check that nobody uses the claim is skipped: the disk may be deleted while it is mounted.",
);

const PATCH_ATTACHMENT: Danger = Danger::new(
    "Taking external-attacher/… off the VolumeAttachment or the volume",
    "Kubernetes forgets the attachment, the storage does not. Attached a second time elsewhere, the file system can be \
        destroyed.",
);

causes! {
    /// A pod that nobody deletes uses the claim.
    PVC_USED_BY_POD = Cause::in_cluster(ClusterArea::Storage, "PvcUsedByPod")
        .title("A pod uses the claim, and nobody asked it to go")
        .meaning("pvc-protection keeps a claim while a pod with a node uses it. The pod is not being deleted, so this \
            is not stuck by a fault: the pod must go first.")
        .proof("A pod of the namespace with spec.nodeName names the claim and has no deletion timestamp.")
        .safe(&[
            step("See which pods use the claim and what makes them")
                .run("kubectl -n {namespace} get pod {pod} -o yaml").typed(),
            step("Delete the pod, or scale down what makes it, if it should go")
                .run("kubectl -n {namespace} delete pod {pod}"),
            step("If the pod should stay: a deletion cannot be taken back, so save the data before the pod goes"),
        ])
        .danger(PATCH_CLAIM)
        .sources(&["reference: pvc_protection_controller"])
        .event_reason("PvcUsedByPod")
        .diagnosis(Proven::Observation);

    /// A finished pod holds the claim.
    PVC_USED_BY_COMPLETED_POD = Cause::in_cluster(ClusterArea::Storage, "PvcUsedByCompletedPod")
        .title("A pod that has ended still holds the claim")
        .meaning("A pod that ran holds its claims until it is deleted, also when it has completed, as a Job's pods do.")
        .proof("A pod of the namespace in phase Succeeded or Failed, with spec.nodeName, names the claim.")
        .safe(&[
            step("Save what is needed of the ended pod: its log goes with it")
                .run("kubectl -n {namespace} logs {pod} --all-containers"),
            step("Delete the ended pod, or its Job").run("kubectl -n {namespace} delete pod {pod}"),
            step("Set ttlSecondsAfterFinished on such Jobs, so that it does not happen again"),
        ])
        .danger(PATCH_CLAIM)
        .sources(&["reference: a completed pod and its claim"])
        .event_reason("PvcUsedByCompletedPod")
        .diagnosis(Proven::Observation);

    /// No pod uses the claim, and it is still protected.
    PVC_PROTECTION_NOT_RELEASED = Cause::in_cluster(ClusterArea::Storage, "PvcProtectionNotReleased")
        .title("No pod uses the claim, and its protection is still there")
        .meaning("The controller manager takes pvc-protection off when no pod with a node uses the claim. No such pod \
            is visible, and it has not done so.")
        .proof("kubernetes.io/pvc-protection is left, and no pod of the namespace with a node names the claim.")
        .safe(&[
            step("See whether the controller manager runs")
                .run("kubectl -n kube-system get lease kube-controller-manager -o yaml").typed(),
            step("Read its log; pvc-protection-controller names what it cannot list"),
        ])
        .danger(PATCH_CLAIM)
        .sources(&["reference: pvc_protection_controller"])
        .event_reason("PvcProtectionNotReleased")
        .diagnosis(Proven::Observation);

    /// The volume is bound to a claim that nobody deletes.
    PV_BOUND_TO_CLAIM = Cause::in_cluster(ClusterArea::Storage, "PvBoundToClaim")
        .title("The volume is bound to a claim that nobody asked to go")
        .meaning("pv-protection keeps a volume while it is Bound. Its claim must go first; the volume then follows.")
        .proof("The volume's phase is Bound, and the claim it names exists and has no deletion timestamp.")
        .safe(&[
            step("See who uses the claim").run("kubectl -n {namespace} describe persistentvolumeclaim {name}").typed(),
            step("Delete the claim, if it should go; what uses the claim shows then")
                .run("kubectl -n {namespace} delete persistentvolumeclaim {name}"),
            step("If the claim should stay: the volume's deletion cannot be taken back, so save its data first"),
        ])
        .danger(Danger::new(
            "Taking kubernetes.io/pv-protection off by hand",
            "The claim becomes Lost, and its pods cannot start again.",
        ))
        .sources(&["reference: pv_protection_controller"])
        .event_reason("PvBoundToClaim")
        .diagnosis(Proven::Observation);

    /// The storage does not delete the volume.
    PV_BACKEND_DELETE_FAILS = Cause::in_cluster(ClusterArea::Storage, "PvBackendDeleteFails")
        .title("The provisioner has not deleted the volume in its storage")
        .meaning("The volume is released and its reclaim policy is Delete: the provisioner must delete it in the \
            storage first. It fails there (still attached, no permission), or does not run.")
        .proof("external-provisioner.volume.kubernetes.io/finalizer is left, the phase is Released or Failed, and an \
            Event VolumeFailedDelete or the volume's status says why. Without these words it is probable; the Lease of \
            the driver's csi-provisioner, where it has one, tells whether it runs.")
        .safe(&[
            step("Read the volume's Events (VolumeFailedDelete)").run("kubectl describe persistentvolume {pv}").typed(),
            step("Repair what the storage says, or restore the controller part of {driver}"),
            step("It tries again by itself"),
        ])
        .danger(Danger::new(
            "Taking the finalizer off by hand",
            "The disk stays in the storage and costs money, and nobody knows of it any more.",
        ))
        .sources(&["reference: sig-storage-lib, deleteVolumeOperation"])
        .event_reason("PvBackendDeleteFails")
        .diagnosis(Proven::Observation);

    /// The controller manager has not let the volume go.
    PV_DELETION_PENDING = Cause::in_cluster(ClusterArea::Storage, "PvDeletionPending")
        .title("The controller manager has not let the volume go yet")
        .meaning("No claim holds the volume any more, and a finalizer of the controller manager is left: it has not \
            come to it, or deleting the disk fails.")
        .proof("kubernetes.io/pv-protection or kubernetes.io/pv-controller is left, and the volume is not Bound. With \
            pv-controller and no word of why the disk is not deleted it is probable.")
        .safe(&[
            step("Read the volume's Events").run("kubectl describe persistentvolume {pv}").typed(),
            step("See whether the controller manager runs")
                .run("kubectl -n kube-system get lease kube-controller-manager -o yaml").typed(),
        ])
        .danger(Danger::new("Taking the finalizer off by hand", "The disk may stay in the storage and cost money."))
        .sources(&["reference: pv controller"])
        .event_reason("PvDeletionPending")
        .diagnosis(Proven::Observation);

    /// The driver cannot detach.
    VOLUME_DETACH_FAILS = Cause::in_cluster(ClusterArea::Storage, "VolumeDetachFails")
        .title("The storage refuses to detach the volume")
        .meaning("The driver tries to detach the volume from its node and fails; its words say why.")
        .proof("The VolumeAttachment is being deleted, and status.detachError is set.")
        .safe(&[
            step("Read the driver's words and look at the volume in the storage's own console")
                .run("kubectl get volumeattachment {attachment} -o yaml").typed(),
            step("Repair what it names; the driver tries again by itself"),
        ])
        .danger(PATCH_ATTACHMENT)
        .sources(&["karpenter#2169"])
        .event_reason("VolumeDetachFails")
        .diagnosis(Proven::Observation);

    /// Nobody detaches.
    VOLUME_ATTACHER_GONE = Cause::in_cluster(ClusterArea::Storage, "VolumeAttacherGone")
        .title("Nobody detaches the volume")
        .meaning("The attachment is being deleted, and its driver has not said anything: the controller part of the \
            driver (csi-attacher) does not run or has lost its Lease.")
        .proof("external-attacher/… is left, and there is no detachError. The Lease of the driver's csi-attacher, \
            where it has one, tells whether that is away or silent; such a Lease may also be left over, so this is \
            probable.")
        .safe(&[
            step("See whether the controller part of {driver} runs, and read the log of csi-attacher")
                .run("kubectl get pods,leases -A -o wide").typed().if_known(),
            step("Bring the driver's controller part back; it detaches by itself"),
        ])
        .danger(PATCH_ATTACHMENT)
        .sources(&["reference: external-attacher"])
        .event_reason("VolumeAttacherGone")
        .diagnosis(Proven::Observation);

    /// The node still uses the volume.
    VOLUME_STILL_MOUNTED = Cause::in_cluster(ClusterArea::Storage, "VolumeStillMounted")
        .title("The node still reports the volume as in use")
        .meaning("The volume should be detached, and the node's kubelet still lists it as mounted or attached. The \
            controller waits for it: at once with the out-of-service taint, after six minutes if the node is not \
            ready, else for ever.")
        .proof("The VolumeAttachment is not being deleted, its volume is, and status.volumesInUse of a Ready node \
            lists it.")
        .safe(&[
            step("Ask the node what keeps the mount busy; copy why-terminating-agent there if it is not in the cluster")
                .run("why-terminating-agent check"),
            step("End what it names; the kubelet unmounts, and the volume is detached by itself"),
        ])
        .danger(PATCH_ATTACHMENT)
        .sources(&["reference: attach/detach controller, MountedByNode"])
        .event_reason("VolumeStillMounted")
        .diagnosis(Proven::Observation);

    /// The Secret a detach needs is gone.
    DETACH_SECRET_GONE = Cause::in_cluster(ClusterArea::Storage, "DetachSecretGone")
        .title("The Secret that a detach needs went with its namespace")
        .meaning("The driver needs a Secret to detach the volume. The Secret lived in a namespace that was deleted, so \
            the detach can never succeed as it is.")
        .proof("status.detachError says: failed to load secret, and the namespace of controllerPublishSecretRef is \
            gone or being deleted.")
        .safe(&[
            step("Make the Secret {secret} again in its namespace, with the credentials of the storage"),
            step("If that namespace is being deleted and takes nothing new: detach the volume in the storage's own \
                console first, and only then let the attachment go"),
        ])
        .danger(PATCH_ATTACHMENT)
        .sources(&["reference: external-attacher, getCredentialsFromPV"])
        .event_reason("DetachSecretGone")
        .diagnosis(Proven::Observation);

    /// A local volume on a node that is lost.
    LOCAL_VOLUME_ON_LOST_NODE = Cause::in_cluster(ClusterArea::Storage, "LocalVolumeOnLostNode")
        .title("The claim's data is on the disk of a node that is lost")
        .meaning("The volume is a path of one node, and that node is silent or gone. No other node can use it; a \
            replacement pod waits with a volume node affinity conflict. The claim waits for its pod, the pod for the \
            node.")
        .proof("The claim is being deleted and held by a pod; its PersistentVolume is local to one node by \
            nodeAffinity; that node is not Ready or does not exist.")
        .safe(&[
            step("Bring node {node} back: the data is only there, and then everything finishes by itself"),
            step("Or give the data up. Confirm first that the machine is off; then, in this order: the node (out of \
                service), the pod goes, the claim goes, and the workload makes an empty one elsewhere"),
        ])
        .danger(Danger::new(
            "Taking kubernetes.io/pvc-protection off first, as is often advised",
            "It skips the check that nobody uses the data; when the machine comes back, its pod runs on a volume that \
                Kubernetes has forgotten.",
        ))
        .sources(&["reference: seed 004, scratch data on an edge node"])
        .event_reason("LocalVolumeOnLostNode")
        .diagnosis(Proven::Observation);
}
