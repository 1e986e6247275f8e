//! The shim of a virtual machine or a kernel of its own, while the runtime calls its container RUNNING.

use super::kubelet::AT_THE_KUBELET;
use crate::cause::page::*;

causes! {
    SANDBOXED_GUEST_NOT_STOPPED = Cause::gate(Gate::ContainersStopped, "SandboxedGuestNotStopped")
        .title("The guest of a sandboxed runtime does not stop, or is gone")
        .meaning("The pod runs under a VM or sandboxed runtime (Kata, gVisor, wasm). Its processes are in a guest and \
            cannot be seen from the node; what runs here is their monitor, which is not killed when a container is. So \
            the node does not show whether the container was never asked to stop, or the guest cannot stop. Where the \
            guest has died, as a qemu that was killed, the shim still lives and asks a guest that cannot answer.")
        .proof("CRI lists the container as RUNNING past its deadline, and the process that stands in the bundle of its \
            sandbox runs another shim than containerd-shim-runc-*. What happens in the guest only the shim knows, so \
            this is only probable. The guest is gone where the container's pid is, and the shim has no child.")
        .safe(&[
            check("Ask the shim: its messages are in the runtime's log")
                .read(log_of!("runtime", "-15min", "{sandbox}")),
            check("Read the log of the container if it should have ended by now")
                .run("{crictl} --runtime-endpoint {cri_endpoint} logs --tail 50 {container}"),
            check("See whether the kernel killed the guest (out of memory)").run("dmesg -T"),
            check("Look into the guest with the tool of its runtime (kata-runtime exec, runsc debug)"),
            step("If the guest does not answer any more, end the shim, pid {shim_pid}: every container of the pod ends \
                at once, and what it has only in memory is lost")
                .run("kill {shim_pid}"),
        ])
        .dont("Do not run kill -9 on the monitor (qemu, cloud-hypervisor, runsc-sandbox)",
            "It is like pulling the plug of a machine: file systems that it has mounted are not written back.")
        .sources(&["gvisor#9834", "kata-runtime#2611", "containerd-wasm-shims#207"])
        .event_reason("PodSandboxedGuestNotStopped")
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Observation);
}
