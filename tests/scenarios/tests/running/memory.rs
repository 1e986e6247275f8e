//! Ten thousand mounts, and no more memory than the DaemonSet allows.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use lab::{NODE_NAME, Node, PodRef, PodSpec, cgroup, mounts, scenario};
use serde_json::json;

use super::agent::Agent;
use crate::ask;

const LIMIT: u64 = 64 << 20;
const PODS: usize = 100;
const VOLUMES: usize = 100;

/// It finds what is stuck among them, and is not killed.
pub fn small() -> anyhow::Result<()> {
    let node = Node::up(&lab::default_dir()).context("bring the node up")?;
    let found = check_among_many(&node);
    // Before the node goes, whose agent may be in it.
    found.and_then(|()| node.down().context("take the node down"))
}

fn check_among_many(node: &Node) -> anyhow::Result<()> {
    (scenario::find("cwd").context("the lab has no scenario cwd")?.stage)(node)?;
    (0..PODS).try_for_each(|number| pod_with_many_volumes(node, number))?;
    let count = mounts::below(&node.layout().kubelet_root().join("pods"))?.len();
    ensure!(count > PODS * VOLUMES, "{count} mounts are staged");
    let (agent, group) = limited(node, &node.layout().kubeconfig(), LIMIT, &[])?;
    agent.wait_held("VolumeHeldByProcess")?;
    let refused = cgroup::times_limited(&group)?;
    eprintln!("with {count} mounts the agent had at most {} resident", most_resident(&agent)?);
    ensure!(refused == 0, "the limit was met {refused} times");
    agent.terminate().map(drop)
}

/// An agent with so much memory, and its cgroup.
pub fn limited(node: &Node, kubeconfig: &Path, bytes: u64, flags: &[&str]) -> anyhow::Result<(Agent, PathBuf)> {
    let group = cgroup::with_memory_limit(&format!("{}/agent", cgroup::PODS), bytes)?;
    let mut enter = Command::new("sh");
    enter.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(group.join("cgroup.procs")).arg(ask::binary()?);
    let agent = Agent::start_by(enter, node, &node.layout().dir().join("log-run"), kubeconfig, flags)?;
    ensure!(cgroup::memory_limit_of(&agent.pid()?.to_string())? == bytes, "the agent runs without the limit");
    Ok((agent, group))
}

/// The most memory that it had, its program included.
pub fn most_resident(agent: &Agent) -> anyhow::Result<String> {
    let status = fs::read_to_string(format!("/proc/{}/status", agent.pid()?))?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("a status has VmHWM")?;
    Ok(resident.trim().to_owned())
}

/// A pod that runs as far as the API server knows, with a directory and its volumes.
fn pod_with_many_volumes(node: &Node, number: usize) -> anyhow::Result<()> {
    let spec = PodSpec::new(&format!("many-volumes-{number}"));
    let PodRef { namespace, name, uid } = &spec.pod;
    node.begin(uid)?;
    let object = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": uid},
        "spec": {"nodeName": NODE_NAME, "containers": []},
        "status": {"phase": "Running"},
    });
    node.store().put_pod(namespace, name, &object)?;
    let volumes = node.layout().pod_dir(uid).join("volumes/kubernetes.io~empty-dir");
    let first = volumes.join("volume-0");
    mounts::tmpfs(&first)?;
    for volume in 1..=VOLUMES {
        let path = volumes.join(format!("volume-{volume}"));
        fs::create_dir(&path)?;
        mounts::bind(&first, &path)?;
    }
    Ok(())
}
