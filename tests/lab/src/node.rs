//! One staged node.

mod api;
mod cleanup;
mod containerd;
mod fusectl;
mod kubelet;
mod layout;
mod moved;
mod pods;
mod turn;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
pub use api::{kubelet_version, mark_terminal, volume_object};
pub use cleanup::loop_devices;
pub(crate) use containerd::{import, wait_image};
pub(crate) use fusectl::is_mounted as fusectl_is_mounted;
pub use kubelet::Restart;
pub use layout::Layout;
pub(crate) use pods::labels;

use nix::sys::signal::Signal;

use turn::Turn;

use crate::{Launch, cgroup, mounts, process, runtime::RuntimeClient, wait_for};

/// The Node object's name.
pub const NODE_NAME: &str = "lab-node";
/// Names the node's directory, for the lab's commands and stand-ins.
pub const DIR_VARIABLE: &str = "WHY_TERMINATING_LAB_DIR";
/// The node's directory unless another is named.
pub const DEFAULT_DIR: &str = "/run/why-terminating-lab";
/// Sets another version for the kubelet stand-in.
pub const VERSION_VARIABLE: &str = "WHY_TERMINATING_LAB_KUBELET_VERSION";

/// A node that is taken away again when this value goes out of scope, unless it is kept.
pub struct Node {
    layout: Layout,
    runtime: RuntimeClient,
    keep: bool,
    /// What steps that are typed move out of the kubelet's way.
    moved: moved::Moved,
    /// No other process makes or removes a node meanwhile; none for a node that is only inspected.
    _turn: Option<Turn>,
}

impl Node {
    /// Makes a node in `dir`. What an earlier lab left there is removed first.
    pub fn up(dir: &Path) -> anyhow::Result<Self> {
        anyhow::ensure!(nix::unistd::geteuid().is_root(), "the lab makes mounts and cgroups: run it as root");
        let turn = Turn::take()?;
        let layout = Layout::new(dir);
        cleanup::remove(&layout).context("remove an earlier node")?;
        fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
        let runtime = RuntimeClient::new(&layout.socket(), Duration::from_secs(30))?;
        // From here on a failure cleans up: the value exists.
        let node = Self { layout, runtime, keep: false, moved: moved::Moved::from_now_on(), _turn: Some(turn) };
        node.start()?;
        Ok(node)
    }

    /// The node that another process made in `dir`.
    pub fn open(dir: &Path) -> anyhow::Result<Self> {
        let layout = Layout::new(dir);
        anyhow::ensure!(layout.binary().exists(), "there is no lab in {}: `lab up` makes one", dir.display());
        let runtime = RuntimeClient::new(&layout.socket(), Duration::from_secs(30))?;
        Ok(Self { layout, runtime, keep: true, moved: moved::Moved::from_now_on(), _turn: None })
    }

    /// Starts a second kubelet on this machine, with a directory, a cgroup root, a runtime and an API server of its own.
    /// It goes with the node.
    pub fn second(&self) -> anyhow::Result<Self> {
        let layout = self.layout.second();
        create(layout.dir())?;
        let runtime = RuntimeClient::new(&layout.socket(), Duration::from_secs(30))?;
        let node = Self { layout, runtime, keep: true, moved: moved::Moved::from_now_on(), _turn: None };
        node.start()?;
        Ok(node)
    }

    /// Starts a program in a running container and does not wait for it.
    pub fn start_in(&self, container: &str, name: &str, command: &[&str]) -> anyhow::Result<()> {
        containerd::start_in(&self.layout, container, name, command)
    }

    /// Unmounts fusectl, as on a node where it was never mounted.
    pub fn withdraw_fusectl(&self) -> anyhow::Result<()> {
        fusectl::withdraw(&self.layout)
    }

    /// Leaves the node there when this value goes out of scope.
    pub fn keep(mut self) {
        self.keep = true;
    }

    /// Takes the node away and says what could not be removed.
    pub fn down(mut self) -> anyhow::Result<()> {
        self.keep = true;
        self.moved.remove();
        cleanup::remove(&self.layout)
    }

    /// Takes away whatever an earlier lab left in `dir`.
    pub fn remove(dir: &Path) -> anyhow::Result<()> {
        let _turn = Turn::take()?;
        cleanup::remove(&Layout::new(dir))
    }

    /// Its paths.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Its container runtime.
    pub(crate) fn runtime(&self) -> &RuntimeClient {
        &self.runtime
    }

    /// Waits until the runtime has read its network configuration.
    pub fn wait_network(&self) -> anyhow::Result<()> {
        wait_for("the runtime has a network", Duration::from_secs(10), || {
            Ok(self.runtime.network_ready()?.then_some(()))
        })
    }

    /// Waits until the runtime has seen that its network configuration is gone.
    pub fn wait_no_network(&self) -> anyhow::Result<()> {
        wait_for("the runtime has no network", Duration::from_secs(10), || {
            Ok((!self.runtime.network_ready()?).then_some(()))
        })
    }

    /// Its API objects.
    pub fn store(&self) -> apiserver::Store {
        apiserver::Store::new(self.layout.api())
    }

    /// The flags with which the agent looks at this node.
    pub fn agent_args(&self) -> Vec<String> {
        vec![
            format!("--cri-endpoint=unix://{}", self.layout.socket().display()),
            format!("--kubelet-root={}", self.layout.kubelet_root().display()),
            format!("--kubeconfig={}", self.layout.kubeconfig().display()),
            format!("--node-name={NODE_NAME}"),
        ]
    }

    /// Starts a stand-in process and returns its pid.
    pub fn launch(&self, launch: Launch) -> anyhow::Result<i32> {
        launch.start(&self.layout)
    }

    /// The pid of the kubelet stand-in.
    pub fn kubelet_pid(&self) -> anyhow::Result<i32> {
        let path = self.layout.kubelet_pid();
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        Ok(text.trim().parse()?)
    }

    /// The pid of the container runtime.
    pub fn containerd_pid(&self) -> anyhow::Result<i32> {
        let path = self.layout.containerd().join("pid");
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        Ok(text.trim().parse()?)
    }

    fn start(&self) -> anyhow::Result<()> {
        let layout = &self.layout;
        mounts::make_shared(layout.dir())?;
        for dir in ["bin", "log", "mnt", "pods", "waits", "pod-logs", "cni/bin", "cni/net.d"] {
            create(&layout.dir().join(dir))?;
        }
        for dir in ["pods", "plugins/kubernetes.io/csi", "plugins_registry"] {
            create(&layout.kubelet_root().join(dir))?;
        }
        let own = std::env::current_exe().context("find the lab's own binary")?;
        fs::copy(&own, layout.binary()).with_context(|| format!("copy {}", own.display()))?;
        fusectl::provide(layout)?;
        cgroup::create(&format!("{}/kubepods/burstable", layout.cgroup_root()))?;
        self.start_runtime()?;
        api::start(layout)?;
        kubelet::start(layout, Restart::default()).map(|_| ())
    }

    /// Starts the container runtime, and waits for it, also where an earlier one was connected.
    pub fn start_runtime(&self) -> anyhow::Result<()> {
        let containerd = containerd::start(&self.layout)?;
        fs::write(self.layout.containerd().join("pid"), containerd.to_string()).context("note containerd's pid")?;
        wait_for("containerd answers", Duration::from_secs(20), || Ok(self.runtime.answers().then_some(())))
    }

    /// Ends the kubelet stand-in and starts it again in other circumstances; returns its pid.
    pub fn restart_kubelet(&self, restart: Restart) -> anyhow::Result<i32> {
        let pid = self.kubelet_pid()?;
        process::signal(pid, Signal::SIGKILL)?;
        process::wait_end(pid)?;
        kubelet::start(&self.layout, restart)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if self.keep {
            return;
        }
        self.moved.remove();
        if let Err(error) = cleanup::remove(&self.layout) {
            eprintln!("lab: {error:#}");
        }
    }
}

/// The node's directory that the environment names, else the default.
pub fn default_dir() -> PathBuf {
    std::env::var_os(DIR_VARIABLE).map_or_else(|| PathBuf::from(DEFAULT_DIR), PathBuf::from)
}

fn create(dir: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))
}
