//! The init of a container has been killed and waits for the last members of its pid namespace.
//!
//! It sleeps in state S in `zap_pid_ns_processes` and is never the cause: that is a member in D, or
//! a zombie that a parent outside of the namespace does not reap.

use crate::cause::page::*;

causes! {
    PID_NAMESPACE_ZOMBIE_UNREAPED = Cause::gate(Gate::ContainersStopped, "PidNamespaceZombieUnreaped")
        .title("A zombie in the pid namespace is not reaped by its parent outside")
        .meaning("The container's init (with shareProcessNamespace the pause process) was killed and may end only when \
            its pid namespace is empty. One member of it, or of a namespace nested in it, is a zombie whose parent lives \
            outside (an exec helper, nsenter, setns) and does not reap it. Init waits in zap_pid_ns_processes with \
            SIGKILL pending, and the container stays RUNNING, or the sandbox READY.")
        .proof("/proc/<init>/wchan is zap_pid_ns_processes with SIGKILL (0x100) in ShdPnd; another process with the \
            same /proc/<pid>/ns/pid, or in a namespace below it, is Z without live threads, and its PPid is a process \
            with a shorter NSpid, so one outside.")
        .safe(&[
            step("End the parent that does not reap, {comm} (pid {parent_pid}), unless it is a shim, the runtime or \
                the kubelet: the zombie then goes to a process that reaps it")
                .run("kill {parent_pid}").lab("zombie-foreign-parent").if_known(),
            step("If the parent outside is the shim, the runtime or the kubelet, restart that one; \
                otherwise end the exec or nsenter session that started it"),
            step("If pid {parent_pid} does not react, kill it; work it has not finished is lost")
                .run("kill -9 {parent_pid}").if_known(),
        ])
        .dont("Do not run kill -9 on the zombie or on the container's init",
            "Nothing happens: the zombie is already dead and init has SIGKILL pending. Time is lost while the true \
                holder, the parent, continues.")
        .sources(&[
            "moby#37627", "kubernetes#66892", "reference: experiment with an unreaped child of a foreign parent",
        ])
        .event_reason("PodZombieUnreaped")
        .diagnosis(Proven::Lab("zombie-foreign-parent"));
}
