//! What `check` says of each scenario that proves a cause, kept for the page of that cause in `docs/causes`.
//! `KEEP_ANSWERS=1 cargo test -p scenarios --test scenarios` writes them again; read the difference.

use std::fs;

use anyhow::{Context, ensure};
use findings::{Proven, cause};
use lab::Node;
use lab::scenario::{Scenario, Staged};

use super::ask;

/// The kept answer names what is staged. Its words are held to the registry by `xtask docs`.
pub fn names_what_is_staged(scenario: &Scenario, node: &Node, staged: &Staged) -> anyhow::Result<()> {
    let is_proven_here = |id: &str| {
        cause::find(id).is_some_and(|cause| matches!(cause.diagnosis, Proven::Lab(name) if name == scenario.name))
    };
    if !staged.expect.iter().filter_map(|expect| expect.cause).any(is_proven_here) {
        return Ok(());
    }
    let file = answers::folder("lab").join(format!("{}.txt", scenario.name));
    if std::env::var_os("KEEP_ANSWERS").is_some() {
        fs::write(&file, ask::shown(node)?).with_context(|| format!("write {}", file.display()))?;
    }
    let kept =
        fs::read_to_string(&file).with_context(|| format!("read {}; KEEP_ANSWERS=1 writes it", file.display()))?;
    for id in staged.expect.iter().filter_map(|expect| expect.cause) {
        let said = format!("ROOT CAUSE {id}:");
        ensure!(kept.contains(&said), "{} lacks {said:?}; KEEP_ANSWERS=1 writes it anew", file.display());
    }
    Ok(())
}
