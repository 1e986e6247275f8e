//! A zombie that is traced: only its tracer can reap or release it.

use super::kill;
use super::prelude::*;

/// Who keeps `zombie`, or a thread of it that has ended, from being reaped by its parent. A tracer in the pid namespace that
/// ends with `ending` is killed with it, which releases the zombie.
pub fn find(
    view: &PodView,
    zombie: &Process,
    ending: Option<&Process>,
    head: &[Link],
    gate: Option<Gate>,
) -> Option<Finding> {
    let ended = zombie.threads.iter().all(|thread| matches!(thread.state, 'Z' | 'X'));
    let traced = zombie.threads.iter().find(|thread| thread.tracer.is_some()).filter(|_| ended)?;
    // Each tracer takes a moment to look at what has ended.
    if !view.is_steady(zombie, traced) {
        return None;
    }
    let tracer = view.tracer(traced)?;
    if ending.is_some_and(|init| !tracer.is_outside_of(init)) {
        return None;
    }
    let draft = pod_finding(view, &cause::ZOMBIE_HELD_BY_TRACER, gate, head)
        .link(describe::process(zombie), "Z (zombie): it has ended, and only its tracer can see that")
        .blame(
            describe::process(tracer),
            format!(
                "traces it and has not let it go, {}; {}",
                describe::state_name(tracer.state),
                describe::owner(&tracer.owner)
            ),
        )
        .evidence(
            format!("/proc/{}/task/{}/status", zombie.pid, traced.tid),
            format!("state Z in two looks a moment apart, TracerPid {}", tracer.pid),
        )
        .evidence(format!("/proc/{}/stat", tracer.pid), format!("state {}", tracer.state))
        .name(Placeholder::Pid, zombie.id())
        .name_if(Placeholder::TracerPid, kill::may_be_killed(view, tracer.id(), &tracer.comm))
        .name(Placeholder::Comm, &tracer.comm)
        .name_if(Placeholder::Owner, describe::stoppable_owner(&tracer.owner))
        .root(tracer.pid);
    Some(draft.finish())
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    /// gdb of a person on the node is attached to the init of the container, which has ended.
    fn traced() -> Observation {
        let mut seen = sample::running();
        (seen.processes[0].state, seen.processes[0].exiting) = ('Z', true);
        (seen.processes[0].threads[0].state, seen.processes[0].threads[0].tracer) = ('Z', Some(4242));
        seen.processes.push(process(4242, "gdb", 'S', 1));
        seen
    }

    #[test]
    fn the_tracer_is_blamed_and_not_the_shim() {
        let seen = traced();
        assert_eq!(causes(&seen), ["ZombieHeldByTracer"]);
        let text = serde_json::to_string(&judge(&seen).pods[0].findings).unwrap();
        assert!(text.contains("kill 4242") && !text.contains("kill -9 300"), "{text}");
        let mut passing = seen;
        passing.processes[0].threads[0].steady = false;
        assert!(!causes(&passing).contains(&"ZombieHeldByTracer"), "it may look at any moment");
    }

    /// Its threads are zombies of the tracer's too, so that it has more than one.
    #[test]
    fn a_process_with_threads() {
        let mut seen = traced();
        let thread = Thread { tid: INIT + 1, ..seen.processes[0].threads[0].clone() };
        seen.processes[0].threads.push(thread);
        seen.processes[0].thread_count = 2;
        assert_eq!(causes(&seen), ["ZombieHeldByTracer"]);
        seen.processes[0].threads[1].state = 'S';
        assert_eq!(causes(&seen), ["KillNotAttempted"], "it has not ended");
    }

    #[test]
    fn a_tracer_that_is_gone_is_not_blamed() {
        let mut seen = traced();
        seen.processes.pop();
        assert_eq!(causes(&seen), ["ShimNotResponding"]);
    }

    #[test]
    fn a_zombie_in_a_pid_namespace_that_ends() {
        let mut seen = sample::running();
        seen.processes[0].threads[0].wchan = Seen::Seen("zap_pid_ns_processes".into());
        let mut zombie = process(338, "java", 'Z', INIT);
        (zombie.pid_ns, zombie.ns_pids) = (Some(500), vec![338, 7]);
        zombie.threads[0].tracer = Some(4242);
        seen.processes.push(zombie);
        seen.processes.push(process(4242, "strace", 'S', 1));
        assert_eq!(causes(&seen), ["ZombieHeldByTracer"]);
        // A tracer inside is killed with the namespace.
        seen.processes[3].ns_pids = vec![4242, 9];
        assert_eq!(causes(&seen), Vec::<&str>::new());
    }
}
