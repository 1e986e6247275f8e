//! Typing the remedy.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use findings::{Advice, Finding, Proven};
use lab::Node;
use lab::scenario::{Cure, Scenario, Staged};

use super::ask::{self, Answer};

/// How long one command may take, and how long its effect is waited for before the next is typed.
const STEP: Duration = Duration::from_secs(8);

/// Does what the answer says, or what the scenario knows to be meant by words that are no command.
pub fn apply(scenario: &Scenario, node: &Node, staged: &Staged, answer: &Answer) -> anyhow::Result<()> {
    match &staged.cure {
        Cure::None => Ok(()),
        Cure::ByHand(repair) => {
            checks(scenario, staged, answer)?;
            repair.apply(node).context("cure by hand")
        }
        Cure::Printed => printed(scenario, node, staged, answer),
    }
}

/// Types the printed commands that this scenario proves, beside which something else has to be done.
fn checks(scenario: &Scenario, staged: &Staged, answer: &Answer) -> anyhow::Result<()> {
    let findings = staged.expect.iter().filter_map(|expect| expect.cause).flat_map(|cause| findings_of(cause, answer));
    for finding in findings {
        let is_proven = |text: &str| finding.cause.safe.iter().any(|advice| is_proven_here(scenario, advice, text));
        let steps = finding.remedy.steps.iter().filter(|step| step.tested && is_proven(&step.text));
        steps.filter_map(|step| step.command.as_deref()).try_for_each(type_in)?;
    }
    Ok(())
}

fn is_proven_here(scenario: &Scenario, advice: &Advice, text: &str) -> bool {
    is_text_of(advice, text) && advice.proven == Proven::Lab(scenario.name)
}

fn printed(scenario: &Scenario, node: &Node, staged: &Staged, answer: &Answer) -> anyhow::Result<()> {
    let mut helped = false;
    let mut is_first = true;
    for expect in &staged.expect {
        let cause = expect.cause.context("a printed cure belongs to a cause")?;
        for finding in findings_of(cause, answer) {
            let helps = steps(scenario, node, staged, finding)?;
            as_said(finding, helps, is_first)?;
            helped |= helps;
            is_first = false;
        }
    }
    ensure!(helped, "none of the printed commands helped");
    Ok(())
}

/// What is said to be enough is enough, and what is not, by itself, is not.
fn as_said(finding: &Finding, helps: bool, is_first: bool) -> anyhow::Result<()> {
    let cause = finding.cause.id;
    match finding.must_end_too.as_deref() {
        Some([]) => ensure!(helps, "the end of {cause} is said to be enough, and was not"),
        Some(others) if is_first => ensure!(!helps, "the end of {cause} was enough, without that of {others:?}"),
        _ => {}
    }
    Ok(())
}

fn findings_of<'a>(cause: &'a str, answer: &'a Answer) -> impl Iterator<Item = &'a Finding> {
    let of_pods = answer.report.pods.iter().flat_map(|pod| &pod.findings);
    let of_node = answer.report.node_findings.iter().map(|found| &found.finding);
    of_pods.chain(of_node).filter(move |finding| finding.cause.id == cause)
}

/// Types the printed commands that are said to be tested, in their order, until one has helped.
/// Every advice of which the registry says that this scenario has proven it must be among them.
fn steps(scenario: &Scenario, node: &Node, staged: &Staged, finding: &Finding) -> anyhow::Result<bool> {
    let mut typed = Vec::new();
    let mut helped = false;
    for step in finding.remedy.steps.iter().filter(|step| step.tested) {
        let Some(command) = &step.command else { continue };
        // What another scenario has proven may follow: some steps only prepare the next.
        if !is_claimed_here(scenario, finding, &step.text) && typed.is_empty() {
            continue;
        }
        type_in(command)?;
        typed.push(step.text.as_str());
        helped = is_over(node, staged)?;
        if helped {
            break;
        }
    }
    for advice in finding
        .cause
        .safe
        .iter()
        .filter(|advice| advice.command.is_some() && advice.proven == Proven::Lab(scenario.name))
    {
        ensure!(
            typed.iter().any(|text| is_text_of(advice, text)),
            "the registry says that this scenario proves {:?}, and it was not typed",
            advice.text
        );
    }
    Ok(helped)
}

fn is_claimed_here(scenario: &Scenario, finding: &Finding, text: &str) -> bool {
    finding.cause.safe.iter().any(|advice| is_proven_here(scenario, advice, text))
        // A scenario that nothing was written for may still use what another one has proven.
        || finding.cause.safe.iter().all(|advice| advice.proven != Proven::Lab(scenario.name))
}

/// Whether a step's text comes from this advice: they are the same up to the first placeholder.
fn is_text_of(advice: &Advice, text: &str) -> bool {
    let fixed = advice.text.split('{').next().unwrap_or_default();
    text.starts_with(fixed)
}

fn type_in(command: &str) -> anyhow::Result<()> {
    let mut shell = Command::new("sh").args(["-c", command]).spawn().context("start a shell")?;
    let before = Instant::now();
    loop {
        if let Some(status) = shell.try_wait()? {
            ensure!(status.success(), "`{command}` failed: {status}");
            return Ok(());
        }
        if before.elapsed() > lab::patient(STEP) {
            shell.kill()?;
            bail!("`{command}` did not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether all pods are gone, or, where the scenario has none, whether the node is clear.
fn is_over(node: &Node, staged: &Staged) -> anyhow::Result<bool> {
    let before = Instant::now();
    while before.elapsed() < lab::patient(STEP) {
        let gone = staged.pods.iter().map(|pod| node.remains(pod)).collect::<Result<Vec<_>, _>>();
        let gone = gone.is_ok_and(|left| left.iter().all(Vec::is_empty));
        if gone && (!staged.pods.is_empty() || ask::check(node)?.code == 0) {
            return Ok(true);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok(false)
}
