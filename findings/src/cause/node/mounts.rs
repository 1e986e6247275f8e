//! Mounts under mounts, mounts in the wrong namespace, directories left behind.

use super::kubelet::AT_THE_KUBELET;
use crate::cause::page::*;

const FIND_IMMUTABLE: Advice = check(
    "For \"operation not permitted\", look for files that are immutable (i) or append-only (a), and take that off with \
        chattr -i or -a",
)
.run("lsattr -aR {path} | grep -E '^[^ /]*[ia]'");

causes! {
    NESTED_MOUNT = Cause::gate(Gate::VolumesUnmounted, "NestedMount")
        .title("Another file system is mounted below the volume or a subPath")
        .meaning("Something is mounted on a directory inside the volume: by a container through Bidirectional \
            propagation, by a terminationMessagePath in the volume, or by a tool on the host. What is mounted below a hostPath \
            is propagated below its subPath. The kubelet can neither unmount nor remove the volume while a mount is below \
            it, and it cleans subPaths first.")
        .proof("The kubelet's mountinfo has a mount whose mount point lies below pods/<uid>/volumes/<plugin>/<volume> \
            or pods/<uid>/volume-subpaths/<volume>/<container>/<index>, and which is not the volume's own mount. One that its parent may have mounted by itself (NFS crossmnt, CIFS \
            DFS, AFS, tracefs below debugfs) is unmounted with it and is only probable.")
        .safe(&[
            check("Look at all mounts of this pod and find out who made the one below the volume")
                .run("findmnt --list | grep -F {uid}"),
            step("Unmount the deepest one first").run("umount {path}").lab("nested-mount").if_known(),
            step("Go on, deepest first, until nothing is mounted below the volume; the kubelet does the rest"),
        ])
        .dont("Do not run rm -rf on the volume's directory",
            "The removal descends into the nested mount and deletes the data of another file system, perhaps of the \
                host. A subPath is a bind mount of the volume's or the host's own files.")
        .sources(&["kubernetes#115054", "kubernetes#137143", "kubernetes#95310"])
        .event_reason("PodVolumeNestedMount")
        .followed()
        .diagnosis(Proven::Lab("nested-mount"));

    VOLUME_MOUNTED_TWICE = Cause::gate(Gate::VolumesUnmounted, "VolumeMountedTwice")
        .title("The volume is mounted twice on one path")
        .meaning("Two mounts lie on the volume's path, one upon the other. After a restart the kubelet has a volume \
            published again, and a driver that does not look first mounts it once more. An unmount takes only the upper \
            one away; the driver says OK, the kubelet finds that the path is still a mount, and it does not try again.")
        .proof("The kubelet's mountinfo has two or more lines with the volume's path as mount point, nothing holds it, \
            and they stand upon each other. Who mounted it twice is a guess.")
        .safe(&[
            step("Unmount the upper one; a plain umount refuses a mount in use")
                .run("umount {path}").lab("mounted-twice"),
            step("Unmount the one below it, and so on until the path is no mount any more")
                .run("umount {path}").lab("mounted-twice"),
            step("When the pod is gone from the API and its directory stays, move the kubelet's note out of the way, \
                into a new directory below /var/tmp: the kubelet has forgotten the volume, and its clean-up refuses to \
                delete files")
                .run("test -f {vol_data} && mv {vol_data} \"$(mktemp -d /var/tmp/moved.XXXXXX)\"")
                .lab("mounted-twice"),
            step("Report the fault to the CSI driver's authors and upgrade it: NodePublishVolume must be idempotent"),
        ])
        .dont("Do not run rm -rf on the target", "It is still the volume: its data is deleted.")
        .sources(&["reference: seen on a real kubelet 1.36 after a restart", "kubernetes#122342"])
        .event_reason("PodVolumeLeftMounted")
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Lab("mounted-twice"));

    KUBELET_ROOT_AMBIGUOUS = Cause::gate(Gate::VolumesUnmounted, "KubeletRootAmbiguous")
        .title("A second mount over the kubelet's directory hides the volume's mount")
        .meaning("Since the volume was mounted, something was mounted over a directory above it, most likely the kubelet's \
            root directory over itself, when a kubelet in a container was started again. The path leads there now: the \
            kubelet finds a plain directory, and `umount` of the path nothing. The mount below is still there, so the \
            kernel refuses to remove the directory as busy.")
        .proof("In the kubelet's mountinfo the volume's path is the mount point of mounts that all stand below a directory \
            over which another mount stands.")
        .safe(&[
            check("Read both mounts").run("findmnt {path}").if_known(),
            step("Drain the node: what other pods have mounted since lies below the upper mount"),
            step("Take the upper mount away, which shows the same directory as what it hides; a plain umount refuses while \
                anything below it is in use. The kubelet's next try finds the volume")
                .run("umount {path}").lab("hidden-volume").if_known(),
            step("Where the upper mount is another file system, as a disk that was mounted too late, leave it until the node \
                is drained and its kubelet stopped: what pods wrote since lies there"),
            step("Have the directory mounted once: where a unit or a container binds it over itself at each start, let it \
                look first"),
        ])
        .dont("Do not remove pod directories by hand",
            "What looks like an empty directory is where the volume is mounted. Once the upper mount is gone, its files \
                are there again, and `rm` deletes them.")
        .dont("Do not run umount -l on the upper mount",
            "What other pods have mounted below it stays mounted for them, and cannot be unmounted any more.")
        .sources(&["kubernetes#65110", "kubernetes#65879", "kubernetes#68740", "kubernetes#131308", "k3s#11806"])
        .event_reason("PodVolumePathAmbiguous")
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Lab("hidden-volume"));

    SUB_PATH_TARGET_MISSING = Cause::gate(Gate::VolumesUnmounted, "SubPathTargetMissing")
        .title("A subPath's target is gone but still mounted")
        .meaning("The file behind a subPath was deleted while it was mounted, or an NFS server was restarted or its export \
            changed, and its file handle is no longer valid. A look at the path says \"no such file\", so the kubelet skips \
            its unmount and cannot remove the directory that holds it, or \"stale file handle\". It stops there each time, \
            before the volume is unmounted.")
        .proof("mountinfo has a line with the subPath's mount point whose root ends with //deleted; the kubelet says mount \
            cleanup skipped because path does not exist, or directory not empty. Without its log this is only probable: \
            what is deleted can be unmounted as long as its path can be looked at. Or a look in the disposable child gives \
            ESTALE.")
        .safe(&[
            step("Unmount the subPath by the path that mountinfo names").run("umount {path}").if_known(),
            step("Bring the export back as it was, if that is possible; the kubelet then continues"),
            step("Unmount the subPath only; the server no longer knows this handle").run("umount -f {mount}").if_known(),
            step("If that is refused, detach the subPath lazily; unwritten data of this handle is lost")
                .run("umount -l {mount}").if_known(),
            check("When mountinfo has no line for it any more, wait: the kubelet finishes by itself"),
        ])
        .dont("Do not run rm -rf below volume-subpaths",
            "Other subPaths there may be mounted properly: they are bind mounts of the volume's own files, which are \
                deleted for good.")
        .dont("Do not run umount -l on the whole volume or on the server's other mounts",
            "Other pods on the same mount lose unwritten data, and it disappears from view while in use.")
        .sources(&["kubernetes#139535", "kubernetes#71584", "kubernetes#110818"])
        .event_reason("PodVolumeLeftMounted")
        .diagnosis(Proven::Observation);

    MOUNT_DIRECTORY_LEFT = Cause::gate(Gate::VolumesUnmounted, "MountDirectoryLeft")
        .title("The directory of an unmounted volume is left over")
        .meaning("A volume's directory is left although nothing is mounted on it. After a power loss or a wrong unmount the \
            plugin's clean-up may trip over it, for example by unmounting what is not mounted. Or it holds files, which \
            something wrote after the unmount or before the mount: the kubelet removes only an empty directory. They lie \
            on the node's own disk, and the volume does not have them.")
        .proof("pods/<uid>/volumes/<plugin>/<volume> (CSI: its mount directory) exists, and neither statx nor any \
            namespace's mountinfo calls it a mount. If it has content, the kubelet says directory not empty.")
        .safe(&[
            check("Make sure that no mount namespace has a mount on that directory")
                .run("grep -lsF {path} /proc/[0-9]*/mountinfo"),
            check("If it holds files, look at them: they may be the only copy").run("ls -la {path}").lab("files-below-volume"),
            step("Move files to a place of your own, outside the kubelet's directory; do not delete them unread"),
            step("Remove the empty directory (rmdir refuses a mount and a directory with content)").run("rmdir {path}"),
            check("Then wait for the kubelet's next try"),
        ])
        .dont("Do not run rm -rf on the volume's directory",
            "The files may be data that never reached the volume: they are lost. If a mount is there after all, the data \
                of the volume is deleted.")
        .sources(&[
            "kubernetes#114546", "kubernetes#108041", "kubernetes#108622", "kubernetes#97444", "kubernetes#70382",
        ])
        .event_reason("PodVolumeDirectoryLeft")
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Lab("files-below-volume"));

    VOLUME_FILES_NOT_REMOVED = Cause::gate(Gate::VolumesUnmounted, "VolumeFilesNotRemoved")
        .title("The kubelet has not removed the volume's files yet")
        .meaning("An emptyDir, and what the kubelet writes for a ConfigMap, a Secret or a projected volume, is deleted with \
            all that is in it. Millions of files take minutes; a file that is immutable, or a file system with an error, \
            makes each try fail.")
        .proof("The volume's directory is no mount in any namespace and has content, and the kubelet's counters do not say \
            that its tries fail.")
        .safe(&[
            check("Read what the kubelet says: as long as it writes no error it is still at it")
                .read(log_of!("kubelet", "-15min", "{uid}")),
            check("For \"read-only file system\" or \"input/output error\", look for errors of the disk and its file system: \
                some kernels still show rw for an ext4 that has become read-only after an error").run("dmesg -T"),
            FIND_IMMUTABLE,
            check("Else wait, and look again"),
        ])
        .dont("Do not run rm -rf on the volume's directory",
            "The kubelet does that itself. Mounts below it, at which the kubelet stops, lose their files too.")
        .sources(&["reference: kubelet emptyDir, os.RemoveAll"])
        .event_reason("PodVolumeFilesNotRemoved")
        .patience(Patience::NextTry)
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Observation);

    FILE_SYSTEM_READ_ONLY = Cause::gate(Gate::VolumesUnmounted, "FileSystemReadOnly")
        .title("The kubelet cannot delete the volume's files")
        .meaning("The kubelet must delete the files of an emptyDir or a similar volume, and the file system refuses: \
            it has become read-only or shut down after an error, or a file is marked immutable. The removal fails each \
            time.")
        .proof("mountinfo shows ro, emergency_ro or shutdown in the super options of the file system that holds the volume, \
            or a look into the kubelet's pods directory fails with an input/output error, as on an xfs that has shut itself \
            down, which mountinfo does not show. It is probable where only the kubelet's counters say that the removal fails, or \
            where the files of an emptyDir stay for two minutes on an ext4 that has counted errors since the node was started \
            (errors_count and last_error_time in /sys/fs/ext4): kernels of 6.12 to 6.14, and older ones with the same change, show \
            rw after such an error.")
        .safe(&[
            check("See whether the kernel reports disk or file system errors").run("dmesg -T").lab("ext4-error"),
            FIND_IMMUTABLE.if_known(),
            step("Drain the node, and repair the disk and its file system; the kubelet's next try then removes the files"),
        ])
        .dont("Do not run mount -o remount,rw after a disk error",
            "The kernel went read-only to protect the file system; writing to a damaged one makes it worse.")
        .sources(&["reference: kubelet os.RemoveAll failures (derived from source)"])
        .event_reason("PodVolumeReadOnly")
        .diagnosis(Proven::Lab("ext4-error"));

    VOLUME_FILE_SYSTEM_FAILED = Cause::gate(Gate::VolumesUnmounted, "VolumeFileSystemFailed")
        .title("The volume's file system has shut down")
        .meaning("The volume's file system has shut itself down after an error of its disk or its data: each look at it fails \
            with an input/output error. It can be unmounted, but a driver or a kubelet that looks at the volume first fails \
            at that each time.")
        .proof("fstat of the volume's root, reached without reading the disk, fails with EIO, EUCLEAN or EBADMSG, and a search \
            of all processes found no holder. Which answer the driver gives is not seen, so it is only probable.")
        .safe(&[
            check("See whether the kernel reports disk or file system errors").run("dmesg -T"),
            step("Unmount it: nothing more can be written to it, and a plain umount refuses a mount in use; the driver's next \
                call then finds nothing mounted")
                .run("umount {path}").lab("xfs-looked-at"),
            step("Repair the disk and the file system before the volume is mounted again: xfs_repair, e2fsck"),
        ])
        .dont("Do not run xfs_repair -L before a mount has replayed the log",
            "It throws away what the log still holds: the last writes are lost.")
        .sources(&["reference: fs/xfs/xfs_iops.c xfs_vn_getattr", "reference: mount-utils IsCorruptedMnt"])
        .event_reason("PodVolumeFileSystemFailed")
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Lab("xfs-looked-at"));
}
