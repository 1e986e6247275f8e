//! A device that is to be detached, and that a private copy of its mount keeps in use. It holds no
//! pod: on today's kernels a copy never does.

use crate::cause::node::holder::READ_PROCESS;
use crate::cause::page::*;

causes! {
    DEVICE_PINNED_BY_PRIVATE_COPY = Cause::gate(Gate::VolumesUnmounted, "DevicePinnedByPrivateCopy")
        .title("A private copy of the mount keeps the device in use")
        .meaning("The pod's unmount succeeded, but another mount namespace has a private copy of the file system. This \
            does not hold the pod. It keeps the device claimed, so the unmount of the device, its detach, or an iSCSI \
            or multipath removal says \"in use\" later.")
        .proof("The volume's staging directory (globalmount) has been left without a mount for 2 min; \
            /proc/<other>/mountinfo has a mount at the same path, without shared: or master:; its ext4 or xfs is \
            listed in /sys/fs and its major:minor is not in the kubelet's mountinfo. Why the driver does not finish is \
            not seen, so it is only probable.")
        .safe(&[
            READ_PROCESS,
            step("Restart {owner} (pid {pid}): its mount namespace takes the copy with it").lab("device-pinned")
                .if_known(),
            step("Give such agents their hostPath with mountPropagation: HostToContainer, so that unmounts reach them"),
        ])
        .dont("Do not detach the disk by force at the storage side",
            "The copy may hold unwritten data and a live journal: the file system can be damaged.")
        .sources(&["reference: experiment, block device after umount with a private copy elsewhere"])
        .event_reason("PodDeviceInUse")
        .patience(Patience::Seconds(120))
        .keeps_attached()
        .diagnosis(Proven::Lab("device-pinned"));
}
