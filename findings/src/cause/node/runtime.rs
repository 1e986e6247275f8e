//! The container runtime as a whole, and the names every finding's remedy may use.

use crate::cause::page::*;

causes! {
    RUNTIME_NOT_RESPONDING = Cause::node("RuntimeNotResponding")
        .title("The container runtime does not answer")
        .meaning("The runtime's socket takes connections, but requests stay without an answer: the process is stopped, \
            overloaded, or blocked inside. The kubelet learns nothing about containers and can stop none, so every \
            terminating pod of the node waits.")
        .proof("connect() to the CRI socket succeeds and a Version or List request gets no answer within its deadline, \
            in two looks; /proc/<runtime>/stat and its threads' states say whether it is T or D.")
        .safe(&[
            step("If the runtime, pid {pid}, is stopped (state T), let it run again")
                .run("kill -CONT {pid}").lab("containerd-stopped").if_known(),
            check("Read the runtime's last messages").read(log_of!("runtime", "-15min")),
            check("Look at load, memory and disk of the node; a runtime that is only slow recovers"),
            step("Restart the runtime; running containers stay").run("systemctl restart {runtime_unit}"),
        ])
        .dont("Do not kill the shims, or delete the runtime's state directory",
            "Every running container of the node is lost, and a volume mounted below may be wiped.")
        .sources(&["cri-o#6865", "kubernetes#121435", "reference: kubelet PLEG, CRI List hangs"])
        .event_reason("NodeRuntimeNotResponding")
        .diagnosis(Proven::Lab("containerd-stopped"));

    RUNTIME_NOT_REACHABLE = Cause::node("RuntimeNotReachable")
        .title("The container runtime cannot be reached")
        .meaning("The runtime's socket does not exist or refuses connections, so the runtime does not run or listens \
            elsewhere. The kubelet can neither list nor stop containers. The containers themselves may run on under \
            their shims.")
        .proof("connect() to the CRI socket that the kubelet uses gives ENOENT or ECONNREFUSED.")
        .safe(&[
            check("Read why the runtime ended").read(log_of!("runtime", "-1h")),
            step("Start the runtime; containers that still run are taken over again")
                .run("systemctl start {runtime_unit}"),
            check("Check that the kubelet's containerRuntimeEndpoint is the socket the runtime listens on"),
        ])
        .dont("Do not run kubectl delete pod --force for the pods of this node",
            "Their containers may still run under their shims; replacements elsewhere write the same data.")
        .sources(&["reference: kubelet CRI endpoints", "reference: containerd shims outlive containerd"])
        .event_reason("NodeRuntimeNotReachable")
        .diagnosis(Proven::Lab("containerd-killed"));
}
