//! A shim that lives on without anything below it, while the runtime calls its container RUNNING.

use super::kubelet::AT_THE_KUBELET;
use crate::cause::page::*;

causes! {
    SHIM_LEAKED = Cause::gate(Gate::ContainersStopped, "ShimLeaked")
        .title("A shim is left over from an exit that took too long")
        .meaning("The clean-up after an exit took longer than containerd's 10 s, usually an unmount under slow I/O. \
            containerd before the fix lost track of it: a shim remains for a sandbox that is gone, or a container \
            stays RUNNING without a task.")
        .proof("CRI lists a RUNNING container whose pid is gone, the sandbox has no process either, and a process that \
            runs containerd-shim-runc-* stands in the bundle of that sandbox and has no child.")
        .safe(&[
            check("Read the state of the shim").run("grep -e Name -e State -e PPid /proc/{shim_pid}/status").if_known(),
            check("Check that the disk is not overloaded and wait for the runtime's next try (up to 5 min)"),
            step("End the left-over shim, pid {shim_pid}, once no process of the pod is left under it")
                .run("kill {shim_pid}"),
            step("Upgrade containerd to a release with the fix (PR #8954; 1.7: #9003, 1.6: #9004)"),
        ])
        .dont("Killing all shims of the node", "Every running pod of this node loses its containers.")
        .sources(&["containerd#7496", "containerd#8931", "containerd#9309", "containerd#8954"])
        .event_reason("PodShimLeaked")
        .diagnosis(Proven::Observation);

    SANDBOXED_GUEST_NOT_STOPPED = Cause::gate(Gate::ContainersStopped, "SandboxedGuestNotStopped")
        .title("The container runs on in the guest of a sandboxed runtime")
        .meaning("The pod runs under a VM or sandboxed runtime (Kata, gVisor, wasm). Its processes are in a guest and \
            cannot be seen from the node; what runs here is their monitor, which is not killed when a container is. So \
            the node does not show whether the container was never asked to stop, or the guest cannot stop.")
        .proof("CRI lists the container as RUNNING past its deadline, and the process that stands in the bundle of its \
            sandbox runs another shim than containerd-shim-runc-*. What happens in the guest only the shim knows, so \
            this is never more than probable.")
        .safe(&[
            check("Ask the shim: its messages are in the runtime's log")
                .read(log_of!("runtime", "-15min", "{sandbox}")),
            check("Read the log of the container if it should have ended by now")
                .run("{crictl} --runtime-endpoint {cri_endpoint} logs --tail 50 {container}"),
            check("Look into the guest with the tool of its runtime (kata-runtime exec, runsc debug)"),
            step("If the guest does not answer any more, end the shim, pid {shim_pid}: every container of the pod ends \
                at once, and what it has only in memory is lost")
                .run("kill {shim_pid}"),
        ])
        .dont("kill -9 of the monitor (qemu, cloud-hypervisor, runsc-sandbox)",
            "It is like pulling the plug of a machine: file systems that it has mounted are not written back.")
        .sources(&["gvisor#9834", "kata-runtime#2611"])
        .event_reason("PodSandboxedGuestNotStopped")
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Observation);

    SANDBOXED_GUEST_GONE = Cause::gate(Gate::ContainersStopped, "SandboxedGuestGone")
        .title("The guest of a sandboxed runtime is gone")
        .meaning("The pod runs under a VM or sandboxed runtime (Kata, gVisor, wasm). Its guest has died, for example \
            the qemu process was killed, but the shim still lives and asks a guest that cannot answer. The containers \
            stay RUNNING.")
        .proof("CRI lists a RUNNING container whose pid is gone, and the process that stands in the bundle of its \
            sandbox runs another shim than containerd-shim-runc-* and has no child: no guest (qemu, the sentry, …) is \
            left below it.")
        .safe(&[
            check("See whether the kernel killed the guest (out of memory)").run("dmesg -T"),
            step("End the shim, pid {shim_pid}: the guest it serves no longer exists").run("kill {shim_pid}"),
            step("Upgrade the sandboxed runtime"),
        ])
        .dont("Killing shims of other pods, or deleting the sandbox's directory",
            "Other pods lose their containers; deleted directories may still have volumes mounted in them.")
        .sources(&["gvisor#9834", "kata-runtime#2611", "containerd-wasm-shims#207"])
        .event_reason("PodSandboxedGuestGone")
        .diagnosis(Proven::Observation);
}
