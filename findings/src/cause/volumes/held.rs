//! Somebody uses the mount, or something is mounted on it.

use crate::Gate;
use crate::cause::entry::{Cause, Danger, Patience, Proven, step};

causes! {
    /// A process of the host has an fd, cwd, root or exe on the volume.
    VOLUME_HELD_BY_PROCESS = Cause::at(Gate::VolumesUnmounted, "VolumeHeldByProcess")
        .title("A process on the node uses the volume")
        .meaning("The pod's containers have ended, but a process outside the pod has an open file, its working \
            directory, its root or its program on the volume. The kernel refuses the unmount with \"target is busy\" \
            and the kubelet tries again, at least every 2 min.")
        .proof("The mount is in the kubelet's mountinfo, and a link of /proc/<pid>/{fd,cwd,root,exe} or the mnt_id in \
            /proc/<pid>/fdinfo of a process in the same mount namespace points to that mount.")
        .safe(&[
            step("End {comm} (pid {pid}) in its own way; a plain SIGTERM lets it write its data")
                .run("kill {pid}").lab("open-fd").if_known(),
            step("The process belongs to {owner}: stop or restart that instead, if it would start it again").if_known(),
            step("When the holder is gone, wait: the kubelet's next try unmounts the volume"),
            step("If it ignores SIGTERM, kill it; what it has not written yet is lost").run("kill -9 {pid}").if_known(),
        ])
        .danger(Danger::new(
            "umount -l of the volume",
            "The mount vanishes from view while the process goes on writing. The volume is then detached or mounted \
                elsewhere under its hands: data can be damaged.",
        ))
        .sources(&["reference: kubelet umount \"target is busy\"", "kubernetes#89181"])
        .event_reason("PodVolumeBusy")
        .diagnosis(Proven::Lab("open-fd"));

    /// A process has a file of the volume mapped, although its fd is closed.
    VOLUME_HELD_BY_MAPPING = Cause::at(Gate::VolumesUnmounted, "VolumeHeldByMapping")
        .title("A process has a file of the volume mapped into memory")
        .meaning("A process outside the pod has mapped a file of the volume (mmap, a shared library) and closed the \
            descriptor. Its fd list shows nothing, yet the mapping keeps the mount in use and the unmount fails with \
            \"target is busy\".")
        .proof("/proc/<pid>/map_files (or maps), read in the disposable child with a deadline, names a file on the \
            mount's device; no fd, cwd, root or exe of that process does.")
        .safe(&[
            step("End or restart {comm} (pid {pid}), which has the file mapped").run("kill {pid}").lab("mapped-file")
                .if_known(),
            step("When the holder is gone, wait: the kubelet's next try unmounts the volume"),
            step("If it ignores SIGTERM, kill it; what it has not written yet is lost").run("kill -9 {pid}").if_known(),
        ])
        .danger(Danger::new(
            "umount -l of the volume",
            "The process goes on writing through its mapping to a volume that looks free: data can be damaged once it \
                is attached elsewhere.",
        ))
        .sources(&["reference: kubelet umount \"target is busy\"", "reference: holders in /proc/<pid>/map_files"])
        .event_reason("PodVolumeBusy")
        .diagnosis(Proven::Lab("mapped-file"));

    /// A loop device has its backing file on the volume.
    VOLUME_HELD_BY_LOOP_DEVICE = Cause::at(Gate::VolumesUnmounted, "VolumeHeldByLoopDevice")
        .title("A loop device is backed by a file on the volume")
        .meaning("A file of the volume is the backing file of a loop device. The kernel holds that file open for the \
            device, so the unmount says busy and no process can be found that holds it.")
        .proof("/sys/block/loop*/loop/backing_file names a path below the mount (or the same file by device), while no \
            process of the node holds the mount.")
        .safe(&[
            step("Unmount what is mounted from the loop device first, in the way it was mounted"),
            step("Detach the loop device; if something still uses it, the kernel only marks it for later")
                .run("losetup -d {device}"),
        ])
        .danger(Danger::new(
            "umount -l of the volume, or deleting the backing file",
            "The loop device goes on writing to a file nobody sees any more; its file system is lost.",
        ))
        .sources(&["reference: /sys/block/loopN/loop/backing_file"])
        .event_reason("PodVolumeBusy")
        .diagnosis(Proven::Observation);

    /// An fd or cwd in a propagated copy of the mount makes the host's unmount fail.
    VOLUME_HELD_IN_OTHER_NAMESPACE = Cause::at(Gate::VolumesUnmounted, "VolumeHeldInOtherNamespace")
        .title("A process in another mount namespace uses a propagated copy of the volume")
        .meaning("The pod's mount was propagated into another container, typically of an agent that mounts the host's \
            directories, and a process there has an open file or its cwd in the copy. The host's unmount would take \
            the copy along, so it fails with \"target is busy\". lsof and fuser on the host may name nobody.")
        .proof("/proc/<pid>/mountinfo of another mount namespace has the same major:minor and root, joined by shared: \
            or master: to the kubelet's mount, and an fd, cwd, root, exe or mapping of a process there is on it.")
        .safe(&[
            step("The holder belongs to {owner}: restart that pod or service").if_known(),
            step("End {comm} (pid {pid}); its container is restarted if it is the main process")
                .run("kill {pid}").lab("propagated-copy").if_known(),
            step("When the holder is gone, wait: the kubelet's next try unmounts the volume"),
        ])
        .danger(Danger::new(
            "umount -l on the host",
            "The process in the other container goes on using the volume while everybody believes that it is free to \
                be detached.",
        ))
        .sources(&["dell-csm#146", "blob-csi-driver#474", "reference: experiment, open fd in a slave copy"])
        .event_reason("PodVolumeBusy")
        .diagnosis(Proven::Lab("propagated-copy"));

    /// On old kernels a mere copy of the mount in another namespace blocks the removal of its directory.
    MOUNT_COPIED_ON_OLD_KERNEL = Cause::at(Gate::VolumesUnmounted, "MountCopiedOnOldKernel")
        .title("Another mount namespace keeps a copy of the mount (old kernel)")
        .meaning("The volume is unmounted on the host, but another mount namespace still holds a copy of the mount. On \
            RHEL and CentOS 7 kernels the mount directory cannot be removed then (device or resource busy). On today's \
            kernels a mere copy blocks nothing.")
        .proof("The kernel is older than 3.18 without fs.may_detach_mounts=1, the volume's directory is not a mount in \
            the kubelet's mountinfo, and /proc/<other>/mountinfo has a mount whose mount point ends with the same \
            pods/<uid>/volumes/ path.")
        .safe(&[
            step("Let the kernel detach such copies when their directory is removed")
                .run("sysctl -w fs.may_detach_mounts=1"),
            step("Restart {owner} (pid {pid}), whose mount namespace holds the copy").if_known(),
            step("Upgrade to a newer kernel"),
        ])
        .danger(Danger::new(
            "rm -rf of the volume's directory",
            "If any mount is still behind that path in your namespace, the data of the volume is deleted.",
        ))
        .sources(&["kubernetes#51835", "openshift/origin#16160", "kubernetes#36983"])
        .event_reason("PodVolumeBusy")
        .diagnosis(Proven::Observation);

    /// A private copy of a mount keeps the device claimed after the unmount.
    DEVICE_PINNED_BY_PRIVATE_COPY = Cause::at(Gate::VolumesUnmounted, "DevicePinnedByPrivateCopy")
        .title("A private copy of the mount keeps the device in use")
        .meaning("The pod's unmount succeeded, but another mount namespace has a private copy of the file system. This \
            does not hold the pod. It keeps the device claimed, so the unmount of the device, its detach, or an iSCSI \
            or multipath removal says \"in use\" later.")
        .proof("The volume's staging directory (globalmount) has been left without a mount for 2 min; \
            /proc/<other>/mountinfo has a mount at the same path, without shared: or master:; its ext4 or xfs is \
            listed in /sys/fs and its major:minor is not in the kubelet's mountinfo. Why the driver does not finish is \
            not seen, so it is only probable.")
        .safe(&[
            step("Restart {owner} (pid {pid}): its mount namespace takes the copy with it").lab("device-pinned")
                .if_known(),
            step("Give such agents their hostPath with mountPropagation: HostToContainer, so that unmounts reach them"),
        ])
        .danger(Danger::new(
            "Detaching the disk by force at the storage side",
            "The copy may hold unwritten data and a live journal: the file system can be damaged.",
        ))
        .sources(&["reference: experiment, block device after umount with a private copy elsewhere"])
        .event_reason("PodDeviceInUse")
        .patience(Patience::Seconds(120))
        .keeps_attached()
        .diagnosis(Proven::Lab("device-pinned"));

    /// Something is mounted below the volume.
    NESTED_MOUNT = Cause::at(Gate::VolumesUnmounted, "NestedMount")
        .title("Another file system is mounted below the volume")
        .meaning("Something is mounted on a directory inside the volume: by a container through Bidirectional \
            propagation, by a terminationMessagePath in the volume, or by a tool on the host. The kubelet can neither \
            unmount nor remove the volume while a mount is below it.")
        .proof("The kubelet's mountinfo has a mount whose mount point lies below pods/<uid>/volumes/<plugin>/<volume> \
            and which is not the volume's own mount.")
        .safe(&[
            step("Look at all mounts of this pod and find out who made the one below the volume")
                .run("findmnt --list | grep -F {uid}"),
            step("Unmount the deepest one first").run("umount {path}").lab("nested-mount"),
            step("Go on, deepest first, until nothing is mounted below the volume; the kubelet does the rest"),
        ])
        .danger(Danger::new(
            "rm -rf of the volume's directory",
            "The removal descends into the nested mount and deletes the data of another file system, perhaps of the \
                host.",
        ))
        .sources(&["kubernetes#115054", "kubernetes#137143"])
        .event_reason("PodVolumeNestedMount")
        .diagnosis(Proven::Lab("nested-mount"));

    /// Something is mounted below a subPath bind mount.
    NESTED_MOUNT_UNDER_SUB_PATH = Cause::at(Gate::VolumesUnmounted, "NestedMountUnderSubPath")
        .title("Another file system is mounted below a subPath")
        .meaning("The source of a subPath got a further mount (often the host mounted something below a hostPath), and \
            it was propagated below volume-subpaths. The kubelet cannot unmount the subPath while it is there, and it \
            cleans subPaths before it unmounts the volume.")
        .proof("The kubelet's mountinfo has a mount below pods/<uid>/volume-subpaths/<volume>/<container>/<index>.")
        .safe(&[
            step("Unmount the nested mount, deepest first").run("umount {path}"),
            step("When only the subPath itself is left, wait: the kubelet cleans it up"),
        ])
        .danger(Danger::new(
            "rm -rf below volume-subpaths",
            "A subPath is a bind mount of the volume's or the host's own files: they are deleted for good.",
        ))
        .sources(&["kubernetes#95310"])
        .event_reason("PodVolumeNestedMount")
        .diagnosis(Proven::Observation);

    /// The kubelet's root is a symlink or mounted twice.
    KUBELET_ROOT_AMBIGUOUS = Cause::at(Gate::VolumesUnmounted, "KubeletRootAmbiguous")
        .title("The kubelet's root directory is reached by two paths")
        .meaning("The kubelet's root directory is a symlink, or it is mounted a second time over itself. The kubelet \
            asks about one path while the mount stands at the other, takes a mounted volume for a plain directory, and \
            tries to remove what is mounted. That fails as busy, or it goes through and deletes.")
        .proof("The real path of the root directory differs from the kubelet's --root-dir, or mountinfo shows two \
            mounts for one path of the volume or of the root directory.")
        .safe(&[
            step("Drain the node, then set --root-dir to the real path, without a symlink, and remove the second \
                mount"),
            step("See where {path} really is").run("readlink -f {path}"),
        ])
        .danger(Danger::new(
            "Removing pod directories by hand",
            "What looks like an empty directory may be a volume seen over the other path: its data is deleted.",
        ))
        .sources(&["kubernetes#65110", "kubernetes#65879", "kubernetes#68740", "kubernetes#131308", "k3s#11806"])
        .event_reason("PodVolumePathAmbiguous")
        .diagnosis(Proven::Observation);

    /// A subPath bind mount is in use.
    SUB_PATH_BUSY = Cause::at(Gate::VolumesUnmounted, "SubPathBusy")
        .title("A subPath mount is in use")
        .meaning("A bind mount below volume-subpaths is still in use, so the kubelet cannot clean the subPaths. It \
            does this before it unmounts the volume, so the volume stays mounted too. The kubelet repeats it and says \
            every 2 min: mounted volumes=[…].")
        .proof("mountinfo has a mount at pods/<uid>/volume-subpaths/<volume>/<container>/<index> and a process holds \
            it by fd, cwd, root, exe or mapping. The kubelet's message is: error cleaning subPath mounts … busy.")
        .safe(&[
            step("End or restart {comm} (pid {pid}), which uses the subPath").run("kill {pid}").lab("subpath-busy")
                .if_known(),
            step("When the holder is gone, wait: the kubelet unmounts the subPath and then the volume"),
            step("If nobody holds it any more and it stays, unmount the subPath").run("umount {path}"),
        ])
        .danger(Danger::new(
            "rm -rf below volume-subpaths",
            "A subPath is a bind mount of the volume's own files: they are deleted for good.",
        ))
        .sources(&["kubernetes#89181", "dell-csm#146"])
        .event_reason("PodVolumeBusy")
        .diagnosis(Proven::Lab("subpath-busy"));

    /// A subPath on NFS has a stale handle.
    SUB_PATH_STALE_HANDLE = Cause::at(Gate::VolumesUnmounted, "SubPathStaleHandle")
        .title("A subPath has a stale NFS handle")
        .meaning("The NFS server was restarted or its export changed, and the file handle behind a subPath is no \
            longer valid. Every look at the subPath fails with ESTALE, so the kubelet's clean-up stops there, before \
            the volume is unmounted.")
        .proof("mountinfo has the subPath mount with type nfs or nfs4, and the kubelet says lstat …: stale NFS file \
            handle (or a look in the disposable child gives ESTALE).")
        .safe(&[
            step("Bring the export back as it was, if that is possible; the kubelet then goes on"),
            step("Unmount the subPath only; the server no longer knows this handle").run("umount -f {path}"),
            step("If that is refused, detach the subPath lazily; unwritten data of this handle is lost")
                .run("umount -l {path}"),
        ])
        .danger(Danger::new(
            "umount -l of the whole volume or of the server's other mounts",
            "Other pods on the same mount lose unwritten data, and it disappears from view while in use.",
        ))
        .sources(&["kubernetes#71584", "kubernetes#110818"])
        .event_reason("PodVolumeStaleHandle")
        .diagnosis(Proven::Observation);

    /// A subPath's target cannot be found, yet it is mounted.
    SUB_PATH_TARGET_MISSING = Cause::at(Gate::VolumesUnmounted, "SubPathTargetMissing")
        .title("A subPath's target is gone but still mounted")
        .meaning("The file behind a subPath was deleted while it was mounted. A look at the path says \"no such \
            file\", so the kubelet skips its unmount, and then cannot remove the directory that holds it. It stops \
            there each time, before the volume is unmounted.")
        .proof("mountinfo has a line with the subPath's mount point (its root perhaps marked //deleted) although the \
            path does not exist; the kubelet says mount cleanup skipped because path does not exist, or directory not \
            empty.")
        .safe(&[
            step("Unmount the subPath by the path that mountinfo names").run("umount {path}"),
            step("When mountinfo has no line for it any more, wait: the kubelet finishes by itself"),
        ])
        .danger(Danger::new(
            "rm -rf below volume-subpaths",
            "Other subPaths there may be mounted properly: they are bind mounts of the volume's own files, which are \
                deleted for good.",
        ))
        .sources(&["kubernetes#139535"])
        .event_reason("PodVolumeLeftMounted")
        .diagnosis(Proven::Observation);

    /// The kubelet's mount namespace and pid 1's do not agree about the mount.
    MOUNT_HIDDEN_FROM_KUBELET = Cause::at(Gate::VolumesUnmounted, "MountHiddenFromKubelet")
        .title("The kubelet and the host do not see the same mounts")
        .meaning("The kubelet lives in a mount namespace of its own, and the mount exists only in its namespace or \
            only in that of pid 1. A driver or person that unmounts in one does not reach the other. The kubelet \
            decides by its own view only.")
        .proof("/proc/<kubelet>/ns/mnt differs from /proc/1/ns/mnt, and the mount point is in the mountinfo of only \
            one of the two.")
        .safe(&[
            step("Unmount it in the namespace where it still is, that of pid {mount_namespace_pid}")
                // Not `nsenter -m umount`: that runs the `umount` which stands in the other namespace. This one is the
                // host's: it enters by itself, and calls no helper (-i), keeps no table (-n), follows no path (-c).
                .run("umount -i -n -c -N {mount_namespace_pid} -- {path}").lab("kubelet-namespace"),
            step("Repair the propagation between the two (the kubelet's root must be shared), or drivers and kubelet \
                go on missing each other's mounts"),
        ])
        .danger(Danger::new(
            "rm -rf of a directory that looks unmounted from your shell",
            "In the other namespace the volume is mounted there, or a path below is: data can be deleted.",
        ))
        .sources(&["reference: kubelet in its own mount namespace (OpenShift, RKE2, k3s, snap)"])
        .event_reason("PodVolumeNamespaceMismatch")
        .diagnosis(Proven::Lab("kubelet-namespace"));

    /// Mounted, and nothing found that holds it.
    VOLUME_MOUNTED_NO_HOLDER = Cause::at(Gate::VolumesUnmounted, "VolumeMountedNoHolder")
        .title("The volume is still mounted and nothing was found that holds it")
        .meaning("The volume is still mounted, but no process, mapping, loop device, nested mount or other namespace \
            was found that uses it. The kubelet's next try should unmount it. The kubelet waits up to 2 min 2 s \
            between two tries, so this may just be in progress.")
        .proof("statx says the path is a mount root and mountinfo has it, while the search for holders was complete \
            and found none.")
        .safe(&[
            step("Wait for the kubelet's next try (at most 2 min 2 s) and look again"),
            step("If it stays, read why the kubelet's unmount fails")
                .run("journalctl -u {kubelet_unit} --since -15min --no-pager --grep {uid}"),
        ])
        .danger(Danger::new(
            "umount by hand while the kubelet is at it",
            "The driver's own unpublish then meets a state it does not expect, and may fail from then on.",
        ))
        .sources(&["reference: kubelet volume reconciler back-off", "trident#572"])
        .event_reason("PodVolumeStillMounted")
        .patience(Patience::NextTry)
        .diagnosis(Proven::Observation);
}
