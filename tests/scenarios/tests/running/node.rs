//! What the agent asks on the node fails while something is stuck.

use anyhow::{Context, ensure};
use findings::Gate;
use lab::{Node, PodRef, Restart, process, scenario};
use nix::sys::signal::Signal;

use super::{agent::Agent, events::Events, ground::CAUSE};

/// containerd is stopped, killed and started again, then the kubelet is gone and comes back: each fault is reported and
/// ends, and earlier findings stay.
pub fn faults() -> anyhow::Result<()> {
    let node = Node::up(&lab::default_dir()).context("bring the node up")?;
    let pod = stage(&node, "vol-data-missing")?;
    // No process can be seen below the --cgroup-root of a kubelet that is gone.
    let frozen = stage(&node, "nested-cgroup")?;
    let log = node.layout().dir().join("log-run");
    let agent = Agent::start(&node, &log, &node.layout().kubeconfig(), &["--event-refill=1s", "--scans=1"])?;
    agent.wait_held(CAUSE)?;
    agent.wait_held("CgroupFrozen")?;

    let containerd = node.containerd_pid()?;
    process::signal(containerd, Signal::SIGSTOP)?;
    agent.wait_held("RuntimeNotResponding")?;
    process::signal(containerd, Signal::SIGCONT)?;
    agent.wait_over("RuntimeNotResponding")?;

    process::signal(containerd, Signal::SIGKILL)?;
    process::wait_end(containerd)?;
    agent.wait_held("RuntimeNotResponding")?;
    node.start_runtime()?;
    agent.wait_over("RuntimeNotResponding")?;

    let kubelet = node.kubelet_pid()?;
    process::signal(kubelet, Signal::SIGKILL)?;
    process::wait_end(kubelet)?;
    agent.wait_held("KubeletNotRunning")?;
    agent.wait_scans(2)?;
    node.restart_kubelet(Restart::default())?;
    agent.wait_over("KubeletNotRunning")?;
    agent.wait_scans(2)?;

    let ended = agent.terminate()?;
    ensure!(ended.last["dropped"] == 0, "it says {}", ended.last);
    let events = Events::of(&node.store())?;
    for cause in ["RuntimeNotResponding", "KubeletNotRunning"] {
        let told = events.clone().of_cause(cause).count();
        ensure!(told == (1, 1), "{cause}: {told:?} in {events:#?}");
    }
    ensure!(events.clone().about(&pod.uid).count() == (1, 0), "{events:#?}");
    // While the runtime is silent, the same process is reported as holding its containers.
    let told = events.clone().about(&frozen.uid).at(Gate::CgroupRemoved).count();
    ensure!(told == (1, 0), "{told:?} in {events:#?}");
    node.down().context("take the node down")
}

fn stage(node: &Node, name: &str) -> anyhow::Result<PodRef> {
    let scenario = scenario::find(name).context("the lab has no such scenario")?;
    (scenario.stage)(node)?.pods.pop().context("it stages a pod")
}
