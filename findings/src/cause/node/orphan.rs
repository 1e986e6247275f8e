//! Pods the API server does not know any more, with something of them left here.

use super::kubelet::AT_THE_KUBELET;
use crate::cause::page::*;

const NOTHING_MOUNTED: Advice = check("Make sure that nothing is mounted below the directory, in any mount namespace")
    .run("grep -lsF {uid} /proc/[0-9]*/mountinfo");

causes! {
    FORCE_DELETED_STILL_RUNNING = Cause::gate(Gate::ContainersStopped, "ForceDeletedStillRunning")
        .title("The pod is gone from the API but its containers still run")
        .meaning("The API object was deleted by force, or lost, while containers of the pod still run here. Nothing in \
            the API shows them. A replacement of this pod may write the same data at the same time: data can be \
            damaged.")
        .proof("CRI lists RUNNING containers with a pod UID that the API server does not know on this node, and has not \
            known for longer than their grace period, which the agent that runs all the time sees; static and mirror \
            pods are excluded, also one whose manifest sets a uid (the annotation kubernetes.io/config.source of its \
            sandbox is not api). When its start was not seen, or within the grace period, it is only probable.")
        .safe(&[
            check("Read what still runs").run("{crictl} --runtime-endpoint {cri_endpoint} ps --id {container}"),
            check("Check whether a replacement runs on the same data and, if so, scale it down first"),
            check("If it was deleted less than its grace period ago ({grace_seconds} s), wait: the kubelet is stopping it"),
            step("Stop the container in the orderly way, with its whole grace period to finish")
                .run("{crictl} --runtime-endpoint {cri_endpoint} stop --timeout {grace_seconds} {container}"),
            step("If it does not stop, kill its init, pid {pid}; what it has only in memory is lost")
                .run("kill -9 {pid}").if_known(),
        ])
        .dont("Do not let the replacement run on, or force the next delete",
            "Two instances write one volume or claim one identity; data can be lost without any error.")
        .sources(&["reference: kubelet SyncTerminatingRuntimePod, HandlePodCleanups"])
        .event_reason("PodForceDeletedStillRunning")
        .diagnosis(Proven::Lab("force-deleted"));

    ORPHANED_POD_DIRECTORY = Cause::gate(Gate::VolumesUnmounted, "OrphanedPodDirectory")
        .title("The directory of a pod that no longer exists stays")
        .meaning("Neither the API nor the runtime knows this pod any more, but its directory has content that the \
            kubelet refuses to remove: a leftover file such as vol_data.json, a volume directory with files, or a \
            mount. The kubelet tries every 2 s and fails on purpose, because there could be data. Kubelets up to 1.35 also \
            try to remove the file of a subPath like a directory, which always fails.")
        .proof("pods/<uid> exists, the UID is not in the API's pods of this node, not a static pod and not in CRI, and \
            an entry below volumes is a file, a directory with content, or a mount, or one of \
            volume-subpaths/<volume>/<container> is a regular file and no mount.")
        .safe(&[
            NOTHING_MOUNTED,
            step("If the CSI driver of a volume is not on this node, bring it back first and wait 2 min 2 s: a kubelet \
                that remembers the volume then removes everything by itself, and would be lost without vol_data.json"),
            step("Move the leftover file out of the way, into a new directory below /var/tmp; the kubelet then removes \
                the empty directories")
                .run("test -f {path} && mv {path} \"$(mktemp -d /var/tmp/moved.XXXXXX)\"").lab("orphan-dir").if_known(),
            step("If a volume's directory holds data, save it elsewhere first; never delete it unread"),
        ])
        .dont("Do not run rm -rf on /var/lib/kubelet/pods/<uid>",
            "If any volume is still mounted below it, the removal wipes that volume; this has happened.")
        .sources(&[
            "kubernetes#60987", "kubernetes#134075", "longhorn#3207",
            "reference: kubelet cleanupOrphanedPodDirs (≤ 1.35 rmdir, 1.36 os.Remove)",
        ])
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Lab("orphan-dir"));

    ORPHANED_VOLUME_REMEMBERED = Cause::gate(Gate::VolumesUnmounted, "OrphanedVolumeRemembered")
        .title("The kubelet remembers a volume of a pod that no longer exists")
        .meaning("Neither the API nor the runtime knows this pod any more, and the kubelet still tracks a volume of it: \
            at its start it found vol_data.json in the directory (reconstruction) and took the volume for mounted. It \
            calls the CSI driver again and again to unpublish it, and removes nothing before that has worked. Without \
            vol_data.json it cannot even call it, and fails ten times a second.")
        .proof("pods/<uid> exists, the UID is not in the API's pods of this node and not in CRI, nothing is mounted, and \
            either the kubelet was started after the directory's last change and the driver that vol_data.json names is \
            not registered, or nothing but empty directories is left, which the kubelet removes every 2 s unless it \
            remembers a volume. What it remembers cannot be read, so this is never more than probable.")
        .safe(&[
            step("Make the empty directory that the kubelet looks for beside vol_data.json")
                .run("mkdir {path}").if_known(),
            step("If vol_data.json was moved away, put it back: {vol_data}; without it the kubelet cannot ask the driver")
                .if_known(),
            step("Bring the node pod of the volume's CSI driver back to this node (reinstall it, or repair its \
                nodeSelector, taints or image)").lab("orphan-remembered"),
            check("Wait 2 min 2 s: at its next try the kubelet has the volume unpublished and removes the directory"),
        ])
        .dont("Do not move or delete vol_data.json",
            "The kubelet remembers the volume and cannot ask for it any more: UnmountVolume.NewUnmounter failed, ten \
                times a second, and the driver never learns of it, so the volume stays staged.")
        .sources(&["reference: seen on a real kubelet 1.36", "reference: kubelet reconstructVolumes, csi_mounter.go"])
        .event_reason("OrphanedPodDirectory")
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Lab("orphan-remembered"));
}
