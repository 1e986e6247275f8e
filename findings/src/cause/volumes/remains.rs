//! Directories, files and devices that an unmount has left.

use crate::Gate;
use crate::cause::entry::{Cause, Danger, Patience, Proven, step};

causes! {
    /// A volume directory that is not mounted stays.
    MOUNT_DIRECTORY_LEFT = Cause::at(Gate::VolumesUnmounted, "MountDirectoryLeft")
        .title("An empty volume directory is left over")
        .meaning("After a power loss or a wrong unmount, a volume's directory is left although nothing is mounted on \
            it. The clean-up of the plugin trips over it, for example by unmounting what is not mounted, and the \
            kubelet repeats that.")
        .proof("pods/<uid>/volumes/<plugin>/<volume> (CSI: its mount directory) exists, is empty, and neither statx \
            nor any namespace's mountinfo calls it a mount.")
        .safe(&[
            step("Make sure that no mount namespace has a mount on that directory")
                .run("grep -lsF {path} /proc/[0-9]*/mountinfo"),
            step("Remove the empty directory (rmdir refuses a mount and a directory with content)").run("rmdir {path}"),
            step("Then wait for the kubelet's next try"),
        ])
        .danger(Danger::new(
            "rm -rf of the volume's directory",
            "If a mount is there after all, the data of the volume is deleted.",
        ))
        .sources(&["kubernetes#114546"])
        .event_reason("PodVolumeDirectoryLeft")
        .diagnosis(Proven::Observation);

    /// The volume directory holds files although nothing is mounted.
    VOLUME_DIRECTORY_NOT_EMPTY = Cause::at(Gate::VolumesUnmounted, "VolumeDirectoryNotEmpty")
        .title("The unmounted volume directory holds files")
        .meaning("Nothing is mounted on the volume's directory, but it holds files: something wrote to the path after \
            the unmount, or before the mount. The kubelet removes only an empty directory. The files lie on the node's \
            own disk, and the volume does not have them.")
        .proof("The volume's directory is no mount in any namespace and has content; the kubelet says directory not \
            empty.")
        .safe(&[
            step("Look at the files: they may be the only copy").run("ls -la {path}"),
            step("Move them to a place of your own, outside the kubelet's directory; do not delete them unread"),
            step("When the directory is empty and the kubelet has not taken it, remove it").run("rmdir {path}"),
        ])
        .danger(Danger::new(
            "rm -rf of the volume's directory",
            "The files may be data that never reached the volume: they are lost. If the volume gets mounted meanwhile, \
                its data is deleted too.",
        ))
        .sources(&["kubernetes#108041", "kubernetes#108622", "kubernetes#97444", "kubernetes#70382"])
        .event_reason("PodVolumeDirectoryNotEmpty")
        .diagnosis(Proven::Observation);

    /// The loop device of a raw block volume stays.
    LOOP_DEVICE_LEFT = Cause::at(Gate::VolumesUnmounted, "LoopDeviceLeft")
        .title("The loop device of a raw block volume is left over")
        .meaning("For a raw block volume the kubelet binds the device below volumeDevices and locks it with a loop \
            device. The loop device is still there and pins the volume. The kubelet's unmap fails, so it goes on \
            remembering the volume.")
        .proof("/sys/block/loopN/loop/backing_file names …/volumeDevices/<volume>/dev/<pod uid> (perhaps followed by \
            \" (deleted)\") of this pod.")
        .safe(&[
            step("Check that nothing uses the loop device: no mount, no holder, no LVM volume on it")
                .run("lsblk {device}"),
            step("Detach the loop device; the kubelet's next try then releases the volume")
                .run("losetup -d {device}").lab("loop-left"),
            step("If it comes back after a kubelet restart, upgrade the kubelet to 1.28 or later"),
        ])
        .danger(Danger::new(
            "Detaching the disk at the storage side first",
            "The loop device writes into nothing: unwritten data is lost and later tasks hang in state D.",
        ))
        .sources(&["kubernetes#119608", "longhorn#6919", "longhorn#2474", "kubernetes#109132"])
        .event_reason("PodBlockDeviceBusy")
        .keeps_attached()
        .diagnosis(Proven::Lab("loop-left"));

    /// Something is built on the pod's raw block device.
    BLOCK_DEVICE_HELD = Cause::at(Gate::VolumesUnmounted, "BlockDeviceHeld")
        .title("Something on the node is built on the raw block device")
        .meaning("The pod's raw block device is used by another layer: LVM has activated a volume group found on it, \
            or a device mapper, RAID or swap sits on it. The kernel keeps the device claimed, and the kubelet's unmap \
            fails.")
        .proof("/sys/block/<device>/holders has an entry, while the kubelet says UnmapVolume … DetachFileDevice failed \
            or UnmapPodDevice failed.")
        .safe(&[
            step("See what is built on the device").run("lsblk {device}"),
            step("Deactivate the layer in its own way: vgchange -an for an LVM volume group, dmsetup remove for a \
                device mapper volume; both refuse one that is in use"),
            step("Keep LVM on the nodes away from volumes of pods (filter in lvm.conf)"),
        ])
        .danger(Danger::new(
            "wipefs, or dmsetup remove -f",
            "wipefs destroys the data. The forced removal makes all further I/O fail and loses what was not written.",
        ))
        .sources(&["kubernetes#110163", "kubernetes#109132"])
        .event_reason("PodBlockDeviceBusy")
        .diagnosis(Proven::Observation);

    /// A multipath map without paths queues I/O for ever.
    MULTIPATH_STALE = Cause::at(Gate::VolumesUnmounted, "MultipathStale")
        .title("A multipath map has lost all its paths")
        .meaning("All paths of the volume's multipath map are gone, but the map is still open and set to queue I/O. \
            Every flush, and with it the unmount, waits for a path that may never come back.")
        .proof("The mount's device is, or is built on, a device-mapper device whose uuid begins with mpath-, and in \
            sysfs its slaves directory is empty or every path's state is known and neither running nor live. Whether \
            it queues (queue_if_no_path) is not in sysfs, so it is only probable.")
        .safe(&[
            step("Bring a path to the storage back (network, iSCSI session, FC zoning): queued I/O is then written and \
                everything goes on"),
            step("Look at the map and its paths").run("multipath -ll {map}"),
            step("If the storage is gone for good, stop queueing: all waiting writes fail and are lost")
                .run("multipathd disablequeueing map {map}"),
            step("Then, when the unmount has gone through, flush the map; it refuses one in use")
                .run("multipath -f {map}"),
        ])
        .danger(Danger::new(
            "Deleting the SCSI devices or the map while it is mounted",
            "Queued writes are lost and the file system can be damaged.",
        ))
        .sources(&[
            "seagate-exos-x-csi#141", "dell-csm#666", "dell-csm#896", "hpe-common-host-libs#238", "kubernetes#59946",
        ])
        .event_reason("PodBlockDeviceBusy")
        .diagnosis(Proven::Observation);

    /// The staged mount of a volume stays after the pod's own mount has gone.
    GLOBAL_MOUNT_LEFT = Cause::at(Gate::VolumesUnmounted, "GlobalMountLeft")
        .title("The volume's global mount is left over")
        .meaning("The staged mount of the volume (globalmount) still exists although no pod of this node uses it. It \
            does not hold the pod itself; the kubelet does not look there for it. It keeps the device attached, so the \
            VolumeAttachment stays and another node gets Multi-Attach errors.")
        .proof("mountinfo has plugins/kubernetes.io/csi/<driver>/<hash>/globalmount (old layout: \
            plugins/kubernetes.io/csi/pv/<pv>/globalmount) and no mount with the same major:minor is below any pod.")
        .safe(&[
            step("Make sure that no pod on this node uses the volume, and that its CSI driver runs: the kubelet then \
                unstages it by itself"),
            step("Look for other mounts of the same file system (same SOURCE)").run("findmnt {path}"),
            step("If nothing uses it and the kubelet does not act, unmount it; umount writes everything back")
                .run("umount {path}").lab("globalmount-left"),
        ])
        .danger(Danger::new(
            "Deleting the VolumeAttachment, or detaching by force",
            "The file system is still mounted here: attached to a second node it is written from two sides and \
                damaged.",
        ))
        .sources(&["kubernetes#122342", "reference: kubelet GetDeviceMountRefs, globalmount layout since 1.24"])
        .event_reason("NodeVolumeStillStaged")
        .patience(Patience::Seconds(120))
        .keeps_attached()
        .diagnosis(Proven::Lab("globalmount-left"));

    /// A regular file stands where the kubelet expects plugin directories.
    STRAY_FILE_IN_VOLUMES = Cause::at(Gate::VolumesUnmounted, "StrayFileInVolumes")
        .title("A file stands where the kubelet expects a directory")
        .meaning("A regular file lies directly in pods/<uid>/volumes. The kubelet takes every entry there for a \
            plugin's directory, fails to list the file, and treats the error as \"volumes still exist\". It asks ten \
            times a second, without end.")
        .proof("An entry of pods/<uid>/volumes is no directory; the kubelet says could not read directory … not a \
            directory.")
        .safe(&[
            step("Move the file out of the way, into a new directory below /var/tmp; the kubelet goes on at once")
                .run("test -f {path} && mv {path} \"$(mktemp -d /var/tmp/moved.XXXXXX)\"").lab("stray-file"),
            step("Find out which tool (backup, scanner, script) writes into the kubelet's directory and stop it"),
        ])
        .danger(Danger::new("rm -rf of pods/<uid>/volumes", "Volumes that are still mounted there lose their data."))
        .sources(&["reference: kubelet getPodVolumePathListFromDisk"])
        .event_reason("PodVolumeStrayFile")
        .diagnosis(Proven::Lab("stray-file"));

    /// The file system below the volume cannot be changed.
    FILE_SYSTEM_READ_ONLY = Cause::at(Gate::VolumesUnmounted, "FileSystemReadOnly")
        .title("The kubelet cannot delete the volume's files")
        .meaning("The kubelet must delete the files of an emptyDir or a similar volume, and the file system refuses: \
            it has become read-only or shut down after an error, or a file is marked immutable. The removal fails each \
            time. No issue is known for this; it follows from the source.")
        .proof("mountinfo shows ro in the super options of the file system that holds the volume, or the kubelet says \
            read-only file system, operation not permitted, or input/output error for a path in the volume.")
        .safe(&[
            step("See whether the kernel reports disk or file system errors").run("dmesg -T"),
            step("For \"operation not permitted\", look for the immutable attribute (i) and take it off with chattr -i")
                .run("lsattr -d {path}"),
            step("For a read-only or shut down file system, drain the node and repair the disk and its file system"),
        ])
        .danger(Danger::new(
            "mount -o remount,rw after a disk error",
            "The kernel went read-only to protect the file system; writing to a damaged one makes it worse.",
        ))
        .sources(&["reference: kubelet os.RemoveAll failures (derived from source)"])
        .event_reason("PodVolumeReadOnly")
        .diagnosis(Proven::Observation);

    /// A pod directory that the kubelet fails to remove.
    ORPHANED_POD_DIRECTORY = Cause::at(Gate::VolumesUnmounted, "OrphanedPodDirectory")
        .title("The directory of a pod that no longer exists stays")
        .meaning("Neither the API nor the runtime knows this pod any more, but its directory has content that the \
            kubelet refuses to remove: a leftover file such as vol_data.json, a volume directory with files, or a \
            mount. The kubelet tries every 2 s and fails on purpose, because there could be data.")
        .proof("pods/<uid> exists, the UID is not in the API's pods of this node, not a static pod and not in CRI, and \
            an entry below volumes is a file, a directory with content, or a mount.")
        .safe(&[
            step("Make sure that nothing is mounted below the directory, in any mount namespace")
                .run("grep -lsF {uid} /proc/[0-9]*/mountinfo"),
            step("Move the leftover file out of the way, into a new directory below /var/tmp; the kubelet then removes \
                the empty directories")
                .run("test -f {path} && mv {path} \"$(mktemp -d /var/tmp/moved.XXXXXX)\"").lab("orphan-dir"),
            step("If a volume's directory holds data, save it elsewhere first; never delete it unread"),
        ])
        .danger(Danger::new(
            "rm -rf of /var/lib/kubelet/pods/<uid>",
            "If any volume is still mounted below it, the removal wipes that volume; this has happened.",
        ))
        .sources(&["kubernetes#60987", "kubernetes#134075", "longhorn#3207"])
        .event_reason("OrphanedPodDirectory")
        .diagnosis(Proven::Lab("orphan-dir"));

    /// A subPath to a single file keeps an orphaned pod directory.
    ORPHANED_SUB_PATH_FILE = Cause::at(Gate::VolumesUnmounted, "OrphanedSubPathFile")
        .title("A subPath file keeps the directory of a pod that no longer exists")
        .meaning("A subPath to a single file leaves a file below volume-subpaths. Kubelets up to 1.35 try to remove it \
            like a directory, which always fails, so the directory of the deleted pod stays for ever. It does not hold \
            the pod object.")
        .proof("pods/<uid> belongs to no known pod, and an entry of volume-subpaths/<volume>/<container> is a regular \
            file and no mount; the kubelet says failed to rmdir() subpath … not a directory.")
        .safe(&[
            step("Make sure that nothing is mounted below the directory, in any mount namespace")
                .run("grep -lsF {uid} /proc/[0-9]*/mountinfo"),
            step("Move the file out of the way, into a new directory below /var/tmp")
                .run("test -f {path} && mv {path} \"$(mktemp -d /var/tmp/moved.XXXXXX)\""),
            step("Upgrade the kubelet to 1.36, which removes such files itself"),
        ])
        .danger(Danger::new(
            "rm -rf below volume-subpaths",
            "A subPath that is still mounted is the volume's own file: it is deleted for good.",
        ))
        .sources(&["reference: kubelet cleanupOrphanedPodDirs (≤ 1.35 rmdir, 1.36 os.Remove)"])
        .event_reason("OrphanedPodDirectory")
        .diagnosis(Proven::Observation);
}
