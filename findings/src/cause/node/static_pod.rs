//! Static pods, which the kubelet knows by name.

use crate::cause::page::*;

causes! {
    STATIC_POD_NAME_HELD = Cause::gate(Gate::ContainersStopped, "StaticPodNameHeld")
        .title("An old static pod runs on beside its successor")
        .meaning("A static pod's manifest was changed, which makes a pod with a new UID and the same full name. A kubelet \
            that was started in between knows the old one from the runtime only: it starts the new one at once and kills \
            the old one beside it. That has not ended, so two of one component run (perhaps of the control plane), with \
            the same ports and files.")
        .proof("CRI lists RUNNING containers of two static pods (UIDs of 32 hexadecimal digits) with the same namespace \
            and name, the younger for 15 s and more; the kubelet gives the older one a grace period of 1 s. A successor \
            that is held back has no container yet and is not seen.")
        .safe(&[
            check("Read what still runs under the old UID").run("{crictl} --runtime-endpoint {cri_endpoint} ps --id {container}"),
            step("Treat what blocks the old UID (see its own findings)"),
            step("Stop the container of the old UID").run("{crictl} --runtime-endpoint {cri_endpoint} stop {container}"),
        ])
        .dont("Do not run kubectl delete on the mirror pod",
            "The mirror object is only a picture: the kubelet makes it again, and nothing on the node changes.")
        .sources(&["kubernetes#109596", "kubernetes#112814", "kubernetes#116880", "kubernetes#107483"])
        .event_reason("PodStaticNameHeld")
        .diagnosis(Proven::Observation);
}
