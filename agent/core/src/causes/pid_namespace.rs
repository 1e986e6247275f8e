//! The init of a pid namespace, a container's or the whole pod's, has been killed and waits for the last members of its pid namespace.
//!
//! It sleeps in state S in `zap_pid_ns_processes` and is never the cause: that is a member in D, or
//! a zombie that a parent outside of the namespace does not reap.

use super::prelude::*;
use super::{kill, tracer, uninterruptible};

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
    let of = if gate == Some(Gate::SandboxStopped) { "the pod's pid namespace" } else { "the container" };
    head.push(Link::new(
        describe::process(init).and(&format!(", init of {of}")),
        "dying: waits in zap_pid_ns_processes for the last member of its pid namespace",
    ));
    let others: Vec<&Process> = processes.iter().copied().filter(|process| process.pid != init.pid).collect();
    let mut findings = uninterruptible::find(view, &others, &head, gate);
    let zombies = others.iter().filter(|process| process.state == 'Z');
    findings.extend(zombies.filter_map(|zombie| {
        tracer::find(view, zombie, Some(init), &head, gate).or_else(|| unreaped(view, init, zombie, &head, gate))
    }));
    findings
}

fn unreaped(view: &PodView, init: &Process, zombie: &Process, head: &[Link], gate: Option<Gate>) -> Option<Finding> {
    let is_plain_zombie = zombie.thread_count <= 1;
    let parent = view.parent(zombie)?;
    if !is_plain_zombie || !parent.is_outside_of(init) {
        return None;
    }
    let draft = pod_finding(view, &cause::PID_NAMESPACE_ZOMBIE_UNREAPED, gate, head)
        .link(describe::process(zombie), "Z (zombie): it has ended and was not reaped")
        .blame(
            describe::process(parent),
            format!(
                "its parent, outside of the container, {}, does not reap it; {}",
                describe::state_name(parent.state),
                describe::owner(&parent.owner)
            ),
        )
        .evidence(format!("/proc/{}/{{wchan,stack}}", init.pid), "zap_pid_ns_processes")
        .evidence(format!("/proc/{}/stat", zombie.pid), format!("state Z, 1 thread, parent {}", parent.pid))
        .evidence(format!("/proc/{}/status", parent.pid), "NSpid: a pid namespace above that of the zombie")
        .name(Placeholder::Pid, zombie.id())
        .name_if(Placeholder::ParentPid, kill::may_be_killed(view, parent.id(), &parent.comm))
        .name(Placeholder::Comm, &parent.comm)
        .name_if(Placeholder::Owner, describe::stoppable_owner(&parent.owner))
        .root(parent.pid);
    Some(draft.finish())
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

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

    /// As in Docker in Docker: the zombie's parent is in a pid namespace within the container's.
    #[test]
    fn a_parent_in_a_nested_namespace_is_not_outside() {
        let mut seen = sample::running();
        seen.processes[0].threads[0].wchan = Seen::Seen("zap_pid_ns_processes".into());
        let nested = |pid: u32, comm: &str, state: char, parent: u32| {
            let mut process = process(pid, comm, state, parent);
            (process.pid_ns, process.ns_pids) = (Some(777), vec![pid, pid - 300, pid - 330]);
            process.owner = seen.processes[0].owner.clone();
            process
        };
        let inner = [nested(341, "cc1", 'Z', 340), nested(340, "make", 'S', INIT)];
        seen.processes.extend(inner);
        seen.cgroups = sample::cgroup(&[INIT, 340, 341]);
        assert_eq!(causes(&seen), Vec::<&str>::new());
    }

    /// The pause process is the init of all containers.
    #[test]
    fn a_pod_with_one_pid_namespace() {
        let mut seen = sample::running();
        let facts = sample::runtime(&mut seen);
        facts.containers[0].state = ContainerState::Exited;
        let mut pause = process(310, "pause", 'S', sample::SHIM);
        (pause.pid_ns, pause.ns_pids, pause.kill_pending) = (Some(500), vec![310, 1], true);
        pause.threads[0].wchan = Seen::Seen("zap_pid_ns_processes".into());
        let mut zombie = process(345, "tcpdump", 'Z', 900);
        (zombie.pid_ns, zombie.ns_pids) = (Some(500), vec![345, 33]);
        seen.processes = vec![pause, process(sample::SHIM, "containerd-shim", 'S', 1), zombie];
        seen.processes.push(process(900, "debug-agent", 'S', 1));
        assert_eq!(causes(&seen), ["PidNamespaceZombieUnreaped"]);
        assert_eq!(crate::gates::judge(&seen).pods[0].gate, Some(findings::Gate::SandboxStopped));
    }
}
