//! Where everything of a node is.

use std::path::{Path, PathBuf};

use crate::cgroup;

/// The directory of a second kubelet in that of the first.
const SECOND: &str = "second";

/// The paths of one node in a directory.
#[derive(Clone, Debug)]
pub struct Layout {
    dir: PathBuf,
}

impl Layout {
    /// A node in `dir`.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Where everything of a second kubelet on the same machine is.
    pub fn second(&self) -> Self {
        Self::new(self.dir.join(SECOND))
    }

    /// The kubelet's `--cgroup-root`. No two kubelets share one: each removes the cgroups of pods it does not know.
    pub fn cgroup_root(&self) -> &'static str {
        if self.dir.ends_with(SECOND) { cgroup::SECOND_PODS } else { cgroup::PODS }
    }

    /// The node's directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The copy of the lab's binary that its stand-ins run; copied so that a rebuild does not pull
    /// the program out from under them.
    pub fn binary(&self) -> PathBuf {
        self.dir.join("bin/lab")
    }

    /// What a service wrote to its standard output.
    pub fn log(&self, unit: &str) -> PathBuf {
        self.dir.join("log").join(format!("{unit}.log"))
    }

    /// The container runtime's directory.
    pub fn containerd(&self) -> PathBuf {
        self.dir.join("containerd")
    }

    /// The container runtime's socket.
    pub fn socket(&self) -> PathBuf {
        self.containerd().join("containerd.sock")
    }

    /// Where containerd keeps one directory (a bundle) per task.
    pub fn bundles(&self) -> PathBuf {
        self.containerd().join("state/io.containerd.runtime.v2.task/k8s.io")
    }

    /// CNI configuration and plugins.
    pub fn cni(&self) -> PathBuf {
        self.dir.join("cni")
    }

    /// The network namespaces that CNI was asked to fill, one path per line: containerd pins them
    /// outside of the node's directory.
    pub fn network_namespaces(&self) -> PathBuf {
        self.cni().join("namespaces")
    }

    /// The kubelet's `--root-dir`.
    pub fn kubelet_root(&self) -> PathBuf {
        self.dir.join("kubelet")
    }

    /// A pod's directory below the kubelet's root.
    pub fn pod_dir(&self, uid: &str) -> PathBuf {
        self.kubelet_root().join("pods").join(uid)
    }

    /// The kubelet stand-in's pid.
    pub fn kubelet_pid(&self) -> PathBuf {
        self.dir.join("kubelet.pid")
    }

    /// What the kubelet stand-in says.
    pub fn kubelet_log(&self) -> PathBuf {
        self.dir.join("kubelet.log")
    }

    /// The kubelet's configuration file.
    pub fn kubelet_config(&self) -> PathBuf {
        self.dir.join("config.yaml")
    }

    /// The lab's own records of pods, one file each: what the kubelet knows of them.
    pub fn records(&self) -> PathBuf {
        self.dir.join("pods")
    }

    /// The record of one pod.
    pub fn record(&self, uid: &str) -> PathBuf {
        self.records().join(format!("{uid}.json"))
    }

    /// Marks a pod that is being made: housekeeping leaves its directory alone.
    pub fn in_the_making(&self, uid: &str) -> PathBuf {
        self.records().join(format!("{uid}.making"))
    }

    /// What was staged, one note for each scenario.
    pub fn staged(&self) -> PathBuf {
        self.dir.join("staged")
    }

    /// The note of one scenario.
    pub fn note(&self, scenario: &str) -> PathBuf {
        self.staged().join(format!("{scenario}.json"))
    }

    /// At which gate the kubelet stand-in waits for a pod, and why.
    pub fn waits(&self, uid: &str) -> PathBuf {
        self.dir.join("waits").join(uid)
    }

    /// The fake API server's objects.
    pub fn api(&self) -> PathBuf {
        self.dir.join("api")
    }

    /// The fake API server's address, once it listens.
    pub fn api_address(&self) -> PathBuf {
        self.dir.join("apiserver.address")
    }

    /// How to reach the fake API server.
    pub fn kubeconfig(&self) -> PathBuf {
        self.dir.join("kubeconfig")
    }

    /// The service account of the agent's pod.
    pub fn service_account(&self) -> PathBuf {
        self.dir.join("service-account")
    }

    /// A place for mounts that are the host's and no pod's.
    pub fn mnt(&self, name: &str) -> PathBuf {
        self.dir.join("mnt").join(name)
    }

    /// Container logs.
    pub fn pod_logs(&self) -> PathBuf {
        self.dir.join("pod-logs")
    }
}
