//! The agent holds nothing of what it looks at.

use anyhow::{Context, ensure};
use lab::{Node, scenario};

use super::agent::Agent;
use crate::together::run;

/// While it looks, a volume of a stuck pod can be mounted and unmounted.
pub fn none() -> anyhow::Result<()> {
    let node = Node::up(&lab::default_dir()).context("bring the node up")?;
    let staged = (scenario::find("cwd").context("the lab has no scenario cwd")?.stage)(&node)?;
    let pod = staged.pods.first().context("cwd stages a pod")?;
    let volume = node.layout().pod_dir(&pod.uid).join("volumes/kubernetes.io~empty-dir/looked-at");
    std::fs::create_dir_all(&volume)?;
    let log = node.layout().dir().join("log-run");
    let agent = Agent::start(&node, &log, &node.layout().kubeconfig(), &[])?;
    agent.wait_scans(1)?;
    let scans = || anyhow::Ok(agent.metrics()?.sum("why_terminating_scan_duration_seconds_count"));
    let (before, mut rounds) = (scans()?, 0);
    while rounds < 100 || scans()? < before + 3.0 {
        run("mount", &["-t", "tmpfs", "looked-at"], &volume)?;
        std::thread::sleep(std::time::Duration::from_millis(20));
        run("umount", &[], &volume).with_context(|| format!("in round {rounds}"))?;
        rounds += 1;
        ensure!(rounds < 2000, "the agent does not look");
    }
    std::fs::remove_dir(&volume)?;
    agent.terminate()?;
    node.down().context("take the node down")
}
