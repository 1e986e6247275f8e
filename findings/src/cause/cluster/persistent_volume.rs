//! Why a PersistentVolume does not go.

use crate::cause::cluster::shared::*;
use crate::cause::page::*;

const DISK_STAYS: Danger = Danger::new(
    "Do not remove the finalizer by hand",
    "The disk stays in the storage and costs money, unknown to Kubernetes.",
);

causes! {
    PV_BOUND_TO_CLAIM = Cause::cluster(ClusterArea::Storage, "PvBoundToClaim")
        .holds_from_the_start()
        .in_use()
        .title("The volume is bound to a claim that is not being deleted")
        .meaning("pv-protection keeps a volume while it is Bound. Its claim must be deleted first; the volume then \
            follows.")
        .proof("The volume's phase is Bound, and the claim it names exists and has no deletion timestamp.")
        .safe(&[
            check("See who uses the claim").run("kubectl -n {namespace} describe persistentvolumeclaim {name}").typed(),
            step("Delete the claim, if it is not needed; it then shows what uses it")
                .run("kubectl -n {namespace} delete persistentvolumeclaim {name}"),
            step("If the claim should stay: the volume's deletion cannot be taken back, so save its data first"),
        ])
        .dont("Do not remove kubernetes.io/pv-protection by hand",
            "The claim becomes Lost, and its pods cannot start again.")
        .sources(&["reference: pv_protection_controller"])
        .diagnosis(Proven::Cluster("volume-bound"));

    PV_BACKEND_DELETE_FAILS = Cause::cluster(ClusterArea::Storage, "PvBackendDeleteFails")
        .title("The provisioner has not deleted the volume in its storage")
        .meaning("The volume is released and its reclaim policy is Delete: the provisioner must delete it in the \
            storage first. It fails there (still attached, no permission), or does not run.")
        .proof("external-provisioner.volume.kubernetes.io/finalizer is left, the phase is Released, the reclaim policy \
            Delete, and an Event VolumeFailedDelete or the volume's status says why. Without these words it is probable; the Lease of \
            the driver's csi-provisioner, where it has one, shows whether it runs.")
        .safe(&[
            check("Read the volume's Events (VolumeFailedDelete)").run("kubectl describe persistentvolume {pv}").typed(),
            step("Repair what the storage answers; the provisioner tries again by itself").when(&[READY, UNKNOWN, STORED]),
            step("The storage answers that the disk does not exist. See in its own console that it is gone, and let the account \
                of the driver's CSI controller patch persistentvolumes: without that right only its finalizer stays")
                .when(&[NOT_STORED]),
            step("Start the CSI controller of {driver} again: its Lease has run out. It then deletes the disk")
                .when(&[NOT_READY]).if_known(),
            check("Where no Event says anything, see whether the CSI controller of {driver} runs: its pod holds this Lease")
                .run("kubectl get leases -A -o wide --field-selector metadata.name={lease}").typed().if_known()
                .when(&[UNKNOWN]),
            step("CSIDriver {driver} does not exist: install the driver again, and it deletes the disk")
                .when(&[DRIVER_GONE, NOT_READY, UNKNOWN]).if_known(),
            step("Last resort, only if the driver was removed for good: delete the disk in the storage's own console, then \
                remove this one finalizer; refused if the object or its list has changed")
                .run(TAKE_OFF).when(&[DRIVER_GONE, NOT_READY, UNKNOWN, STORED]).if_known(),
            step("Last resort, after you have seen that the storage has no such disk: remove this one finalizer; refused if the \
                object or its list has changed").run(TAKE_OFF).when(&[NOT_STORED]).if_known(),
        ])
        .danger(DISK_STAYS)
        .sources(&["reference: sig-storage-lib, deleteVolumeOperation", "external-provisioner#1277"])
        .diagnosis(Proven::Cluster("volume-disk"));

    PV_PROVISIONER_NOT_DUE = Cause::cluster(ClusterArea::Storage, "PvProvisionerNotDue")
        .title("The provisioner's finalizer is left on a volume whose disk it is not to delete")
        .meaning("The provisioner deletes the disk of a volume that is Released and has the reclaim policy Delete. With \
            Retain it takes its finalizer off and keeps the disk: while the finalizer is left, it does not run, or the \
            volume is not its own. In another phase (Available, after claimRef was cleared) it waits for ever.")
        .proof("external-provisioner.volume.kubernetes.io/finalizer is left, the volume is not Bound, and its reclaim \
            policy is not Delete or its phase is not Released. With another policy than Delete it is probable: whether \
            the provisioner runs, only the Lease of the driver's csi-provisioner shows.")
        .safe(&[
            check("See its phase, its reclaim policy and who provisioned it (annotation \
                pv.kubernetes.io/provisioned-by)")
                .run("kubectl describe persistentvolume {pv}").typed(),
            step("Start the CSI controller of {driver} again, if it does not run: it removes the finalizer, and the disk \
                stays in the storage").when(&[NOTHING, NOT_READY, UNKNOWN]).if_known(),
            step("The CSI controller of {driver} renews its Lease: search its log for {pv}")
                .when(&[NOTHING, READY]).if_known(),
            step("Note the volume's handle, and set persistentVolumeReclaimPolicy to Retain; the volume is then deleted, and \
                its disk stays in the storage").when(&[PENDING]),
            step("Last resort, where a provisioner that runs leaves it: note the volume's handle, then remove this one \
                finalizer; the disk stays as its policy says. Refused if the object or its list has changed")
                .run(TAKE_OFF).if_known().when(&[NOTHING]),
        ])
        .danger(DISK_STAYS)
        .sources(&["sig-storage-lib-external-provisioner: controller/controller.go, handleProtectionFinalizer, shouldDelete"])
        .diagnosis(Proven::Cluster("volume-disk"));

    PV_DELETION_PENDING = Cause::cluster(ClusterArea::Storage, "PvDeletionPending")
        .title("The controller manager has not released the volume yet")
        .meaning("No claim holds the volume any more, and a finalizer of the controller manager is left: it has not \
            come to it, or deleting the disk fails.")
        .proof("kubernetes.io/pv-protection or kubernetes.io/pv-controller is left, and the volume is not Bound, or \
            no claim has the uid that it is bound to. With pv-controller and no word of why the disk is not deleted it \
            is probable.")
        .safe(&[
            check("Read the volume's Events").run("kubectl describe persistentvolume {pv}").typed(),
            READ_LEASE,
        ])
        .dont("Do not remove the finalizer by hand", "The disk may stay in the storage and cost money.")
        .sources(&["reference: pv controller"])
        .diagnosis(Proven::Cluster("volume-disk"));
}
