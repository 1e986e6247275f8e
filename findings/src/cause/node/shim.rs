//! The shim between the runtime and a container: stopped, hung in the kernel, not reaping, gone.

use crate::cause::page::*;

const KILL_SHIM: Advice = step(
    "Kill this shim; containerd cleans up after it, and every container of this pod that still runs ends at once, without \
        its grace period",
)
.run("kill -9 {shim_pid}")
.if_known();

causes! {
    SHIM_NOT_RESPONDING = Cause::gate(Gate::ContainersStopped, "ShimNotResponding")
        .title("The containerd shim does not respond")
        .meaning("The runtime reaches every container of a pod through one shim process. This shim lives but does not \
            answer: it is stopped, or its threads are blocked. Stop requests run into their deadline and the \
            containers stay as they are. An init that has ended stays a zombie, because only the shim can reap it, and \
            the runtime never hears of the exit.")
        .proof("The shim, the parent of the container's init, is in state T, and CRI still reports RUNNING. A thread of it \
            that is D in two looks a quarter of a second apart makes it only probable: the others may answer. Or the init \
            is a zombie with a single thread in two such looks, and its parent is the shim of the sandbox. \
            containerd may log: get state for <id>: context deadline exceeded.")
        .safe(&[
            step("If shim pid {shim_pid} is stopped (state T), let it run again")
                .run("kill -CONT {shim_pid}").lab("shim-stopped").if_known(),
            step("Ask the shim for a stack dump: it shows where it hangs").run("kill -USR1 {shim_pid}").if_known(),
            check("If a thread of it is in state D, look again in a minute, and if it is still there see what it waits \
                for: repair that disk or file system")
                .run("cat /proc/{pid}/task/{tid}/stack").if_known(),
            check("Look at load, memory and disk of the node; a shim that is only slow recovers"),
            KILL_SHIM,
        ])
        .dont("Do not run kubectl delete pod --force",
            "The containers keep running behind the hung shim and nothing stops them any more; a replacement can write \
                the same data.")
        .sources(&["containerd#2438", "containerd#6080", "containerd#11133", "containerd#3781", "moby#41323"])
        .event_reason("PodShimNotResponding")
        .diagnosis(Proven::Lab("shim-stopped"));

    SHIM_GONE = Cause::gate(Gate::ContainersStopped, "ShimGone")
        .title("The shim is gone while the container still runs")
        .meaning("The shim of this sandbox has died, but the container's init lives on with another parent. containerd \
            normally notices this and cleans up within seconds. If it lasts, containerd has missed it (it was down, or \
            could not load the shim again), and no stop request can reach the container.")
        .proof("CRI says RUNNING, and the container's init lives in a pid namespace of its own with pid 1 as its \
            parent: the shim that started it, and would be its parent, is gone.")
        .safe(&[
            check("Read what the runtime says of its containers").run("{crictl} --runtime-endpoint {cri_endpoint} ps -a"),
            check("Wait a minute and look again: containerd usually cleans up after a lost shim by itself"),
            step("Restart the runtime so that it loads its state again; other containers keep running")
                .run("systemctl restart {runtime_unit}"),
            step("If it still lives after its grace period, kill the container's init, pid {pid}; data that the \
                application has only in memory is lost")
                .run("kill -9 {pid}").lab("shim-killed"),
        ])
        .dont("Do not run kubectl delete pod --force",
            "The container runs on with neither a shim nor an API object to find it by; a replacement can write the \
                same data.")
        .sources(&[
            "containerd#8285", "containerd#9132",
            "reference: containerd \"shim disconnected\", \"failed to clean up after shim disconnected\"",
        ])
        .event_reason("PodShimGone")
        .diagnosis(Proven::Observation);
}
