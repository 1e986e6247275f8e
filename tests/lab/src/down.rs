//! Taking down single scenarios on a node that stays.

use std::path::Path;

use anyhow::Context as _;
use lab::scenario::{Note, Scenario};
use lab::{Layout, Node};

use crate::prove::{LIMIT, cure};

/// Cures each scenario as `lab prove` does, and waits until its pods are gone.
pub fn down(dir: &Path, scenarios: &[&Scenario]) -> anyhow::Result<()> {
    let node = Node::open(dir)?;
    for scenario in scenarios {
        one(&node, scenario.name).with_context(|| format!("take {} down", scenario.name))?;
        println!("{} is gone", scenario.name);
    }
    Ok(())
}

fn one(node: &Node, name: &str) -> anyhow::Result<()> {
    let layout: &Layout = node.layout();
    let note = Note::read(layout, name)?.context("it is not staged here; `lab up` stages it")?;
    cure(node, &note)?;
    for pod in &note.pods {
        if note.fine {
            node.end(pod)?;
        }
        node.wait_gone(pod, LIMIT)?;
    }
    Note::remove(layout, name)
}
