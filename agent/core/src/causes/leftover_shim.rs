//! A shim that lives on without anything below it, while the runtime calls its container RUNNING.

use findings::{Finding, Gate, Link, Placeholder, cause};

use super::{Found, runtime, words};
use crate::{
    observation::{Container, Process, Question, Seen, Shim},
    view::{PodView, UNMOUNT_RETRY_MS},
};

const GATE: Option<Gate> = Some(Gate::ContainersStopped);

/// The shim of a container whose processes are all gone: leaked, or of a guest that has died.
pub fn find(view: &PodView, container: &Container, processes: &[&Process], head: &[Link]) -> Option<Finding> {
    let Seen::Seen(pid) = container.pid else { return None };
    let is_gone = view.process(pid).is_none() && processes.is_empty() && !view.is_unreadable(pid);
    let sandbox = view.sandboxes.iter().find(|sandbox| sandbox.id == container.sandbox);
    let pause = sandbox.and_then(|sandbox| sandbox.pid.get()).and_then(|pid| view.process(*pid));
    if !is_gone || pause.is_some() {
        return None;
    }
    view.seen.is_settled(Question::Shims(container.sandbox.clone()));
    let shim = view.seen.shims.iter().find(|shim| shim.sandbox == container.sandbox)?;
    if shim.children != Seen::Seen(0) {
        return None;
    }
    let program = shim.program_name().filter(|name| name.starts_with("containerd-shim-"))?;
    let is_runc = program.starts_with("containerd-shim-runc-");
    let (cause, what) = if is_runc {
        (&cause::SHIM_LEAKED, "nothing is left below it")
    } else {
        (&cause::SANDBOXED_GUEST_GONE, "its guest is gone")
    };
    let found = runtime::named(view, Found::new(cause, GATE).after(head))
        .link(format!("pid {pid}, init of the container"), "it does not exist any more")
        .blame(words::pid(shim.pid, &shim.comm, shim.state), format!("{}, {what}", words::state(shim.state)))
        .evidence(format!("CRI ContainerStatus {}", container.id), format!("RUNNING, pid {pid}"))
        .evidence(format!("/proc/{pid}"), "no such process")
        .evidence(format!("/proc/{}/exe", shim.pid), program)
        .evidence(format!("/proc/{}/cwd", shim.pid), format!("the bundle of sandbox {}", shim.sandbox))
        .evidence(format!("/proc/{}/task/*/children", shim.pid), "none")
        .name(Placeholder::Container, &container.id)
        .name(Placeholder::Sandbox, &container.sandbox)
        .name(Placeholder::ShimPid, shim.id())
        .root(root(shim));
    // The runtime may still be at its clean-up.
    Some(if view.is_overdue_by(UNMOUNT_RETRY_MS) { found } else { found.probable() }.finish())
}

fn root(shim: &Shim) -> String {
    format!("{}:{}", shim.pid, shim.start_ticks)
}
