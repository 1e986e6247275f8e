//! The crowded node and its stuck pods.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;
use lab::{Launch, Node, PodRef, PodSpec, scenario::Staged};
use nix::{sys::signal::Signal, unistd::Pid};

use crate::crowd::{Crowd, Plan};

/// How many pods are stuck in the end of the comparison.
pub const STUCK: usize = 3;

/// How crowded the node shall be.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Size {
    /// Pods, the stuck ones included
    #[arg(long, default_value_t = 110)]
    pub pods: usize,
    /// Processes of the crowd, with 25 open files each
    #[arg(long, default_value_t = 2000)]
    pub processes: usize,
    /// Private mount namespaces of the crowd
    #[arg(long, default_value_t = 50)]
    pub namespaces: usize,
    /// Mounts in all these namespaces together
    #[arg(long, default_value_t = 20_000)]
    pub mounts: usize,
}

/// A node with many pods that run, and a crowd in them.
pub struct Crowded {
    // Dropped in this order: the crowd dies before its node.
    _crowd: Crowd,
    /// The node.
    pub node: Node,
}

impl Crowded {
    /// Makes it in `dir`, with room for `stuck` pods that come later.
    pub fn up(dir: &Path, size: Size, stuck: usize) -> anyhow::Result<Self> {
        eprintln!("bench: making a node …");
        keep_from_children();
        let node = Node::up(dir)?;
        let pods = running_pods(&node, 0..size.pods.saturating_sub(stuck))?;
        eprintln!("bench: gathering {} processes …", size.processes);
        let inhabited = pods.get(..size.namespaces).context("fewer pods than mount namespaces: give more --pods")?;
        let mounts = size.mounts.checked_div(size.namespaces).unwrap_or(0);
        let crowd = Crowd::gather(&node, &Plan::new(&node, inhabited, size.processes, mounts))?;
        Ok(Self { _crowd: crowd, node })
    }
}

/// Keeps what a shell left open from every process of the node: each would have one descriptor far behind its others.
fn keep_from_children() {
    // SAFETY: nothing is closed in this process, and what it opens itself is closed in its children anyway.
    #[expect(unsafe_code, reason = "no crate has this call")]
    unsafe {
        libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC);
    }
}

/// Pods with a sandbox, a container and a volume in memory, as every pod has that may talk to the
/// API server.
pub fn running_pods(node: &Node, numbers: Range<usize>) -> anyhow::Result<Vec<PodRef>> {
    let mut pods = Vec::new();
    let count = numbers.end;
    for number in numbers {
        let mut spec = PodSpec::sleeping(&format!("crowd-{number:03}"));
        node.empty_dir(&mut spec, "kube-api-access", true)?;
        node.run(&spec)?;
        pods.push(spec.pod);
        if number % 10 == 9 {
            eprintln!("bench: {} of {count} pods run", number + 1);
        }
    }
    Ok(pods)
}

/// A stuck pod of one of the lab's scenarios.
pub struct StuckPod {
    /// Which.
    pub pod: PodRef,
    staged: Staged,
}

impl StuckPod {
    /// Makes it.
    pub fn stage(node: &Node, scenario: &str) -> anyhow::Result<Self> {
        eprintln!("bench: making a pod stuck: {scenario}");
        let found = lab::scenario::find(scenario).with_context(|| format!("the lab has no scenario {scenario}"))?;
        let staged = (found.stage)(node)?;
        let pod = staged.pods.first().with_context(|| format!("{scenario} has no pod"))?.clone();
        Ok(Self { pod, staged })
    }

    /// As `--pod` takes it.
    pub fn name(&self) -> String {
        name(&self.pod)
    }

    /// The first path that a right diagnosis names: the busy volume.
    pub fn volume(&self) -> anyhow::Result<PathBuf> {
        let names = self.staged.expect.iter().flat_map(|expect| &expect.names);
        names.map(PathBuf::from).find(|path| path.is_absolute()).context("this scenario names no path")
    }

    /// Lets it go, and waits until it has gone.
    pub fn release(self, node: &Node) -> anyhow::Result<()> {
        for command in &self.staged.known_good {
            let status = Command::new("sh").args(["-c", command]).status().context("run the cure")?;
            anyhow::ensure!(status.success(), "the cure failed: {command}");
        }
        node.wait_gone(&self.pod, Duration::from_secs(30))
    }
}

/// Mounts a FUSE file system that belongs to no pod and stops its server: from then on every
/// question about it waits.
pub fn stopped_server(node: &Node) -> anyhow::Result<()> {
    let target = node.layout().mnt("stopped");
    std::fs::create_dir_all(&target).with_context(|| format!("create {}", target.display()))?;
    let launch = Launch::stand_in("sshfs").args(["stand-in", "hangfs", "--source", "sshfs"]).arg(&target);
    let server = node.launch(launch)?;
    lab::wait_for("the FUSE server has mounted", Duration::from_secs(10), || {
        Ok(lab::mounts::is_mounted(&target)?.then_some(()))
    })?;
    nix::sys::signal::kill(Pid::from_raw(server), Signal::SIGSTOP).context("stop the FUSE server")
}

/// A pod as `--pod` takes it.
pub fn name(pod: &PodRef) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}
