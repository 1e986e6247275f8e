//! The init of a container has been killed and waits for the last members of its pid namespace.
//!
//! It sleeps in state S in `zap_pid_ns_processes` and is never the cause: that is a member in D, or
//! a zombie that a parent outside of the namespace does not reap.

use findings::{Finding, Gate, Link, Placeholder, cause};

use super::{Found, kill, runtime, uninterruptible, words};
use crate::{observation::Process, view::PodView};

/// What keeps the namespace of `init` from ending.
pub fn find(
    view: &PodView,
    init: Option<&Process>,
    processes: &[&Process],
    head: &[Link],
    gate: Option<Gate>,
) -> Vec<Finding> {
    let Some(init) = init.filter(|init| waits_for_members(init)) else { return Vec::new() };
    let mut head = head.to_vec();
    head.push(Link::new(
        words::process(init).and(", init of the container"),
        "dying: waits in zap_pid_ns_processes for the last member of its pid namespace",
    ));
    let others: Vec<&Process> = processes.iter().copied().filter(|process| process.pid != init.pid).collect();
    let mut found = uninterruptible::find(view, &others, &head, gate);
    found.extend(others.iter().filter_map(|zombie| unreaped(view, init, zombie, &head, gate)));
    found
}

fn waits_for_members(init: &Process) -> bool {
    // When the last member is its own child, it sleeps one call deeper, in do_wait.
    let in_zap = |function: &String| function == "zap_pid_ns_processes";
    init.threads.iter().any(|thread| {
        thread.wchan.get().is_some_and(in_zap) || thread.stack.get().is_some_and(|stack| stack.iter().any(in_zap))
    })
}

fn unreaped(view: &PodView, init: &Process, zombie: &Process, head: &[Link], gate: Option<Gate>) -> Option<Finding> {
    let is_plain_zombie = zombie.state == 'Z' && zombie.thread_count <= 1;
    let parent = view.parent(zombie)?;
    if !is_plain_zombie || parent.pid_ns == init.pid_ns {
        return None;
    }
    let cause = &cause::PID_NAMESPACE_ZOMBIE_UNREAPED;
    let found = runtime::named(view, Found::new(cause, gate).after(head))
        .link(words::process(zombie), "Z (zombie): it has ended, nobody has reaped it")
        .blame(
            words::process(parent),
            format!(
                "its parent, outside of the container, {}, does not reap it; {}",
                words::state(parent.state),
                words::owner(&parent.owner)
            ),
        )
        .evidence(format!("/proc/{}/{{wchan,stack}}", init.pid), "zap_pid_ns_processes")
        .evidence(format!("/proc/{}/stat", zombie.pid), format!("state Z, 1 thread, parent {}", parent.pid))
        .evidence(format!("/proc/{}/ns/pid", parent.pid), "another pid namespace than the zombie's")
        .name(Placeholder::Pid, zombie.id())
        .name_if(Placeholder::ParentPid, kill::may_be_killed(view, parent.id(), &parent.comm))
        .name(Placeholder::Comm, &parent.comm)
        .name_if(Placeholder::Owner, words::stoppable_owner(&parent.owner))
        .root(parent.pid);
    Some(found.finish())
}
