//! The lab's test of itself: each scenario is staged, cured with what is known to work, and must
//! then end as it says.

use std::{path::Path, process::Command, time::Duration};

use anyhow::Context as _;
use lab::Node;
use lab::scenario::{Cure, Note, Scenario, Staged};

/// How long the kubelet stand-in may take after the cure.
pub const LIMIT: Duration = Duration::from_secs(30);

/// Goes through the scenarios, each on a node of its own.
pub fn prove(dir: &Path, scenarios: &[&Scenario]) -> anyhow::Result<()> {
    let mut failed = Vec::new();
    for scenario in scenarios {
        match prove_one(dir, scenario) {
            Ok(()) => println!("ok     {}", scenario.name),
            Err(error) => {
                println!("FAILED {}: {error:#}", scenario.name);
                failed.push(scenario.name);
            }
        }
    }
    anyhow::ensure!(failed.is_empty(), "not as they say: {}", failed.join(", "));
    Ok(())
}

fn prove_one(dir: &Path, scenario: &Scenario) -> anyhow::Result<()> {
    let node = Node::up(dir)?;
    let staged = (scenario.stage)(&node).context("stage")?;
    lasts(&node, &staged)?;
    cure(&node, &Note::of(&staged))?;
    if staged.ends {
        for pod in &staged.pods {
            node.wait_gone(pod, LIMIT)?;
        }
    }
    node.down()
}

/// What needs a cure must not go away without it.
fn lasts(node: &Node, staged: &Staged) -> anyhow::Result<()> {
    if matches!(staged.cure, Cure::None) {
        return Ok(());
    }
    std::thread::sleep(Duration::from_secs(3));
    for pod in &staged.pods {
        // A runtime that does not answer is what some scenarios are about.
        let left = node.remains_on_disk(pod)?;
        anyhow::ensure!(!left.is_empty(), "pod {} went away without the cure", pod.name);
    }
    Ok(())
}

/// Does what is known to help.
pub fn cure(node: &Node, note: &Note) -> anyhow::Result<()> {
    for command in &note.commands {
        let output = Command::new("sh").args(["-c", command]).output()?;
        let why = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "the cure `{command}` failed: {why}");
    }
    match note.repair {
        Some(repair) => repair.apply(node).context("cure by hand"),
        None if note.commands.is_empty() && !note.fine => anyhow::bail!("the lab knows no cure to test itself with"),
        None => Ok(()),
    }
}
