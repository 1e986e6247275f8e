//! The driver, or what the kubelet knows about the volume, is at fault.

use crate::Gate;
use crate::cause::entry::{Cause, Danger, Patience, Proven, step};

causes! {
    /// The FUSE server of a volume has died.
    FUSE_SERVER_GONE = Cause::at(Gate::VolumesUnmounted, "FuseServerGone")
        .title("The FUSE server of the volume has died")
        .meaning("The volume is a FUSE mount and its server process is gone. Every access says \"transport endpoint is \
            not connected\", and many drivers fail their unpublish with it. The dead mount stays, and for the kubelet \
            it still counts as mounted.")
        .proof("mountinfo has a fuse mount for the volume and /sys/fs/fuse/connections/<minor> is gone, or a look in \
            the disposable child gives ENOTCONN; statx with AT_STATX_DONT_SYNC still says mount root.")
        .safe(&[
            step("Unmount the dead mount; what the server had not stored is lost already")
                .run("umount {path}").lab("fuse-dead"),
            step("Bring the driver's pod on this node back, so that the kubelet's next unpublish is answered"),
        ])
        .danger(Danger::new(
            "umount -l, or rm -rf of the directory",
            "A plain umount works on a dead server. The lazy one hides a mount that may be in use, and the removal \
                deletes data if the driver mounts it again meanwhile.",
        ))
        .sources(&["fluid#4002", "kubernetes#96361", "kadalu#1003", "kadalu#913", "juicefs#907", "gcs-fuse#50"])
        .event_reason("PodVolumeServerGone")
        .outranked_by(&[&CSI_DRIVER_NOT_REGISTERED])
        .diagnosis(Proven::Lab("fuse-dead"));

    /// The CSI driver is not registered on this node.
    CSI_DRIVER_NOT_REGISTERED = Cause::at(Gate::VolumesUnmounted, "CsiDriverNotRegistered")
        .title("The CSI driver is not registered on this node")
        .meaning("Only its CSI driver can unpublish this volume, and that driver is not registered with the kubelet: \
            it was uninstalled, evicted, or its DaemonSet no longer selects this node. The kubelet tries again and \
            again and finds nobody to call.")
        .proof("vol_data.json names the driver; no socket in plugins_registry and none in plugins/<driver> belongs to \
            it. The kubelet says: driver name … not found in the list of registered CSI drivers.")
        .safe(&[
            step("Bring the node pod of the volume's CSI driver back to this node (reinstall it, or repair its \
                nodeSelector, taints or image); the kubelet's next try then unpublishes the volume"),
            step("The driver is {driver}; see whether its directory has a socket").run("ls -la {plugin_dir}"),
        ])
        .danger(Danger::new(
            "Unmounting by hand and deleting vol_data.json",
            "The driver is never told: the volume stays staged or attached, and mounting it elsewhere can fail or \
                damage data.",
        ))
        .sources(&["spiffe-helm-charts#437", "ibm-spectrum-scale-csi#246", "kubernetes#120268"])
        .event_reason("PodVolumeDriverMissing")
        .diagnosis(Proven::Lab("csi-socket-missing"));

    /// The CSI driver's unpublish returns an error each time.
    CSI_UNPUBLISH_FAILS = Cause::at(Gate::VolumesUnmounted, "CsiUnpublishFails")
        .title("The CSI driver fails to unpublish the volume")
        .meaning("The CSI driver is there, but its NodeUnpublishVolume returns an error each time, often because the \
            target is already unmounted and the driver does not accept that. Any error, NotFound too, keeps the volume \
            in the kubelet's memory and the pod in Terminating.")
        .proof("The driver's socket exists, and the kubelet's log says Unmounter.TearDownAt failed: rpc error … for \
            this volume. The target may be an unmounted directory.")
        .safe(&[
            step("Read the log of the CSI driver's node pod: its error names the reason; repair or upgrade the driver"),
            step("See what the kubelet got from {driver}")
                .run("journalctl -u {kubelet_unit} --since -15min --no-pager --grep {uid}"),
            step("If the target is not mounted in any namespace, remove its empty directory (rmdir refuses a mount and \
                a directory with content): it completes a clean-up that stopped halfway")
                .run("rmdir {path}"),
        ])
        .danger(Danger::new(
            "rm -rf of the volume's directory",
            "If the target is still mounted, or gets mounted again, the data of the volume is deleted.",
        ))
        .sources(&["trident#572", "datashim#340", "csi-digitalocean#242"])
        .event_reason("PodVolumeDriverFails")
        .diagnosis(Proven::Observation);

    /// The driver said OK and left the mount.
    CSI_UNPUBLISH_LEFT_MOUNT = Cause::at(Gate::VolumesUnmounted, "CsiUnpublishLeftMount")
        .title("The CSI driver reported success but the volume is still mounted")
        .meaning("The driver answered NodeUnpublishVolume with OK without unmounting the target. The kubelet takes \
            that as done, forgets the volume and never tries again, while its own look at the disk still finds the \
            mount. It waits without end and logs nothing at its default verbosity.")
        .proof("statx says that volumes/kubernetes.io~csi/<volume>/mount is a mount root, nothing holds it, the driver \
            is registered, and neither an error nor another try for this volume is seen over several minutes.")
        .safe(&[
            step("Unmount the target; a plain umount writes everything back and refuses a mount in use")
                .run("umount {path}").lab("csi-left-mounted"),
            step("When the pod is gone from the API, move the kubelet's note out of the way, into a new directory \
                below /var/tmp: the kubelet has forgotten the volume, and its clean-up refuses to delete files")
                .run("test -f {vol_data} && mv {vol_data} \"$(mktemp -d /var/tmp/moved.XXXXXX)\"")
                .lab("csi-left-mounted"),
            step("Report the fault to the CSI driver's authors and upgrade it: it must not say OK before the target is \
                unmounted"),
        ])
        .danger(Danger::new("rm -rf of the target", "It is still the volume: its data is deleted."))
        .sources(&["kubernetes#122342", "reference: kubelet csi_mounter.go removeMountDir"])
        .event_reason("PodVolumeLeftMounted")
        .diagnosis(Proven::Lab("csi-left-mounted"));

    /// `vol_data.json` is missing.
    VOL_DATA_MISSING = Cause::at(Gate::VolumesUnmounted, "VolDataMissing")
        .title("The volume's vol_data.json is missing")
        .meaning("The kubelet reads the driver and handle of a CSI volume from vol_data.json beside the mount \
            directory, and that file is gone. It cannot even build the unmount, so it fails about ten times a second. \
            While it remembers the volume, unmounting by hand does not help; it goes on asking for the file.")
        .proof("volumes/kubernetes.io~csi/<volume> exists without vol_data.json; the kubelet says failed to open \
            volume data file … no such file or directory.")
        .safe(&[
            step("Write the file again from the PV and leave the mount directory in place: at the next try the driver \
                unpublishes and the pod goes")
                .run("printf '%s' {json} > {vol_data}").lab("vol-data-missing").if_known(),
            step("If its content is not known here, build it from the PV and its VolumeAttachment: attachmentID, \
                driverName, nodeName, specVolID (the PV's name), volumeHandle, volumeLifecycleMode Persistent"),
        ])
        .danger(Danger::new(
            "Unmounting the target and removing its directory",
            "It does not help: a kubelet that remembers the volume repeats the same error. The driver is never told, \
                so the volume stays staged.",
        ))
        .sources(&["kubernetes#116847", "kubernetes#126607", "longhorn#3207", "reference: tested on Kubernetes 1.36"])
        .event_reason("PodVolumeDataMissing")
        .diagnosis(Proven::Lab("vol-data-missing"));

    /// `vol_data.json` is empty or damaged.
    VOL_DATA_UNUSABLE = Cause::at(Gate::VolumesUnmounted, "VolDataUnusable")
        .title("The volume's vol_data.json is empty or damaged")
        .meaning("The kubelet reads the driver and handle of a CSI volume from vol_data.json beside the mount \
            directory. The file is empty or not valid JSON, typically after a crash or power loss. The kubelet cannot \
            build the unmount and fails about ten times a second.")
        .proof("vol_data.json exists with 0 bytes, or cannot be parsed, or lacks the driver or handle; the kubelet \
            says failed to parse volume data file.")
        .safe(&[
            step("Write the file again from the PV: at the next try the driver unpublishes and the pod goes")
                .run("printf '%s' {json} > {vol_data}").lab("vol-data-empty").if_known(),
            step("If its content is not known here, build it from the PV and its VolumeAttachment: attachmentID, \
                driverName, nodeName, specVolID (the PV's name), volumeHandle, volumeLifecycleMode Persistent"),
        ])
        .danger(Danger::new(
            "Deleting vol_data.json, or unmounting by hand",
            "An empty file becomes a missing one, which fails the same way, and the driver is never told.",
        ))
        .sources(&["kubernetes#108217", "reference: tested on Kubernetes 1.36"])
        .event_reason("PodVolumeDataMissing")
        .diagnosis(Proven::Lab("vol-data-empty"));

    /// After a restart the kubelet could not reconstruct the volume.
    VOLUME_NOT_RECONSTRUCTED = Cause::at(Gate::VolumesUnmounted, "VolumeNotReconstructed")
        .title("The kubelet lost the volume when it restarted")
        .meaning("The kubelet was restarted and could not reconstruct this volume from the disk. It then tries to \
            clean it up exactly once; that failed or did nothing. No further try follows, while the mount on disk \
            keeps the pod in Terminating.")
        .proof("The mount is older than the kubelet process, is seen below pods/<uid>/volumes, nothing holds it, and \
            no operation for it is under way. The log has Could not construct volume information, or \
            force_cleaned_failed_volume_operation_errors_total is above 0.")
        .safe(&[
            step("Restart the kubelet: it reconstructs again and makes its one try again; containers keep running")
                .run("systemctl restart {kubelet_unit}"),
            step("If it is a tmpfs of a secret, configuration or token, unmount it: it holds only copies")
                .run("umount {path}"),
            step("Upgrade the kubelet: 1.27 and 1.28 repaired much of the reconstruction"),
        ])
        .danger(Danger::new("rm -rf of the pod's directory", "The volume is still mounted in it: its data is deleted."))
        .sources(&[
            "kubernetes#96635", "kubernetes#70044", "kubernetes#110670", "kubernetes#72604", "kubernetes#116954",
            "kubernetes#116925", "kubernetes#117019", "longhorn#4782",
        ])
        .event_reason("PodVolumeNotReconstructed")
        .diagnosis(Proven::Observation);

    /// This kubelet no longer has the volume's plugin.
    VOLUME_PLUGIN_REMOVED = Cause::at(Gate::VolumesUnmounted, "VolumePluginRemoved")
        .title("This kubelet no longer has the volume's plugin")
        .meaning("The volume was mounted by an in-tree plugin that this kubelet version no longer has (rbd and cephfs \
            are gone by 1.31). After the upgrade the kubelet makes one try to clean up and finds no plugin. The mount \
            stays and nothing retries. This was derived from the source; no issue is known.")
        .proof("A directory pods/<uid>/volumes/kubernetes.io~<plugin> with a mount exists for a plugin that this \
            kubelet's version lacks. The log may say: no volume plugin matched name.")
        .safe(&[
            step("Make sure that no process uses the volume, then unmount it; umount writes everything back")
                .run("umount {path}"),
            step("Release the device in the way of the old plugin (rbd unmap and the like)"),
            step("Before such an upgrade drain the node, so that the old kubelet unmounts its volumes"),
        ])
        .danger(Danger::new(
            "rm -rf of the plugin's directory",
            "The volume is still mounted in it: its data is deleted.",
        ))
        .sources(&["reference: kubelet \"no volume plugin matched name\" (derived from source)"])
        .event_reason("PodVolumePluginRemoved")
        .diagnosis(Proven::Observation);

    /// The kubelet remembers a volume of which nothing is left on disk.
    KUBELET_REMEMBERS_VOLUME = Cause::at(Gate::VolumesUnmounted, "KubeletRemembersVolume")
        .title("The kubelet probably still remembers a volume that is not on disk")
        .meaning("Nothing of the pod is mounted, yet the kubelet behaves as if its volumes were not gone. The likely \
            reason is an entry marked uncertain in its memory, after an unmount that failed in the middle. This memory \
            cannot be seen from outside, so it is a conclusion and not an observation.")
        .proof("The API phase is terminal, no mount is below pods/<uid>/volumes, and the pod's cgroup has cpu.weight 1 \
            (v1: cpu.shares 2), which the kubelet sets while it waits for volumes. A log line with the pod's UID \
            confirms it.")
        .safe(&[
            step("Search the kubelet's log for the operation that keeps failing, and treat that")
                .run("journalctl -u {kubelet_unit} --since -15min --no-pager --grep {uid}"),
            step("Check that the volume's CSI driver runs on this node and answers"),
            step("Restart the kubelet: it builds its memory anew from the disk; containers keep running")
                .run("systemctl restart {kubelet_unit}"),
        ])
        .danger(Danger::new(
            "kubectl delete pod --force",
            "The driver may not have been told that the volume is free; mounted elsewhere it can be damaged.",
        ))
        .sources(&["reference: kubelet HasPossiblyMountedVolumesForPod, ReduceCPULimits"])
        .event_reason("PodVolumeRemembered")
        .patience(Patience::NextTry)
        .diagnosis(Proven::Observation);
}
