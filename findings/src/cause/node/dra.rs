//! Gate `DevicesUnprepared`: what DRA drivers must release.

use super::kubelet::AT_THE_KUBELET;
use crate::cause::page::*;

const FORGET: Danger = Danger::new(
    "Do not delete dra_manager_state or the ResourceClaim's finalizer",
    "The device counts as free while it is still set up for the old pod; the next pod may get it unclean, or in use.",
);

causes! {
    DRA_DRIVER_GONE = Cause::gate(Gate::DevicesUnprepared, "DraDriverGone")
        .title("The driver of a claimed device is gone")
        .meaning("All containers have ended. The kubelet must ask the DRA driver to release the pod's devices, and \
            that driver is not registered with the kubelet. By design the kubelet waits for it: a device must not be \
            handed on before it is released.")
        .proof("All containers are EXITED while the API phase is not terminal, and dra_manager_state in the kubelet's \
            root lists a claim of this pod and its driver. No socket in plugins_registry answers with that name, or \
            nothing listens on the socket it names; a socket file alone is no driver. The kubelet's log says: DRA \
            driver … is not registered.")
        .safe(&[
            check("The driver is {driver}, of claim {claim}; see whether its directory has a socket")
                .run("ls -la {plugin_dir}").if_known(),
            check("Read what the kubelet got from the driver").read(log_of!("kubelet", "-15min", "{uid}")),
            step("Bring the DRA driver back to this node (its DaemonSet pod: nodeSelector, taints, image); the kubelet \
                asks again within 15 s"),
            check("If no driver is named here: see which driver the claim {claim} was allocated from").if_known(),
        ])
        .danger(FORGET)
        .sources(&["kubernetes#129402", "kubernetes#131957"])
        .event_reason("PodDevicesNotReleased")
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Observation);

    DRA_DRIVER_FAILS = Cause::gate(Gate::DevicesUnprepared, "DraDriverFails")
        .title("The driver of a claimed device does not release it")
        .meaning("All containers have ended. The DRA driver is registered and listens, and the kubelet still holds the \
            pod's devices: NodeUnprepareResources fails, or is not answered. The kubelet asks again within 15 s.")
        .proof("dra_manager_state lists a claim of this pod and its driver, and that driver's socket has a listener. \
            The kubelet's /metrics count the calls (dra_grpc_operations_duration_seconds, by driver and gRPC code). \
            The error of a single claim comes in an answer that is OK: dra_operations_duration_seconds counts it \
            (is_error), for all pods of the node. One that grows while no other pod's devices are to be released proves \
            it.")
        .safe(&[
            check("The driver is {driver}, the claim {claim}; see what the kubelet got from it")
                .read(log_of!("kubelet", "-15min", "{uid}")),
            check("Read the log of the DRA driver's pod on this node: its error names the reason; repair or upgrade the \
                driver"),
            step("If the driver got no call, restart the kubelet: 1.34 can be stuck with an idle connection \
                (kubernetes#133920); containers keep running")
                .run("systemctl restart {kubelet_unit}"),
        ])
        .danger(FORGET)
        .sources(&["kubernetes#131957", "kubernetes#133920"])
        .event_reason("PodDevicesNotReleased")
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Observation);

    DRA_CLAIM_NOT_GENERATED = Cause::gate(Gate::DevicesUnprepared, "DraClaimNotGenerated")
        .title("A resource claim of the pod was never generated")
        .meaning("The pod's resource claim is made from a template, and that was not done before the pod was deleted. \
            The kubelet cannot resolve the claim's name, so its release of devices ends with an error each time, \
            although it holds none. No controller generates the claim of a pod that is being deleted.")
        .proof("spec.resourceClaims names a template, status.resourceClaimStatuses has no entry for it, all containers \
            have ended, and the phase is not terminal. The kubelet's log says: ResourceClaim not created yet.")
        .safe(&[
            check("See that the kubelet stops at this: ResourceClaim not created yet")
                .read(log_of!("kubelet", "-15min", "{uid}")),
            step("Upgrade the kubelet to a release that repairs kubernetes#139772, and restart it"),
        ])
        .danger(
            Danger::new(
                "Do not run kubectl delete --force",
                "The kubelet forgets the pod, also where a device of another claim is still prepared for it.",
            )
            .right_when("when dra_manager_state does not list the pod and none of its containers runs"),
        )
        .sources(&["kubernetes#139772"])
        .event_reason("PodDevicesNotReleased")
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Observation);
}
