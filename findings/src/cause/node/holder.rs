//! A process holds a mount, so that the kubelet's `umount` fails with "target is busy".

use crate::cause::page::*;

pub(super) const AFTER_HOLDER: Advice =
    check("When the holder is gone, wait: the kubelet's next try unmounts the volume");

pub(super) const KILL: Advice =
    step("If it ignores SIGTERM, kill it; what it has not written yet is lost").run("kill -9 {pid}").if_known();

pub(super) const STOP: Advice =
    step("Stop {comm} (pid {pid}) cleanly: SIGTERM lets it write its data").run("kill {pid}");

pub(super) const STOP_OWNER: Advice =
    step("The process belongs to {owner}: stop or restart that instead, if it would start it again").if_known();

pub(super) const READ_PROCESS: Advice =
    check("Read what the process is").run("grep -e Name -e State -e PPid -e Uid /proc/{pid}/status").if_known();

causes! {
    ROOTFS_BUSY = Cause::gate(Gate::ContainersStopped, "RootfsBusy")
        .title("The container's root file system is in use")
        .meaning("The container's process has ended, but another process on the node keeps a file or its working \
            directory in the container's root file system. The runtime cannot unmount it, so the container never \
            becomes EXITED.")
        .proof("CRI says RUNNING and the init pid is gone; <bundle>/rootfs is still in mountinfo, and a process \
            outside the container has its cwd, root, exe, an fd or a mapping on that mount.")
        .safe(&[
            step("End or restart {comm} (pid {pid}), which holds the root file system")
                .run("kill {pid}").lab("rootfs-busy").if_known(),
            step("The holder belongs to {owner}: stop its habit of entering other containers' file systems").if_known(),
            check("When the holder is gone, wait: the runtime retries after 1 s up to 5 min"),
        ])
        .dont("Do not run umount -l on the rootfs, or delete the bundle directory",
            "The lazy unmount hides the mount while the holder keeps it and its snapshot in use. Deleting the \
                directory deletes through whatever is still mounted there.")
        .sources(&["containerd#4020", "gvisor#9834", "reference: containerd \"failed rootfs umount\""])
        .event_reason("PodRootfsBusy")
        .diagnosis(Proven::Lab("rootfs-busy"));

    VOLUME_HELD_BY_PROCESS = Cause::gate(Gate::VolumesUnmounted, "VolumeHeldByProcess")
        .title("A process on the node uses the volume")
        .meaning("The pod's containers have ended, but a process outside the pod has an open file, its working \
            directory, its root or its program on the volume, or on a subPath of it, which the kubelet unmounts \
            first. Or it has mapped a file of the volume (mmap, a shared \
            library) and closed the descriptor, which lsof of its descriptors does not show. The kernel refuses the unmount \
            with \"target is busy\" and the kubelet tries again, at least every 2 min.")
        .proof("The mount is in the kubelet's mountinfo, and a link of /proc/<pid>/{fd,cwd,root,exe} or the mnt_id in \
            /proc/<pid>/fdinfo of a process in the same mount namespace points to that mount, or /proc/<pid>/map_files (or \
            maps), read in the disposable child with a deadline, names a file on the mount's device.")
        .safe(&[
            STOP.lab("open-fd").if_known(),
            STOP_OWNER,
            AFTER_HOLDER,
            KILL,
        ])
        .dont("Do not run umount -l on the volume, or rm -rf below volume-subpaths",
            "The mount vanishes from view while the process keeps writing. The volume is then detached or mounted \
                elsewhere while it is still writing: data can be damaged. A subPath is a bind mount of the volume's own \
                files: they would be deleted for good.")
        .sources(&[
            "reference: kubelet umount \"target is busy\"", "kubernetes#89181", "dell-csm#146", "reference: holders in /proc/<pid>/map_files",
        ])
        .event_reason("PodVolumeBusy")
        .followed()
        .diagnosis(Proven::Lab("open-fd"));

    VOLUME_HELD_BY_LOOP_DEVICE = Cause::gate(Gate::VolumesUnmounted, "VolumeHeldByLoopDevice")
        .title("A loop device is backed by a file on the volume")
        .meaning("A file of the volume is the backing file of a loop device. The kernel holds that file open for the \
            device, so the unmount says busy and no process can be found that holds it.")
        .proof("/sys/block/loop*/loop/backing_file names a path below the mount (or the same file by device), while no \
            process of the node holds the mount.")
        .safe(&[
            check("Read what is mounted from the loop device").run("lsblk {device}"),
            step("Unmount what is mounted from the loop device first, in the way it was mounted"),
            step("Detach the loop device; if something still uses it, the kernel only marks it for later")
                .run("losetup -d {device}").lab("loop-on-volume"),
        ])
        .dont("Do not run umount -l on the volume, or delete the backing file",
            "The loop device keeps writing to a file without a name; its file system is lost.")
        .sources(&["reference: /sys/block/loopN/loop/backing_file"])
        .event_reason("PodVolumeBusy")
        .diagnosis(Proven::Lab("loop-on-volume"));

    VOLUME_HELD_BY_SWAP = Cause::gate(Gate::VolumesUnmounted, "VolumeHeldBySwap")
        .title("A file on the volume is used as swap")
        .meaning("Swap was switched on with a file of the volume (swapon). The kernel keeps that file open, so the \
            unmount says busy and no process can be found that holds it.")
        .proof("/proc/swaps names a file below the mount.")
        .safe(&[
            check("See how much is swapped there: it must fit into the memory that is free").run("cat /proc/swaps"),
            step("Switch that swap off; the kubelet's next try unmounts the volume").run("swapoff {path}").lab("swap-on-volume").if_known(),
        ])
        .dont("Do not run umount -l on the volume, or delete the file",
            "The kernel keeps swapping to a file that has no name any more; once the volume is detached, processes lose memory.")
        .sources(&["reference: mm/swapfile.c swap_show"])
        .event_reason("PodVolumeBusy")
        .diagnosis(Proven::Lab("swap-on-volume"));

    VOLUME_HELD_IN_OTHER_NAMESPACE = Cause::gate(Gate::VolumesUnmounted, "VolumeHeldInOtherNamespace")
        .title("A process in another mount namespace uses a propagated copy of the volume")
        .meaning("The pod's mount was propagated into another container, typically of an agent that mounts the host's \
            directories, and a process there has an open file or its cwd in the copy. The host's unmount would take \
            the copy along, so it fails with \"target is busy\". lsof and fuser on the host can miss it.")
        .proof("/proc/<pid>/mountinfo of another mount namespace has the same major:minor and root, joined by shared: \
            or master: to the kubelet's mount, and an fd, cwd, root, exe or mapping of a process there is on it.")
        .safe(&[
            READ_PROCESS,
            step("The holder belongs to {owner}: restart that pod or service").if_known(),
            step("End {comm} (pid {pid}); its container is restarted if it is the main process")
                .run("kill {pid}").lab("propagated-copy").if_known(),
            AFTER_HOLDER,
        ])
        .dont("Do not run umount -l on the host",
            "The process in the other container keeps using the volume, which then looks free to be \
                detached.")
        .sources(&["dell-csm#146", "blob-csi-driver#474", "reference: experiment, open fd in a slave copy"])
        .event_reason("PodVolumeBusy")
        .followed()
        .diagnosis(Proven::Lab("propagated-copy"));
}
