//! Pods the API server does not know any more, with something of them left here.

use crate::Gate;
use crate::cause::entry::{Cause, Danger, Proven, step};

causes! {
    /// The pod is gone from the API but its containers run.
    FORCE_DELETED_STILL_RUNNING = Cause::at(Gate::ContainersStopped, "ForceDeletedStillRunning")
        .title("The pod is gone from the API but its containers still run")
        .meaning("The API object was deleted by force, or lost, while containers of the pod still run here. Nothing in \
            the API shows them. A replacement of this pod may write the same data at the same time: data can be \
            damaged.")
        .proof("CRI lists RUNNING containers with a pod UID that the API server does not know on this node, for longer \
            than the kubelet's clean-up of orphans takes; static and mirror pods are excluded.")
        .safe(&[
            step("Check whether a replacement runs on the same data and, if so, scale it down first"),
            step("Stop the container in the orderly way, with 30 s to finish")
                .run("crictl stop --timeout 30 {container}"),
            step("If it does not stop, kill its init, pid {pid}; what it has only in memory is lost")
                .run("kill -9 {pid}").lab("force-deleted").if_known(),
        ])
        .danger(Danger::new(
            "Letting the replacement run on, or forcing the next delete",
            "Two instances write one volume or claim one identity; data can be lost without any error.",
        ))
        .sources(&["reference: kubelet SyncTerminatingRuntimePod, HandlePodCleanups"])
        .event_reason("PodForceDeletedStillRunning")
        .diagnosis(Proven::Lab("force-deleted"));

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
