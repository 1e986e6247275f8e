//! From the first sight of a finding to its end, each reported once.

use std::{process::Command, time::Duration};

use anyhow::{Context, ensure};
use jiff::Timestamp;
use lab::{NODE_NAME, Node, scenario, scenario::Staged};
use serde_json::Value;

use super::agent::Agent;
use super::events::{Events, series};

/// A cause that does not pass by itself, a holder, and a task in D.
const SCENARIOS: &[&str] = &["vol-data-missing", "cwd", "dstate-fuse"];
/// What they cause, and after how many seconds it may be reported at the earliest: a proven holder needs two scans that are
/// three seconds apart, a task in D whose wait is proven to stay two that are four seconds apart.
const CAUSES: &[(&str, u64)] = &[("VolDataMissing", 0), ("VolumeHeldByProcess", 3), ("FuseServerNotResponding", 4)];

/// Findings are reported when they were seen often enough, and renewed. One end is reported by the agent that reported the
/// finding, the others by its successor.
pub fn told() -> anyhow::Result<()> {
    let node = Node::up(&lab::default_dir()).context("bring the node up")?;
    let staged = SCENARIOS.iter().map(|name| stage(&node, name)).collect::<anyhow::Result<Vec<_>>>()?;
    let start =
        |flags: &[&str]| Agent::start(&node, &node.layout().dir().join("log-run"), &node.layout().kubeconfig(), flags);
    let events = |cause: &str| anyhow::Ok(Events::of(&node.store())?.of_cause(cause));
    let began = Timestamp::now();
    let agent = start(&["--event-renewal=10s", "--event-refill=1s"])?;
    for (cause, earliest) in CAUSES {
        let line = agent.wait_held(cause)?;
        let after = began.duration_until(time(&line)?).unsigned_abs();
        ensure!(after >= Duration::from_secs(*earliest), "{cause} is reported after {after:?}");
        agent.wait(&format!("{cause} is in an Event"), || Ok((events(cause)?.count() == (1, 0)).then_some(())))?;
    }
    let order: Vec<Value> = agent.said("a pod is held")?.iter().map(|line| line["cause"].clone()).collect();
    ensure!(order.iter().eq(CAUSES.iter().map(|(cause, _)| cause)), "they are reported in the order {order:?}");
    agent.wait("one is renewed", || Ok((series(events("VolDataMissing")?.warning()?) >= 2).then_some(())))?;
    cure(&node, &staged[0])?;
    agent.wait_over("VolDataMissing")?;
    agent.wait("its end is reported", || Ok((events("VolDataMissing")?.count() == (1, 1)).then_some(())))?;
    let ended = agent.terminate()?;
    ensure!(ended.last["dropped"] == 0, "it says {}", ended.last);
    staged[1..].iter().try_for_each(|staged| cure(&node, staged))?;
    let agent = start(&[])?;
    for (cause, _) in CAUSES {
        agent.wait(&format!("the end of {cause} is reported"), || {
            Ok((events(cause)?.count() == (1, 1)).then_some(()))
        })?;
    }
    agent.wait_scans(2)?;
    let metrics = agent.metrics()?;
    ensure!(metrics.sum("why_terminating_findings") == 0.0, "there are findings left");
    ensure!(metrics.sum("why_terminating_pods") == 0.0, "there are pods left");
    let all = Events::of(&node.store())?;
    ensure!(all.count() == (CAUSES.len(), CAUSES.len()), "{all:#?}");
    all.check(&node_uid(&node)?)?;
    agent.terminate()?;
    let refused: Vec<_> = node.store().requests()?.into_iter().filter(|request| request.status >= 400).collect();
    ensure!(refused.is_empty(), "the API server refused {refused:#?}");
    node.down().context("take the node down")
}

fn stage(node: &Node, name: &str) -> anyhow::Result<Staged> {
    let scenario = scenario::find(name).with_context(|| format!("the lab has no scenario {name}"))?;
    (scenario.stage)(node).with_context(|| format!("stage {name}"))
}

/// What the lab knows to help; that the printed words do is another test.
fn cure(node: &Node, staged: &Staged) -> anyhow::Result<()> {
    for command in &staged.known_good {
        let status = Command::new("sh").args(["-c", command]).status().context("run sh")?;
        ensure!(status.success(), "`{command}` failed: {status}");
    }
    staged.pods.iter().try_for_each(|pod| node.wait_gone(pod, super::LIMIT))
}

fn node_uid(node: &Node) -> anyhow::Result<String> {
    let object = node.store().node(NODE_NAME)?.context("the lab has a Node")?;
    Ok(object["metadata"]["uid"].as_str().context("it has a uid")?.to_owned())
}

fn time(line: &Value) -> anyhow::Result<Timestamp> {
    Ok(line["timestamp"].as_str().context("a line has a time")?.parse()?)
}
