//! The container runtime as a whole, and the names every finding's remedy may use.

use crate::cause::page::*;

causes! {
    RUNTIME_NOT_RESPONDING = Cause::node("RuntimeNotResponding")
        .title("The container runtime does not answer")
        .meaning("The runtime's socket takes connections, but requests stay without an answer: the process is stopped, \
            overloaded, or blocked inside. Or the socket does not exist or refuses connections: the runtime does not run, or \
            listens elsewhere, and its containers may run on under their shims. The kubelet learns nothing about containers \
            and can stop none, so every terminating pod of the node waits.")
        .proof("connect() to the CRI socket that the kubelet uses gives ENOENT or ECONNREFUSED; or it succeeds and a Version or \
            List request gets no answer within its deadline, in two looks: /proc/<runtime>/stat and its threads' states \
            say whether it is T or D.")
        .safe(&[
            step("If the runtime, pid {pid}, is stopped (state T), let it run again")
                .run("kill -CONT {pid}").lab("containerd-stopped").if_known(),
            check("Read the runtime's last messages").read(log_of!("runtime", "-1h")),
            check("Look at load, memory and disk of the node; a runtime that is only slow recovers"),
            step("Restart the runtime, or start it; running containers stay").run("systemctl restart {runtime_unit}"),
            check("If it runs, check that the kubelet's containerRuntimeEndpoint is the socket that it listens on"),
        ])
        .dont("Do not kill the shims, delete the runtime's state directory, or force-delete the pods of this node",
            "Every running container of the node is lost, and a volume mounted below may be wiped. What a force-deleted \
                pod runs may go on under its shim, beside its replacement on the same data.")
        .sources(&["cri-o#6865", "kubernetes#121435", "reference: kubelet PLEG, CRI List hangs",
            "reference: kubelet CRI endpoints", "reference: containerd shims outlive containerd"])
        .event_reason("NodeRuntimeNotResponding")
        .diagnosis(Proven::Lab("containerd-stopped"));
}
