//! What is unmounted here, and of which another mount namespace has a copy: a volume, or the file of a network namespace.

use crate::cause::page::*;

causes! {
    MOUNT_COPIED_ON_OLD_KERNEL = Cause::gate(Gate::VolumesUnmounted, "MountCopiedOnOldKernel")
        .title("Another mount namespace keeps a copy of the mount (old kernel)")
        .meaning("The volume, or the file that pins the pod's network namespace, is unmounted on the host, but another mount \
            namespace still holds a copy of the mount. On RHEL and CentOS 7 kernels the directory or file cannot be removed \
            then (device or resource busy). On today's kernels a mere copy blocks nothing.")
        .proof("The kernel is older than 3.18 without fs.may_detach_mounts=1, the volume's directory is not a mount in \
            the kubelet's mountinfo, or the network namespace file of a stopped sandbox still exists, and \
            /proc/<other>/mountinfo has a mount whose mount point ends with the same path.")
        .safe(&[
            step("Let the kernel detach such copies when their directory is removed")
                .run("sysctl -w fs.may_detach_mounts=1"),
            step("Restart {owner} (pid {pid}), whose mount namespace holds the copy").if_known(),
            step("Upgrade to a newer kernel"),
        ])
        .dont("Do not run rm -rf on the volume's directory",
            "If any mount is still behind that path in your namespace, the data of the volume is deleted.")
        .dont("Do not run umount -l on everything below /var/run/netns",
            "Namespaces of running pods lose their pin, and their networks can no longer be released.")
        .sources(&[
            "kubernetes#51835", "openshift/origin#16160", "kubernetes#36983", "containerd#3667", "imroc/learning-kubernetes#33",
        ])
        .event_reason("PodMountCopied")
        .diagnosis(Proven::Observation);
}
