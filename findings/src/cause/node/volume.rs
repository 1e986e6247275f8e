//! Gate `VolumesUnmounted`: why a volume of the pod is still there.

use super::kubelet::AT_THE_KUBELET;
use crate::cause::page::*;

causes! {
    VOLUME_MOUNTED_NO_HOLDER = Cause::gate(Gate::VolumesUnmounted, "VolumeMountedNoHolder")
        .title("The volume is still mounted and nothing was found that holds it")
        .meaning("The volume is still mounted, but no process, mapping, loop device, nested mount or other namespace \
            was found that uses it. The kubelet's next try should unmount it. The kubelet waits up to 2 min 2 s \
            between two tries, so this may just be in progress.")
        .proof("statx says the path is a mount root and mountinfo has it, while the search for holders was complete \
            and found none.")
        .safe(&[
            check("Read why the kubelet's unmount fails")
                .read(log_of!("kubelet", "-15min", "{uid}")),
            check("Wait for the kubelet's next try (at most 2 min 2 s) and look again"),
        ])
        .dont("Do not unmount by hand while the kubelet does it",
            "The driver's own unpublish then meets a state it does not expect, and may fail from then on.")
        .sources(&["reference: kubelet volume reconciler back-off", "trident#572"])
        .event_reason("PodVolumeStillMounted")
        .patience(Patience::NextTry)
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Lab("namespace-without-process"));

    VOLUME_NOT_RECONSTRUCTED = Cause::gate(Gate::VolumesUnmounted, "VolumeNotReconstructed")
        .title("The kubelet lost the volume when it restarted")
        .meaning("The kubelet was restarted and could not reconstruct this volume from the disk. It then tries to \
            clean it up exactly once; that failed or did nothing. No further try follows, while the mount on disk \
            keeps the pod in Terminating.")
        .proof("The mount is older than the kubelet process, is seen below pods/<uid>/volumes, nothing holds it, and \
            no operation for it is under way. The log has Could not construct volume information, or \
            force_cleaned_failed_volume_operation_errors_total is above 0.")
        .safe(&[
            step("Restart the kubelet: it reconstructs again and makes its one try again; containers keep running")
                .run("systemctl restart {kubelet_unit}"),
            step("If it is a tmpfs of a secret, configuration or token, unmount it: it holds only copies")
                .run("umount {path}"),
            step("Upgrade the kubelet: 1.27 and 1.28 repaired much of the reconstruction"),
        ])
        .dont("Do not run rm -rf on the pod's directory", "The volume is still mounted in it: its data is deleted.")
        .sources(&[
            "kubernetes#96635", "kubernetes#70044", "kubernetes#110670", "kubernetes#72604", "kubernetes#116954",
            "kubernetes#116925", "kubernetes#117019", "longhorn#4782",
        ])
        .event_reason("PodVolumeNotReconstructed")
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Observation);

    VOLUME_PLUGIN_REMOVED = Cause::gate(Gate::VolumesUnmounted, "VolumePluginRemoved")
        .title("This kubelet no longer has the volume's plugin")
        .meaning("The volume was mounted by an in-tree plugin that this kubelet version no longer has (rbd and cephfs \
            are gone by 1.31). At its start the kubelet makes one try to clean up, finds no plugin and unmounts \
            nothing. Nothing retries, and the kubelet waits until the mount is gone.")
        .proof("A directory pods/<uid>/volumes/kubernetes.io~<plugin> with a mount exists for a plugin that this \
            kubelet's version lacks. The log may say: no volume plugin matched name.")
        .safe(&[
            check("Make sure that no process uses the volume, then unmount it: the old plugins of rbd and cephfs do the \
                same, and a plain umount writes everything back")
                .run("umount {path}").if_known(),
            step("See first that the server of {mount} answers and repair it if not; then unmount it, as the old plugin \
                of cephfs does: an umount of this file system waits for its server").if_known(),
            step("If the old plugin attached a device, release that too: of rbd unmount what is mounted of it below \
                plugins/, then rbd unmap; cephfs has none"),
            step("Before such an upgrade drain the node, so that the old kubelet unmounts its volumes"),
        ])
        .dont("Do not run rm -rf on the plugin's directory", "The volume is still mounted in it: its data is deleted.")
        .sources(&[
            "kubernetes#71400", "reference: kubelet 1.36 cleanOrphanVolumes (\"no volume plugin matched name\"), podVolumesExist",
            "reference: kubelet 1.29 cephfs TearDownAt, rbd diskTearDown",
        ])
        .event_reason("PodVolumePluginRemoved")
        .diagnosis(Proven::Observation);
}
