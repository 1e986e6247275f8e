//! A process that has been killed and goes on: the kernel is still ending it.

use findings::{Finding, Gate, Link, Placeholder, cause};

use super::{finding_builder::of_pod, words};
use crate::{
    observation::{Process, Thread},
    view::PodView,
};

/// It has been killed, and goes on.
pub fn exit_not_finished(view: &PodView, processes: &[&Process], head: &[Link], gate: Option<Gate>) -> Option<Finding> {
    let threads = processes.iter().flat_map(|process| process.threads.iter().map(move |thread| (*process, thread)));
    let goes_on = |process: &Process, thread: &Thread| {
        thread.state != 'Z' && process.is_ending(thread) && !view.is_steady(process, thread)
    };
    let (process, thread) = threads.into_iter().find(|(process, thread)| goes_on(process, thread))?;
    let found = of_pod(view, &cause::EXIT_NOT_FINISHED, gate, head)
        .probable("whether it ends in the end: it has run between two looks")
        .blame(
            words::task(process, thread),
            format!("{}; killed or exiting, and it goes on", words::state(thread.state)),
        )
        .evidence(
            format!("/proc/{}/task/{}/{{stat,status}}", process.pid, thread.tid),
            if process.exits(thread) { "it exits" } else { "SIGKILL is pending" },
        )
        .name_if(Placeholder::Pid, process.asked())
        .root(process.pid);
    Some(found.finish())
}

#[cfg(test)]
mod tests {
    use crate::{
        gates::judge,
        observation::sample::{self, INIT, causes},
    };

    /// It unmaps a large memory.
    #[test]
    fn a_process_that_goes_on_ending() {
        let mut seen = sample::running();
        sample::exit_blocked(&mut seen, INIT, 'R', "");
        seen.processes[0].threads[0].steady = false;
        assert_eq!(causes(&seen), ["ExitNotFinished"]);
        let pod = judge(&seen).pods.remove(0);
        assert_eq!(pod.verdict, findings::Verdict::CannotTell);
        let steps = serde_json::to_string(&pod.findings[0].remedy.steps).unwrap();
        assert!(steps.contains(&format!("/proc/{INIT}/status")) && !steps.contains("kill"), "{steps}");
    }
}
