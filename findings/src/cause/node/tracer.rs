//! A zombie that is traced: only its tracer can reap or release it.

use crate::cause::page::*;

causes! {
    ZOMBIE_HELD_BY_TRACER = Cause::gate(Gate::ContainersStopped, "ZombieHeldByTracer")
        .title("A debugger holds a process that has ended")
        .meaning("A process of the container has ended, and another one traces it (gdb, strace, a profiler). A zombie \
            that is traced is shown to its tracer only: the shim, or the init of the container, cannot reap it before \
            the tracer has waited for it, lets it go or ends. So the runtime keeps the container RUNNING.")
        .proof("All threads of the process are Z, TracerPid in /proc/<pid>/task/<tid>/status names a process that is \
            there, and it is the init of a container that is RUNNING in the CRI, or a member of a pid namespace whose \
            init waits in zap_pid_ns_processes (then the tracer is not a member of it).")
        .safe(&[
            check("Read what the tracer is").run("grep -e Name -e State -e PPid -e Uid /proc/{tracer_pid}/status").if_known(),
            step("Detach or quit the debugger"),
            step("End the tracer, {comm} (pid {tracer_pid}): what it traces goes back to its parent")
                .run("kill {tracer_pid}").lab("traced-zombie").if_known(),
            step("If pid {tracer_pid} is stopped or does not react, kill it").run("kill -9 {tracer_pid}").if_known(),
        ])
        .dont("Do not run kill -9 on the shim or on the zombie",
            "The zombie is dead already, and its parent cannot reap it as long as it is traced: nothing is won, and \
                without the shim every other container of the pod ends at once.")
        .sources(&["reference: Linux kernel/exit.c wait_consider_task (a zombie ptracee is only visible to its ptracer)"])
        .event_reason("PodZombieUnreaped")
        .diagnosis(Proven::Lab("traced-zombie"));
}
