//! A process that has been killed and goes on: the kernel is still ending it.

use super::prelude::*;

/// The container has been killed, or ends by itself, and goes on with that.
pub fn exit_not_finished(
    view: &PodView,
    init: Option<&Process>,
    processes: &[&Process],
    head: &[Link],
    gate: Option<Gate>,
) -> Option<Finding> {
    // Processes and threads of a container that runs end all the time.
    if !init.map_or_else(|| processes.iter().all(|process| ends(process)), ends) {
        return None;
    }
    let threads = processes.iter().flat_map(|process| process.threads.iter().map(move |thread| (*process, thread)));
    let ending = threads.filter(|(process, thread)| process.is_ending(thread));
    let (process, thread, says) =
        ending.filter_map(|(process, thread)| Some((process, thread, goes_on(view, process, thread)?))).next()?;
    let draft = pod_finding(view, &cause::EXIT_NOT_FINISHED, gate, head)
        .probable("whether it ends in the end")
        .blame(
            describe::task(process, thread),
            format!("{}; killed or exiting, and {says}", describe::state_name(thread.state)),
        )
        .evidence(
            format!("/proc/{}/task/{}/{{stat,status}}", process.pid, thread.tid),
            if process.exits(thread) { "it exits" } else { "SIGKILL is pending" },
        )
        .root(process.pid);
    Some(draft.finish())
}

/// Whether all of it has been killed or is exiting.
fn ends(process: &Process) -> bool {
    process.kill_pending || process.threads.iter().all(|thread| thread.state == 'Z' || process.is_ending(thread))
}

/// Only what waits is looked at twice.
fn goes_on(view: &PodView, process: &Process, thread: &Thread) -> Option<&'static str> {
    match thread.state {
        'R' => Some("it runs"),
        'Z' => None,
        _ => (thread.may_pass() && !view.is_steady(process, thread)).then_some("it went on between two looks"),
    }
}

/// Whether it reports a container that is most likely only slow.
pub fn is_slow(finding: &Finding) -> bool {
    finding.cause.id == cause::EXIT_NOT_FINISHED.id
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    /// It unmaps a large memory.
    #[test]
    fn a_process_that_goes_on_ending() {
        let mut seen = sample::running();
        sample::exit_blocked(&mut seen, INIT, 'R', "");
        assert_eq!(causes(&seen), ["ExitNotFinished"]);
        let pod = judge(&seen).pods.remove(0);
        assert_eq!(pod.verdict, findings::Verdict::CannotTell);
        assert!(pod.findings[0].chain.last().unwrap().state.ends_with("and it runs"), "{pod:?}");
        // It was not seen twice.
        sample::exit_blocked(&mut seen, INIT, 'S', "pipe_read");
        seen.processes[0].threads[0].steady = false;
        assert_eq!(causes(&seen), Vec::<&str>::new());
        sample::exit_blocked(&mut seen, INIT, 'D', "folio_wait_bit_common");
        seen.processes[0].threads[0].steady = false;
        assert_eq!(causes(&seen), ["ExitNotFinished"]);
        assert!(judge(&seen).pods[0].findings[0].chain.last().unwrap().state.ends_with("between two looks"));
    }

    /// A shell goes through its loop, and the container has no SIGKILL.
    #[test]
    fn a_child_that_ends_is_nothing() {
        let mut seen = sample::running();
        let mut child = process(330, "sleep", 'R', INIT);
        (child.exiting, child.threads[0].exiting) = (true, true);
        child.owner = seen.processes[0].owner.clone();
        (child.pid_ns, child.mount_ns) = (seen.processes[0].pid_ns, seen.processes[0].mount_ns);
        seen.processes.push(child);
        seen.cgroups = sample::cgroup(&[INIT, 330]);
        assert!(!causes(&seen).contains(&"ExitNotFinished"), "{:?}", causes(&seen));
    }
}
