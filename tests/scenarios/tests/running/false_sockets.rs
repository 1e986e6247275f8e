//! Processes at the sockets of the runtime and of CSI drivers try to exhaust the agent's memory: it has half of what the
//! DaemonSet allows.

use std::fs;

use anyhow::{Context, ensure};
use lab::{Launch, Node, cgroup};

use super::hostile::{LIMIT, on};
use super::memory::{limited, most_resident};
use crate::ask;

const DRIVERS: usize = 60;

/// Sixty registration sockets answer without end.
pub fn drivers() -> anyhow::Result<()> {
    on("csi-socket-missing", |node| {
        let registry = node.layout().kubelet_root().join("plugins_registry");
        fs::create_dir_all(&registry)?;
        let calls = node.layout().dir().join("calls");
        for number in 0..DRIVERS {
            let server = server("endless", "", &calls).arg("--socket").arg(registry.join(format!("{number}-reg.sock")));
            node.launch(server)?;
        }
        let (agent, group) = limited(node, &node.layout().kubeconfig(), LIMIT, &[])?;
        agent.wait_scans(3)?;
        let served = calls_of(&calls, "GetInfo")?;
        eprintln!("{served} endless answers: {}, {}", most_resident(&agent)?, cgroup::times_limited(&group)?);
        ensure!(served >= DRIVERS, "it has asked {served} times");
        agent.terminate().map(drop)
    })
}

/// The runtime's socket is another process's; each manner ends in calls of this method.
pub fn runtime() -> anyhow::Result<()> {
    on("vol-data-missing", |node| {
        [
            ("endless", "List"),
            ("slow", "Version"),
            ("garbage", "connection"),
            ("empty", "List"),
            ("pairs", "List"),
            ("ids", "List"),
            ("name", "Version"),
            ("statuses", "ContainerStatus"),
        ]
        .into_iter()
        .try_for_each(|(manner, method)| beside(node, manner, method).with_context(|| manner.to_owned()))
    })
}

fn beside(node: &Node, manner: &str, method: &str) -> anyhow::Result<()> {
    let [socket, calls] = ["sock", "calls"].map(|end| node.layout().dir().join(format!("{manner}.{end}")));
    let answer = ask::check(node)?;
    let [pod] = answer.report.pods.as_slice() else { anyhow::bail!("one pod is stuck:\n{}", answer.text) };
    node.launch(server(manner, pod.pod.uid.as_str(), &calls).arg("--socket").arg(&socket))?;
    let endpoint = format!("--cri-endpoint=unix://{}", socket.display());
    let (agent, group) = limited(node, &node.layout().kubeconfig(), LIMIT, &[&endpoint])?;
    agent.wait_scans(3)?;
    let served = calls_of(&calls, method)?;
    eprintln!("{manner}: {served} answers, {}, {}", most_resident(&agent)?, cgroup::times_limited(&group)?);
    ensure!(served > 0, "{method} was not called");
    agent.terminate().map(drop)
}

fn server(manner: &str, pod: &str, calls: &std::path::Path) -> Launch {
    let server = Launch::stand_in("false").args(["stand-in", "false-runtime", "--manner", manner, "--pod", pod]);
    server.arg("--calls").arg(calls)
}

fn calls_of(calls: &std::path::Path, method: &str) -> anyhow::Result<usize> {
    let calls = fs::read_to_string(calls).context("read which calls were made")?;
    Ok(calls.lines().filter(|call| call.contains(method)).count())
}
