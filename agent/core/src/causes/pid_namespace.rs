//! The init of a container has been killed and waits for the last members of its pid namespace.
//!
//! It sleeps in state S in `zap_pid_ns_processes` and is never the cause: that is a member in D, or
//! a zombie that a parent outside of the namespace does not reap.

use findings::{Finding, Gate, Link, Placeholder, cause};

use super::{FindingBuilder, kill, tracer, uninterruptible, words};
use crate::{observation::Process, view::PodView};

/// What keeps the namespace of `init` from ending.
pub fn find(
    view: &PodView,
    init: Option<&Process>,
    processes: &[&Process],
    head: &[Link],
    gate: Option<Gate>,
) -> Vec<Finding> {
    let Some(init) = init.filter(|init| init.is_in_zap()) else { return Vec::new() };
    let mut head = head.to_vec();
    head.push(Link::new(
        words::process(init).and(", init of the container"),
        "dying: waits in zap_pid_ns_processes for the last member of its pid namespace",
    ));
    let others: Vec<&Process> = processes.iter().copied().filter(|process| process.pid != init.pid).collect();
    let mut found = uninterruptible::find(view, &others, &head, gate);
    let zombies = others.iter().filter(|process| process.state == 'Z');
    found.extend(zombies.filter_map(|zombie| {
        tracer::find(view, zombie, init.pid_ns, &head, gate).or_else(|| unreaped(view, init, zombie, &head, gate))
    }));
    found
}

fn unreaped(view: &PodView, init: &Process, zombie: &Process, head: &[Link], gate: Option<Gate>) -> Option<Finding> {
    let is_plain_zombie = zombie.thread_count <= 1;
    let parent = view.parent(zombie)?;
    if !is_plain_zombie || parent.pid_ns == init.pid_ns {
        return None;
    }
    let found = FindingBuilder::of_pod(view, &cause::PID_NAMESPACE_ZOMBIE_UNREAPED, gate, head)
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

#[cfg(test)]
mod tests {
    use crate::observation::{
        sample::{self, INIT, causes, process},
        *,
    };

    #[test]
    fn a_zombie_inside_with_a_parent_inside_is_no_cause() {
        let mut seen = sample::running();
        seen.processes[0].threads[0].wchan = Seen::Seen("zap_pid_ns_processes".into());
        let mut zombie = process(338, "probe", 'Z', INIT);
        zombie.pid_ns = Some(500);
        zombie.ns_pids = vec![338, 7];
        seen.processes.push(zombie);
        assert!(!causes(&seen).contains(&"PidNamespaceZombieUnreaped"));
        // The same zombie with a parent outside.
        seen.processes[2].parent = 900;
        seen.processes.push(process(900, "nsenter", 'S', 1));
        assert_eq!(causes(&seen), ["PidNamespaceZombieUnreaped"]);
    }
}
