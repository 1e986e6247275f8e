//! What a forced deletion would cost, of a pod that really writes.

use anyhow::{Context, ensure};
use lab::{Node, scenario};

use super::ask;

/// Who has which file of which volume open is in JSON and in `-o wide`, and the line says it.
pub fn names_who_writes() -> anyhow::Result<()> {
    let node = Node::up(&lab::default_dir()).context("bring the node up")?;
    let staged = (scenario::find("dstate-writer").context("the lab has no scenario dstate-writer")?.stage)(&node)?;
    let task = staged.expect.first().and_then(|expect| expect.names.first()).context("it names its task")?;
    let answer = ask::check(&node)?;
    let cost = answer.report.pods.first().and_then(|pod| pod.force.as_ref());
    let cost = cost.with_context(|| format!("nothing is said of a forced deletion:\n{}", answer.text))?;
    let process = format!("pid {task} cat");
    let writer = cost.writers.iter().find(|writer| writer.process == process).context("its task writes")?;
    let told = (writer.volume.as_str(), writer.file.as_str(), writer.fd, writer.ending);
    ensure!(told == ("pvc-journal", "/data/journal", Some(3), true), "{writer:?}");
    ensure!(cost.writer_count == 1 && cost.writers_not_seen.is_none(), "{cost:?}");
    let words = answer.text.split_whitespace().collect::<Vec<_>>().join(" ");
    for told in [
        "volume pvc-journal open for writing".to_owned(),
        format!("{process} has /data/journal of volume pvc-journal open for writing (descriptor 3)"),
    ] {
        ensure!(words.contains(&told), "{told:?} is not said:\n{}", answer.text);
    }
    node.down().context("take the node down")
}
