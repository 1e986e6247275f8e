//! A shim that lives on without anything below it, while the runtime calls its container RUNNING.

use crate::Gate;
use crate::cause::entry::{Cause, Danger, Proven, step};

causes! {
    /// A slow unmount made the runtime forget a shim.
    SHIM_LEAKED = Cause::at(Gate::ContainersStopped, "ShimLeaked")
        .title("A shim is left over from an exit that took too long")
        .meaning("The clean-up after an exit took longer than containerd's 10 s, usually an unmount under slow I/O. \
            containerd before the fix lost track of it: a shim remains for a sandbox that is gone, or a container \
            stays RUNNING without a task.")
        .proof("CRI lists a RUNNING container whose pid is gone, the sandbox has no process either, and a process that \
            runs containerd-shim-runc-* stands in the bundle of that sandbox and has no child.")
        .safe(&[
            step("Check that the disk is not overloaded and wait for the runtime's next try (up to 5 min)"),
            step("End the left-over shim, pid {shim_pid}, once no process of the pod is left under it")
                .run("kill {shim_pid}"),
            step("Upgrade containerd to a release with the fix (PR #8954; 1.7: #9003, 1.6: #9004)"),
        ])
        .danger(Danger::new("Killing all shims of the node", "Every running pod of this node loses its containers."))
        .sources(&["containerd#7496", "containerd#8931", "containerd#9309", "containerd#8954"])
        .event_reason("PodShimLeaked")
        .diagnosis(Proven::Observation);

    /// The guest of a VM or sandboxed runtime is gone, its shim stays.
    SANDBOXED_GUEST_GONE = Cause::at(Gate::ContainersStopped, "SandboxedGuestGone")
        .title("The guest of a sandboxed runtime is gone")
        .meaning("The pod runs under a VM or sandboxed runtime (Kata, gVisor, wasm). Its guest has died, for example \
            the qemu process was killed, but the shim still lives and asks a guest that cannot answer. The containers \
            stay RUNNING.")
        .proof("CRI lists a RUNNING container whose pid is gone, and the process that stands in the bundle of its \
            sandbox runs another shim than containerd-shim-runc-* and has no child: no guest (qemu, the sentry, …) is \
            left below it.")
        .safe(&[
            step("See whether the kernel killed the guest (out of memory)").run("dmesg -T"),
            step("End the shim, pid {shim_pid}: the guest it serves no longer exists").run("kill {shim_pid}"),
            step("Upgrade the sandboxed runtime"),
        ])
        .danger(Danger::new(
            "Killing shims of other pods, or deleting the sandbox's directory",
            "Other pods lose their containers; deleted directories may still have volumes mounted in them.",
        ))
        .sources(&["gvisor#9834", "kata-runtime#2611", "containerd-wasm-shims#207"])
        .event_reason("PodSandboxedGuestGone")
        .diagnosis(Proven::Observation);
}
