//! CSI: the file that remembers a volume, the driver that must unpublish it.

use super::kubelet::AT_THE_KUBELET;
use crate::cause::page::*;

causes! {
    CSI_DRIVER_NOT_REGISTERED = Cause::gate(Gate::VolumesUnmounted, "CsiDriverNotRegistered")
        .title("The CSI driver is not registered on this node")
        .meaning("Only its CSI driver can unpublish this volume, and that driver is not registered with the kubelet: \
            it was uninstalled, evicted, or its DaemonSet no longer selects this node. The kubelet tries again and \
            again and finds no driver to call.")
        .proof("vol_data.json names the driver; no socket in plugins_registry and none in plugins/<driver> belongs to \
            it. The kubelet says: driver name … not found in the list of registered CSI drivers. Of a raw block volume \
            nothing may be left in the pod's directory: its device is at volumeDevices/publish/<volume>/<pod uid> below \
            plugins/kubernetes.io/csi, its vol_data.json in volumeDevices/<volume>/data. A kubelet that was started \
            after the pod should have ended may have forgotten it; then it is only probable.")
        .safe(&[
            check("The driver is {driver}; see whether its directory has a socket").run("ls -la {plugin_dir}"),
            step("Bring the node pod of the volume's CSI driver back to this node (reinstall it, or repair its \
                nodeSelector, taints or image); the kubelet's next try then unpublishes the volume"),
        ])
        .dont("Do not unmount by hand and delete vol_data.json",
            "The driver never learns of it: the volume stays staged or attached, and mounting it elsewhere can fail or \
                damage data.")
        .sources(&["spiffe-helm-charts#437", "ibm-spectrum-scale-csi#246", "kubernetes#120268"])
        .event_reason("PodVolumeDriverMissing")
        .diagnosis(Proven::Lab("csi-socket-missing"));

    CSI_UNPUBLISH_FAILS = Cause::gate(Gate::VolumesUnmounted, "CsiUnpublishFails")
        .title("The CSI driver fails to unpublish the volume")
        .meaning("The CSI driver is there, but its NodeUnpublishVolume returns an error each time, often because the \
            target is already unmounted and the driver does not accept that. Any error, NotFound too, keeps the volume \
            in the kubelet's memory and the pod in Terminating. So does a driver that crashes on the call: it is just \
            back whenever one looks.")
        .proof("The driver's socket exists, and the kubelet's log says Unmounter.TearDownAt failed: rpc error … for \
            this volume. The target may be an unmounted directory. The kubelet's /metrics count the answers \
            (csi_operations_seconds, by driver, method and gRPC code); one that grows while no other volume of the \
            driver is to be unmounted on the node proves it. Of a driver that came back within 2 min 2 s it is \
            probable when errors were counted since before that, or when the agent saw it come back earlier.")
        .safe(&[
            check("See what the kubelet got from {driver}")
                .read(log_of!("kubelet", "-15min", "{uid}")),
            check("Read the log of the CSI driver's node pod: its error names the reason; repair or upgrade the driver"),
            step("If the target is not mounted in any namespace, remove its empty directory (rmdir refuses a mount and \
                a directory with content): it completes a clean-up that stopped halfway")
                .run("rmdir {path}").if_known(),
        ])
        .dont("Do not run rm -rf on the volume's directory",
            "If the target is still mounted, or gets mounted again, the data of the volume is deleted.")
        .sources(&["trident#572", "datashim#340", "csi-digitalocean#242"])
        .event_reason("PodVolumeDriverFails")
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Cluster("csi-fails"));

    CSI_DRIVER_BACK = Cause::gate(Gate::VolumesUnmounted, "CsiDriverBack")
        .title("The CSI driver has come back, and the kubelet's next try is due")
        .meaning("The volume's CSI driver was made or came back a moment ago. The kubelet's earlier tries found no driver \
            to call, and it waits up to 2 min 2 s between two tries, so it may not have asked the driver since. Its next \
            try should unmount the volume; this is progress, not a fault.")
        .proof("The driver's registration socket, or its own, is younger than 2 min 2 s, and nothing holds the volume. \
            No error of it was counted since the kubelet's /metrics were read before, and the agent has not seen it \
            come back earlier.")
        .safe(&[
            check("Read what the kubelet got from the driver")
                .read(log_of!("kubelet", "-15min", "{uid}")),
            check("Wait for the kubelet's next try (at most 2 min 2 s after the driver came back) and look again")
                .lab("csi-driver-back"),
        ])
        .dont("Do not unmount by hand while the kubelet is about to try",
            "The driver's own unpublish then meets a state it does not expect, and may fail from then on.")
        .sources(&["reference: kubelet volume reconciler back-off (nestedpendingoperations)"])
        .event_reason("PodVolumeDriverIsBack")
        .patience(Patience::NextTry)
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Lab("csi-driver-back"));

    CSI_UNPUBLISH_LEFT_MOUNT = Cause::gate(Gate::VolumesUnmounted, "CsiUnpublishLeftMount")
        .title("The CSI driver reported success but the volume is still mounted")
        .meaning("The driver answered NodeUnpublishVolume with OK without unmounting the target. The kubelet takes \
            that as done, forgets the volume and never tries again, while its own look at the disk still finds the \
            mount. It waits without end and logs nothing at its default verbosity.")
        .proof("statx says that volumes/kubernetes.io~csi/<volume>/mount is a mount root, nothing holds it, the driver \
            is registered, and neither an error nor another try for this volume is seen over several minutes, as the \
            kubelet's /metrics show where they can be read.")
        .safe(&[
            step("Unmount the target; a plain umount writes everything back and refuses a mount in use")
                .run("umount {path}").lab("csi-left-mounted").if_known(),
            step("See first that the server of {mount} answers and repair it if not; then unmount it as its driver would: \
                an umount of this file system waits for its server").if_known(),
            step("When the pod is gone from the API, move the kubelet's note out of the way, into a new directory \
                below /var/tmp: the kubelet has forgotten the volume, and its clean-up refuses to delete files")
                .run("test -f {vol_data} && mv {vol_data} \"$(mktemp -d /var/tmp/moved.XXXXXX)\"")
                .lab("csi-left-mounted").if_known(),
            step("Report the fault to the CSI driver's authors and upgrade it: it must not say OK before the target is \
                unmounted"),
        ])
        .dont("Do not run rm -rf on the target", "It is still the volume: its data is deleted.")
        .sources(&["kubernetes#122342", "reference: kubelet csi_mounter.go removeMountDir"])
        .event_reason("PodVolumeLeftMounted")
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Lab("csi-left-mounted"));

    VOL_DATA_MISSING = Cause::gate(Gate::VolumesUnmounted, "VolDataMissing")
        .title("The volume's vol_data.json is missing or damaged")
        .meaning("The kubelet reads the driver and handle of a CSI volume from vol_data.json beside the mount \
            directory. That file is gone, or empty or no valid JSON, typically after a crash or power loss. The kubelet \
            cannot even build the unmount, so it fails about ten times a second. While it remembers the volume, unmounting \
            by hand does not help; it keeps asking for the file.")
        .proof("volumes/kubernetes.io~csi/<volume> exists, and vol_data.json does not, has 0 bytes, cannot be parsed, or \
            lacks the driver or handle. The kubelet says failed to open volume data file … no such file or directory, or \
            failed to parse volume data file.")
        .safe(&[
            step("Write the file again from the PV and leave the mount directory in place: at the next try the driver \
                unpublishes and the pod is deleted")
                .run("printf '%s' {json} > {vol_data}").lab("vol-data-missing").if_known(),
            step("If its content is not known here, build it from the PV and its VolumeAttachment: attachmentID, driverName, \
                nodeName, specVolID (the PV's name), volumeHandle, volumeLifecycleMode Persistent"),
        ])
        .dont("Do not delete vol_data.json, or unmount the target and remove its directory",
            "It does not help: a kubelet that remembers the volume repeats the same error. The driver never learns of it, \
                so the volume stays staged.")
        .sources(&[
            "kubernetes#116847", "kubernetes#126607", "longhorn#3207", "kubernetes#108217",
            "reference: tested on Kubernetes 1.36",
        ])
        .event_reason("PodVolumeDataMissing")
        .diagnosis(Proven::Lab("vol-data-missing"));
}
