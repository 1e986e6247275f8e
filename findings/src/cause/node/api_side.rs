//! The node is done; the rest is between the kubelet and the API server, or the API server's alone.

use crate::Gate;
use crate::cause::entry::{Cause, Danger, Proven, step};

causes! {
    /// The node is done, but the API has not taken the final status.
    STATUS_NOT_REPORTED = Cause::at(Gate::StatusReported, "StatusNotReported")
        .title("The kubelet's final status has not reached the API")
        .meaning("Nothing of the pod is left on the node, but the API does not show its final phase. The kubelet \
            cannot read or patch the status: its certificate has expired, it is not allowed to, a webhook refuses, or \
            the API server cannot be reached. It tries again every 10 s.")
        .proof("No container, sandbox, mount or cgroup of the pod is left, and the pod's phase in the API stays \
            non-terminal for longer than a minute. The kubelet says Failed to update status for pod.")
        .safe(&[
            step("Read the kubelet's reason")
                .run("journalctl -u {kubelet_unit} --since -15min --no-pager --grep \"status for pod\""),
            step("Check whether the node is Ready, whether the kubelet's client certificate is valid, and whether an \
                admission webhook matches pods/status"),
            step("Once that is repaired, wait 10 s: the kubelet reports by itself"),
        ])
        .danger(Danger::new(
            "kubectl delete pod --force on every stuck pod",
            "The reason stays, so every later pod of this node is stuck too, and the next one may still run.",
        ))
        .sources(&["reference: kubelet status manager syncPod, API-side look-alikes"])
        .event_reason("PodStatusNotReported")
        .diagnosis(Proven::Observation);

    /// The node is done; the object is kept by the API side.
    FINALIZERS_REMAIN = Cause::at(Gate::ObjectRemoved, "FinalizersRemain")
        .title("The node is done; the API side keeps the object")
        .meaning("The kubelet has released everything and its final status is in the API. What keeps the object is on \
            the API side: a finalizer that its controller has not removed, or a webhook that refuses the last delete. \
            Nothing on this node can help.")
        .proof("Nothing of the pod is left on the node, its phase is terminal, and metadata.finalizers is not empty \
            (or the kubelet's log says Failed to delete status for pod).")
        .safe(&[
            step("Look at metadata.finalizers of the pod, find the controller that owns each, and bring it back; it \
                removes its own finalizer when its work is done"),
            step("Ask the API side what keeps {pod}: kubectl why-terminating"),
            step("If there is no finalizer, look for an admission webhook that refuses DELETE of pods"),
        ])
        .danger(Danger::new(
            "Patching the finalizers away",
            "The work they stand for is never done: external resources, addresses or records leak.",
        ))
        .sources(&["reference: kubelet canBeDeleted, API-side look-alikes"])
        .event_reason("PodFinalizersRemain")
        .diagnosis(Proven::Observation);

    /// The DRA driver of a claim does not answer or is not registered.
    DRA_DRIVER_GONE = Cause::at(Gate::DevicesUnprepared, "DraDriverGone")
        .title("The driver of a claimed device is gone")
        .meaning("All containers have ended. The kubelet must ask the DRA driver to release the pod's devices, and \
            that driver is not registered or fails. By design the kubelet waits for it: a device must not be handed on \
            before it is released.")
        .proof("All containers are EXITED while the API phase is not terminal, and dra_manager_state in the kubelet's \
            root lists a claim of this pod. A missing driver socket, or the kubelet's message, names the driver.")
        .safe(&[
            step("Bring the DRA driver of the claim back (its DaemonSet pod on this node); the kubelet asks again \
                within 15 s"),
            step("See which driver the claim {claim} was allocated from").if_known(),
            step("If the driver is there and answers, restart the kubelet: 1.34 can be stuck with an idle connection \
                (kubernetes#133920); containers keep running")
                .run("systemctl restart {kubelet_unit}"),
        ])
        .danger(Danger::new(
            "Deleting dra_manager_state or the ResourceClaim's finalizer",
            "The device counts as free while it is still set up for the old pod; the next pod may get it unclean, or \
                in use.",
        ))
        .sources(&["kubernetes#129402", "kubernetes#139772", "kubernetes#131957", "kubernetes#133920"])
        .event_reason("PodDevicesNotReleased")
        .diagnosis(Proven::Observation);
}
