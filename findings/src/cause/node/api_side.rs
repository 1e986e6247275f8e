//! The node is done; the rest is between the kubelet and the API server, or the API server's alone.

use super::kubelet::{AT_THE_KUBELET, KUBELET_SAYS};
use crate::cause::page::*;

const READ_REASON: Advice = check("Read the kubelet's reason").read(log_of!("kubelet", "-15min", "\"status for pod\""));

causes! {
    STATUS_NOT_REPORTED = Cause::gate(Gate::StatusReported, "StatusNotReported")
        .title("The kubelet's final status has not reached the API")
        .meaning("Nothing of the pod is left on the node, but the API does not show its final phase. The kubelet \
            cannot read or patch the status: its certificate has expired, it is not allowed to, a webhook refuses, or \
            the API server cannot be reached. It tries again every 10 s.")
        .proof("No container, sandbox, mount or cgroup of the pod is left, and the pod's phase in the API stays \
            non-terminal for longer than a minute. The kubelet says Failed to update status for pod.")
        .safe(&[
            READ_REASON,
            check("Check whether the node is Ready, whether the kubelet's client certificate is valid, and whether an \
                admission webhook matches pods/status"),
            step("Once that is repaired, wait 10 s: the kubelet reports by itself"),
        ])
        .dont("Do not run kubectl delete pod --force on every stuck pod",
            "The reason stays, so every later pod of this node is stuck too, and the next one may still run.")
        .sources(&["reference: kubelet status manager syncPod, API-side look-alikes"])
        .event_reason("PodStatusNotReported")
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Observation);

    TERMINATION_NOT_FINISHED = Cause::gate(Gate::SandboxStopped, "TerminationNotFinished")
        .title("The kubelet has not finished stopping the pod")
        .meaning("All containers have ended and no sandbox is READY, but the pod's phase is still Running. Since 1.27 the \
            kubelet reports another phase before it waits for volumes, so it is still at or before StopPodSandbox \
            (a network plugin fails) or the release of devices (DRA), or it cannot report its status. Volumes that are \
            mounted are not its reason yet. A pod of which a container never ran is Pending to the end; there only \
            cpu.weight shows it.")
        .proof("CRI lists no container as RUNNING and no sandbox as READY, the phase in the API is Running although \
            the deadline has passed (or Pending, and the cgroup's cpu.weight is not lowered, as it is while volumes are \
            awaited), and volumes or the cgroup of the pod are left. Which of the three it is shows only in the \
            kubelet's log or in a FailedKillPod Event, so this is never more than probable.")
        .safe(&[
            check("Read the Events of the pod: FailedKillPod has the words of the StopPodSandbox that fails")
                .run("kubectl get events --all-namespaces --field-selector involvedObject.uid={uid}"),
            check("Read what the kubelet says of this pod: StopPodSandbox, NodeUnprepareResources, Failed to update \
                status for pod")
                .read(log_of!("kubelet", "-15min", "{uid}")),
            step("Stop the sandbox as the kubelet does and read the error; for one that is stopped nothing happens")
                .run("{crictl} --runtime-endpoint {cri_endpoint} stopp {sandbox}").if_known(),
            step("Repair what it names (the CNI plugin, the DRA driver, the kubelet's certificate, a webhook of \
                pods/status); the kubelet tries again every 10 to 15 s"),
        ])
        .dont("Do not unmount the pod's volumes",
            "The kubelet has not come to them: it and the CSI driver then meet a state that they do not expect, and may \
                fail from then on.")
        .sources(&["reference: kubelet SyncTerminatingPod, mergePodStatus", "multus#669", "kubernetes#129402"])
        .event_reason("PodTerminationNotFinished")
        .patience(Patience::Seconds(60))
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Observation);

    FINALIZERS_REMAIN = Cause::gate(Gate::ObjectRemoved, "FinalizersRemain")
        .title("The node is done; the API side keeps the object")
        .meaning("The kubelet has released everything and its final status is in the API. What keeps the object is on \
            the API side: a finalizer that its controller has not removed. Nothing on this node can help.")
        .proof("The pod's phase is terminal, metadata.finalizers is not empty, and nothing of the pod is left on the \
            node, or its cgroup is removed (since 1.27 that comes last). While more is left, it is reported as what the \
            object waits for after that.")
        .safe(&[
            KUBELET_SAYS,
            step("Look at metadata.finalizers of the pod, find the controller that owns each, and bring it back; it \
                removes its own finalizer when its work is done"),
            check("Ask the API side what keeps {pod}: kubectl why-terminating"),
        ])
        .dont("Do not patch the finalizers away",
            "The work they stand for is never done: external resources, addresses or records leak.")
        .sources(&["reference: kubelet canBeDeleted, API-side look-alikes"])
        .event_reason("PodFinalizersRemain")
        .diagnosis(Proven::Observation);

    OBJECT_NOT_DELETED = Cause::gate(Gate::ObjectRemoved, "ObjectNotDeleted")
        .title("The kubelet's last delete of the pod has not been accepted")
        .meaning("The kubelet has released everything, its final status is in the API, and the pod has no finalizer. What \
            is left is the kubelet's own DELETE, with a grace period of 0, which it tries again every 10 s: most likely \
            an admission webhook or policy refuses it, or the kubelet is not allowed to.")
        .proof("The pod's phase is terminal, metadata.finalizers is empty, nothing of the pod is left on the node, and its \
            object is there minutes after its deadline. Who refuses is in the kubelet's log only.")
        .safe(&[
            READ_REASON,
            check("Ask the API side what keeps {pod}: kubectl why-terminating names a webhook that cannot be called; one that \
                answers and refuses is named in the kubelet's log only"),
            step("Repair that webhook or policy: the kubelet then deletes the object by itself, within 10 s"),
        ])
        .dont("Do not delete the webhook's configuration",
            "What it guards is unguarded for the whole cluster, and its operator may put it back at once.")
        .sources(&["reference: kubelet status manager syncPod, canBeDeleted"])
        .event_reason("PodObjectNotDeleted")
        .patience(Patience::NextTry)
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Observation);
}
