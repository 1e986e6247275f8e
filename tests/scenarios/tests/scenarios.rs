//! Every scenario of the lab is a test: stage it, ask the real binary, compare, type the remedy as
//! it was printed, and see that the pod goes and the finding with it.

mod accuracy;
mod again;
mod ask;
mod compare;
mod container;
mod cure;
mod false_kubelets;
mod force;
mod kept;
mod kubectl;
mod page;
mod reused_pids;
mod running;
mod together;
mod two_kubelets;
mod typed;

use std::{process::ExitCode, time::Duration};

use anyhow::Context;
use lab::Node;
use lab::scenario::{self, Scenario};
use libtest_mimic::{Arguments, Conclusion, Trial};

/// How long the kubelet stand-in may take to get a cured pod out.
const GONE: Duration = Duration::from_secs(20);

fn main() -> ExitCode {
    // The lab's own processes are this binary again.
    if let Some(ended) = lab::standin::take_over() {
        return match ended {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error:#}");
                ExitCode::FAILURE
            }
        };
    }
    if scenario::has_own_machine() {
        // Its processor is emulated where /dev/kvm is of no use.
        lab::be_patient(5);
    }
    let mut arguments = Arguments::from_args();
    // All of them use the same node, the same cgroups and the same kernel.
    arguments.test_threads = Some(1);
    let staged = |scenario: &'static Scenario| {
        let why_not = scenario.obstacle();
        if let Some(why) = why_not {
            eprintln!("not tested here: {}: {why}", scenario.name);
        }
        trial(scenario.name, move || run(scenario)).with_ignored_flag(why_not.is_some())
    };
    let mut trials: Vec<Trial> = scenario::all().map(staged).collect();
    trials.extend(scenario::ODD.iter().map(|odd| trial(odd.name, || accuracy::odd(odd))));
    // Where the whole matrix is asked for, nothing else is.
    if let Ok(path) = std::env::var("ACCURACY") {
        trials = vec![trial("accuracy", move || accuracy::all(&path))];
        return libtest_mimic::run(&arguments, trials).exit_code();
    }
    trials.push(trial("in-pairs", accuracy::pairs));
    trials.push(trial("everything-dead-at-once", together::everything_dead));
    trials.push(trial("not-a-leak-itself", together::not_a_leak));
    trials.push(trial("without-the-api", together::without_api));
    trials.push(trial("judged-again", together::judged_again));
    trials.push(trial("before-a-deletion", together::before_a_deletion));
    trials.push(trial("what-a-force-would-cost", force::names_who_writes));
    trials.push(trial("false-kubelets", false_kubelets::are_not_believed));
    trials.push(trial("reused-pids", reused_pids::accuse_no_other_process));
    trials.push(trial("two-kubelets", two_kubelets::each_has_its_own_pods));
    trials.push(trial("in-a-container", container::sees_what_root_sees));
    trials.push(trial("runs-as-deployed", container::runs_as_deployed));
    trials.push(trial("shown-by-kubectl", kubectl::shows_our_events));
    trials.push(trial("shown-by-the-page", page::shows_what_the_agent_found));
    trials.push(trial("typed-with-kubectl", typed::read_only_commands));
    trials.push(trial("rights", container::rights));
    trials.extend(running::on_a_node_of_its_own());
    let is_listing = arguments.list;
    let alone = libtest_mimic::run(&arguments, trials);
    let together = running::on_one_node(arguments);
    let too_many = again::tell();
    let together = match together {
        Ok(ended) => ended,
        Err(error) => {
            eprintln!("{error:#}");
            return ExitCode::FAILURE;
        }
    };
    let has_run = |ended: &Conclusion| ended.num_passed + ended.num_failed > 0;
    if !is_listing && ![&alone, &together].into_iter().any(has_run) {
        eprintln!("no test has run: the filter matches none that can be staged on this machine");
        return ExitCode::FAILURE;
    }
    match () {
        () if alone.has_failed() => alone.exit_code(),
        () if too_many => ExitCode::FAILURE,
        () => together.exit_code(),
    }
}

fn trial(name: &'static str, test: impl Fn() -> anyhow::Result<()> + Send + 'static) -> Trial {
    Trial::test(name, move || again::run(name, &test))
}

fn run(scenario: &Scenario) -> anyhow::Result<()> {
    let node = Node::up(&lab::default_dir()).context("bring the node up")?;
    let staged = (scenario.stage)(&node).context("stage the situation")?;
    let answer = ask::check(&node)?;
    compare::expected(&staged, &answer).with_context(|| format!("the answer was:\n{}", answer.text))?;
    kept::names_what_is_staged(scenario, &node, &staged)?;
    cure::apply(scenario, &node, &staged, &answer).with_context(|| format!("the answer was:\n{}", answer.text))?;
    if staged.ends {
        for pod in &staged.pods {
            node.wait_gone(pod, GONE).context("after the remedy")?;
        }
        let after = ask::check(&node)?;
        compare::clear(&staged, &after).with_context(|| format!("after the remedy the answer was:\n{}", after.text))?;
    }
    node.down().context("take the node down")
}
