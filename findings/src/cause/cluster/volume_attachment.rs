//! Why a volume is not detached.

use crate::cause::circumstance::{Circumstance, Existence};
use crate::cause::cluster::shared::*;
use crate::cause::page::*;

const ATTACHED: Circumstance = Circumstance::Attachment(Existence::Present);
const DETACHED: Circumstance = Circumstance::Attachment(Existence::Gone);

/// Where the driver cannot detach any more, or does not exist.
const FORGET_ATTACHMENT: Advice = step(
    "Last resort, only if the storage's own console shows the volume attached to no instance: remove the attacher's \
        finalizer. Otherwise a second attach can destroy the file system",
)
.run(TAKE_OFF)
.if_known();

const GONE_WITH_NODE: Advice = step(
    "Node {node} does not exist: a driver that looks for it cannot detach. Update the driver if a newer version takes a \
        node that is gone for detached",
)
.when(&[NODE_GONE])
.if_known();

const PATCH_ATTACHMENT: Danger = Danger::new(
    "Do not remove external-attacher/… from the VolumeAttachment or the volume",
    "Kubernetes forgets the attachment, the storage does not. Attached a second time elsewhere, the file system can be \
        destroyed.",
)
.right_when("if the storage's own console shows the volume attached to no instance");

causes! {
    VOLUME_DETACH_FAILS = Cause::cluster(ClusterArea::Storage, "VolumeDetachFails")
        .title("The storage refuses to detach the volume")
        .meaning("The driver tries to detach the volume from its node and fails; its words say why.")
        .proof("The VolumeAttachment is being deleted, and status.detachError is set.")
        .safe(&[
            check("Read the driver's words and look at the volume in the storage's own console")
                .run("kubectl get volumeattachment {attachment} -o yaml").typed(),
            step("Repair what it names; the driver tries again by itself").when(&[NODE_EXISTS, STORED]),
            step("The storage answers that there is nothing to detach, so no try succeeds: see in its console that no instance \
                has the volume").when(&[NODE_EXISTS, NOT_STORED]),
            GONE_WITH_NODE,
            Advice { when: &[NODE_GONE], ..FORGET_ATTACHMENT },
            Advice { when: &[NODE_EXISTS, NOT_STORED], ..FORGET_ATTACHMENT },
        ])
        .danger(PATCH_ATTACHMENT)
        .sources(&["karpenter#2169", "kubernetes-sigs/vsphere-csi-driver#359"])
        .diagnosis(Proven::Cluster("detach-fails"));

    VOLUME_ATTACHER_GONE = Cause::cluster(ClusterArea::Storage, "VolumeAttacherGone")
        .title("The CSI attacher has not removed its finalizer")
        .meaning("external-attacher/… is the finalizer of the driver's csi-attacher, which detaches the volume first. Its \
            VolumeAttachment is being deleted, or no VolumeAttachment of the volume is left, and csi-attacher has \
            reported nothing: it does not run, or has lost its Lease.")
        .proof("external-attacher/… is left, and there is no detachError. The Lease of the driver's csi-attacher, \
            where it has one, shows whether that is down or silent; such a Lease may also be left over, so this is \
            probable.")
        .safe(&[
            check("See which pod of {driver} holds the Lease of csi-attacher, and since when")
                .run("kubectl get leases -A -o wide --field-selector metadata.name={lease}").typed().if_known(),
            step("Repair what the log of its csi-attacher reports, or restart that pod").when(&[READY]),
            step("Start the driver's CSI controller again: its csi-attacher detaches the volume, then removes the finalizer")
                .when(&[ATTACHED, NOT_READY, UNKNOWN]),
            step("Start the driver's CSI controller again: its csi-attacher then removes the finalizer")
                .when(&[DETACHED, NOT_READY, UNKNOWN]),
            GONE_WITH_NODE,
            Advice { when: &[NODE_GONE], ..FORGET_ATTACHMENT },
            Advice { when: &[NODE_EXISTS, NOT_READY, UNKNOWN, DRIVER_GONE], ..FORGET_ATTACHMENT },
            Advice { when: &[DETACHED, NOT_READY, UNKNOWN, DRIVER_GONE], ..FORGET_ATTACHMENT },
        ])
        .danger(PATCH_ATTACHMENT)
        .sources(&["reference: external-attacher"])
        .diagnosis(Proven::Cluster("attachment-node-gone"));

    VOLUME_STILL_MOUNTED = Cause::cluster(ClusterArea::Storage, "VolumeStillMounted")
        .title("The node still reports the volume as in use")
        .meaning("The volume should be detached, and the node's kubelet still lists it as mounted or attached. The \
            controller waits for it: at once with the out-of-service taint, after six minutes if the node is not \
            ready, else for ever.")
        .proof("The VolumeAttachment is not being deleted, its volume is and is bound to no claim, and \
            status.volumesInUse of a Ready node lists it.")
        .safe(&[
            check("Where no agent runs on the node: see what keeps the mount busy, in a privileged pod on the node")
                .run(CHECK_NODE_ONCE).if_known(),
            DELETE_DEBUG_POD,
            step("End what it names; the kubelet unmounts, and the volume is detached by itself"),
        ])
        .danger(PATCH_ATTACHMENT)
        .sources(&["reference: attach/detach controller, MountedByNode"])
        .diagnosis(Proven::Cluster("volume-mounted"));

    VOLUME_ATTACHMENT_NOT_DELETED = Cause::cluster(ClusterArea::Storage, "VolumeAttachmentNotDeleted")
        .title("A VolumeAttachment that was never attached is left, and no controller deletes it")
        .meaning("An attach failed, and the attach/detach controller does not remember it: it detaches only what it \
            knows. The volume keeps the attacher's finalizer while any VolumeAttachment names it, so it waits for \
            ever.")
        .proof("The VolumeAttachment has no deletion timestamp, its status says attached: false, and the volume it names \
            is being deleted and bound to no claim, so that no pod can use it.")
        .safe(&[
            check("Read what the attach failed with").run("kubectl get volumeattachment {attachment} -o yaml").typed(),
            check("See that the storage's own console does not show the volume as attached to {node}"),
            step("Delete the VolumeAttachment: its attacher makes sure that nothing is attached, and then removes its \
                finalizer")
                .run("kubectl delete volumeattachment {attachment}"),
            check("Then wait: the attacher removes its finalizer from the volume, and the volume is deleted"),
        ])
        .danger(PATCH_ATTACHMENT)
        .sources(&["external-attacher#66"])
        .diagnosis(Proven::Cluster("never-attached"));

    DETACH_SECRET_GONE = Cause::cluster(ClusterArea::Storage, "DetachSecretGone")
        .title("The Secret that a detach needs was deleted with its namespace")
        .meaning("The driver needs a Secret to detach the volume. The Secret was in a namespace that was deleted, so \
            the detach can never succeed as it is.")
        .proof("status.detachError says: failed to load secret, and the namespace of controllerPublishSecretRef is \
            gone or being deleted.")
        .safe(&[
            check("Read the attachment and its error").run("kubectl get {type} {name} -n {namespace} -o yaml").if_known(),
            step("Make the Secret {secret} again in its namespace, with the credentials of the storage"),
            step("If that namespace is being deleted and takes nothing new: detach the volume in the storage's own \
                console"),
            FORGET_ATTACHMENT,
        ])
        .danger(PATCH_ATTACHMENT)
        .sources(&["reference: external-attacher, getCredentialsFromPV"])
        .diagnosis(Proven::Cluster("detach-secret"));
}
