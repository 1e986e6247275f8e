//! The agent's image, run as the deployment says.

use std::{collections::BTreeSet, path::PathBuf, process::Command};

use anyhow::{Context, ensure};
use findings::NodeReport;
use lab::{
    Node,
    agent_pod::{AgentPod, Deployment, Ended},
    scenario::{self, Staged},
};

use super::ask;

/// A task in D, a volume that is held, and a volume the kubelet cannot read: what they need differs.
const STAGED: [&str; 3] = ["dstate-fuse", "cwd", "vol-data-empty"];

/// In the container the agent finds what it finds on the host as root, without a flag.
pub fn sees_what_root_sees() -> anyhow::Result<()> {
    let image = image()?;
    let node = Node::up(&lab::default_dir()).context("bring the node up")?;
    stage(&node)?;
    let deployment = Deployment::read()?;
    let pod = AgentPod::new(&node, &deployment, &image).context("make the agent's pod")?;
    let ended = pod.run(&deployment.settings()?, &["check", "-o", "json"])?;
    let inside = report(&ended)?;
    let outside = ask::check(&node)?;
    let text = serde_json::to_string_pretty(&inside)?;
    ensure!(found(&inside) == found(&outside.report), "in the container:\n{text}\non the host:\n{}", outside.text);
    ensure!(ended.code == outside.code, "the exit code is {}:\n{text}", ended.code);
    ensure!(inside.unknown.is_empty(), "in the container something could not be looked at:\n{text}");
    node.down().context("take the node down")
}

fn stage(node: &Node) -> anyhow::Result<Vec<Staged>> {
    let stage = |name: &&str| {
        let scenario = scenario::find(name).with_context(|| format!("the lab has no scenario {name}"))?;
        (scenario.stage)(node).with_context(|| format!("stage {name}"))
    };
    STAGED.iter().map(stage).collect()
}

fn report(ended: &Ended) -> anyhow::Result<NodeReport> {
    serde_json::from_str(&ended.stdout)
        .with_context(|| format!("the answer ({}) is no report: {}{}", ended.code, ended.stdout, ended.stderr))
}

/// Which cause holds which pod.
fn found(report: &NodeReport) -> BTreeSet<(String, &'static str, String)> {
    let of_pods = report.pods.iter().flat_map(|pod| {
        pod.findings.iter().map(|finding| (pod.pod.to_string(), finding.cause.0.id, finding.root.clone()))
    });
    let of_node = report
        .node_findings
        .iter()
        .map(|found| ("the node".to_owned(), found.finding.cause.0.id, found.finding.root.clone()));
    of_pods.chain(of_node).collect()
}

/// Builds the image, so that never an old one is tested. After the first time it takes seconds.
fn image() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe()?;
    // <target>/debug/deps/<this test>
    let target = own.ancestors().nth(3).context("the test stands in no target directory")?;
    let archive = target.join("static/agent-for-tests.oci.tar");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let done = Command::new(cargo)
        .args(["run", "--quiet", "--package", "xtask", "--", "image", "--profile", "dev", "--output"])
        .arg(&archive)
        .env("CARGO_TARGET_DIR", target)
        .output()
        .context("start cargo")?;
    ensure!(done.status.success(), "the image could not be made: {}", String::from_utf8_lossy(&done.stderr));
    Ok(archive)
}
