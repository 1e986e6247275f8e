//! Static pods, which the kubelet knows by name.

use crate::Gate;
use crate::cause::entry::{Cause, Danger, Proven, step};

causes! {
    /// An old static pod keeps the full name that its successor needs.
    STATIC_POD_NAME_HELD = Cause::at(Gate::ContainersStopped, "StaticPodNameHeld")
        .title("An old static pod holds the name of its successor")
        .meaning("A static pod's manifest was changed, which makes a pod with a new UID and the same full name. The \
            kubelet starts it only when the worker of the old UID has finished. The old one has not, so a component \
            (perhaps of the control plane) does not start.")
        .proof("Two UIDs of the same namespace and name are known from CRI labels or cgroups, and the containers of \
            the old one still run or its worker has not finished.")
        .safe(&[
            step("Treat what blocks the old UID (see its own findings); the new pod then starts after 10 to 15 s"),
            step("Stop the container of the old UID").run("crictl stop {container}"),
            step("If the worker of the old UID still does not finish, restart the kubelet; running containers stay")
                .run("systemctl restart {kubelet_unit}"),
        ])
        .danger(Danger::new(
            "kubectl delete of the mirror pod",
            "The mirror object is only a picture: the kubelet makes it again, and nothing on the node changes.",
        ))
        .sources(&["kubernetes#109596", "kubernetes#112814", "kubernetes#116880", "kubernetes#107483"])
        .event_reason("PodStaticNameHeld")
        .diagnosis(Proven::Observation);
}
