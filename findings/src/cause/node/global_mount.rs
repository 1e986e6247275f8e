//! A volume is staged before it is mounted into a pod, and unstaged after. One that is staged for no pod keeps its device
//! attached. While pods come and go, that is normal.

use crate::cause::page::*;

causes! {
    GLOBAL_MOUNT_LEFT = Cause::gate(Gate::VolumesUnmounted, "GlobalMountLeft")
        .title("The volume's global mount is left over")
        .meaning("The staged mount of the volume (globalmount) still exists although no pod of this node uses it. It \
            does not hold the pod itself; the kubelet does not look there for it. It keeps the device attached, so the \
            VolumeAttachment stays and another node gets Multi-Attach errors.")
        .proof("mountinfo has plugins/kubernetes.io/csi/<driver>/<hash>/globalmount (old layout: \
            plugins/kubernetes.io/csi/pv/<pv>/globalmount) and no mount with the same major:minor is below any pod.")
        .safe(&[
            check("Look for other mounts of the same file system (same SOURCE)")
                .run("findmnt {path}").lab("kubelet-namespace-globalmount"),
            check("Make sure that no pod on this node uses the volume, and that its CSI driver runs: the kubelet then \
                unstages it by itself"),
            step("If nothing uses it and the kubelet does not act, unmount it; umount writes everything back")
                .run("umount {path}").lab("globalmount-left"),
        ])
        .dont("Do not delete the VolumeAttachment, or detach by force",
            "The file system is still mounted here: attached to a second node it is written from two sides and \
                damaged.")
        .sources(&["kubernetes#122342", "reference: kubelet GetDeviceMountRefs, globalmount layout since 1.24"])
        .event_reason("NodeVolumeStillStaged")
        .patience(Patience::Seconds(120))
        .keeps_attached()
        .diagnosis(Proven::Lab("globalmount-left"));
}
