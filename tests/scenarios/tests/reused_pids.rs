//! A pid that another process gets while the agent searches.

use anyhow::{Context, ensure};
use lab::{Launch, Node, process, scenario};

use super::{ask, compare};

/// A search that takes one process of the pid for the other does so in about one of sixteen checks.
const CHECKS: usize = 60;

/// The process that has the pid by now holds nothing, and a `kill` for it would end it.
pub fn accuse_no_other_process() -> anyhow::Result<()> {
    let node = Node::up(&lab::default_dir()).context("bring the node up")?;
    let staged = (scenario::find("mapped-file").context("the lab has no scenario mapped-file")?.stage)(&node)?;
    let volume = staged.expect.first().and_then(|expect| expect.names.get(1)).context("it names its volume")?;
    let part = ["stand-in", "reused-pid", "--map"];
    let scanner = node.launch(Launch::stand_in("scanner").args(part).arg(format!("{volume}/data")))?;
    for _ in 0..CHECKS {
        let answer = ask::check_for_scripts(&node)?;
        compare::expected(&staged, &answer).with_context(|| format!("the answer was:\n{}", answer.text))?;
        let is_accused = answer.text.split(|c: char| !c.is_alphanumeric()).any(|word| word == "cat");
        ensure!(!is_accused, "a process that holds nothing is accused:\n{}", answer.text);
    }
    let is_alive = process::state(scanner).is_some_and(|state| state != 'Z');
    ensure!(is_alive, "no pid was reused all the time: the stand-in has ended, see its log");
    node.down().context("take the node down")
}
