//! The shim between the runtime and a container: stopped, hung in the kernel, not reaping, gone.

use findings::{Finding, Gate, Link, Placeholder, cause};

use super::{FindingBuilder, kill::is_shim, tracer, words};
use crate::{observation::Process, view::PodView};

/// Judges the parent of a container's (or a sandbox's) init.
pub fn find(
    view: &PodView,
    init: Option<&Process>,
    sandbox: &str,
    head: &[Link],
    gate: Option<Gate>,
) -> Option<Finding> {
    let init = init?;
    let parent = view.parent(init);
    match parent {
        Some(shim) if matches!(shim.state, 'T' | 't') || hangs(view, shim) => {
            Some(not_responding(view, init, shim, sandbox, head, gate))
        }
        _ if init.state == 'Z'
            && let Some(traced) = tracer::find(view, init, None, head, gate) =>
        {
            Some(traced)
        }
        Some(shim) if is_shim(shim) && init.state == 'Z' && init.thread_count <= 1 => {
            Some(unreaped(view, init, shim, head, gate))
        }
        Some(other) if is_shim(other) => None,
        // A virtual machine's monitor is nobody's child either, but lives in no pid namespace of its own.
        _ if init.parent == 1 && is_containerd(view) && init.ns_pids.len() > 1 => {
            Some(gone(view, init, sandbox, head, gate))
        }
        _ => None,
    }
}

/// A thread of it is in D and stays there: what it holds, the others wait for.
fn hangs(view: &PodView, shim: &Process) -> bool {
    is_shim(shim) && shim.threads.iter().any(|thread| thread.state == 'D' && view.is_steady(shim, thread))
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
    FindingBuilder::of_pod(view, &cause::SHIM_NOT_RESPONDING, gate, head)
        .link(words::process(init).and(", init of the container"), words::state(init.state))
        .blame(words::process(shim), words::state(shim.state))
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
    FindingBuilder::of_pod(view, &cause::CONTAINER_INIT_UNREAPED, gate, head)
        .link(words::process(init).and(", init of the container"), "Z (zombie): it has ended, nobody has reaped it")
        .blame(words::process(shim), format!("its parent, {}, does not reap it", words::state(shim.state)))
        .evidence(format!("/proc/{}/stat", init.pid), format!("state Z, 1 thread, parent {}", shim.pid))
        .evidence(format!("/proc/{}/stat", shim.pid), format!("state {}", shim.state))
        .name(Placeholder::ShimPid, shim.id())
        .name(Placeholder::ParentPid, shim.id())
        .name(Placeholder::Pid, init.id())
        .root(shim.pid)
        .finish()
}

fn gone(view: &PodView, init: &Process, sandbox: &str, head: &[Link], gate: Option<Gate>) -> Finding {
    FindingBuilder::of_pod(view, &cause::SHIM_GONE, gate, head)
        .link(
            words::process(init).and(", init of the container"),
            format!("{}, its parent is pid 1", words::state(init.state)),
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
    use crate::observation::sample::{self, causes, runtime};

    #[test]
    fn a_stopped_shim() {
        let mut seen = sample::running();
        seen.processes[1].state = 'T';
        assert_eq!(causes(&seen), ["ShimNotResponding"]);
    }

    #[test]
    fn a_shim_that_is_gone() {
        let mut seen = sample::running();
        seen.processes[0].parent = 1;
        assert_eq!(causes(&seen), ["ShimGone"]);
        runtime(&mut seen).name = "cri-o".into();
        assert_eq!(causes(&seen), ["CrioStopLoopStuck"], "conmon is no shim");
    }

    #[test]
    fn an_init_that_its_shim_does_not_reap() {
        let mut seen = sample::running();
        seen.processes[0].state = 'Z';
        seen.processes[0].threads[0].state = 'Z';
        assert_eq!(causes(&seen), ["ContainerInitUnreaped"]);
    }
}
