//! The shim between the runtime and a container: stopped, hung in the kernel, not reaping, gone.

use super::blocked_task::BlockedTask;
use super::kill::{is_conmon, is_shim};
use super::prelude::*;
use super::{tracer, uninterruptible};

/// Judges the parent of a container's (or a sandbox's) init.
pub fn find(
    view: &PodView,
    init: Option<&Process>,
    sandbox: &str,
    head: &[Link],
    gate: Option<Gate>,
) -> Option<Finding> {
    let init = init?;
    let parent = view.parent(init).filter(|parent| !is_conmon(parent));
    match parent {
        Some(shim) if matches!(shim.state, 'T' | 't') => Some(not_responding(view, init, shim, sandbox, head, gate)),
        Some(shim) if let Some(thread) = hung(view, shim) => {
            Some(hanging(view, init, shim, thread, sandbox, head, gate))
        }
        _ if init.state == 'Z'
            && let Some(traced) = tracer::find(view, init, None, head, gate) =>
        {
            Some(traced)
        }
        Some(shim) if is_shim(shim) && is_left(view, init) => Some(unreaped(view, init, shim, head, gate)),
        // A virtual machine's monitor has no parent either, but lives in no pid namespace of its own.
        _ if init.parent == 1 && is_containerd(view) && init.ns_pids.len() > 1 => {
            Some(gone(view, init, sandbox, head, gate))
        }
        _ => None,
    }
}

/// A zombie that stays one: its only thread has ended, and was not reaped a moment later either.
fn is_left(view: &PodView, init: &Process) -> bool {
    let only = init.threads.first().filter(|_| init.state == 'Z' && init.thread_count <= 1);
    only.is_some_and(|thread| view.is_steady(init, thread))
}

/// A thread of it that is in D and stays there: what it holds, the others may wait for. But not where a task of the pod
/// hangs itself: one that splices keeps the lock of its pipe, and the thread that reads this waits for the lock.
fn hung<'a>(view: &PodView, shim: &'a Process) -> Option<&'a Thread> {
    let mut blocked = shim.threads.iter().filter(|thread| thread.state == 'D');
    let thread = blocked.find(|thread| is_shim(shim) && view.is_steady(shim, thread))?;
    let hangs = |of: &Process| of.threads.iter().any(|thread| uninterruptible::hangs(view, of, thread));
    let is_pods = view.processes().iter().any(|of| of.pid != shim.pid && hangs(of));
    (!is_pods).then_some(thread)
}

/// A quarter of a second in D is long for a quiet disk and short for a busy one, and the other threads may well answer,
/// so this is only probable. Where the thread waits for a file server, that is the root.
fn hanging(
    view: &PodView,
    init: &Process,
    shim: &Process,
    thread: &Thread,
    sandbox: &str,
    head: &[Link],
    gate: Option<Gate>,
) -> Finding {
    let mut head = head.to_vec();
    head.push(Link::new(describe::process(init).and(", init of the container"), describe::state_name(init.state)));
    let mut why = uninterruptible::explain(view, &BlockedTask { process: shim, thread, head: &head, gate });
    if why.cause.id != cause::UNINTERRUPTIBLE_TASK.id {
        why.doubt("that the stop waits for this thread of the shim");
        return why;
    }
    let function = thread.wchan.get().filter(|wchan| !wchan.is_empty()).map_or("an unknown function", String::as_str);
    let words = describe::task_state(shim, thread);
    pod_finding(view, &cause::SHIM_NOT_RESPONDING, gate, &head)
        .probable("that the stop waits for this thread: the others of the shim run")
        .blame(describe::task(shim, thread), format!("{words}; one of {} threads of the shim", shim.thread_count))
        .evidence(format!("/proc/{}/task/{}/stat", shim.pid, thread.tid), "state D in two looks a moment apart")
        .evidence(format!("/proc/{}/task/{}/wchan", shim.pid, thread.tid), function)
        .evidence(format!("/proc/{}/stat", init.pid), format!("its parent is pid {}", shim.pid))
        .name(Placeholder::Pid, shim.id())
        .name(Placeholder::Tid, thread.tid)
        .name(Placeholder::Comm, &shim.comm)
        .name(Placeholder::Sandbox, sandbox)
        .root(shim.pid)
        .finish()
}

fn is_containerd(view: &PodView) -> bool {
    view.seen.runtime.get().is_none_or(|runtime| runtime.name == "containerd")
}

fn not_responding(
    view: &PodView,
    init: &Process,
    shim: &Process,
    sandbox: &str,
    head: &[Link],
    gate: Option<Gate>,
) -> Finding {
    pod_finding(view, &cause::SHIM_NOT_RESPONDING, gate, head)
        .link(describe::process(init).and(", init of the container"), describe::state_name(init.state))
        .blame(describe::process(shim), describe::state_name(shim.state))
        .evidence(format!("/proc/{}/stat", shim.pid), format!("state {}", shim.state))
        .evidence(format!("/proc/{}/stat", init.pid), format!("its parent is pid {}", shim.pid))
        .name(Placeholder::ShimPid, shim.id())
        .name(Placeholder::Pid, shim.id())
        .name(Placeholder::Comm, &shim.comm)
        .name(Placeholder::Sandbox, sandbox)
        .root(shim.pid)
        .finish()
}

fn unreaped(view: &PodView, init: &Process, shim: &Process, head: &[Link], gate: Option<Gate>) -> Finding {
    pod_finding(view, &cause::SHIM_NOT_RESPONDING, gate, head)
        .link(describe::process(init).and(", init of the container"), "Z (zombie): it has ended and was not reaped")
        .blame(describe::process(shim), format!("its parent, {}, does not reap it", describe::state_name(shim.state)))
        .evidence(
            format!("/proc/{}/stat", init.pid),
            format!("state Z in two looks a moment apart, 1 thread, parent {}", shim.pid),
        )
        .evidence(format!("/proc/{}/stat", shim.pid), format!("state {}", shim.state))
        .name(Placeholder::ShimPid, shim.id())
        .name(Placeholder::Pid, shim.id())
        .root(shim.pid)
        .finish()
}

fn gone(view: &PodView, init: &Process, sandbox: &str, head: &[Link], gate: Option<Gate>) -> Finding {
    pod_finding(view, &cause::SHIM_GONE, gate, head)
        .link(
            describe::process(init).and(", init of the container"),
            format!("{}, its parent is pid 1", describe::state_name(init.state)),
        )
        .blame(format!("shim of sandbox {}", sandbox.get(..12).unwrap_or(sandbox)), "it has died")
        .evidence(format!("/proc/{}/stat", init.pid), "parent 1: the shim that started it is gone")
        .name(Placeholder::Pid, init.id())
        .name(Placeholder::Sandbox, sandbox)
        .root(sandbox)
        .finish()
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    #[test]
    fn a_stopped_shim() {
        let mut seen = sample::running();
        seen.processes[1].state = 'T';
        assert_eq!(causes(&seen), ["ShimNotResponding"]);
    }

    /// Its leader sleeps, as that of any shim does.
    #[test]
    fn a_thread_of_the_shim_that_waits_for_a_disk() {
        let mut seen = sample::running();
        let shim = &mut seen.processes[1];
        let mut thread = shim.threads[0].clone();
        (thread.tid, thread.state, thread.wchan) = (305, 'D', Seen::Seen("jbd2_log_wait_commit".into()));
        shim.threads.push(thread);
        shim.thread_count = 9;
        let finding = crate::gates::judge(&seen).pods.remove(0).findings.remove(0);
        assert_eq!((finding.cause.id, finding.confidence), ("ShimNotResponding", findings::Confidence::Probable));
        let wchan = finding.evidence.iter().find(|one| one.source.ends_with("/wchan")).unwrap();
        assert_eq!(wchan.says, "jbd2_log_wait_commit");
        let text = serde_json::to_string(&finding).unwrap();
        assert!(text.contains("thread 305") && text.contains("jbd2_log_wait_commit"), "{text}");
        assert!(!text.contains("kill -9") && !text.contains("state S"), "{text}");
        seen.processes[1].threads[1].steady = false;
        assert_eq!(causes(&seen), ["KillNotAttempted"]);
        // The server of a file system is the root, also for other pods.
        seen.processes[1].threads[1].steady = true;
        seen.processes[1].threads[1].wchan = Seen::Seen("rpc_wait_bit_killable".into());
        sample::table(&mut seen).push(sample::mount(60, "0:55", "/data", "nfs4"));
        assert_eq!(causes(&seen), ["NfsServerNotResponding"]);
    }

    /// As on a real cluster: busybox' `cat` splices a file of a FUSE server that does not answer into its output.
    #[test]
    fn a_thread_of_the_shim_that_waits_for_the_pipe_of_a_task_in_d() {
        let mut seen = sample::running();
        sample::block(&mut seen, sample::INIT, "request_wait_answer");
        sample::table(&mut seen).push(sample::mount(60, "0:55", "/data", "fuse.s3fs"));
        let own = causes(&seen);
        let thread = &mut seen.processes[1].threads[0];
        (thread.state, thread.wchan) = ('D', Seen::Seen("anon_pipe_read".into()));
        assert_eq!(causes(&seen), own);
        assert!(!own.contains(&"ShimNotResponding"), "{own:?}");
    }

    #[test]
    fn a_shim_that_is_gone() {
        let mut seen = sample::running();
        seen.processes[0].parent = 1;
        assert_eq!(causes(&seen), ["ShimGone"]);
        seen.processes.push(sample::process(1, "systemd", 'S', 0));
        assert_eq!(causes(&seen), ["ShimGone"], "the process that adopts it is no shim");
        sample::with_crio(&mut seen);
        assert_eq!(causes(&seen), ["CrioStopLoopStuck"], "conmon is no shim");
    }

    #[test]
    fn conmon_is_not_waited_for() {
        let mut seen = sample::running();
        sample::with_crio(&mut seen);
        seen.processes[1].comm = "conmon".into();
        let with_conmon = causes(&seen);
        seen.processes[1].state = 'T';
        assert_eq!(causes(&seen), with_conmon);
        seen.processes[1].state = 'S';
        (seen.processes[0].state, seen.processes[0].threads[0].state) = ('Z', 'Z');
        assert!(!causes(&seen).contains(&"ShimNotResponding"), "{:?}", causes(&seen));
    }

    #[test]
    fn an_init_that_its_shim_does_not_reap() {
        let mut seen = sample::running();
        seen.processes[0].state = 'Z';
        seen.processes[0].threads[0].state = 'Z';
        assert_eq!(causes(&seen), ["ShimNotResponding"]);
        seen.processes[0].threads[0].steady = false;
        assert!(!causes(&seen).contains(&"ShimNotResponding"), "each process is a zombie for a moment");
        seen.processes[0].threads[0].steady = true;
        seen.processes[1].comm = "bash".into();
        assert!(!causes(&seen).contains(&"ShimNotResponding"), "only a shim has to");
    }
}
